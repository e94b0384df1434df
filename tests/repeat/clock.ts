/** Another time of day for single processes and their children: tests/repeat/clock.c, compiled where it is needed. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { defaultDataDir, root } from "../../supabase/local/paths.ts";
import { reachable } from "../../supabase/local/postgres-files.ts";

const source = join(root, "tests/repeat/clock.c");

/** Said where the clock cannot be moved. */
export const clockNeeds = "the clock is moved by a library in C: apt-get install gcc libc6-dev";

/** The compiled library, in a folder that Postgres's user can read; undefined where there is no compiler for it. */
export function clockLibrary(): string | undefined {
  const folder = reachable(join(defaultDataDir, "clock"));
  const state = createHash("sha256").update(readFileSync(source)).digest("hex").slice(0, 12);
  const library = join(folder, `clock-${state}.so`);
  if (existsSync(library)) return library;
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const made = `${library}.${process.pid}`;
  const { status } = spawnSync("gcc", ["-O2", "-shared", "-fPIC", "-o", made, source, "-ldl"]);
  if (status !== 0) return undefined;
  renameSync(made, library);
  return library;
}

/** The environment in which a process and its children see a time of day that is `seconds` later, or earlier. */
export function clockAhead(library: string, seconds: number): Record<string, string> {
  return { LD_PRELOAD: library, BARID_CLOCK_SECONDS: String(seconds) };
}
