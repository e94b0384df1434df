/**
 * The sender's processes are killed again and again while half of the subscribers hang, drip, send elsewhere or hang up, and
 * people ask for attempts by hand: every event is delivered, or failed after as many attempts as the schedule has;
 * nothing stays claimed by the dead; the others get theirs in time.
 */
import type { ServerResponse } from "node:http";
import { Webhook } from "svix";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Stack } from "../../supabase/local/stack.ts";
import { pick, randomFrom } from "../contract/hostile.ts";
import { moveTo, sql } from "../support/db.ts";
import { startOwnStack } from "../support/own-stack.ts";
import { newTenant, type Tenant } from "../support/people.ts";
import { type Receiver, startReceiver, until, verified } from "../support/receiver.ts";
import { subscribe } from "../support/webhooks.ts";
import { figure, of, say, seed } from "./proof.ts";

const seconds = of({ test: 15, short: 40, full: 300 });
const kills = of({ test: 2, short: 4, full: 20 });
/** The first attempt and seven more. */
const schedule = 8;
/** How long the dead keep what they had in hand. */
const leaseMs = 10_000;
const rounds = of({ test: 1, short: 1, full: 3 });

/** The behaviour of a subscriber until it is repaired. */
const evils: Record<string, (response: ServerResponse, trap: string) => void> = {
  hang: () => {},
  drip(response) {
    response.writeHead(200, { "content-type": "text/plain" });
    const drops = setInterval(() => response.write("."), 300);
    response.on("close", () => clearInterval(drops));
  },
  redirect: (response, trap) => void response.writeHead(307, { location: trap }).end(),
  reset: (response) => void response.socket?.resetAndDestroy(),
};

interface Subscriber {
  tenant: Tenant;
  id: string;
  secret: string;
  evil?: keyof typeof evils;
  /** From the so many-th attempt at an event on they take it. */
  mendedAfter: number;
  /** Each event's arrivals, in milliseconds of the clock. */
  arrivals: Map<string, number[]>;
}

let stack: Stack;
let leave: () => Promise<void>;
let receiver: Receiver;
let trap: Receiver;
const subscribers = new Map<string, Subscriber>();
beforeAll(async () => {
  [stack, receiver, trap] = await Promise.all([
    startOwnStack({ workers: 2, env: { BARID_LOG_LEVEL: "silent" } }),
    startReceiver(),
    startReceiver(),
  ]);
  leave = moveTo(stack);
  for (let round = 0; round < rounds; round++) {
    for (const evil of Object.keys(evils)) {
      const slow = evil === "hang" || evil === "drip";
      // A subscriber that stays slow takes eight times fifteen seconds for each event.
      const toTheEnd = slow ? round === 1 : round !== 2;
      await join({ evil, mendedAfter: toTheEnd ? Infinity : 2 });
      await join({ mendedAfter: 0 });
    }
  }
}, 120_000);
afterAll(async () => {
  await Promise.all([receiver?.close(), trap?.close()]);
  await leave?.();
  await stack?.stop();
});

async function join(kind: Pick<Subscriber, "evil" | "mendedAfter">): Promise<void> {
  const tenant = await newTenant();
  const { id, secret } = await subscribe(tenant, receiver.url);
  subscribers.set(tenant.id, { tenant, id, secret, arrivals: new Map(), ...kind });
}

const wake = () =>
  fetch(`${stack.url}/functions/v1/webhooks/internal/dispatch`, {
    method: "POST",
    headers: { apikey: stack.secretKey },
  }).then((response) => response.body?.cancel(), () => {});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Repeats something until the last word. */
async function over(ms: number, going: () => boolean, work: () => Promise<unknown>): Promise<void> {
  while (going()) {
    await work();
    await pause(ms);
  }
}

async function happen({ tenant }: Subscriber): Promise<void> {
  await sql`insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
    values (${tenant.id}, 'delivery.moved', 'delivery', 'delivery', gen_random_uuid(),
      jsonb_build_object('at', ${Date.now()}::float8))`;
}

/** The pauses between attempts pass in a moment. */
const hurry = () =>
  sql`update integration.webhook_events set next_attempt_at = now() where next_attempt_at > now() and claim_token is null`;

const unfinished = async (): Promise<number> =>
  (await sql`select count(*)::int as n from integration.webhook_events
    where status in ('pending', 'retrying') or claim_token is not null or next_attempt_at is not null`)[
    0
  ].n +
  (await sql`select count(*)::int as n from integration.system_events where not is_dispatched`)[0]
    .n;

test(
  `${kills} kills of senders in ${seconds} s, half of the subscribers broken (seed ${seed})`,
  async () => {
    const random = randomFrom(seed);
    const broken: string[] = [];
    receiver.answer((response, _number, one) => {
      const subscriber = subscribers.get(one.body.tenant_id)!;
      const id = one.headers["webhook-id"];
      try {
        verified(subscriber.secret, one);
        new Webhook(subscriber.secret).verify(one.raw, one.headers);
      } catch (error) {
        broken.push(`${id}: ${error}`);
      }
      const arrivals = subscriber.arrivals.get(id) ?? [];
      subscriber.arrivals.set(id, [...arrivals, one.at]);
      const mended = arrivals.length >= subscriber.mendedAfter;
      if (!subscriber.evil || mended) response.end("ok");
      else evils[subscriber.evil](response, trap.url);
    });
    const all = [...subscribers.values()];
    const healthy = all.filter(({ evil }) => !evil);
    const evil = all.filter(({ evil }) => evil);
    const quick = evil.filter(({ evil }) => evil === "redirect" || evil === "reset");
    const began = performance.now();
    const elapsed = () => (performance.now() - began) / 1000;
    let going = true;
    let killed = 0;
    let byHand = 0;
    let stuckMs = 0;
    // A slow subscriber gets one event, repeatedly; one that fails quickly gets a few more.
    for (const subscriber of evil) await happen(subscriber);
    const killing = async () => {
      while (killed < kills) {
        await pause(Math.max(0, (killed + 1) * seconds / (kills + 1) - elapsed()) * 1000);
        // Whose process is just being started cannot be killed.
        while (stack.workers.pids.length < 2) await pause(20);
        stack.killWorker(killed++ % 2);
      }
    };
    const phases = [
      over(250, () => elapsed() < seconds, () => Promise.all(healthy.map(happen))),
      over(seconds * 1000 / 20, () => elapsed() < seconds, () => Promise.all(quick.map(happen))),
      killing(),
      over(1_000, () => going, async () => {
        const failed = await sql<{ id: string; tenant_id: string }[]>`
        select id, tenant_id from integration.webhook_events where status = 'failed'`;
        if (!failed.length || elapsed() > seconds) return;
        const { id, tenant_id } = pick(random, [...failed]);
        // A killed process answers nobody.
        await subscribers.get(tenant_id)!.tenant.admin.post(`/webhooks/events/${id}/retry`)
          .then(({ status }) => byHand += status === 200 ? 1 : 0, () => {});
      }),
    ];
    const service = [
      over(100, () => going, wake),
      over(500, () => going, hurry),
      over(500, () => going, async () => {
        const [{ ms }] =
          await sql`select coalesce(max(extract(epoch from clock_timestamp() - claimed_at)) * 1000, 0)::float8 as ms
        from integration.webhook_events where claim_token is not null and next_attempt_at is not null`;
        stuckMs = Math.max(stuckMs, ms);
      }),
    ];
    await Promise.all(phases.slice(0, 3));
    // A manual attempt of a process that died ends after five minutes, by the clock. No attempt of one
    // that lives takes half a minute.
    await until(async () => {
      await sql`update integration.webhook_events set claimed_at = claimed_at - interval '5 minutes'
      where claim_token is not null and next_attempt_at is null and claimed_at < clock_timestamp() - interval '30 seconds'`;
      await stack.cron.runNow("barid_webhooks_release");
      return await unfinished() === 0;
    }, of({ test: 240_000, short: 300_000, full: 480_000 }));
    going = false;
    await Promise.all([...phases, ...service]);

    const events = await sql<
      {
        id: string;
        tenant_id: string;
        status: string;
        attempts: number;
        retry_count: number;
        automatic: number;
        refused: number;
      }[]
    >`select e.id, e.tenant_id, e.status, e.attempts, e.retry_count,
      count(a.id) filter (where not a.is_manual)::int as automatic,
      count(a.id) filter (where coalesce(a.http_status_code, 0) not between 200 and 299 or a.error_message is not null)::int as refused
    from integration.webhook_events e
    left join integration.webhook_attempts a on a.tenant_id = e.tenant_id and a.event_id = e.id group by e.id`;
    const wrong: string[] = [];
    let again = 0;
    for (const { id, tenant_id, status, attempts, retry_count, automatic, refused } of events) {
      const { evil, mendedAfter, arrivals } = subscribers.get(tenant_id)!;
      const came = arrivals.get(id)?.length ?? 0;
      const told =
        `${
          evil ?? "healthy"
        }, mended after ${mendedAfter}: ${status} after ${attempts} attempts, ` +
        `${automatic} written down, ${refused} failed of them, ${came} arrived`;
      const should = evil && mendedAfter === Infinity ? "failed" : "success";
      const right = status === should && attempts === automatic && retry_count === refused &&
        came >= attempts && (status === "success" || attempts === schedule) &&
        (status === "failed" || refused <= mendedAfter);
      if (!right) wrong.push(`${id}: ${told}`);
      again += Math.max(0, came - automatic);
    }
    const [{ happened }] =
      await sql`select count(*)::int as happened from integration.system_events where tenant_id = any (${[
        ...subscribers.keys(),
      ]})`;
    const times = healthy.flatMap(({ arrivals }) => [...arrivals.values()].map(([first]) => first));
    expect(times.length).toBeGreaterThan(0);
    const delays = receiver.received.filter(({ body, headers, at }) => {
      const { evil, arrivals } = subscribers.get(body.tenant_id)!;
      return !evil && arrivals.get(headers["webhook-id"])![0] === at;
    }).map(({ body, at }) => at - body.data.at).sort((a, b) => a - b);
    const p95 = Math.round(delays[Math.floor(delays.length * 0.95)]);
    say(
      `${killed} kills, ${byHand} attempts by hand, ${again} sent again, slowest ${
        delays.at(-1)
      } ms`,
    );
    figure({
      what: "kills of senders",
      asked: `at least ${kills}`,
      reached: killed,
      holds: killed >= kills,
    });
    figure({
      what:
        `events to ${all.length} subscribers, half of them broken: neither delivered nor failed after ${schedule} attempts`,
      asked: `0 of ${happened}`,
      reached: `${wrong.length + happened - events.length} of ${happened}`,
      holds: wrong.length === 0 && events.length === happened,
    });
    figure({
      what: "longest that an event was in the hands of a sender, dead or alive, s",
      asked: `at most ${leaseMs / 1000}, its lease, and a look`,
      reached: (stuckMs / 1000).toFixed(1),
      holds: stuckMs <= leaseMs + 3_000,
    });
    figure({
      what: `p95 from event to arrival at healthy subscribers, ms, of ${delays.length}`,
      asked: "at most 2000",
      reached: p95,
      holds: p95 <= 2_000,
    });
    figure({
      what: "redirects followed",
      asked: "0",
      reached: trap.received.length,
      holds: !trap.received.length,
    });
    figure({
      what: "not genuine to standardwebhooks or svix",
      asked: "0",
      reached: broken.length,
      holds: !broken.length,
    });
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(events.length).toBe(happened);
    expect(trap.received).toEqual([]);
    expect(broken.slice(0, 5)).toEqual([]);
    expect(killed).toBe(kills);
    expect(stuckMs).toBeLessThanOrEqual(leaseMs + 3_000);
  },
  of({ test: 300_000, short: 420_000, full: 900_000 }),
);
