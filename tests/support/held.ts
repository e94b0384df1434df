/** Requests that meet on one delivery in a chosen order. */
import type { Answer } from "./api.ts";
import { sql } from "./db.ts";

/**
 * Holds the row of a delivery until every call waits for it, one after the other, and then releases it: they continue
 * in the order in which they came.
 */
export async function queuedOn(
  delivery: string,
  calls: (() => Promise<Answer>)[],
): Promise<Answer[]> {
  const answers: Promise<Answer>[] = [];
  await sql.begin(async (tx) => {
    const [{ pid }] = await tx`select pg_backend_pid() as pid from delivery.deliveries
      where id = ${delivery} for update`;
    for (const call of calls) {
      let over = false;
      const answer = call();
      void answer.finally(() => over = true);
      answers.push(answer);
      while (!over && (await waitingFor(pid)).length < answers.length) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  });
  return await Promise.all(answers);
}

/** The connections that wait for this one, or for one that does. */
async function waitingFor(pid: number): Promise<number[]> {
  let blocking = [pid];
  for (;;) {
    const waiting = (await sql`select pid from pg_stat_activity
      where pg_blocking_pids(pid) && ${blocking}::int[]`).map((row) => row.pid as number);
    if (waiting.length + 1 <= blocking.length) return waiting;
    blocking = [pid, ...waiting];
  }
}
