/** The real Supabase CLI, without telemetry and without a terminal. */
import { join } from "node:path";
import { root } from "../../supabase/local/paths.ts";
import { runProgram } from "../tools/checks/programs.ts";

/** Runs it in the repository's root, or in `cwd`; `output` is all it wrote. */
export async function supabase(args: string[], env: NodeJS.ProcessEnv = {}, cwd?: string) {
  const { code, lines } = await runProgram(join(root, "node_modules/.bin/supabase"), args, {
    cwd,
    env: { ...process.env, SUPABASE_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1", ...env },
  });
  return { code, output: lines.join("\n") };
}

/** A database's address as the CLI wants it: told that the server has no TLS. */
export function remote(url: string): string {
  const address = new URL(url);
  address.searchParams.set("sslmode", "disable");
  return `--remote=${address.href}`;
}
