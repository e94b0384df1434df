/** One folder for all that a run of tests writes and throws away. */
import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { hostname, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { openToPostgres } from "../../supabase/local/postgres-files.ts";
import { isAlive } from "../../supabase/local/processes.ts";

/** Of which a whole run needs about a quarter. */
const plenty = 8 * 2 ** 30;
const shared = "/dev/shm";

/**
 * Makes the folder and lets this process and those that it starts take it for temporary files; `remove` takes it away. It is in memory where
 * there is plenty: hundreds of databases are copied and dropped, and a disk takes ten times as long for their files. TMPDIR decides otherwise.
 */
export function useRunFolder(): { remove: () => void } {
  const before = process.env.TMPDIR;
  const base = before ?? (hasPlenty() ? shared : tmpdir());
  // Runs that were killed leave theirs, and memory is only given back with it.
  for (const name of readdirSync(base)) {
    if (isLeft(name)) rmSync(join(base, name), { recursive: true, force: true });
  }
  const folder = join(base, nameOf(process.pid));
  mkdirSync(folder);
  process.env.TMPDIR = openToPostgres(folder);
  return {
    remove() {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

// Containers that share memory have process numbers of their own, and nobody may remove what another user left.
const nameOf = (pid: number) => `barid-run-${hostname()}-${userInfo().uid}-${pid}`;

function isLeft(name: string): boolean {
  const pid = Number(/-(\d+)$/.exec(name)?.[1]);
  return name === nameOf(pid) && !isAlive(pid);
}

/** On Linux, where programs may be run from it, too. */
function hasPlenty(): boolean {
  try {
    const { bavail, bsize } = statfsSync(shared);
    const mounted = readFileSync("/proc/mounts", "utf8").split("\n").map((line) => line.split(" "))
      .findLast(([, place]) => place === shared);
    return mounted !== undefined && !mounted[3]!.split(",").includes("noexec") &&
      Math.min(bavail * bsize, process.availableMemory()) > plenty;
  } catch {
    return false;
  }
}
