/**
 * Random histories of cash, wallets, stock and orders against a model: one operation after the other, and several at the
 * same moment, which must have happened in some order. After every step the database is what the model says, and every
 * invariant of the tenant holds; those that read whole tables are asked at the end.
 */
import fc from "fast-check";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../support/db.ts";
import { Caller } from "./caller.ts";
import { allBreaches, breachesOf, ofTenant } from "./invariants.ts";
import { explain, type Op, type State, type Way } from "./ledger-model.ts";
import { Real } from "./ledger-real.ts";
import { figure, of, say, seed } from "./proof.ts";
import { newPlace, startWorld, type World } from "./world.ts";

// On average a history has half of the steps it may have; eight that make twenty in all are not met with.
const histories = of({ test: 8, short: 5, full: 20 });
/** Rounds of so many go on until so many steps were made, or time is up. */
const stepsMin = of({ test: 20, short: 20, full: 60_000 });
const commandsMax = of({ test: 25, short: 60, full: 300 });
const limitMs = of({ test: 20_000, short: 60_000, full: 100 * 60_000 });
/** So many histories run side by side, each in a tenant of its own: one waits for Postgres while the other thinks. */
const lanes = of({ test: 1, short: 2, full: 2 });
const [drivers, customers, funds, units] = [3, 4, 20_000, 12];

let world: World;
beforeAll(async () => void (world = await startWorld({ tenants: 0 })), 120_000);
afterAll(() => world?.stop());

interface Model {
  state: State;
  /** Of rows, picks and orders, in the order they came. */
  names: { row: string[]; pick: string[]; order: string[] };
  sent: (Op & { type: "settle" })[];
  serial: number;
}

/** What a command is drawn as: a kind, and dice that the model's state gives a meaning. */
interface Draft {
  kind: typeof kinds[number];
  dice: [number, number, number, number];
}
const kinds = [
  "remit",
  "settle-by-wallet",
  "again",
  "unsettle",
  "adjust",
  "receive",
  "correct",
  "writeOff",
  "takeBack",
  "transfer",
  "pick",
  "move",
  "order",
  "approve",
  "cancel",
] as const;
const die = fc.nat(999);
const draft: fc.Arbitrary<Draft> = fc.record({
  kind: fc.constantFrom(...kinds),
  dice: fc.tuple(die, die, die, die),
});

/** The operation that a draft is in this state; undefined when it needs something that is not there yet. */
function operation(model: Model, { kind, dice: [a, b, c, d] }: Draft): Op | undefined {
  const one = (list: string[]) => list[list.length - 1 - (a % Math.min(list.length, 5))];
  const place = { shelf: a % 2, item: b % 4 };
  switch (kind) {
    case "remit":
    case "settle-by-wallet":
      return settlement(model, kind, a, b, c, d);
    case "again": {
      const known = model.sent[a % Math.max(model.sent.length, 1)];
      if (!known || !model.names.row.length || b % 3) return known;
      // With its key, and with other rows.
      return { ...known, rows: known.rows === "all" ? [one(model.names.row)] : "all" };
    }
    case "unsettle": {
      const known = model.sent[a % Math.max(model.sent.length, 1)];
      return known && { type: "unsettle", key: known.key };
    }
    case "adjust":
      return { type: "adjust", driver: a % drivers, amount: 1 + b * 10, credit: c % 2 === 0 };
    case "receive":
      return { type: "receive", ...place, quantity: 1 + c % 9 };
    case "correct":
      return { type: "correct", ...place, delta: (d % 3 ? -1 : 1) * (1 + c % 9) };
    case "writeOff":
    case "takeBack":
      return { type: kind, ...place, quantity: 1 + c % 9 };
    case "transfer":
      return { type: "transfer", from: place.shelf, item: place.item, quantity: 1 + c % 9 };
    case "pick":
      return { type: "pick", name: `pick ${++model.serial}`, ...place, quantity: 1 + c % 5 };
    case "move":
      if (!model.names.pick.length) return;
      return {
        type: "move",
        name: one(model.names.pick),
        to: b % 2 ? "completed" : "cancelled",
        reported: b % 2 === 1 && c % 2 === 1,
      };
    case "order": {
      const name = `order ${++model.serial}`;
      return {
        type: "order",
        name,
        customer: a % customers,
        quantity: 1 + b % 3,
        wallet: c % 2 === 0,
      };
    }
    default:
      if (!model.names.order.length) return;
      return { type: kind, name: one(model.names.order) };
  }
}

function settlement(
  model: Model,
  way: Way,
  a: number,
  b: number,
  c: number,
  d: number,
): Op | undefined {
  const { row } = model.names;
  const rows = c % 4 === 0
    ? "all" as const
    : [...new Set([row.at(-1 - b % 6), row.at(-1 - d % 6)])];
  if (rows !== "all" && rows.includes(undefined)) return;
  return {
    type: "settle",
    way,
    driver: a % drivers,
    office: d % 2 === 0,
    rows: rows as string[] | "all",
    key: randomUUID(),
  };
}

class Take implements fc.AsyncCommand<Model, Real> {
  constructor(private readonly dice: readonly number[]) {}
  check = () => true;
  async run(model: Model, real: Real): Promise<void> {
    const [a, b, c] = this.dice;
    const row = {
      driver: a % drivers,
      cod: b % 4 ? 250 * (1 + b % 30) : 0,
      fee: 250 * (1 + c % 4),
    };
    const name = `row ${++model.serial}`;
    await real.take(name, row);
    model.state.rows[name] = { ...row, status: "collected" };
    model.names.row.push(name);
    await compare(model, real);
  }
  toString = () => `take(${this.dice})`;
}

/** One operation, or several at the same moment. */
class Do implements fc.AsyncCommand<Model, Real> {
  #done: { op: Op; answer: string }[] = [];
  constructor(private readonly drafts: readonly Draft[]) {}
  check = () => true;
  async run(model: Model, real: Real): Promise<void> {
    const buyers = new Set<number>();
    const ops = this.drafts.map((draft) => operation(model, draft)).filter((op): op is Op => {
      if (op?.type !== "order") return op !== undefined;
      // A customer has one cart.
      return !buyers.has(op.customer) && Boolean(buyers.add(op.customer));
    });
    const answers = await Promise.all(ops.map((op) => real.run(op)));
    this.#done = ops.map((op, index) => ({ op, answer: answers[index] }));
    const state = explain(model.state, this.#done);
    if (!state) {
      throw new Error(
        `no order explains ${JSON.stringify(this.#done)} from ${JSON.stringify(model.state)}`,
      );
    }
    model.state = state;
    for (const { op, answer } of this.#done) {
      if (op.type === "settle" && !model.sent.includes(op)) model.sent.push(op);
      if (!answer.startsWith("ok")) continue;
      if (op.type === "pick") model.names.pick.push(op.name);
      if (op.type === "order") model.names.order.push(op.name);
    }
    await compare(model, real);
  }
  toString = () => JSON.stringify(this.#done.length ? this.#done : this.drafts);
}

let steps = 0;

async function compare({ state }: Model, real: Real): Promise<void> {
  const { keys: _remembered, ...told } = state;
  const statuses = (list: Record<string, { status: string }>) =>
    Object.fromEntries(Object.entries(list).map(([name, { status }]) => [name, status]));
  expect(await real.state()).toEqual({
    ...told,
    rows: statuses(told.rows),
    picks: statuses(told.picks),
    orders: statuses(told.orders),
  });
  expect(await breachesOf(sql, real.place.id)).toEqual([]);
  steps++;
}

test(`random histories of up to ${commandsMax} steps (seed ${seed})`, async () => {
  const commands = fc.commands<Model, Real, false>([
    fc.tuple(die, die, die).map((dice) => new Take(dice)),
    fc.tuple(draft).map((drafts) => new Do(drafts)),
    fc.tuple(draft).map((drafts) => new Do(drafts)),
    fc.array(draft, { minLength: 2, maxLength: 8 }).map((drafts) => new Do(drafts)),
  ], { maxCommands: commandsMax, size: "max" });
  let n = 0;
  const began = Date.now();
  const history = fc.asyncProperty(commands, async (list) => {
    const place = await newPlace(world.stack, { drivers, customers, funds, units });
    const real = new Real(place, new Caller(world.ports, false));
    const start = await real.state();
    await fc.asyncModelRun(() => ({
      model: {
        state: { ...start, rows: {}, picks: {}, orders: {}, keys: {} },
        names: { row: [], pick: [], order: [] },
        sent: [],
        serial: 0,
      },
      real,
    }), list);
    if (++n % 10 === 0) say(`${n} histories, ${steps} steps`);
  });
  const left = () => began + limitMs - Date.now();
  await Promise.all(Array.from({ length: lanes }, async (_, lane) => {
    for (let round = 0; steps < stepsMin && left() > 0; round++) {
      await fc.assert(history, {
        seed: seed + lane + round * lanes,
        numRuns: histories,
        interruptAfterTimeLimit: left(),
        markInterruptAsFailure: false,
        endOnFailure: of({ test: true, short: true, full: false }),
      });
    }
  }));
  const breaches = await allBreaches(sql);
  const seconds = Math.round((Date.now() - began) / 1000);
  say(`${n} histories, ${steps} steps in ${seconds} s`);
  figure({
    what:
      `steps with the model and the ${ofTenant.length} invariants of a tenant compared after each`,
    asked: of({ test: "some", short: "some", full: `at least ${stepsMin}` }),
    reached: steps,
    holds: steps >= stepsMin,
  });
  figure({
    what: "invariants broken",
    asked: "0",
    reached: breaches.length,
    holds: !breaches.length,
  });
  expect(breaches).toEqual([]);
  expect(steps).toBeGreaterThanOrEqual(20);
  // The history that is under way when time is up is brought to its end.
}, limitMs + of({ test: 120_000, short: 120_000, full: 15 * 60_000 }));
