/** Parcels that were sorted by the barcode of their return before a parcel had one place in a session: the upgrade finds where they lie. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OwnDatabase } from "../support/database.ts";
import { releasedDatabase, upgrade } from "../support/released-database.ts";

let old: OwnDatabase;
beforeAll(async () => {
  old = await releasedDatabase("1.2.0");
}, 300_000);
afterAll(() => old.close());

test(
  "in sessions under way a scan is of the parcel, once; those that have ended stay",
  async () => {
    const { sql } = old;
    const rows = await sql`select tenant_id, id from delivery.deliveries order by tenant_id, id`;
    const { tenant_id } = rows.find((one) =>
      rows.filter((other) => other.tenant_id === one.tenant_id).length >= 5
    )!;
    const [first, second, back, again, other] = rows
      .filter((one) => one.tenant_id === tenant_id).map(({ id }) => id as string);
    const [active, ended] = [randomUUID(), randomUUID()];
    const scans = [
      [active, back],
      [active, again],
      [active, second],
      [active, other],
      [ended, back],
    ] as const;
    await sql.begin(async (tx) => {
      await tx`set local session_replication_role = replica`;
      const returns = (of: string, ids: string[]) =>
        tx`update delivery.deliveries set delivery_flow = 'operational_return', original_delivery_id = ${of},
        status = 'cancelled' where id in ${tx(ids)}`;
      await returns(first!, [back!, again!]);
      await returns(second!, [other!]);
      for (const session of [active, ended]) {
        await tx`insert into warehousing.sorting_sessions (id, tenant_id, warehouse_id, status, ended_at)
        values (${session}, ${tenant_id}, ${randomUUID()}, ${
          session === active ? "active" : "completed"
        },
          ${session === active ? null : new Date()})`;
      }
      for (const [session_id, delivery_id] of scans) {
        await tx`insert into warehousing.sorting_scans (tenant_id, session_id, assignment_id, delivery_id)
        values (${tenant_id}, ${session_id}, ${randomUUID()}, ${delivery_id!})`;
      }
    });
    await upgrade(old);
    const found = await sql`select session_id, delivery_id from warehousing.sorting_scans
    where session_id in ${sql([active, ended])} order by created_at, id`;
    expect(found.map((one) => [one.session_id, one.delivery_id])).toEqual([
      [active, back],
      [active, first],
      [active, second],
      [active, other],
      [ended, back],
    ]);
  },
  300_000,
);
