/** A whole system of a test's own, for what would disturb the shared one: processes that die, connections that break. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Stack, type StackOptions, startStack } from "../../supabase/local/stack.ts";
import { clock } from "./clock.ts";
import { templateCluster } from "./template.ts";

/** Starts it on free ports, in a folder that goes when it is stopped, from the template; without fsync and cron unless asked for. */
export async function startOwnStack(options: StackOptions = {}): Promise<Stack> {
  const dataDir = mkdtempSync(join(tmpdir(), "barid-own-"));
  const remove = () => rmSync(dataDir, { recursive: true, force: true });
  const installation = options.installation ?? process.env.BARID_PROVE_POSTGRES;
  try {
    const stack = await startStack({
      dataDir,
      port: 0,
      dbPort: 0,
      durable: false,
      schedules: false,
      // Settings of the server decide what a migration finds there, pg_cron for instance.
      template: process.env.DATABASE_URL || options.databaseSettings
        ? undefined
        : await templateCluster(installation),
      databaseEnv: clock,
      ...options,
      env: { ...clock, ...options.env },
      installation,
    });
    const { stop } = stack;
    stack.stop = async () => {
      await stop();
      remove();
    };
    return stack;
  } catch (error) {
    remove();
    throw error;
  }
}
