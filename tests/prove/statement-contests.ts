/**
 * Contests for the money of a merchant: of a statement, its payout, its end, what spends the wallet, and what undoes the cash
 * behind it. Each is prepared with an owner of its own, so that rounds do not see each other.
 */
import { isDeepStrictEqual } from "node:util";
import { heldBy } from "../support/cash-desks.ts";
import { leaves, newHolder } from "../support/cod-holds.ts";
import { sql } from "../support/db.ts";
import { type Ground, order, path as deliveries } from "../support/deliveries.ts";
import { newPerson } from "../support/people.ts";
import { type Asked, Caller, type Ports } from "./caller.ts";
import { byBank, each, Merchant, net, statements } from "./statement-merchant.ts";
import type { World } from "./world.ts";

/** Of each side of a contest how many answers had which status and code. */
export type Counts = Record<string, Record<string, number>>;

export interface Contest {
  /** Whose money it is about. */
  on: Merchant;
  /** The requests of each side, which all start at the same moment. */
  sides: Record<string, Asked[]>;
  /** Whether these answers can be. */
  right(counts: Counts): boolean;
  /** Once the first of these sides has succeeded, the second one does no more. */
  ends?: readonly [string, string];
  /** Balance, held, stated and available of the owner's wallet then. */
  shows(counts: Counts): number[];
}

/** Both sides of a contest together; a contest of one side has all of them. */
export const wanting = 2 * each;
const extra = 4_000;
const releases = ["on_delivery", "on_remit", "on_bank"] as const;

export class Contests {
  readonly #caller: Caller;
  private constructor(
    private readonly world: World,
    ports: Ports,
    /** A company for each rule. */
    private readonly grounds: Record<typeof releases[number], Ground>,
  ) {
    this.#caller = new Caller(ports, false);
  }

  static async in(world: World): Promise<Contests> {
    const grounds = [];
    for (const release of releases) grounds.push([release, await newHolder({ release })]);
    return new Contests(world, world.ports, Object.fromEntries(grounds));
  }

  /** The ids of all companies. */
  get companies(): string[] {
    return Object.values(this.grounds).map(({ tenant }) => tenant.id);
  }

  readonly all: Record<string, () => Promise<Contest>> = {
    /** All that is due to an owner, stated by both who may. */
    "twenty statements for one owner": async () => {
      const on = await this.merchant();
      return {
        on,
        sides: { open: await on.opens(wanting) },
        right: only({ open: one(201, wanting, "409 statement_below_minimum") }),
        shows: () => [net, 0, net, 0],
      };
    },
    "twenty payments of a statement, in cash and by bank": async () => {
      const on = await this.merchant();
      const id = await on.open();
      return {
        on,
        sides: { pay: await on.pays(id, wanting) },
        right: only({ pay: one(200, wanting, "409 statement_already_paid") }),
        shows: () => [0, 0, 0, 0],
      };
    },
    "a payment against a void": async () => {
      const on = await this.merchant();
      const id = await on.open();
      return {
        on,
        sides: {
          pay: await on.pays(id),
          void: await on.calls("admin", `${statements}/${id}/void`),
        },
        right: only(
          {
            pay: one(200, each, "409 statement_already_paid"),
            void: none("409 statement_not_open"),
          },
          { pay: none("409 statement_not_open"), void: one(200, each, "409 statement_not_open") },
        ),
        shows: ({ pay }) => pay["200"] ? [0, 0, 0, 0] : [net, 0, 0, net],
      };
    },
    /** A statement may be paid again whenever its payout was reversed. */
    "a payment against a reversal of payments": async () => {
      const on = await this.merchant();
      const id = await on.open();
      const reversed = { reason: "Typed twice" };
      const left = ({ pay, reverse }: Counts) => (pay["200"] ?? 0) - (reverse["200"] ?? 0);
      return {
        on,
        sides: {
          pay: await on.pays(id),
          reverse: await on.calls("admin", `${statements}/${id}/reverse`, reversed),
        },
        right: (counts) =>
          [0, 1].includes(left(counts)) && (counts.pay["200"] ?? 0) > 0 &&
          within(counts.pay, "200", "409 statement_already_paid") &&
          within(counts.reverse, "200", "409 statement_not_paid"),
        shows: (counts) => left(counts) ? [0, 0, 0, 0] : [net, 0, net, 0],
      };
    },
    /** Stated money is not for orders; two of them have room in the rest. */
    "a payment against orders that the wallet pays": async () => {
      const on = await this.merchant();
      const id = await on.open();
      await on.bringIn(extra);
      const body = order(on.ground, {
        customer_id: on.owner,
        payer_type: "sender",
        payment_method: "wallet",
      });
      return {
        on,
        sides: { pay: await on.pays(id), order: await on.calls("ops", deliveries, body) },
        right: only({
          pay: one(200, each, "409 statement_already_paid"),
          order: { "201": 2, "400 insufficient_wallet_balance": each - 2 },
        }),
        shows: () => [0, 0, 0, 0],
      };
    },
    "a payment against adjustments of the wallet": async () => {
      const on = await this.merchant();
      const id = await on.open();
      await on.bringIn(extra);
      return {
        on,
        sides: { pay: await on.pays(id), debit: await on.debits(extra) },
        right: only({
          pay: one(200, each, "409 statement_already_paid"),
          debit: one(200, each, "400 insufficient_wallet_balance"),
        }),
        shows: () => [0, 0, 0, 0],
      };
    },
    /** The same money is stated, or taken. */
    "a statement against adjustments of the wallet": async () => {
      const on = await this.merchant();
      return {
        on,
        sides: { open: await on.opens(), debit: await on.debits(net) },
        right: only(
          {
            open: one(201, each, "409 statement_below_minimum"),
            debit: none("400 insufficient_wallet_balance"),
          },
          {
            open: none("409 statement_below_minimum"),
            debit: one(200, each, "400 insufficient_wallet_balance"),
          },
        ),
        shows: ({ open }) => open["201"] ? [net, 0, net, 0] : [0, 0, 0, 0],
      };
    },
    "a statement against the undo of the outcome it would state": async () => {
      const on = await this.merchant("on_delivery");
      const [{ delivery_id }] =
        await sql`select delivery_id from money.cod_collections where id = ${on.row}`;
      const undo = `${deliveries}/${delivery_id}/outcome/undo`;
      const half = each / 2;
      return {
        on,
        sides: {
          open: await on.opens(),
          undo: [
            ...await on.calls("ops", undo, { reason: "Wrong parcel" }, half),
            ...await on.calls("driver", undo, { reason: "Wrong parcel" }, half),
          ],
        },
        right: only(
          {
            open: one(201, each, "409 statement_below_minimum"),
            undo: none("409 outcome_is_settled"),
          },
          {
            open: none("409 statement_below_minimum"),
            undo: one(200, each, "409 outcome_already_undone"),
          },
        ),
        shows: ({ open }) => open["201"] ? [net, 0, net, 0] : [0, 0, 0, 0],
      };
    },
    /** COD that is held again stays stated: the next statement takes it back. */
    "a statement against the reversal of its remittance": async () => {
      const on = await this.merchant();
      return {
        on,
        sides: { open: await on.opens(), reverse: await on.reversals() },
        ends: ["reverse", "open"],
        right: only(
          {
            open: one(201, each, "409 statement_below_minimum"),
            reverse: one(200, each, "409 settlement_already_reversed"),
          },
          {
            open: none("409 statement_below_minimum"),
            reverse: one(200, each, "409 settlement_already_reversed"),
          },
        ),
        shows: ({ open }) => open["201"] ? [net, net, net, -net] : [net, net, 0, 0],
      };
    },
    "a payment against the reversal of the remittance it pays": async () => {
      const on = await this.merchant();
      const id = await on.open();
      return {
        on,
        sides: { pay: await on.pays(id, each, byBank), reverse: await on.reversals() },
        ends: ["reverse", "pay"],
        right: (counts) => covered(counts, "409 settlement_already_reversed"),
        shows: ({ pay }) => pay["200"] ? [0, net, 0, -net] : [net, net, net, -net],
      };
    },
    /** Held until it left the desk: it lies there again. */
    "a payment against the reversal of the trip to the bank": async () => {
      const on = await this.merchant("on_bank");
      const { tenant } = on.ground;
      // All of it: cash of earlier rounds lies before that of this one.
      const trip = await leaves(tenant.dispatcher, await heldBy(tenant, tenant.dispatcher));
      const id = await on.open();
      const undo = `/delivery/cash-desks/transfers/${trip}/reverse`;
      return {
        on,
        sides: {
          pay: await on.pays(id, each, byBank),
          reverse: await on.calls("dispatcher", undo, { reason: "Typed twice" }),
        },
        ends: ["reverse", "pay"],
        right: (counts) => covered(counts, "409 cash_transfer_already_reversed"),
        shows: ({ pay }) => pay["200"] ? [0, net, 0, -net] : [net, net, net, -net],
      };
    },
  };

  /** A new owner with one COD on the wallet, of which nothing is held. */
  private async merchant(release: typeof releases[number] = "on_remit"): Promise<Merchant> {
    const ground = this.grounds[release];
    const owner = await newPerson(ground.tenant.id, "customer", "customer");
    const on = new Merchant(this.world, this.#caller, ground, owner.id);
    on.row = await on.bringIn(net, release !== "on_delivery");
    return on;
  }
}

/** One success, and this refusal for all others. */
const one = (success: number, count: number, refusal: string) => ({
  [success]: 1,
  [refusal]: count - 1,
});
const none = (refusal: string) => ({ [refusal]: each });
const only = (...possible: Counts[]) => (counts: Counts) =>
  possible.some((those) => isDeepStrictEqual(those, counts));
const within = (counts: Record<string, number>, ...names: string[]) =>
  Object.keys(counts).every((name) => names.includes(name));
/** Reversed once, and paid once before that or never. */
const covered = ({ pay, reverse }: Counts, again: string) =>
  isDeepStrictEqual(reverse, one(200, each, again)) &&
  (pay["200"] ?? 0) <= 1 &&
  within(pay, "200", pay["200"] ? "409 statement_already_paid" : "409 statement_not_covered");
