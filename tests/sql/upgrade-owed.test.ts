/** Fees that were said to be owed before the upgrade are the office's to pay after it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OwnDatabase } from "../support/database.ts";
import { releasedDatabase, upgrade } from "../support/released-database.ts";

let old: OwnDatabase;
beforeAll(async () => {
  old = await releasedDatabase("1.9.1");
}, 300_000);
afterAll(() => old.close());

test(
  "they are marked with the time of the event, unless they were given back since",
  async () => {
    const { sql } = old;
    const [owed, back] = await sql`select p.* from money.payments p
      where p.type = 'DELIVERY_FEE' and p.status = 'SUCCESS' and not exists (select from money.payments r
        where r.tenant_id = p.tenant_id and r.delivery_id = p.delivery_id and r.type in ('REFUND', 'DELIVERY_FEE_CHANGE'))
      order by p.id limit 2`;
    const at = new Date("2026-11-30T10:00:00Z");
    for (const one of [owed!, back!]) {
      await sql`insert into integration.system_events
        (tenant_id, event_type, source_module, entity_type, entity_id, created_at)
        values (${one.tenant_id}, 'delivery.refund_due', 'delivery', 'delivery', ${one.delivery_id}, ${at})`;
    }
    await sql`insert into money.payments
      (tenant_id, category, type, status, payment_method, amount, currency, delivery_id)
      values (${back!.tenant_id}, 'DELIVERY', 'REFUND', 'pending', 'cash', 1, 'IQD', ${
      back!.delivery_id
    })`;
    await upgrade(old);
    const marked = await sql`select id, refund_owed_at as at from money.payments
      where refund_owed_at is not null`;
    expect(marked.map((one) => ({ ...one }))).toEqual([{ id: owed!.id, at }]);
  },
  300_000,
);
