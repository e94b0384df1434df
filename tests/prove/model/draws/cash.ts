/** Draws of cash: settlements, counts, desks, payouts of drivers' pay. */
import { earned } from "../pay.ts";
import type { State } from "../state.ts";
import { type Draws, drivers, one } from "./draw.ts";

/** A driver with cash, if one has any, and how much. */
function inHand(state: State, die: number): { driver: number; amount: number } {
  const rows = Object.values(state.rows).filter(({ status }) => status === "collected");
  const driver = rows.length ? rows[die % rows.length].driver : 0;
  const own = rows.filter((row) => row.driver === driver);
  return { driver, amount: own.reduce((sum, { cod, fee }) => sum + cod + fee, 0) };
}

export const cashDraws: Draws<
  | "settle"
  | "unsettle"
  | "declare"
  | "count"
  | "resolve"
  | "deposit"
  | "bring"
  | "unbring"
  | "counter"
  | "uncounter"
  | "payDue"
  | "unpay"
  | "payOut"
  | "unpayOut"
  | "adjust"
> = {
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
  declare({ state, serial }, [a, , c]) {
    const { driver, amount } = inHand(state, a);
    // All that the driver has, half of it, or more than there is.
    const declared = [amount, Math.ceil(amount / 2), amount + 250][c % 3];
    return declared
      ? { type: "declare", name: `count ${serial + 1}`, driver, declared }
      : undefined;
  },
  count({ state, serial }, [a, b, c]) {
    const { driver, amount: declared } = inHand(state, a);
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
  counter({ state }, [a, b, c]) {
    const kinds = ["expense", "bank_withdrawal", "wallet_payout", "wallet_deposit"] as const;
    const driver = a % drivers;
    const kind = kinds[c % kinds.length];
    // Mostly what is there.
    const most = { expense: state.desk, wallet_payout: state.drivers[driver] }[String(kind)] ?? 900;
    return { type: "counter", kind, driver, amount: 1 + b * 7 % (most + 100) };
  },
  uncounter({ state }, [a]) {
    const counters = Object.entries(state.counters);
    if (!counters.length) return;
    return { type: "uncounter", transfer: one(counters, a, ({ reversed }) => !reversed)[0] };
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
};
