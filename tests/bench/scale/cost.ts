/** CPU that asking costs: of the functions' process, and of the database with all its processes. */
import type { Bench } from "../bench-stack.ts";
import { cpuMs } from "../cpu.ts";

/** Runs the work and says how many milliseconds of CPU both used meanwhile. */
export async function cpuOf<T>(
  { stack: { sql, workers } }: Bench,
  work: () => Promise<T>,
): Promise<{ result: T; database: number; worker: number }> {
  const processes = async () =>
    (await sql`select pid from pg_stat_activity`).map((row) => row.pid as number);
  const used = (pids: readonly number[]) =>
    new Map(pids.map((pid) => {
      try {
        return [pid, cpuMs(pid)];
      } catch {
        // Ended since it was listed: what it used is not counted.
        return [pid, 0];
      }
    }));
  const before = used(await processes());
  const workerBefore = workers.pids.reduce((sum, pid) => sum + cpuMs(pid), 0);
  const result = await work();
  const worker = workers.pids.reduce((sum, pid) => sum + cpuMs(pid), 0) - workerBefore;
  let database = 0;
  for (const [pid, ms] of used(await processes())) {
    database += Math.max(0, ms - (before.get(pid) ?? 0));
  }
  return { result, database, worker };
}
