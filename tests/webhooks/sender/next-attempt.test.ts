/** The sender stays until the next attempt is due, on a clock of the test's own: nothing else wakes it. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type * as Secrets from "../../../shared/outbound/secrets.ts";
import type { runSender as RunSender } from "../../../functions/webhooks/sender/run-sender.ts";
import type { Clock } from "../../../shared/runtime/clock.ts";
import { newMigratedDatabase, type OwnDatabase } from "../../support/database.ts";
import { type Receiver, startReceiver } from "../../support/receiver.ts";

let database: OwnDatabase;
let receiver: Receiver;
let runSender: typeof RunSender;
let secrets: typeof Secrets;
beforeAll(async () => {
  [database, receiver] = await Promise.all([
    newMigratedDatabase(),
    startReceiver(),
  ]);
  const { host, pathname } = new URL(database.url);
  // Read once, when the first of these modules is loaded; files after this one load them anew.
  vi.resetModules();
  vi.stubEnv("BARID_DB_URL", `postgresql://barid_api:barid-local@${host}${pathname}`);
  vi.stubEnv("BARID_ALLOW_LOCAL_WEBHOOKS", "1");
  secrets = await import("../../../shared/outbound/secrets.ts");
  ({ runSender } = await import("../../../functions/webhooks/sender/run-sender.ts"));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  vi.resetModules();
  await receiver.close();
  await database.close();
});

/** A subscription of a new tenant that nothing has been told yet. */
async function newSubscription(): Promise<{ id: string; tenant: string }> {
  const [tenant, id] = [randomUUID(), randomUUID()];
  const secret = await secrets.seal(secrets.newWebhookSecret(), `webhook/${id}`);
  await database.sql`insert into tenancy.tenants (id, name, slug, status)
    values (${tenant}, '{"en": "T"}', ${"t-" + tenant}, 'active')`;
  await database
    .sql`insert into integration.webhook_subscriptions (id, tenant_id, module_id, url, event_types, secret)
    select ${id}, ${tenant}, m.id, ${receiver.url}, '{*}', ${secret} from tenancy.modules m where m.key = 'delivery'`;
  return { id, tenant };
}

/** Something happens to a thing of the tenant. */
const happens = (tenant: string, thing = randomUUID()) =>
  database
    .sql`insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id)
    values (${tenant}, 'delivery.failed', 'delivery', 'delivery', ${thing})`;

/** As if `ms` had passed in the database: everything planned is so much nearer. */
const passes = (ms: number) =>
  database.sql`update integration.webhook_events
    set next_attempt_at = next_attempt_at - ${ms} * interval '1 millisecond' where next_attempt_at is not null`;

/** A clock that nobody waits for: a rest is over at once, here and in the database. It tells when each attempt came. */
function newClock(): Clock & { rests: number[]; attempts: number[] } {
  let now = 0;
  const clock = {
    rests: [] as number[],
    attempts: [] as number[],
    now: () => now,
    async rest(ms: number) {
      clock.rests.push(ms);
      now += ms;
      await passes(ms);
    },
  };
  receiver.answer((response) => {
    clock.attempts.push(now);
    response.writeHead(500).end();
  });
  return clock;
}

const never = () => Promise.reject(new Error("nothing was left to hand over"));

beforeEach(() => database.sql`update integration.webhook_subscriptions set is_active = false`);

test("what failed is tried again after 5 seconds, though nothing else happens; then not for 5 minutes", async () => {
  const { tenant } = await newSubscription();
  const clock = newClock();
  await happens(tenant);
  expect(await runSender(clock, never)).toEqual({ events: 1, sent: 0, failed: 2 });
  // It rests for what is left of the five seconds once the failure is written down, and for nothing else.
  expect(clock.rests).toHaveLength(1);
  expect(clock.rests[0]).toBeLessThanOrEqual(5_000);
  expect(clock.attempts).toEqual([0, clock.rests[0]]);
});

test("the third attempt comes after 5 minutes: woken by the minute's look, the sender stays until then", async () => {
  const { id, tenant } = await newSubscription();
  const clock = newClock();
  await happens(tenant);
  await runSender(clock, never);
  const [{ wait }] = await database
    .sql`select extract(epoch from next_attempt_at - now())::float as wait
    from integration.webhook_events where subscription_id = ${id}`;
  expect(Math.round(wait)).toBe(300);
  const waiting = async () =>
    (await database.sql`select integration.webhooks_waiting() as waiting`)[0].waiting;
  await passes(200_000);
  expect(await waiting()).toBe(false);
  await passes(50_000);
  expect(await waiting()).toBe(true);
  // 50 seconds are longer than a run: it is handed over once and ends on time.
  let handed = 0;
  const later = newClock();
  await runSender(later, async () => {
    handed++;
    expect(later.attempts).toEqual([]);
    await runSender(later, never);
  });
  expect(handed).toBe(1);
  expect(later.rests[0]).toBe(40_000);
  expect(later.attempts).toEqual([later.rests[0] + later.rests[1]]);
  expect(later.attempts[0]).toBeLessThanOrEqual(50_000);
});

test("a run whose time is over hands over at once, whatever a slow subscriber still has in hand", async () => {
  const [slow, quick] = [await newSubscription(), await newSubscription()];
  let now = 0;
  const clock = { ...newClock(), now: () => now };
  const answers: (() => void)[] = [];
  receiver.answer((response) => {
    answers.push(() => response.end());
    // The slow one's is not answered; the time of the run is over while it waits.
    if (answers.length === 1) now = 40_000;
    else response.end();
  });
  await happens(slow.tenant);
  const ran = await runSender(clock, async () => {
    expect(answers).toHaveLength(1);
    await happens(quick.tenant);
    expect(await runSender({ now: () => 0, rest: clock.rest }, never)).toMatchObject({ events: 1 });
    expect(answers).toHaveLength(2);
    answers[0]!();
  });
  expect(ran).toEqual({ events: 1, sent: 1, failed: 0 });
});

test("a call while it waits is answered at once", async () => {
  const { tenant } = await newSubscription();
  const clock = newClock();
  const { rest } = clock;
  const things: string[] = [];
  clock.rest = async (ms, woken) => {
    if (things.length > 0) return await rest(ms, woken);
    things.push("new");
    await happens(tenant);
    void runSender(clock, never);
    // Would not end otherwise.
    await woken;
  };
  await happens(tenant);
  await runSender(clock, never);
  // The first, the one that came meanwhile, and both again when they were due.
  expect(clock.attempts).toHaveLength(4);
  expect(clock.attempts.slice(0, 2)).toEqual([0, 0]);
  expect(clock.attempts[2]).toBe(clock.rests[0]);
});

test("a run that another has relieved ends; what it knew the other knows", async () => {
  const { tenant } = await newSubscription();
  const clock = newClock();
  const { rest } = clock;
  clock.rest = async (ms, woken) => {
    await rest(ms, woken);
    await database
      .sql`update integration.webhook_events set next_attempt_at = now() + interval '9 seconds'
      where next_attempt_at is not null`;
    await database.sql`update integration.sender_watch set watcher = gen_random_uuid()`;
  };
  await happens(tenant);
  await runSender(clock, never);
  expect(clock.attempts).toEqual([0]);
  expect(clock.rests).toHaveLength(1);
});

describe("integration.webhooks_watch", () => {
  const watch = async (watcher: string, take: boolean) =>
    (await database.sql`select integration.webhooks_watch(${watcher}, ${take}) as due`)[0].due;

  test("knows what can be claimed: no blocked event, nobody else's work, nothing later than a minute", async () => {
    const { id, tenant } = await newSubscription();
    const [me, other] = [randomUUID(), randomUUID()];
    const add = (entity: string, due: string, more: { claimed?: string } = {}) =>
      database.sql`insert into integration.webhook_events
        (tenant_id, subscription_id, event_type, entity_key, body, next_attempt_at, claim_token, claimed_at)
        values (${tenant}, ${id}, 'delivery.failed', ${entity}, '{}', now() + ${due}::interval,
          ${more.claimed ? randomUUID() : null}, now() - ${more.claimed ?? null}::interval)`;
    expect(await watch(me, true)).toBeNull();
    await add("a", "2 minutes");
    await add("a", "0 seconds");
    expect(await watch(me, false)).toBeNull();
    await add("b", "30 seconds");
    const due = await watch(me, false);
    expect(due).toBeGreaterThan(20_000);
    expect(due).toBeLessThanOrEqual(30_000);
    expect(await watch(other, false)).toBeNull();
    await add("c", "0 seconds", { claimed: "1 second" });
    expect(await watch(other, true)).toBeNull();
    await database
      .sql`update integration.webhook_events set claimed_at = now() - interval '1 hour' where entity_key = 'c'`;
    expect(await watch(other, false)).toBeGreaterThan(20_000);
    expect(await watch(me, false)).toBeNull();
  });
});
