/** Calls and transactions that wait for one another on purpose and not by chance. */
import type postgres from "postgres";
import type { Answer } from "./api.ts";
import { sql } from "./db.ts";
import { until } from "./receiver.ts";

/** Runs `work` in a transaction that is open meanwhile; what it does not commit comes to nothing. */
export async function whileOpen<Result>(
  work: (session: postgres.ReservedSql) => Promise<Result>,
  on: postgres.Sql = sql,
): Promise<Result> {
  const session = await on.reserve();
  try {
    await session`begin`;
    return await work(session);
  } finally {
    await session`rollback`;
    session.release();
  }
}

/** Runs `first` in a transaction and `second` beside it; commits once the second waits for the first. Returns the answer of the second. */
export const overlapping = <Result>(
  first: (session: postgres.ReservedSql) => Promise<unknown>,
  second: () => Promise<Result>,
): Promise<Result> =>
  whileOpen(async (session) => {
    await first(session);
    const [{ pid }] = await session`select pg_backend_pid() as pid`;
    const waits = second();
    await until(async () =>
      (await sql`select from pg_stat_activity where ${pid} = any (pg_blocking_pids(pid))`)
        .length > 0
    );
    await session`commit`;
    return await waits;
  });

/** Assigns a delivery by hand as operations do, within a transaction that is still open. */
export async function assignWithin(
  session: postgres.ReservedSql,
  tenant: { id: string; ops: { id: string } },
  delivery_id: string,
  driver_id: string,
): Promise<void> {
  await session`select set_config('app.tenant_id', ${tenant.id}, true),
    set_config('app.user_id', ${tenant.ops.id}, true), set_config('app.sees_tenant', 'on', true)`;
  await session`select delivery.assignment_create(${sql.json({ delivery_id, driver_id })})`;
}

/**
 * Holds the row of a delivery until every call waits for it, one after the other, and then releases it: they continue
 * in the order in which they came.
 */
export const queuedOn = (delivery: string, calls: (() => Promise<Answer>)[]): Promise<Answer[]> =>
  queuedBehind(
    (session) => session`select from delivery.deliveries where id = ${delivery} for update`,
    calls,
  );

/** The same behind what a transaction does that comes to nothing. A call that does not wait is over before the next one begins. */
export async function queuedBehind(
  first: (session: postgres.ReservedSql) => Promise<unknown>,
  calls: (() => Promise<Answer>)[],
): Promise<Answer[]> {
  const answers: Promise<Answer>[] = [];
  await whileOpen(async (session) => {
    const [{ pid }] = await session`select pg_backend_pid() as pid`;
    await first(session);
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

/**
 * Proves that a call locks one thing before another: while `first` is held, the call waits for it, and `then`, which asks
 * for the other with nowait, gets it. A call in the wrong order has it by then, and `lock_not_available` is thrown.
 */
export async function locksBefore<Result>(
  first: (tx: postgres.TransactionSql) => Promise<unknown>,
  call: () => Promise<Result>,
  then: (tx: postgres.TransactionSql) => Promise<unknown>,
): Promise<Result> {
  let answer: Promise<Result> | undefined;
  await sql.begin(async (tx) => {
    const [{ pid }] = await tx`select pg_backend_pid() as pid`;
    await first(tx);
    answer = call();
    // Its answer may come before anybody waits for it here.
    answer.catch(() => {});
    await until(async () => (await waitingFor(pid)).length > 0);
    await then(tx);
  });
  return await answer!;
}

/** The connections that wait for this one, or for one that does. */
export async function waitingFor(pid: number): Promise<number[]> {
  let blocking = [pid];
  for (;;) {
    const waiting = (await sql`select pid from pg_stat_activity
      where pg_blocking_pids(pid) && ${blocking}::int[]`).map((row) => row.pid as number);
    if (waiting.length + 1 <= blocking.length) return waiting;
    blocking = [pid, ...waiting];
  }
}
