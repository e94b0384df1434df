/** CPU that this process has used, in milliseconds by the clock ticks of the system: Deno's own figure is always 0. */
import { readFileSync } from "node:fs";

export function cpuMs(): number {
  // Fields 14 and 15 of /proc/self/stat, in ticks of 10 ms; the name before them may hold spaces.
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
