/** Random operations: a kind and dice, which the state of the model gives a meaning, right most of the time. */
import fc from "fast-check";
import { randomUUID } from "node:crypto";
import { earned } from "./pay.ts";
import { type Of, type Op, type State, type Statement, type Step, types } from "./state.ts";

export const [drivers, customers] = [3, 4];
export const die = fc.nat(999);

/** The form in which a command is drawn. */
export interface Draft {
  kind: Op["type"] | "again";
  dice: [number, number, number, number];
}

export const draft: fc.Arbitrary<Draft> = fc.record({
  kind: fc.constantFrom(
    ...types,
    "again",
    // The operations that need the most others before them.
    ...[
      "settle",
      "settle",
      "step",
      "step",
      "step",
      "outcome",
      "undo",
      "handOver",
      "confirm",
      "fetch",
      "acceptShort",
    ] as const,
    ...[
      "approve",
      "approve",
      "payDue",
      "count",
      "resolve",
      "putBack",
      "putBack",
      "putBack",
      "openStatement",
      "payStatement",
      "reverseStatement",
    ] as const,
  ),
  dice: fc.tuple(die, die, die, die),
});

/** The sources of a draw: the state, and the earlier requests. */
export interface Known {
  state: State;
  sent: Op[];
  serial: number;
}

/** The operation that a draft is in this state; undefined when it needs something that is not there yet. */
export function operation(known: Known, { kind, dice }: Draft): Op | undefined {
  if (kind === "again") return again(known, dice);
  const drawn = draws[kind](known, dice);
  return drawn && { id: `${kind} ${++known.serial} ${randomUUID().slice(0, 8)}`, ...drawn } as Op;
}

type Drawn<T extends Op["type"]> = Omit<Of<T>, "id"> | undefined;
type Dice = [number, number, number, number];

/** One of the last few of a list; of those that fit, if there are any and the dice do not say otherwise. */
function one<T>(
  list: [string, T][],
  die: number,
  fits: (one: T) => boolean = () => true,
): [string, T] {
  const fitting = list.filter(([, one]) => fits(one));
  const from = fitting.length && die % 7 ? fitting : list;
  return from[from.length - 1 - die % Math.min(from.length, 6)];
}

const draws: { [T in Op["type"]]: (known: Known, dice: Dice) => Drawn<T> } = {
  settle({ state }, [a, b, c, d]) {
    const driver = a % drivers;
    const way = b % 3 ? "remit" : "settle-by-wallet";
    const rest = { type: "settle", way, driver, office: d % 3 > 0 } as const;
    if (c % 2) return { ...rest, rows: "all" };
    const rows = Object.keys(state.rows).slice(-6);
    if (!rows.length) return;
    return { ...rest, rows: [...new Set([rows[b % rows.length], rows[d % rows.length]])] };
  },
  unsettle({ state }, [a]) {
    const found = Object.keys(state.settlements);
    return found.length ? { type: "unsettle", settlement: found[a % found.length] } : undefined;
  },
  count({ state, serial }, [a, b, c]) {
    const rows = Object.values(state.rows).filter(({ status }) => status === "collected");
    const driver = rows.length ? rows[a % rows.length].driver : 0;
    const declared = rows.filter((row) => row.driver === driver).reduce(
      (sum, { cod, fee }) => sum + cod + fee,
      0,
    );
    if (!declared) return;
    const counted = c % 4 === 0
      ? declared
      : c % 4 === 1
      ? declared + 250
      : Math.max(0, declared - 1 - b * 5);
    return { type: "count", name: `count ${serial + 1}`, driver, declared, counted };
  },
  resolve({ state }, [a, b]) {
    const counts = Object.entries(state.counts);
    if (!counts.length) return;
    const [name, { declared }] = one(counts, a, ({ status }) => status === "discrepancy");
    const ways = ["recounted", "driver_owes", "written_off", "returned"] as const;
    return { type: "resolve", name, way: ways[b % 4], declared };
  },
  deposit: (_, [a]) => ({ type: "deposit", amount: 1 + a }),
  bring({ state }, [a, b, c]) {
    const full = state.ownDesks.flatMap((held, driver) => held ? [driver] : []);
    const driver = c % 7 && full.length ? full[a % full.length] : a % drivers;
    return { type: "bring", driver, amount: 1 + b * 7 % ((state.ownDesks[driver] ?? 0) + 250) };
  },
  unbring({ state }, [a]) {
    const brought = Object.entries(state.brought);
    if (!brought.length) return;
    return { type: "unbring", transfer: one(brought, a, ({ reversed }) => !reversed)[0] };
  },
  payDue({ state }, [a]) {
    const parcels = Object.entries(state.parcels);
    if (!parcels.length) return;
    return { type: "payDue", name: one(parcels, a, ({ due }) => due === "open")[0] };
  },
  unpay({ state }, [a]) {
    const paid = Object.keys(state.paid);
    return paid.length ? { type: "unpay", payment: paid[a % paid.length] } : undefined;
  },
  payOut({ state }, [a, b, c]) {
    const due = [...Array(drivers).keys()].filter((driver) => earned(state, driver) > 0);
    const driver = c % 5 && due.length ? due[a % due.length] : a % drivers;
    return { type: "payOut", driver, wallet: b % 2 > 0 };
  },
  unpayOut({ state }, [a]) {
    const payouts = Object.entries(state.payouts);
    if (!payouts.length) return;
    return { type: "unpayOut", payout: one(payouts, a, ({ reversed }) => !reversed)[0] };
  },
  adjust: (_, [a, b, c]) => ({
    type: "adjust",
    driver: a % drivers,
    amount: 1 + b * 10,
    credit: c % 2 === 0,
  }),
  step({ state }, [a, b, c, d]) {
    const parcels = Object.entries(state.parcels);
    if (!parcels.length) return;
    // Few orders are on the road, and much depends on their outcome.
    const ofOrders = parcels.filter(([, { of, driver }]) => of && driver !== null);
    const list = d % 4 && ofOrders.length ? ofOrders : parcels;
    const [name, { driver, status }] = one(list, a, (parcel) => parcel.driver !== null);
    const next: Partial<Record<typeof status, Step[]>> = {
      accepted: ["pickup"],
      picked_up: ["depart", "complete", "return", "return"],
      in_transit: ["complete", "return", "fail", "return"],
      failed: ["return"],
    };
    const likely = next[status] ?? ["complete"];
    const all = ["pickup", "depart", "complete", "fail", "return"] as const;
    return {
      type: "step",
      name,
      driver: c % 6 && driver !== null ? driver : b % drivers,
      what: c % 9 ? likely[b % likely.length] : all[b % 5],
    };
  },
  outcome({ state }, [a, b, c, d]) {
    const parcels = Object.entries(state.parcels).filter(([, { of }]) => !of);
    if (!parcels.length) return;
    const [name, { driver }] = one(
      parcels,
      a,
      ({ status }) => status === "picked_up" || status === "in_transit",
    );
    return {
      type: "outcome",
      name,
      driver: c % 6 && driver !== null ? driver : b % drivers,
      result: (["partial", "exchanged", "postponed", "refused"] as const)[d % 4],
    };
  },
  undo({ state }, [a, b, c]) {
    const parcels = Object.entries(state.parcels);
    if (!parcels.length) return;
    const [name, { result }] = one(
      parcels,
      a,
      ({ status, result }) => Boolean(result && !result.undone) && status !== "cancelled",
    );
    // Of a parcel that never had one, what a driver is answered depends on who sees it.
    const driver = b % 3 || !result ? null : c % 6 ? result.driver : c % drivers;
    return { type: "undo", name, driver };
  },
  changeAmount({ state }, [a, b, c, d]) {
    const [name, parcel] = underWay(state, a) ?? [];
    if (!name || !parcel) return;
    const cod = d % 3 ? 250 * (b % 30) : parcel.ordered;
    return { type: "changeAmount", name, cod, byOwner: parcel.customer !== null && c % 3 === 0 };
  },
  redirect({ state }, [a, b, c]) {
    const [name] = underWay(state, a) ?? [];
    if (!name) return;
    return { type: "redirect", name, place: b % 2 ? "far" : "near", charge: c % 3 > 0 };
  },
  openStatement: ({ serial }, [a]) => ({
    type: "openStatement",
    name: `statement ${serial + 1}`,
    customer: a % customers,
  }),
  payStatement({ state }, [a, b]) {
    const name = statementOf(state, a, "open");
    return name ? { type: "payStatement", name, cash: b % 2 > 0 } : undefined;
  },
  reverseStatement({ state }, [a]) {
    const name = statementOf(state, a, "paid");
    return name ? { type: "reverseStatement", name } : undefined;
  },
  voidStatement({ state }, [a]) {
    const name = statementOf(state, a, "open");
    return name ? { type: "voidStatement", name } : undefined;
  },
  handOver({ state }, [a, b, c]) {
    const parcels = Object.entries(state.parcels).filter(([, { of }]) => !of);
    if (!parcels.length) return;
    const [name, { driver }] = one(parcels, a, (parcel) => parcel.driver !== null);
    const from = c % 6 && driver !== null ? driver : b % drivers;
    return { type: "handOver", name, from, to: c % 10 ? (from + 1 + b % 2) % drivers : from };
  },
  confirm({ state }, [a, b]) {
    const hands = Object.entries(state.hands);
    if (!hands.length) return;
    const [hand, { to }] = one(hands, a, ({ status }) => status === "pending");
    return { type: "confirm", hand, to, accept: b % 3 > 0 };
  },
  receive: (_, dice) => ({ type: "receive", ...place(dice) }),
  takeBack: (_, dice) => ({ type: "takeBack", ...place(dice) }),
  writeOff: (_, dice) => ({ type: "writeOff", ...place(dice) }),
  correct: (_, [a, b, c, d]) => ({
    type: "correct",
    shelf: a % 2,
    item: b % 4,
    delta: (d % 3 ? -1 : 1) * (1 + c % 9),
  }),
  transfer: (_, [a, b, c]) => ({
    type: "transfer",
    from: a % 2,
    item: b % 4,
    quantity: 1 + c % 9,
  }),
  pick: ({ serial }, dice) => ({ type: "pick", name: `pick ${serial + 1}`, ...place(dice) }),
  move({ state }, [a, b, c]) {
    const picks = Object.entries(state.picks);
    if (!picks.length) return;
    const [name] = one(picks, a, ({ status }) => status === "in_progress");
    const to = b % 2 ? "completed" : "cancelled";
    return { type: "move", name, to, reported: to === "completed" && c % 2 > 0 };
  },
  report({ state }, [a, b, c]) {
    const picks = Object.entries(state.picks);
    if (!picks.length) return;
    const [name, { quantity, shelf, item }] = one(
      picks,
      a,
      ({ status }) => status === "in_progress",
    );
    const to = b % 2 ? "completed" : "in_progress";
    return { type: "report", name, shelf, item, to, picked: c % (quantity + 2) };
  },
  restock: (_, [a, b]) => ({ type: "restock", warehouse: a % 2, quantity: 1 + b % 6 }),
  order: ({ serial }, [a, b, c]) => ({
    type: "order",
    name: `order ${serial + 1}`,
    customer: a % customers,
    quantity: 1 + b % 6,
    wallet: c % 2 === 0,
  }),
  approve({ state }, [a]) {
    const orders = Object.entries(state.orders);
    if (!orders.length) return;
    return { type: "approve", name: one(orders, a, ({ status }) => status === "pending")[0] };
  },
  cancel({ state }, [a, b]) {
    const orders = Object.entries(state.orders);
    // Else few orders would live to see their goods leave.
    if (!orders.length || b % 2) return;
    return { type: "cancel", name: one(orders, a)[0] };
  },
  acceptShort({ state }, [a]) {
    const orders = Object.entries(state.orders);
    if (!orders.length) return;
    const isShort = ({ parts }: State["orders"][string]) =>
      parts.some(({ quantity, short, found, left }) =>
        !left && found !== null && found < quantity - short
      );
    return { type: "acceptShort", name: one(orders, a, isShort)[0] };
  },
  fetch({ state }, [a, b]) {
    const parts = Object.entries(state.parcels).filter(([, { of }]) => of);
    if (!parts.length) return;
    const [name, { of }] = one(
      parts,
      a,
      ({ status }) => status === "pending" || status === "accepted",
    );
    const { warehouse, quantity } = state.orders[of!.order].parts[of!.part];
    return { type: "fetch", name, warehouse, found: b % 2 ? quantity : b % (quantity + 1) };
  },
  putBack({ state }, [a]) {
    const parts = Object.entries(state.parcels).filter(([, { of }]) => of);
    if (!parts.length) return;
    const [name, { of, status }] = one(parts, a, ({ status }) => status === "returned");
    // Seldom what has not come back.
    if (status !== "returned" && a % 8) return;
    return { type: "putBack", name, warehouse: state.orders[of!.order].parts[of!.part].warehouse };
  },
};

/** A parcel that is no order and no return, most likely one on the road. */
function underWay(state: State, die: number) {
  const parcels = Object.entries(state.parcels).filter(([, { of, from }]) => !of && !from);
  if (!parcels.length) return;
  return one(parcels, die, ({ status }) => ["picked_up", "in_transit", "failed"].includes(status));
}

function statementOf(state: State, die: number, status: Statement["status"]): string | undefined {
  const found = Object.entries(state.statements);
  return found.length ? one(found, die, (statement) => statement.status === status)[0] : undefined;
}

const place = ([a, b, c]: Dice) => ({ shelf: a % 2, item: b % 4, quantity: 1 + c % 9 });

/** An earlier request, unchanged, or its key with another input, which only settlements store permanently. */
function again({ sent, state }: Known, [a, b]: Dice): Op | undefined {
  const known = sent[sent.length - 1 - a % Math.min(sent.length, 30)];
  if (!known) return;
  const rows = Object.keys(state.rows);
  if (known.type !== "settle" || b % 3 || !rows.length) return known;
  return { ...known, rows: known.rows === "all" ? [rows[a % rows.length]] : "all" };
}
