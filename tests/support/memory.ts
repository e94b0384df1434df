/** The memory of processes, as the system reports it. */
import { execFileSync } from "node:child_process";

/** The resident memory of these processes, in MB; of those that are gone, nothing. */
export function memoryOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + residentOf(pid), 0);
}

function residentOf(pid: number): number {
  try {
    return Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)]).toString()) / 1024;
  } catch {
    return 0;
  }
}
