/** 1,000 queued events to a receiver on this machine by one worker: how long, over how many connections. */
import { type Receiver, startReceiver, until } from "../support/receiver.ts";
import { type Bench, startBench } from "./bench-stack.ts";
import type { Report } from "./report.ts";

const events = 1_000;
const modules = ["delivery", "cod", "warehousing", "storefront", "carriers"];

export async function benchWebhooks(report: Report): Promise<void> {
  const bench = await startBench();
  try {
    await measure(bench, report, "five subscriptions", modules);
    await measure(bench, report, "one subscription", ["delivery"]);
    await besideSlow(bench, report);
  } finally {
    await bench.stop();
  }
}

/** From the wake-up to the last arrival; each event arrives once. */
async function measure(
  bench: Bench,
  report: Report,
  what: string,
  keys: string[],
): Promise<void> {
  const receiver = await startReceiver();
  try {
    for (const key of keys) await subscribe(bench, key, receiver.url);
    await queue(bench, keys, events);
    const began = performance.now();
    await wake(bench);
    await until(() => receiver.received.length >= events, 60_000);
    const seconds = (performance.now() - began) / 1000;
    const ids = new Set(receiver.received.map(({ headers }) => headers["webhook-id"]));
    if (ids.size !== events) throw new Error(`${ids.size} of ${events} arrived`);
    report.ratio({ what: `${events} events to ${what}`, value: seconds, atMost: 10, unit: "s" });
    report.ratio({
      what: `Most connections open to ${what}`,
      value: receiver.socketsPeak,
      atMost: keys.length * 4,
    });
  } finally {
    await end(bench, receiver);
  }
}

/** While one subscriber takes 15 s for every answer, another hears at once. */
async function besideSlow(bench: Bench, report: Report): Promise<void> {
  const [slow, quick] = await Promise.all([startReceiver(), startReceiver()]);
  slow.answer((response) => void setTimeout(() => response.end(), 15_000));
  try {
    await subscribe(bench, "delivery", slow.url);
    await subscribe(bench, "cod", quick.url);
    await queue(bench, ["delivery"], 50);
    await wake(bench);
    await until(() => slow.received.length >= 4);
    const began = performance.now();
    await queue(bench, ["cod"], 50);
    await wake(bench);
    await until(() => quick.received.length >= 50, 30_000);
    report.ratio({
      what: "50 events beside a subscriber that takes 15 s",
      value: (performance.now() - began) / 1000,
      atMost: 3,
      unit: "s",
    });
  } finally {
    await end(bench, slow);
    await quick.close();
  }
}

async function subscribe({ stack, tenantId }: Bench, key: string, url: string): Promise<void> {
  const [admin] = await stack.sql`select u.user_id, m.id as module_id
    from tenancy.tenant_user_roles u, tenancy.modules m
    where u.tenant_id = ${tenantId} and u.role_key = 'tenant_admin' and m.key = ${key} limit 1`;
  const token = await stack.jwtSign({ sub: admin.user_id, app_metadata: { tenant_id: tenantId } });
  const response = await fetch(`${stack.apiUrl}/webhooks/subscriptions`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ module_id: admin.module_id, url, event_types: ["*"] }),
  });
  if (!response.ok) throw new Error(await response.text());
}

async function queue({ stack, tenantId }: Bench, keys: string[], count: number): Promise<void> {
  await stack
    .sql`insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
    select ${tenantId}, m.key || '_thing.changed', m.key, m.key || '_thing', gen_random_uuid(), jsonb_build_object('n', n)
    from generate_series(1, ${count}::int) n,
      lateral (select (${keys}::text[])[1 + n % ${keys.length}::int] as key) m`;
}

async function wake({ stack }: Bench): Promise<void> {
  await fetch(`${stack.apiUrl}/webhooks/internal/dispatch`, {
    method: "POST",
    headers: { apikey: stack.secretKey },
  });
}

async function end({ stack }: Bench, receiver: Receiver): Promise<void> {
  receiver.answer((response) => response.end());
  await stack.sql`update integration.webhook_subscriptions set is_active = false`;
  await until(
    async () =>
      (await stack.sql`select from integration.webhook_events where claim_token is not null`)
        .length === 0,
    60_000,
  );
  await stack.sql`delete from integration.webhook_subscriptions`;
  await receiver.close();
}
