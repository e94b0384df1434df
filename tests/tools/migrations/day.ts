/** A database with the demo data and a short day of work in it, made through the public API. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type postgres from "postgres";
import { Failure } from "../../../supabase/local/failure.ts";
import { startStack } from "../../../supabase/local/stack.ts";
import { runPackage } from "../checks/programs.ts";

/** Starts a stack of its own, drives a day of 20 deliveries, and gives the database to `work`; nothing of it remains. */
export async function withDayOfWork(work: (sql: postgres.Sql) => Promise<void>): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "barid-day-"));
  const stack = await startStack({
    dataDir,
    port: 0,
    dbPort: 0,
    durable: false,
    seed: true,
    env: { BARID_LOG_LEVEL: "error" },
  });
  try {
    const { code, lines } = await runPackage("tsx/dist/cli.mjs", [
      "tests/demo/index.ts",
      ...["--url", stack.url, "--publishable-key", stack.publishableKey],
      ...["--deliveries", "20", "--drivers", "3"],
    ]);
    if (code !== 0) throw new Failure(["The day did not add up:", ...lines.slice(-10)].join("\n"));
    await work(stack.sql);
  } finally {
    await stack.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
