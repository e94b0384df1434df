/** CPU that a process has used, in milliseconds by the clock ticks of the system. Runs on Node and on Deno, whose own figure is always 0. */
import { readFileSync } from "node:fs";

export function cpuMs(pid: number | "self" = "self"): number {
  // Fields 14 and 15 of /proc/<pid>/stat, in ticks of 10 ms; the name before them may hold spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
