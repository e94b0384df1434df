/**
 * Random histories of desks with a queue, each step compared with an account of single coins (coins.ts): which cash lies where, which rows
 * are held, and every invariant.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Answer, Person } from "../support/api.ts";
import { carried, newSide, payCarried, type Side } from "../support/carriers.ts";
import { heldBy, reverse, transfer } from "../support/cash-desks.ts";
import { makeDrivers, newCash, remit, selected, settle } from "../support/cod.ts";
import { setPayouts, sound } from "../support/cod-holds.ts";
import { sql } from "../support/db.ts";
import { fundWallet } from "../support/money.ts";
import type { Tenant } from "../support/people.ts";
import { breachesIn } from "../support/reconciled.ts";
import { key } from "../support/wallets.ts";
import { coin, Coins } from "./coins.ts";
import { figure, of, say, seed } from "./proof.ts";

const steps = of({ brief: 60, test: 400, short: 1_500, full: 20_000 });
/** One company is emptied and forgotten after so many. */
const history = 100;
type Carried = Awaited<ReturnType<typeof carried>>[number];
/** The desk of the tenant itself, to which its carrier pays. */
const till = 4;

const done: Record<string, number> = {};
const count = (what: string) => done[what] = (done[what] ?? 0) + 1;

class Desks {
  /** Dispatcher, administrator, a storekeeper, and a driver who remits to their own desk. */
  readonly people: Person[];
  readonly tenant: Tenant;
  readonly coins: Coins;
  private accounts: string[] = [];
  constructor(readonly side: Side) {
    const tenant = this.tenant = side.tenant;
    this.people = [tenant.dispatcher, tenant.admin, tenant.ops, tenant.driver];
    this.coins = new Coins([[], [], [], [], []], () => {
      const known = this.accounts.map((id, desk) => ({ id, desk })).filter(({ id }) => id);
      return known.sort((a, b) => a.id < b.id ? -1 : 1).map(({ desk }) => desk);
    });
  }

  /** Where a transfer comes from, as an administrator names it. */
  private from(desk: number) {
    if (desk === till) return { from_owner_type: "tenant" };
    return {
      from_user_id: this.people[desk]!.id,
      from_owner_type: desk === 3 ? "driver" : "staff",
    };
  }

  async take(dice: number[]): Promise<void> {
    const coins = 1 + dice[0]! % 12;
    const held = dice[1]! % 5 > 0;
    const { id } = await newCash(this.tenant, {
      cod: coins * coin - 100,
      fee: 100,
      release: held ? "on_bank" : undefined,
    });
    this.coins.rows[id] = { by: "driver", coins, held, status: "collected" };
    count("take");
  }

  /** A carrier takes cash at a door: its fee is 2,000. */
  async carry(dice: number[]): Promise<void> {
    const held = dice[1]! % 5 > 0;
    await setPayouts(this.tenant, { release: held ? "on_bank" : "on_delivery" });
    const cod_amount = (1 + dice[0]! % 8) * coin;
    const [{ collection }] = await carried(this.side, cod_amount) as [Carried];
    const coins = (2_000 + cod_amount) / coin;
    this.coins.rows[collection] = { by: "carrier", coins, held, status: "collected" };
    count("carry");
  }

  /** The carrier pays, and mostly keeps some of it, now and then all. */
  async remit(dice: number[]): Promise<void> {
    const rows = this.open("carrier", dice[0]!);
    if (!rows.length) return;
    const coins = rows.reduce((sum, row) => sum + this.coins.rows[row]!.coins, 0);
    const kept = [0, 1, 2, 9, 11, coins][dice[1]! % 6]!;
    const answer = await payCarried(this.tenant.admin, coins * coin, {
      ...(kept ? { charges: Math.min(kept, coins) * coin } : {}),
      carrier_collection_ids: rows,
    });
    expect(answer).toSucceed(201);
    this.coins.settle(answer.body.remittance.id, rows, till, Math.min(kept, coins));
    count(kept ? "carrier's payment with charges" : "carrier's payment");
  }

  /** The oldest rows that somebody still has. */
  private open(whose: "driver" | "carrier", dice: number): string[] {
    const open = Object.entries(this.coins.rows)
      .filter(([, { by, status }]) => by === whose && status === "collected");
    return open.slice(0, 1 + dice % 3).map(([id]) => id);
  }

  async settle(dice: number[]): Promise<void> {
    const rows = this.open("driver", dice[0]!);
    if (!rows.length) return;
    const desk = dice[1]! % 9 === 0 ? null : [0, 0, 1, 3][dice[2]! % 4]!;
    const by = desk === null ? this.tenant.driver : this.people[desk]!;
    const answer = await by.post(desk === null ? settle : remit, selected(...rows));
    expect(answer).toSucceed(200);
    this.coins.settle(answer.body.data.settlement_payment_id, rows, desk);
    count(desk === null ? "settle by wallet" : "remit");
  }

  async move(dice: number[]): Promise<void> {
    const from = dice[0]! % 5;
    const to = [null, 0, 1, 2][dice[1]! % 4]!;
    if (from === to || !this.accounts[from]) return;
    const there = this.coins.desks[from]!.length;
    // Seldom from an empty desk.
    if (!there && dice[2]! % 6) return;
    const coins = 1 + dice[2]! % (there + 2);
    const answer = await transfer(this.tenant.admin, {
      ...this.from(from),
      amount: coins * coin,
      ...(to === null ? {} : { kind: "handover", to_user_id: this.people[to]!.id }),
    });
    const fits = coins <= there;
    this.said(answer, fits, 201);
    if (fits) this.coins.move(answer.body.data.id, from, to, coins);
    if (fits) count(to === null ? "bank" : "handover");
  }

  /** From the bank to the desk of the dispatcher or the administrator, whose queues have begun. */
  async come(dice: number[]): Promise<void> {
    const to = dice[0]! % 2;
    const coins = 1 + dice[1]! % 6;
    const answer = await transfer(this.tenant.admin, {
      kind: "bank_withdrawal",
      to_user_id: this.people[to]!.id,
      amount: coins * coin,
    });
    expect(answer).toSucceed(201);
    this.coins.arrive(answer.body.data.id, to, coins);
    count("from the bank");
  }

  async reverse(dice: number[]): Promise<void> {
    const open = Object.entries(this.coins.done).filter(([, { reversed }]) => !reversed);
    if (!open.length) return;
    const [id, { kind }] = open[open.length - 1 - dice[0]! % Math.min(open.length, 12)]!;
    const settlement = this.coins.done[id]!;
    const paid = settlement.kind === "settlement" && settlement.desk === till;
    const call = paid
      ? `/carriers/tenant/simulated/remittances/${id}/reverse`
      : `/delivery/cod-settlements/${id}/reverse`;
    const answer = kind === "settlement"
      ? await this.tenant.admin.post(call, { reason: "Typed twice" }, key())
      : await reverse(this.tenant.admin, id);
    const fits = this.coins.reverse(id);
    this.said(answer, fits, 200);
    if (fits) count(paid ? "reverse carrier's payment" : `reverse ${kind}`);
  }

  private said(answer: Answer, fits: boolean, status: number): void {
    if (fits) expect(answer).toSucceed(status);
    else expect(answer).toFailWith(409, "insufficient_desk_cash");
    if (!fits) count("refused");
  }

  async compare(): Promise<void> {
    const rows = await sql`select id, owner_type, owner_user_id from money.accounts
      where tenant_id = ${this.tenant.id} and kind = 'cash_on_hand'`;
    this.accounts = [...this.people.map(({ id }) => id), null].map((owner) =>
      rows.find(({ owner_user_id }) => owner_user_id === owner)?.id
    );
    const parts =
      await sql`select account_id, reference_id, sum(amount)::int as amount from money.desk_parts
      where tenant_id = ${this.tenant.id} and reference_id is not null and amount <> 0 group by account_id, reference_id`;
    const held = await sql`select reference_id from money.wallet_holds
      where tenant_id = ${this.tenant.id} group by reference_id having sum(amount) > 0`;
    const seen = {
      there: Object.fromEntries(
        parts.map((part) => [
          `${this.accounts.indexOf(part.account_id)} ${part.reference_id}`,
          part.amount,
        ]),
      ),
      held: held.map(({ reference_id }) => reference_id).sort(),
    };
    expect(seen).toEqual(this.coins.seen());
    expect(await breachesIn(this.tenant)).toEqual([]);
  }
}

async function begin(): Promise<Desks> {
  const side = await newSide();
  const { tenant } = side;
  await makeDrivers(tenant);
  await fundWallet(tenant, "driver", tenant.driver.id, 10_000_000);
  const desks = new Desks(side);
  // The queues begin at once: what lies on a desk before is a part without a name.
  for (const desk of [0, 1, 3]) {
    const { id } = await newCash(tenant, { cod: 150, fee: 100, release: "on_bank" });
    desks.coins.rows[id] = { by: "driver", coins: 1, held: true, status: "collected" };
    const answer = await desks.people[desk]!.post(remit, selected(id));
    expect(answer).toSucceed(200);
    desks.coins.settle(answer.body.data.settlement_payment_id, [id], desk);
  }
  await desks.carry([0, 1]);
  await desks.remit([0, 0]);
  await desks.compare();
  return desks;
}

test(`random histories of desks, ${steps} steps (seed ${seed})`, async () => {
  // Cash has to leave its desk before its settlement is reversed.
  const often = { take: 3, settle: 3, carry: 1, remit: 1, move: 4, come: 1, reverse: 2 };
  const ways = Object.entries(often).flatMap(([way, times]) => Array(times).fill(way));
  const step = fc.record({
    way: fc.constantFrom(...ways as (keyof typeof often)[]),
    dice: fc.array(fc.nat(999), { minLength: 3, maxLength: 3 }),
  });
  let made = 0;
  while (made < steps) {
    const drawn = fc.sample(step, { seed: seed + made, numRuns: Math.min(history, steps - made) });
    const desks = await begin();
    for (const { way, dice } of drawn) {
      await desks[way](dice);
      await desks.compare();
      made++;
    }
    expect(await heldBy(desks.tenant, desks.tenant.admin)).toBe(
      desks.coins.desks[1]!.length * coin,
    );
    await sound(desks.tenant);
    if (desks.coins.exchanged) {
      done["coins exchanged"] = (done["coins exchanged"] ?? 0) + desks.coins.exchanged;
    }
    say(`${made} steps`);
  }
  say(`done: ${JSON.stringify(done)}`);
  figure({
    what: `steps of cash on desks compared with single coins: ${JSON.stringify(done)}`,
    asked: `at least ${steps}`,
    reached: made,
    holds: made >= steps,
  });
  if (steps > 100) {
    const kinds = ["remit", "settle by wallet", "bank", "handover", "refused", "coins exchanged"];
    for (
      const kind of [
        ...kinds,
        "from the bank",
        "reverse arrival",
        "reverse settlement",
        "carrier's payment",
        "carrier's payment with charges",
        "reverse carrier's payment",
        "reverse transfer",
      ]
    ) {
      expect(done[kind], kind).toBeGreaterThan(0);
    }
  }
}, of({ test: 120_000, short: 300_000, full: 60 * 60_000 }));
