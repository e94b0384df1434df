/** The local stack of another checkout, in a process of its own, as `npm start` runs it there. */
import { spawn } from "node:child_process";
import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { State } from "../../supabase/local/lock.ts";
import { freePort } from "../../supabase/local/ports.ts";
import { reachable } from "../../supabase/local/postgres-files.ts";
import { processesIn, waitUntilGone } from "../../supabase/local/processes.ts";

/** A running stack: its state, what it printed, and the way to end it. */
export interface StackIn {
  state: State;
  lines: readonly string[];
  stop(): Promise<void>;
}

/** Starts the stack of the checkout at `dir` on free ports; its data is in `.barid` there. Fails with what it printed. */
export async function startStackIn(dir: string): Promise<StackIn> {
  const [port, dbPort] = [await freePort(), await freePort()];
  const child = spawn(
    process.execPath,
    [
      ...["--import", "tsx", "supabase/local/commands/start.ts"],
      ...["--port", String(port), "--db-port", String(dbPort)],
    ],
    { cwd: dir, stdio: ["ignore", "pipe", "pipe"] },
  );
  const ended = new Promise((resolve) => child.once("close", resolve));
  const lines: string[] = [];
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface(stream).on("line", (line) => {
        lines.push(line);
        if (line.includes("Ctrl-C stops")) resolve();
      });
    }
    child.once("error", reject);
    child.once("close", () => reject(new Error(lines.join("\n"))));
  });
  return {
    state: JSON.parse(readFileSync(join(dir, ".barid", "state.json"), "utf8")),
    lines,
    async stop() {
      child.kill("SIGINT");
      await ended;
      // On a busy machine the process does not wait for its Postgres, which ends with it a moment later.
      const left = processesIn(realpathSync(reachable(join(dir, ".barid", "postgres"))));
      if (!await waitUntilGone(left, 20_000)) throw new Error(`Postgres runs on: ${left}`);
    },
  };
}
