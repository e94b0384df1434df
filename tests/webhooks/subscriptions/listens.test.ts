/** From when on a subscription hears: of what is committed after it, whenever that was begun. */
import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newTenant } from "../../support/people.ts";
import { type Receiver, startReceiver } from "../../support/receiver.ts";
import { subscribe } from "../../support/webhooks.ts";

const path = "/webhooks/subscriptions";
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver.close());

test.each(["made", "switched on again"])(
  "one that is %s while an event is on its way hears of it, and of none before",
  async (how) => {
    const tenant = await newTenant();
    const event = (tx: postgres.Sql | postgres.TransactionSql, about: string) =>
      tx`insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id)
        values (${tenant.id}, 'delivery.failed', 'delivery', 'delivery', ${about})`;
    const old = how === "made" ? undefined : await subscribe(tenant, receiver.url);
    if (old) {
      expect(await tenant.admin.put(`${path}/${old.id}`, { is_active: false })).toSucceed(200);
    }
    const [past, open, next] = [randomUUID(), randomUUID(), randomUUID()];
    await event(sql, past);
    const id = await sql.begin(async (tx) => {
      await event(tx, open);
      if (!old) return (await subscribe(tenant, receiver.url)).id;
      expect(await tenant.admin.put(`${path}/${old.id}`, { is_active: true })).toSucceed(200);
      return old.id;
    });
    await event(sql, next);
    const heard = async () => {
      await sql`select integration.webhooks_fan_out()`;
      const events = await sql`select e.entity_id from integration.webhook_events w
        join integration.system_events e on e.id = w.system_event_id where w.subscription_id = ${id} order by e.position`;
      return events.map(({ entity_id }) => entity_id);
    };
    // The system's own sender may be at this company's events: they are left to it then.
    await expect.poll(heard).toEqual([open, next]);
  },
);
