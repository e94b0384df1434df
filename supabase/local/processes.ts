import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { errorCode } from "./failure.ts";

/** True while a process of that id runs, whoever owns it. One that only waits to be reaped no longer does. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
  return process.platform !== "linux" || statFields(pid)[0] !== "Z";
}

/**
 * When the process was started, in the system's own words: with the id it names one process for good, while an id
 * alone may have been given to another one since. Empty when there is no such process.
 */
export function startTime(pid: number): string {
  if (process.platform !== "linux") {
    return spawnSync("ps", ["-o", "lstart=", "-p", String(pid)]).stdout.toString().trim();
  }
  return statFields(pid)[19] ?? "";
}

/** Processes whose working folder is `dir`: a postmaster and every one of its children, also when it is gone. */
export function processesIn(dir: string): number[] {
  if (process.platform !== "linux") {
    const found = spawnSync("lsof", ["-a", "-d", "cwd", "-t", dir]).stdout.toString();
    return found.split("\n").map(Number).filter((pid) => pid > 0);
  }
  return readdirSync("/proc").map(Number).filter((pid) => pid > 0).filter((pid) =>
    readIfThere(() => readlinkSync(`/proc/${pid}/cwd`)) === dir
  );
}

/** Waits until none of the processes is alive; false when some still are after the time given. */
export async function waitUntilGone(pids: number[], timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (pids.some(isAlive)) {
    if (Date.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return true;
}

/** Sends the signal to each process that still exists. */
export function signalAll(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) if (isAlive(pid)) process.kill(pid, signal);
}

/** /proc/<pid>/stat from its third field on: the second is the command in brackets and may hold spaces. */
function statFields(pid: number): string[] {
  const stat = readIfThere(() => readFileSync(`/proc/${pid}/stat`, "utf8")) ?? "";
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** A process may end while it is being looked at, and other users' processes may not be looked at. */
function readIfThere(read: () => string): string | undefined {
  try {
    return read();
  } catch (error) {
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(errorCode(error))) return undefined;
    throw error;
  }
}
