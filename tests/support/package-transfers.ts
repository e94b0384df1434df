/** Transfers of packages from one warehouse of a yard to the other, by the warehouse's manager. */
import { sql } from "./db.ts";
import { newYard, type Yard } from "./packages.ts";
import { newTenant, type Tenant } from "./people.ts";

export const packageTransfers = "/warehousing/package-transfers";

/** The request, the call, and the number of rows in a table of the tenant. */
export function transferSteps(tenant: Tenant, yard: Yard) {
  const body = (mode: string, more: object = {}) => ({
    mode,
    source_warehouse_id: yard.warehouse,
    destination_warehouse_id: yard.there,
    ...more,
  });
  const post = (sent: object, options?: { headers: Record<string, string> }) =>
    tenant.warehouse.post(packageTransfers, sent, options);
  const countOf = async (table: string): Promise<number> =>
    (await sql.unsafe(`select count(*)::int from ${table} where tenant_id = '${tenant.id}'`))[0]
      .count;
  return { body, post, countOf };
}

export type Transferring = Awaited<ReturnType<typeof newTransferring>>;

/** A tenant with a yard, and its transfers. */
export async function newTransferring() {
  const tenant = await newTenant();
  const yard = await newYard(tenant);
  return { tenant, yard, ...transferSteps(tenant, yard) };
}
