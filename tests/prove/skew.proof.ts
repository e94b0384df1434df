/**
 * Clocks that disagree: the functions two days ahead or behind, Postgres two days ahead or behind. Money and stock stay
 * right, work that is due is done, webhooks that failed are sent again, and whether a token is valid is decided by one
 * clock, that of the functions.
 *
 * Needs a C compiler for the library that moves the clock of single processes. Without one the proof is skipped.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { clockAhead, clockLibrary, clockNeeds } from "../repeat/clock.ts";
import { sql } from "../support/db.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { subscribe } from "../support/webhooks.ts";
import { Caller, lanes } from "./caller.ts";
import { Facts } from "./facts.ts";
import { allBreaches } from "./invariants.ts";
import { Actor, operations } from "./operations.ts";
import { figure, of, say, seed } from "./proof.ts";
import { startWorld } from "./world.ts";

const library = clockLibrary();
if (!library) say(`skipped: ${clockNeeds}`);

const seconds = of({ test: 4, short: 6, full: 60 });
const hour = 3_600;

const clock = (days: number) => clockAhead(library!, days * 86_400);

let receiver: Receiver;
beforeAll(async () => void (receiver = await startReceiver()));
afterAll(() => receiver.close());

test.skipIf(!library).each(
  [
    ["functions", 2],
    ["functions", -2],
    ["database", 2],
    ["database", -2],
  ] as const,
)(`the %s %i days off (seed ${seed})`, async (whose, days) => {
  const world = await startWorld(
    whose === "functions" ? { env: clock(days) } : { databaseEnv: clock(days) },
  );
  try {
    const [place] = world.places;
    const [{ now }] = await sql`select extract(epoch from clock_timestamp())::float8 as now`;
    const offDays = Math.round((now - Date.now() / 1000) / 86_400) || 0;
    expect(offDays).toBe(whose === "database" ? days : 0);
    const caller = new Caller(world.ports);
    const ask = async (expires: number) => {
      const token = await world.stack.jwtSign({
        sub: place.admin.id,
        app_metadata: { tenant_id: place.id },
        exp: Math.floor(Date.now() / 1000) + expires,
      });
      const path = `/delivery/wallets/${place.drivers[0].wallet}/transactions`;
      return (await caller.surely({ token, method: "GET", path, key: false })).status;
    };
    // By the clock of the functions alone.
    const shift = whose === "functions" ? days * 86_400 : 0;
    expect([await ask(shift + hour), await ask(shift - hour)]).toEqual([200, 401]);

    // A failed attempt is repeated after five seconds of the database's clock.
    await subscribe(place.tenant, receiver.url);
    receiver.received.length = 0;
    receiver.answer((response, number) => response.writeHead(number === 1 ? 500 : 200).end());

    const facts = new Facts();
    const actor = new Actor(place, caller, facts);
    const steps = operations(seed);
    const until = performance.now() + seconds * 1000;
    await lanes(8, () => performance.now() < until, () => actor.run(steps.next().value!));
    // An attempt that failed once counts as due before its time.
    const due = () =>
      sql`select kind, status, last_error from app.jobs where status <> 'done' and run_at <= clock_timestamp()
        union all
        select event_type, status, error_message from integration.webhook_events where status in ('pending', 'retrying')
        union all
        select event_type, 'not handed out', null from integration.system_events where not is_dispatched`;
    const patience = Date.now() + 60_000;
    while ((await due()).length > 0 && Date.now() < patience) {
      for (const path of ["delivery/internal/jobs", "webhooks/internal/dispatch"]) {
        await fetch(`http://127.0.0.1:${world.ports()[0]}/${path}`, {
          method: "POST",
          headers: { apikey: world.stack.secretKey },
        }).then((response) => response.body?.cancel());
      }
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    const left = await due();
    const { lost, doubled, unacknowledged } = await facts.compare(place.id);
    const breaches = await allBreaches(sql);
    const wrong = [...facts.wrong, ...lost, ...doubled, ...unacknowledged, ...breaches];
    figure({
      what:
        `${whose} ${days} days off: wrong, lost, doubled, unacknowledged, invariants broken, of ${facts.acknowledged} calls`,
      asked: "0",
      reached: wrong.length,
      holds: wrong.length === 0,
    });
    figure({
      what: `${whose} ${days} days off: work that is due and not done`,
      asked: "0",
      reached: left.length,
      holds: left.length === 0,
    });
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(left.slice(0, 3)).toEqual([]);
    expect(facts.acknowledged).toBeGreaterThan(10);
    const [first, ...later] = receiver.received.map(({ headers }) => headers["webhook-id"]);
    expect(later).toContain(first);
  } finally {
    await world.stop();
  }
}, 240_000);
