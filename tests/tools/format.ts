// npm run format: the only formatter.
import { runDeno } from "./checks/programs.ts";

const { code, lines } = await runDeno(["fmt", ...process.argv.slice(2)]);
for (const line of lines) console.log(line);
process.exitCode = code;
