/** Handoffs that waited on although a carrier had taken their parcels: after the upgrade they end, or are of the pick that was made since. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OwnDatabase } from "../support/database.ts";
import { releasedDatabase, upgrade } from "../support/released-database.ts";

let old: OwnDatabase;
beforeAll(async () => {
  old = await releasedDatabase("1.9.1");
}, 300_000);
afterAll(() => old.close());

test(
  "a handoff of a pick that is gone is cancelled, of a parcel that was prepared anew it is of the new pick, and others stay",
  async () => {
    const { sql } = old;
    const picks = await sql`select p.* from warehousing.picking_orders p
      where p.tenant_id = (select tenant_id from warehousing.picking_orders order by tenant_id limit 1) order by p.id limit 1`;
    const [pick] = picks;
    const deliveries = (await sql`select id from delivery.deliveries
      where tenant_id = ${pick!.tenant_id} order by id limit 3`).map(({ id }) => id);
    expect(deliveries).toHaveLength(3);
    const [gone, prepared, waiting] = deliveries;
    const made: Record<string, string> = {};
    await sql.begin(async (tx) => {
      await tx`set local session_replication_role = replica`;
      await tx`delete from delivery.package_handoffs where delivery_id = any (${deliveries})`;
      await tx`update warehousing.picking_orders set delivery_id = null
        where delivery_id = any (${deliveries})`;
      const picked = async (delivery: string, status: string) => {
        const row = { ...pick, id: crypto.randomUUID(), order_id: null };
        await tx`insert into warehousing.picking_orders ${
          tx({ ...row, delivery_id: delivery, status, reference_number: row.id } as never)
        }`;
        return row.id;
      };
      for (
        const [name, delivery, status] of [
          ["gone", gone, "handed_off"],
          ["prepared", prepared, "handed_off"],
          ["waiting", waiting, "completed"],
        ] as const
      ) {
        made[name] = await picked(delivery, status);
        await tx`insert into delivery.package_handoffs (tenant_id, delivery_id, picking_order_id, warehouse_id)
          values (${pick!.tenant_id}, ${delivery}, ${made[name]}, ${pick!.warehouse_id})`;
      }
      made["anew"] = await picked(prepared, "completed");
    });
    await upgrade(old);
    const found =
      await sql`select delivery_id, status, picking_order_id from delivery.package_handoffs
      where delivery_id = any (${deliveries}) order by delivery_id`;
    expect(found.map((one) => ({ ...one }))).toEqual([
      { delivery_id: gone, status: "cancelled", picking_order_id: made["gone"] },
      { delivery_id: prepared, status: "pending", picking_order_id: made["anew"] },
      { delivery_id: waiting, status: "pending", picking_order_id: made["waiting"] },
    ]);
  },
  300_000,
);
