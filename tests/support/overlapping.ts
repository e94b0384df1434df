/** Two transactions of which the second has to wait for the first, on purpose and not by chance. */
import type postgres from "postgres";
import { sql } from "./db.ts";
import { until } from "./receiver.ts";

/** Runs `first` in a transaction and `second` beside it; commits once the second waits for the first. Returns the answer of the second. */
export async function overlapping<Answer>(
  first: (session: postgres.ReservedSql) => Promise<unknown>,
  second: () => Promise<Answer>,
): Promise<Answer> {
  const session = await sql.reserve();
  try {
    await session`begin`;
    await first(session);
    const [{ pid }] = await session`select pg_backend_pid() as pid`;
    const waits = second();
    await until(async () =>
      (await sql`select from pg_stat_activity where ${pid} = any (pg_blocking_pids(pid))`)
        .length > 0
    );
    await session`commit`;
    return await waits;
  } finally {
    await session`rollback`;
    session.release();
  }
}

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
