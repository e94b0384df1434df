/**
 * Many ask at the same moment for another attempt at the same failed deliveries, while the worker sends others: each
 * is sent once, under its id, genuine to two published clients; whoever came too late is told so.
 */
import { Webhook } from "svix";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nobody } from "../support/api.ts";
import { sql } from "../support/db.ts";
import { newTenant, type Tenant } from "../support/people.ts";
import { type Receiver, startReceiver, until, verified } from "../support/receiver.ts";
import { subscribe, wake } from "../support/webhooks.ts";
import { pick, randomFrom } from "../contract/hostile.ts";
import { figure, of, say, seed } from "./proof.ts";

const failed = of({ test: 6, short: 25, full: 100 });
const retries = of({ test: 20, short: 40, full: 100 });
const flood = of({ test: 200, short: 3_000, full: 30_000 });

let tenant: Tenant;
let receiver: Receiver;
let subscription: { id: string; secret: string };
beforeAll(async () => {
  [tenant, receiver] = await Promise.all([newTenant(), startReceiver()]);
  subscription = await subscribe(tenant, receiver.url);
});
afterAll(() => receiver.close());

test("of all who retry a failed delivery one sends it", async () => {
  const ids = (await sql<{ id: string }[]>`
    insert into integration.webhook_events (id, tenant_id, subscription_id, event_type, entity_key, body, status, next_attempt_at)
    select n.id, ${tenant.id}, ${subscription.id}, 'delivery.moved', n.id::text,
      integration.webhook_body(n.id, 'delivery.moved', now(), ${tenant.id}, jsonb_build_object('failed', true)), 'failed', null
    from (select gen_random_uuid() as id from generate_series(1, ${failed})) n returning id`).map((
    { id },
  ) => id);
  // Slow enough that every caller arrives while the first is sending.
  receiver.answer((response, _number, { body }) =>
    setTimeout(() => response.end(), body.data.failed ? 250 : 0)
  );
  const random = randomFrom(seed);
  const queue = ids.flatMap((id) => Array.from({ length: retries }, () => id))
    .map((id) => ({ id, place: random() })).sort((a, b) => a.place - b.place);
  // Those of one delivery together, half of the time: that is when it hurts.
  if (pick(random, [true, false])) queue.sort((a, b) => a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
  await happen(20);
  let working = true;
  const worker = (async () => {
    while (working) {
      await wake(nobody);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  const statuses: Record<string, number> = {};
  const caller = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) {
      const { status, body } = await tenant.admin.post(`/webhooks/events/${next.id}/retry`);
      const what = `${status} ${status === 200 ? body.status : body.code}`;
      statuses[what] = (statuses[what] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: of({ test: 20, short: 40, full: 100 }) }, caller));
  await until(() => receiver.received.length >= failed + 20);
  working = false;
  await worker;
  const sends = receiver.received.filter(({ body }) => body.data.failed);
  const late = statuses["409 webhook_event_not_failed"] ?? 0;
  figure({
    what: `${failed} failed deliveries × ${retries} retries at once: sent`,
    asked: String(failed),
    reached: sends.length,
    holds: sends.length === failed,
  });
  figure({
    what: "told that they came too late",
    asked: String(failed * (retries - 1)),
    reached: late,
    holds: late === failed * (retries - 1),
  });
  expect(statuses).toEqual({
    "200 success": failed,
    "409 webhook_event_not_failed": failed * (retries - 1),
  });
  expect(sends.map(({ headers }) => headers["webhook-id"]).sort()).toEqual([...ids].sort());
  const [{ attempts }] =
    await sql`select count(*)::int as attempts from integration.webhook_attempts
    where tenant_id = ${tenant.id} and is_manual`;
  expect(attempts).toBe(failed);
  expect(forged()).toEqual([]);
}, of({ test: 60_000, short: 120_000, full: 300_000 }));

test("what happens goes out at once, each genuine, none lost, none twice", async () => {
  const shops = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const own = await newTenant();
      const { secret } = await subscribe(own, receiver.url);
      return { id: own.id, secret };
    }),
  );
  const secrets = new Map(shops.map(({ id, secret }) => [id, secret]));
  receiver.answer((response) => response.end());
  receiver.received.length = 0;
  const perShop = Math.ceil(flood / shops.length);
  for (const { id } of shops) await happen(perShop, id);
  const total = perShop * shops.length;
  const began = performance.now();
  await wake(nobody);
  await until(async () => {
    await wake(nobody);
    return receiver.received.length >= total;
  }, of({ test: 30_000, short: 90_000, full: 240_000 }));
  const seconds = (performance.now() - began) / 1000;
  say(`${total} in ${seconds.toFixed(1)} s`);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const ids = new Set(receiver.received.map(({ headers }) => headers["webhook-id"]));
  const broken = forged(secrets);
  figure({
    what: `${total} events sent by one process`,
    asked: "at least 500 a second",
    reached: `${Math.round(total / seconds)} a second`,
    holds: total / seconds >= 500,
  });
  figure({ what: "lost", asked: "0", reached: total - ids.size, holds: ids.size === total });
  figure({
    what: "sent twice",
    asked: "0",
    reached: receiver.received.length - ids.size,
    holds: receiver.received.length === ids.size,
  });
  figure({
    what: "refused by one of two published clients (standardwebhooks, svix)",
    asked: "0",
    reached: broken.length,
    holds: broken.length === 0,
  });
  expect(ids.size).toBe(total);
  expect(receiver.received).toHaveLength(total);
  expect(broken).toEqual([]);
}, of({ test: 60_000, short: 120_000, full: 360_000 }));

/** Events that somebody else wrote: the worker finds them. */
async function happen(count: number, tenantId = tenant.id): Promise<void> {
  await sql`insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
    select ${tenantId}, 'delivery.moved', 'delivery', 'delivery', gen_random_uuid(), jsonb_build_object('n', n)
    from generate_series(1, ${count}::integer) n`;
}

/** The ids of deliveries that a published client would not believe. */
function forged(secrets = new Map([[tenant.id, subscription.secret]])): string[] {
  return receiver.received.filter((one) => {
    const secret = secrets.get(one.body.tenant_id)!;
    try {
      verified(secret, one);
      new Webhook(secret).verify(one.raw, one.headers);
      return false;
    } catch {
      return true;
    }
  }).map(({ headers }) => headers["webhook-id"]);
}
