/** The ends of a span of time belong to it, as those of every filter do: of what is sent again, too. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";
import { type Receiver, startReceiver, until } from "../../support/receiver.ts";
import { deliveriesOf, publish, subscribe } from "../../support/webhooks.ts";

const times = ["2026-03-09T10:00:00Z", "2026-03-09T11:00:00.123456Z", "2026-03-09T12:00:00Z"];
const [since, last] = times;
let tenant: Tenant;
let receiver: Receiver;
let subscription: string;

beforeAll(async () => {
  [tenant, receiver] = await Promise.all([newTenant(), startReceiver()]);
  subscription = (await subscribe(tenant, receiver.url)).id;
  for (const n of times.keys()) await publish(nobody, tenant, { event_data: { n } });
  await until(async () => {
    const rows = await deliveriesOf(subscription);
    return rows.length === times.length && rows.every(({ status }) => status === "success");
  });
  for (const table of ["integration.system_events", "integration.webhook_events"]) {
    await sql.unsafe(
      `update ${table} e set created_at = t.at::timestamptz
       from (select id, row_number() over (order by position) as place from ${table} where tenant_id = $1) n
       join unnest($2::text[]) with ordinality t (at, place) using (place) where e.id = n.id`,
      [tenant.id, times],
    );
  }
});
afterAll(() => receiver.close());

test("events are replayed to the moment of the last one", async () => {
  const system = await newSystemAdmin();
  const replayed = await system.post("/system/events/replay", {
    tenant_id: tenant.id,
    since,
    until: last,
    dry_run: true,
  });
  expect(replayed).toSucceed(200);
  expect(replayed.body.events).toBe(2);
});

test("what failed is recovered to the moment of the last one", async () => {
  await sql`update integration.webhook_events set status = 'failed', next_attempt_at = null
    where subscription_id = ${subscription}`;
  const recovered = await tenant.admin.post(`/webhooks/subscriptions/${subscription}/recover`, {
    since,
    until: last,
  });
  expect(recovered).toSucceed(200);
  expect(recovered.body.requeued).toBe(2);
});

test("an event that is replayed when its delivery is forgotten has the webhook-id that it had", async () => {
  const idsOf = async () => {
    await until(async () => {
      const rows = await deliveriesOf(subscription);
      return rows.length === times.length &&
        rows.every(({ status }) => ["success", "failed"].includes(status));
    });
    return (await sql`select id, system_event_id, body::jsonb ->> 'id' as said
      from integration.webhook_events where subscription_id = ${subscription} order by system_event_id`)
      .map((row) => ({ ...row }));
  };
  const before = await idsOf();
  await sql`select integration.webhooks_purge()`;
  expect(await deliveriesOf(subscription)).toEqual([]);
  const system = await newSystemAdmin();
  const replayed = await system.post("/system/events/replay", {
    tenant_id: tenant.id,
    since,
    until: times.at(-1),
    dry_run: false,
  });
  expect(replayed.body).toMatchObject({ events: 3, created: 3, requeued: 0 });
  const after = await idsOf();
  expect(after).toEqual(before);
  for (const { id, said } of after) expect(said).toBe(id);
});
