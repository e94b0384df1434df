/** Returns of a store's goods that were ordered before they ended in a warehouse: after the upgrade those that are not over do. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OwnDatabase } from "../support/database.ts";
import { releasedDatabase, upgrade } from "../support/released-database.ts";

let old: OwnDatabase;
beforeAll(async () => {
  old = await releasedDatabase("1.2.0");
}, 300_000);
afterAll(() => old.close());

test(
  "what goes to the address of its warehouse ends there, what is over or goes elsewhere stays",
  async () => {
    const { sql } = old;
    const [part] = await sql`select p.tenant_id, p.delivery_id, w.id as warehouse, w.address_id
    from storefront.storefront_order_parts p
    join warehousing.warehouses w on w.tenant_id = p.tenant_id and w.id = p.warehouse_id
    where p.delivery_id is not null and p.picking_order_id is not null order by p.id limit 1`;
    const returns = await sql`select id from delivery.deliveries
    where tenant_id = ${part!.tenant_id} and order_id is null and parent_id is null
      and delivery_flow = 'standard' and dropoff_address_id <> ${
      part!.address_id
    } order by id limit 3`;
    const [pending, over, away] = returns;
    await sql.begin(async (tx) => {
      await tx`set local session_replication_role = replica`;
      await tx`update delivery.deliveries set delivery_flow = 'customer_return', returns_part = true,
        original_delivery_id = ${
        part!.delivery_id
      }, dropoff_warehouse_id = null, transfer_kind = null,
        status = case when id = ${over!.id} then 'delivered' else 'pending' end,
        dropoff_address_id = case when id = ${away!.id} then dropoff_address_id else ${
        part!.address_id
      } end
      where id in ${sql(returns.map(({ id }) => id))}`;
    });
    await upgrade(old);
    const found = await sql`select id, dropoff_warehouse_id as ends_in from delivery.deliveries
    where id in ${sql(returns.map(({ id }) => id))} order by id`;
    expect(found.map((one) => ({ ...one }))).toEqual([
      { id: pending!.id, ends_in: part!.warehouse },
      { id: over!.id, ends_in: null },
      { id: away!.id, ends_in: null },
    ]);
  },
  300_000,
);
