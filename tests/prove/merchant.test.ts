/**
 * Random histories of merchants' money against a model: parcels with fees and COD, outcomes that are undone, cash that is handed in and
 * comes back, days that pass, statements of any moment, payouts, their reversals, voids, and another rule, or an owner shut out, at any time. After each step
 * the answer, the lines and the wallet are those of the model. In the end, when all cash is in and every day is over, one last statement
 * leaves nothing unstated but what is kept.
 */
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openReader } from "../support/db.ts";
import { Books, type Did } from "./merchant/books.ts";
import { type Line, type Parcel, type Rule, type Statement, Wallet } from "./merchant/model.ts";
import { figure, of, say, seed, size } from "./proof.ts";

const histories = of({ brief: 20, test: 400, short: 2_000, full: 20_000 });
/** So many merchants are of one company; then what must hold of it is asked, and another one is opened. */
const perCompany = 250;

const kinds = [
  ...["deliver", "deliver", "deliver", "prepaid", "refund", "undo", "top_up", "debit"] as const,
  ...["remit", "remit", "unremit", "days", "rule", "member"] as const,
  ...["state", "state", "state_until", "pay", "pay", "reverse", "void"] as const,
];
type Kind = typeof kinds[number];
const dice = fc.nat({ max: 1_000_000 });
const step = fc.record({ kind: fc.constantFrom(...kinds), one: dice, other: dice });
type Step = { kind: Kind; one: number; other: number };
const history = fc.array(step, { minLength: 6, maxLength: 24, size: "max" });

/** How often each kind was done, and how often it was refused with which code. */
const done: Record<string, number> = {};
const refused: Record<string, number> = {};
const count = (counts: Record<string, number>, name: string) =>
  counts[name] = (counts[name] ?? 0) + 1;
/** The refusals that have to be met; the brief form is too short for all of them. */
const refusals = [
  "insufficient_wallet_balance",
  "outcome_is_settled",
  "statement_below_minimum",
  "statement_not_covered",
  "statement_already_paid",
  "statement_not_open",
  "statement_not_paid",
];

let one: ReturnType<typeof openReader>;
beforeAll(() => void (one = openReader()));
afterAll(() => one?.end());

const sorted = (lines: readonly Line[]) =>
  [...lines].sort((a, b) =>
    (a.movement ?? Infinity) - (b.movement ?? Infinity) || a.amount - b.amount
  );
const picked = <T>(list: readonly T[], dice: number): T | undefined => list[dice % list.length];

class History {
  readonly #wallet = new Wallet();
  readonly #moments: bigint[] = [];

  constructor(private readonly books: Books) {}

  async run(steps: readonly Step[]): Promise<void> {
    await this.books.nextOwner();
    await this.books.do({ do: "rule", rule: this.#wallet.rule });
    for (const step of steps) await this[step.kind](step.one, step.other);
    await this.#end();
  }

  deliver = (one: number, other: number) => this.#deliver(250 * (1 + one % 40), 0, other);
  prepaid = (one: number, other: number) => this.#deliver(250 * (1 + one % 40), 1_000, other);

  /** A parcel with COD is ordered; most are delivered. */
  async #deliver(cod: number, fee: number, other: number): Promise<void> {
    const delivered = !fee || other % 4 > 0;
    const parcel = { id: randomUUID(), cod, fee, out: false, undone: false, refunded: false };
    const short = fee > 0 && !this.#wallet.spends(fee);
    const did = await this.books.order(parcel, delivered);
    if (!short) {
      this.#wallet.parcels.push(parcel);
      if (fee) this.#wallet.move("delivery_fee", -fee, did.at, parcel);
      if (delivered) this.#wallet.delivered(parcel, did.at);
    }
    this.#is(fee ? "prepaid" : "deliver", did, short ? "insufficient_wallet_balance" : undefined);
  }

  async refund(one: number): Promise<void> {
    const parcel = picked(this.#parcels(({ fee, refunded }) => fee > 0 && !refunded), one);
    if (!parcel) return;
    const did = await this.books.do({ do: "refund", id: parcel.id });
    parcel.refunded = true;
    this.#wallet.move("refund", parcel.fee, did.at, parcel);
    this.#is("refund", did, undefined);
  }

  async undo(one: number): Promise<void> {
    const parcel = picked(this.#parcels(({ out }) => out), one);
    if (!parcel) return;
    const did = await this.books.do({ do: "undo", id: parcel.id });
    const refusal = this.#wallet.undone(parcel, did.at);
    if (!refusal) parcel.out = false;
    this.#is("undo", did, refusal);
  }

  async top_up(one: number): Promise<void> {
    const amount = 250 * (1 + one % 20);
    const did = await this.books.do({ do: "adjust", amount, direction: "credit" });
    this.#wallet.move("adjustment", amount, did.at);
    this.#is("top_up", did, undefined);
  }

  async debit(one: number): Promise<void> {
    const amount = 250 * (1 + one % 20);
    const able = this.#wallet.spends(amount);
    const did = await this.books.do({ do: "adjust", amount, direction: "debit" });
    if (able) this.#wallet.move("adjustment", -amount, did.at);
    this.#is("debit", did, able ? undefined : "insufficient_wallet_balance");
  }

  /** Some of the cash that is out, or all of it. */
  async remit(one: number, other: number): Promise<void> {
    const out = this.#parcels(({ out }) => out);
    const some = other % 3 ? out.filter((_, n) => one >> n & 1) : out;
    if (!some.length) return;
    const did = await this.books.do({ do: "remit", ids: some.map(({ id }) => id) });
    for (const parcel of some) Object.assign(parcel, { out: false, settlement: did.id });
    this.#is("remit", did, undefined);
  }

  async unremit(one: number): Promise<void> {
    const settlement = picked(this.#parcels(({ settlement }) => !!settlement), one)?.settlement;
    if (!settlement) return;
    const did = await this.books.do({ do: "unremit", id: settlement });
    for (const parcel of this.#parcels((parcel) => parcel.settlement === settlement)) {
      Object.assign(parcel, { out: true, settlement: undefined });
    }
    this.#is("unremit", did, undefined);
  }

  async days(one: number): Promise<void> {
    const days = 1 + one % 2;
    const did = await this.books.do({ do: "days", days });
    this.#wallet.day += days;
    this.#is("days", did, undefined);
  }

  async rule(one: number, other: number): Promise<void> {
    await this.#rule({
      release: one % 3 ? "on_remit" : "on_delivery",
      hold_days: other % 2 ? one % 3 : 0,
      keep: 500 * (other % 4),
      minimum: one % 5 ? 0 : 4_000,
    });
  }

  /** The owner is shut out, or let in again. */
  async member(): Promise<void> {
    const is_active = !this.#wallet.member;
    const did = await this.books.do({ do: "member", is_active });
    this.#wallet.member = is_active;
    this.#is("member", did, undefined);
  }

  state = () => this.#state();
  state_until = (one: number) => this.#state(picked(this.#moments, one));

  async #state(until?: bigint): Promise<void> {
    const lines = this.#wallet.due(until);
    const at = until === undefined ? {} : { date_to: instant(until) };
    const did = await this.books.do({ do: "state", ...at });
    if (lines && did.id) this.#wallet.made(did.id, lines);
    if (lines && did.lines) expect(sorted(did.lines)).toEqual(sorted(lines));
    this.#is(
      until === undefined ? "state" : "state_until",
      did,
      lines ? undefined : "statement_below_minimum",
    );
  }

  pay = (one: number) => this.#end_of("pay", one, (statement) => this.#wallet.paid(statement));
  reverse = (one: number) =>
    this.#end_of("reverse", one, (statement) => this.#wallet.reversed(statement));
  void = (one: number) => this.#end_of("void", one, (statement) => this.#wallet.voided(statement));

  async #end_of(
    kind: "pay" | "reverse" | "void",
    one: number,
    ended: (statement: Statement) => string | undefined,
  ): Promise<void> {
    const statement = picked(this.#wallet.statements, one);
    if (!statement) return;
    const refusal = ended(statement);
    this.#is(kind, await this.books.do({ do: kind, id: statement.id }), refusal);
  }

  /** All cash comes in, every day is over, enough is there: the last statement says all that is left. */
  async #end(): Promise<void> {
    await this.remit(0, 0);
    await this.#rule({ ...this.#wallet.rule, minimum: 0 });
    const later = await this.books.do({ do: "days", days: 10 });
    this.#wallet.day += 10;
    this.#is("days", later, undefined);
    const did = await this.books.do({ do: "adjust", amount: 10_000_000, direction: "credit" });
    this.#wallet.move("adjustment", 10_000_000, did.at);
    await this.#state();
    expect(await this.books.leftOver()).toEqual([]);
    const { keep } = this.#wallet.terms;
    expect(this.#wallet.kept()).toBe(keep);
    const { balance, held, stated } = this.#wallet.shown();
    expect([balance - stated, held]).toEqual([keep, 0]);
  }

  async #rule(rule: Rule): Promise<void> {
    const did = await this.books.do({ do: "rule", rule });
    this.#wallet.rule = rule;
    this.#is("rule", did, undefined);
  }

  #parcels(fit: (parcel: Parcel) => boolean): Parcel[] {
    return this.#wallet.parcels.filter((parcel) => !parcel.undone && fit(parcel));
  }

  /** The step was answered as the model says, and left the wallet as it says. */
  #is(kind: Kind, { code, at, balance, held, stated }: Did, refusal: string | undefined): void {
    expect({ kind, code, balance, held, stated })
      .toEqual({ kind, code: refusal ?? null, ...this.#wallet.shown() });
    this.#moments.push(at);
    if (refusal) count(refused, refusal);
    else count(done, kind);
  }
}

/** A moment of the database as text, to the microsecond. */
function instant(micros: bigint): string {
  const whole = new Date(Number(micros / 1000n)).toISOString();
  return whole.replace("Z", `${String(micros % 1000n).padStart(3, "0")}Z`);
}

test(`${histories} random histories of merchants (seed ${seed})`, async () => {
  const began = Date.now();
  let [books, n] = [await Books.open(one), 0];
  const breaches: string[] = [];
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      if (n && n % perCompany === 0) {
        breaches.push(...await books.breaches());
        books = await Books.open(one);
        say(`${n} histories in ${Math.round((Date.now() - began) / 1000)} s`);
      }
      n++;
      await new History(books).run(steps);
    }),
    { seed, numRuns: histories },
  );
  breaches.push(...await books.breaches());
  const said = (counts: Record<string, number>) =>
    Object.entries(counts).sort(([, a], [, b]) => b - a).map(([name, n]) => `${name} ${n}`)
      .join(", ");
  say(`done: ${said(done)}; refused: ${said(refused)}`);
  const never = [...kinds.filter((kind) => !done[kind]), ...refusals.filter((c) => !refused[c])];
  figure({
    what: `histories of merchants, each step as a model says: ${said(done)}; refused: ${
      said(refused)
    }`,
    asked: `at least ${histories}`,
    reached: n,
    holds: n >= histories && !never.length,
  });
  figure({
    what: "rules of holds and statements broken, over each whole company",
    asked: "0",
    reached: breaches.length,
    holds: !breaches.length,
  });
  expect(breaches).toEqual([]);
  if (size !== "brief") expect(never).toEqual([]);
}, of({ test: 600_000, short: 900_000, full: 5_400_000 }));
