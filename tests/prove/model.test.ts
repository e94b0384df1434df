/**
 * Random histories of cash, wallets, parcels, stock and orders against a model: one operation after the other, and several at
 * the same moment, which must have happened in some order. After every step the database is what the model says, and every
 * invariant of the tenant holds; those that read whole tables are asked at the end. An operation that the histories never
 * did proves nothing, so each is counted.
 */
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openReader, sql } from "../support/db.ts";
import { newAddress, newProcessingPoint } from "../support/make.ts";
import { saveSettings } from "../support/people.ts";
import { newBin, newWarehouse, stockIn } from "../support/warehouses.ts";
import { Caller } from "./caller.ts";
import { allBreaches, ofTenant, openBreaches } from "./invariants.ts";
import { explanations } from "./model/apply.ts";
import { begin, type Beginning, beginnings } from "./model/begin.ts";
import { die, type Draft, draft, operation, returnName, towards } from "./model/draws.ts";
import { customers, drivers, type Known } from "./model/draws/draw.ts";
import { Real } from "./model/real.ts";
import { seen, shown } from "./model/seen.ts";
import { type Of, type Op, types } from "./model/ops.ts";
import { returnWays, type State } from "./model/state.ts";
import { figure, of, say, seed, size } from "./proof.ts";
import { newPlace, startWorld, type World } from "./world.ts";

/** Histories continue until so many steps were made and each operation was done; in full, or until time is up. */
const stepsMin = of({ brief: 24, test: 240, short: 1_000, full: 60_000 });
/** No more than these, if an operation is never done. */
const stepsMax = of({ test: 3_000, short: 6_000, full: 300_000 });
const commandsMax = 300;
const limitMs = of({ test: Infinity, short: Infinity, full: 100 * 60_000 });
/** So many histories run side by side, each in a tenant of its own: one waits for Postgres while the other thinks. */
const lanes = of({ test: 1, short: 2, full: 2 });
const [funds, units] = [60_000, 12];

let world: World;
/** The connection that looks at the database after every step. */
let reader: ReturnType<typeof openReader>;
let breachesOf: (tenant: string) => Promise<string[]>;
beforeAll(async () => {
  // A connection plans each function anew: with as many as there are operations at the same moment, not more.
  world = await startWorld({ tenants: 0, env: { BARID_DB_POOL: "4" } });
  reader = openReader();
  breachesOf = await openBreaches(reader);
}, 120_000);
afterAll(async () => {
  await reader?.end();
  await world?.stop();
});

/** How often each operation was done, and how often it was refused with which code. */
const done: Record<string, number> = {};
const refused: Record<string, number> = {};
const ways = returnWays.map((way) => [way, returnName(way)] as const);
const all = [...types, ...beginnings, "again", ...ways.map(([, said]) => said)];
const never = () => all.filter((what) => !done[what]);
let steps = 0;
/** A history of the brief form is too short for all of them. */
const eachIsAsked = size !== "brief";
/** The operations and returns that have to be made still. */
const lacking = () => eachIsAsked && steps >= stepsMin ? never() : [];
const enough = () => steps >= stepsMin && !(eachIsAsked && never().length) || steps >= stepsMax;

/** Makes one of the records that operations need. */
class Begin implements fc.AsyncCommand<Known, Real> {
  constructor(private readonly what: Beginning, private readonly dice: readonly number[]) {}
  check = () => !enough();
  async run(known: Known, real: Real): Promise<void> {
    // Most of those that chance has not made by then wait for a driver.
    const what = lacking().length && this.dice[2] % 3 !== 1 ? "load" : this.what;
    if (!await begin(what, this.dice, known, real)) return;
    count(done, what);
    await compare(real, known.state);
  }
  toString = () => `${this.what}(${this.dice})`;
}

/** One operation, or several at the same moment. */
class Do implements fc.AsyncCommand<Known, Real> {
  #done: { op: Op; answer: string }[] = [];
  constructor(private readonly drafts: readonly Draft[]) {}
  check = () => !enough();
  async run(known: Known, real: Real): Promise<void> {
    // Those that chance has not made by then come next, with what they need.
    const missing = lacking();
    const drafts = this.drafts.map((draft, n) => n % 2 ? draft : towards(missing, draft));
    const ops = together(drafts.map((draft) => operation(known, draft)));
    // Somebody's connection broke, or they pressed twice: the same once more at the same moment.
    const [twice] = ops.filter(({ type }) => type !== "book" && type !== "unbook");
    if (this.drafts.length > 4 && twice) ops.push(twice);
    for (const op of ops) await real.prepare(op);
    const answers = await Promise.all(ops.map((op) => real.run(op)));
    this.#done = ops.map((op, index) => ({ op, answer: answers[index] }));
    const states = explanations(known.state, this.#done);
    const first = states.next();
    if (first.done) {
      throw new Error(
        `no order explains ${JSON.stringify(this.#done)} from ${JSON.stringify(known.state)}`,
      );
    }
    for (const { op, answer } of this.#done) {
      if (known.state.done[op.id]) count(done, "again");
      else if (answer.startsWith("ok")) count(done, op.type);
      else count(refused, `${op.type} ${answer}`);
      // A cart that was not ordered is given up when its customer fills another.
      const cart = op.type === "order" && !answer.startsWith("ok");
      if (!known.sent.includes(op) && !cart) known.sent.push(op);
    }
    const before = known.state.ways;
    known.state = await compare(real, first.value, states);
    for (const [way, said] of ways) {
      const times = (known.state.ways[way] ?? 0) - (before[way] ?? 0);
      if (times) done[said] = (done[said] ?? 0) + times;
    }
  }
  toString = () => JSON.stringify(this.#done.length ? this.#done : this.drafts);
}

/**
 * Those that may come at the same moment: a customer has one cart, and of two counts, or two picks of one part of an order, nobody
 * could say which came last.
 */
function together(drawn: (Op | undefined)[]): Op[] {
  const taken = new Set<string>();
  return drawn.filter((op): op is Op => {
    if (!op) return false;
    const what = oneAtATime(op);
    return !what || !taken.has(what) && Boolean(taken.add(what));
  });
}

function oneAtATime(op: Op): string | undefined {
  if (op.type === "order") return `cart ${op.customer}`;
  if (["consign", "book", "unbook", "tell"].includes(op.type)) {
    // A call to a carrier lasts, and is neither done nor undone meanwhile.
    return `shipment ${(op as Of<"book">).name}`;
  }
  if (op.type === "fetch") return `fetch ${op.name}`;
  // Of a parcel whose pickup is undone before it, a handover is an assignment.
  if (op.type === "undoPickup" || op.type === "handOver") return `pickup ${op.name}`;
  return op.type === "count" ? "count" : undefined;
}

const count = (counts: Record<string, number>, what: string) =>
  counts[what] = (counts[what] ?? 0) + 1;

/** The state that the database is in, of those that the answers allow; fails with its difference from the first. */
async function compare(real: Real, first: State, others: Iterable<State> = []): Promise<State> {
  const found = await seen(reader, real);
  const is = (state: State) => isDeepStrictEqual(plain(found), plain(shown(state)));
  const state = is(first) ? first : firstOf(others, is) ?? first;
  expect(found).toEqual(shown(state));
  expect(await breachesOf(real.place.id)).toEqual([]);
  steps++;
  return state;
}

/** Without fields that are undefined, as the answers have them. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

function firstOf<Value>(
  values: Iterable<Value>,
  fits: (value: Value) => boolean,
): Value | undefined {
  for (const value of values) if (fits(value)) return value;
  return undefined;
}

/** A tenant whose shop has a second warehouse, and the state it begins in; every other one holds COD until its cash is in. */
async function newHistory(n: number): Promise<{ model: Known; real: Real }> {
  const place = await newPlace(world.stack, { drivers, customers, funds, units });
  const warehouse = await newWarehouse(place.tenant);
  const second = { warehouse, bin: await newBin(place.tenant, warehouse) };
  await stockIn(place.tenant, {
    item_id: place.shop.shelf.item,
    warehouse_id: warehouse,
    bin_id: second.bin,
    quantity: units / 2,
  });
  await saveSettings(place.id, "delivery.attempts", { after_last: "return" });
  const holds = n % 2 === 0;
  await saveSettings(place.id, "delivery.payouts", { release: holds ? "on_remit" : "on_delivery" });
  await sql`update delivery.delivery_services set price_per_km = 100 where id = ${place.ground.service}`;
  const far = await newAddress(place.tenant, { latitude: 33.41 });
  await newProcessingPoint(place.tenant, far);
  const places = { near: place.ground.to, far };
  const [{ id: bin }] = await sql`select id from warehousing.bins
    where tenant_id = ${place.id} and warehouse_id = ${place.there}`;
  const real = new Real(
    place,
    second,
    { warehouse: place.there, bin },
    new Caller(world.ports, false),
    places,
  );
  const start = await seen(reader, real);
  const state = {
    ...start,
    desk: null,
    ownDesks: place.drivers.map(() => null),
    ...{ pay: {}, payouts: {}, statements: {}, brought: {}, counters: {}, holds },
    ...{ owed: {}, carrierPaid: {}, till: null, receipts: {} },
    movements: start.customers.map((amount) => [{ amount }]),
    ...{ rows: {}, counts: {}, parcels: {}, hands: {}, picks: {}, orders: {} },
    ...{ settlements: {}, paid: {}, ways: {}, done: {} },
  } satisfies State;
  return { model: { state, sent: [], serial: 0 }, real };
}

test(`random histories of ${stepsMin} steps (seed ${seed})`, async () => {
  const dice = fc.tuple(die, die, die);
  const once = fc.tuple(draft).map((drafts) => new Do(drafts));
  const commands = fc.commands<Known, Real, false>([
    ...[...beginnings, "load" as const].map((what) => dice.map((dice) => new Begin(what, dice))),
    ...[once, once, once, once, once, once],
    fc.array(draft, { minLength: 2, maxLength: 7 }).map((drafts) => new Do(drafts)),
    fc.array(draft, { minLength: 2, maxLength: 7 }).map((drafts) => new Do(drafts)),
  ], { maxCommands: commandsMax, size: "max" });
  let n = 0;
  const began = Date.now();
  const left = () => began + limitMs - Date.now();
  const history = fc.asyncProperty(commands, async (list) => {
    if (enough()) return;
    const { model, real } = await newHistory(n++);
    await fc.asyncModelRun(() => ({ model, real }), list);
    if (n % 10 === 0) say(`${n} histories, ${steps} steps`);
  });
  await Promise.all(Array.from({ length: lanes }, async (_, lane) => {
    for (let round = 0; !enough() && left() > 0; round++) {
      await fc.assert(history, {
        seed: seed + lane + round * lanes,
        numRuns: 4,
        // Time bounds the full form alone.
        ...(Number.isFinite(limitMs)
          ? { interruptAfterTimeLimit: left(), markInterruptAsFailure: false }
          : {}),
        endOnFailure: size !== "full",
      });
    }
  }));
  const breaches = await allBreaches(sql);
  const seconds = Math.round((Date.now() - began) / 1000);
  const sorted = (counts: Record<string, number>) =>
    Object.entries(counts).sort(([, a], [, b]) => b - a).map(([what, n]) => `${what} ${n}`);
  say(`${n} histories, ${steps} steps in ${seconds} s`);
  say(`done: ${sorted(done).join(", ")}`);
  say(`refused: ${sorted(refused).join(", ")}`);
  const rarest = all.reduce((a, b) => (done[a] ?? 0) <= (done[b] ?? 0) ? a : b);
  figure({
    what:
      `steps with the model and the ${ofTenant.length} invariants of a tenant compared after each`,
    asked: `at least ${stepsMin}`,
    reached: steps,
    holds: steps >= stepsMin,
  });
  figure({
    what: `operations of ${all.length} kinds, each done: ${sorted(done).join(", ")}`,
    asked: "at least 1 of each",
    reached: `${done[rarest] ?? 0} of ${rarest}`,
    holds: !never().length,
  });
  figure({
    what: `refusals that the model foresaw, of ${Object.keys(refused).length} kinds`,
    asked: "some",
    reached: Object.values(refused).reduce((sum, n) => sum + n, 0),
    holds: Object.keys(refused).length > 0,
  });
  figure({
    what: "invariants broken",
    asked: "0",
    reached: breaches.length,
    holds: !breaches.length,
  });
  expect(breaches).toEqual([]);
  if (eachIsAsked) expect(never()).toEqual([]);
  expect(steps).toBeGreaterThanOrEqual(of({ test: stepsMin, short: stepsMin, full: 1_000 }));
  // The history that is under way when time is up is brought to its end.
}, of({ test: 600_000, short: 900_000, full: 115 * 60_000 }));
