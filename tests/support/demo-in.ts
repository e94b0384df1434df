/** The demo's day of work with the code of a checkout; it fails at an answer it does not expect, and compares its counts with the reports. */
import { spawn } from "node:child_process";
import type postgres from "postgres";
import type { State } from "../../supabase/local/lock.ts";

/**
 * Puts every company on the clock of UTC. The demos up to 1.8.0 read the month of UTC in the reports, which in the last hours of a month is
 * another one in Baghdad.
 */
export const keepUtc = (sql: postgres.Sql) =>
  sql`insert into tenancy.tenant_settings (tenant_id, module, group_key, settings)
    select id, 'general', 'timezone', '{"name": "UTC"}' from tenancy.tenants
    on conflict (tenant_id, module, group_key) do update set settings = excluded.settings`;

/** Runs the demo of the checkout at `dir` against a stack. Returns its exit code and what it printed. */
export function demoIn(
  dir: string,
  { url, publishable_key }: Pick<State, "url" | "publishable_key">,
  { deliveries, seed }: { deliveries: number; seed: number },
): Promise<{ code: number | null; printed: string }> {
  const child = spawn(process.execPath, [
    ...["--import", "tsx", "tests/demo/index.ts"],
    ...["--url", url, "--publishable-key", publishable_key],
    ...["--deliveries", String(deliveries), "--drivers", "3", "--seed", String(seed)],
  ], { cwd: dir });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => printed += text);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, printed }));
  });
}
