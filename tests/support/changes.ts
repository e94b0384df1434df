/** The responses of lists that are read incrementally. */
import { sql } from "./db.ts";

/** Until no transaction of another test is open that began before these rows of the tenant were committed: they wait for it. */
export async function settled(tenantId: string, tables: readonly string[]): Promise<void> {
  const changed = tables.map((table) => `select changed from ${table} where tenant_id = $1`);
  for (;;) {
    const [{ done }] = await sql.unsafe(
      `select max(c.changed) < pg_snapshot_xmin(pg_current_snapshot())::text::bigint as done
        from (${changed.join(" union all ")}) c`,
      [tenantId],
    );
    if (done) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
