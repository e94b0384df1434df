/** From when on a subscription hears: of what is committed after it, whenever that was begun. */
import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newTenant } from "../../support/people.ts";
import { type Receiver, startReceiver } from "../../support/receiver.ts";
import { whileOpen } from "../../support/overlapping.ts";
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

test("one call hands out ten batches, and leaves the other companies to the next", async () => {
  const tenants = await Promise.all(Array.from({ length: 12 }, () => newTenant()));
  const ids = tenants.map(({ id }) => id);
  await whileOpen(async (session) => {
    await session`insert into integration.webhook_subscriptions (tenant_id, module_id, url, secret, event_types)
      select id, (select m.id from tenancy.modules m limit 1), ${receiver.url}, 'none', '{*}' from unnest(${ids}::uuid[]) id`;
    await session`insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id)
      select id, 'delivery.failed', 'delivery', 'delivery', gen_random_uuid() from unnest(${ids}::uuid[]) id`;
    const [{ first }] = await session`select integration.webhooks_fan_out(1) as first`;
    expect(first.events).toBe(10);
    const [{ second }] = await session`select integration.webhooks_fan_out(1) as second`;
    expect(second.events).toBeGreaterThanOrEqual(2);
  });
});
