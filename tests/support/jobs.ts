/** Background jobs as tests see them. */
import { sql } from "./db.ts";
import { until } from "./receiver.ts";

/** Waits until a tenant has no job that is due: much is done after an answer (ways are measured, receipts printed). */
export async function jobsDone(tenantId: string): Promise<void> {
  await until(async () =>
    (await sql`select from app.jobs
      where tenant_id = ${tenantId} and status in ('queued', 'running') and run_at <= now()`)
      .length === 0
  );
}
