/** Background jobs as tests see them. */
import { expect } from "vitest";
import { nobody } from "./api.ts";
import { sql, stack } from "./db.ts";
import { until } from "./receiver.ts";

/**
 * Runs a function's jobs as the schedule of each minute does, until none of a tenant is left that is due: other files of
 * tests run them as well, and may be at work on some of these.
 */
export async function runJobs(section: string, tenantId: string): Promise<void> {
  await until(async () => {
    const answer = await nobody.post(`/${section}/internal/jobs`, {}, {
      headers: { apikey: stack.secretKey },
    });
    expect(answer).toSucceed(200);
    const due = await sql`select from app.jobs
      where tenant_id = ${tenantId} and kind like ${`${section}.%`} and status in ('queued', 'running') and run_at <= now()`;
    return due.length === 0;
  });
}

/** Waits until a tenant has no job that is due: much is done after an answer (ways are measured, receipts printed). */
export async function jobsDone(tenantId: string): Promise<void> {
  await until(async () =>
    (await sql`select from app.jobs
      where tenant_id = ${tenantId} and status in ('queued', 'running') and run_at <= now()`)
      .length === 0
  );
}
