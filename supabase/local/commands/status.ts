// npm run status: what runs, for people and with --json for programs.
import { readState } from "../lock.ts";
import { defaultDataDir } from "../paths.ts";

// `npm run status | head -1` is done before we are.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

const args = process.argv.slice(2);
const unknown = args.find((arg) => arg !== "--json");
if (unknown) {
  console.error(`Unknown option "${unknown}": npm run status knows --json only.`);
  process.exit(2);
}
const state = readState(defaultDataDir);
if (!state) {
  console.error("The stack is not running: npm start starts it.");
  process.exit(1);
}
if (args.includes("--json")) {
  console.log(JSON.stringify(state));
} else {
  console.log(`URL              ${state.url}`);
  console.log(`Version          ${state.version}, schema ${state.schema}`);
  console.log(`Publishable key  ${state.publishable_key}`);
  console.log(`Secret key       ${state.secret_key}`);
  console.log(`Database         ${state.db_url}`);
  console.log(`Process          ${state.pid}, workers ${state.workers.join(", ")}`);
}
