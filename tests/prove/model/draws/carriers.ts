/** Draws of parcels that a carrier has, and of its cash. */
import type { Report } from "../ops.ts";
import type { Owed, Parcel, State } from "../state.ts";
import { type Draws, one } from "./draw.ts";

/** Those that may be a carrier's: a return from a door is its driver's. */
const carriable = (state: State) => Object.entries(state.parcels).filter(([, { from }]) => !from);

/** The likely next reports of a parcel. */
const likely: Partial<Record<Parcel["status"], readonly Report[]>> = {
  pending: ["picked_up", "in_transit", "delivered", "picked_up", "returned"],
  picked_up: ["in_transit", "delivered", "failed", "returned"],
  in_transit: ["delivered", "failed", "delivered", "returned"],
  failed: ["in_transit", "delivered", "returned"],
  returned: ["in_transit", "returned"],
};
const reports = ["picked_up", "in_transit", "delivered", "failed", "returned"] as const;

export const carrierDraws: Draws<
  "consign" | "book" | "unbook" | "tell" | "carrierPays" | "unpayCarrier" | "bank"
> = {
  consign({ state }, [a, b, c]) {
    const parcels = carriable(state);
    if (!parcels.length) return;
    const [name, parcel] = one(
      parcels,
      a,
      ({ status, external }) => status === "pending" && !external,
    );
    // Else few drivers would carry an order.
    if (parcel.of && c % 2) return;
    return { type: "consign", name, external: b % 4 > 0 };
  },
  book({ state }, [a]) {
    const parcels = carriable(state);
    if (!parcels.length) return;
    const [name] = one(
      parcels,
      a,
      ({ status, external, booked }) =>
        status === "pending" && Boolean(external) && booked === undefined,
    );
    return { type: "book", name };
  },
  unbook({ state }, [a, b]) {
    const parcels = carriable(state);
    // Else few bookings would last.
    if (!parcels.length || b % 2) return;
    return { type: "unbook", name: one(parcels, a, ({ booked }) => booked !== undefined)[0] };
  },
  tell({ state }, [a, b, c]) {
    const parcels = carriable(state);
    if (!parcels.length) return;
    const isOpen = ({ status, booked }: Parcel) =>
      booked !== undefined && !["delivered", "cancelled"].includes(status);
    const [name, parcel] = one(parcels, a, isOpen);
    if (c % 11 === 0) return { type: "tell", name, report: "cancelled" };
    const list = c % 7 ? likely[parcel.status] ?? reports : reports;
    return { type: "tell", name, report: list[b % list.length] };
  },
  carrierPays({ state }, [a, b, c]) {
    // Mostly nothing, else a part of it, all of it or too much.
    const kept = (amount: number) => [0, 0, 0, 250, amount, 0, 500, amount + 250][(a + c) % 8]!;
    const owed = Object.entries(state.owed);
    const open = owed.filter(([, { status }]) => status === "owed");
    const sum = (rows: [string, Owed][]) =>
      rows.reduce((total, [, { cod, fee }]) => total + cod + fee, 0);
    if (a % 2) {
      const rows = open.slice(0, 1 + b % 3);
      const amount = sum(rows) + (c % 4 ? 0 : 250) || 250;
      return { type: "carrierPays", rows: "oldest", amount, charges: kept(amount), lost: false };
    }
    const list = c % 5 && open.length ? open : owed;
    const rows = list.filter((_, place) => (place + b) % 3).slice(0, 3);
    if (!rows.length) return;
    const amount = sum(rows) + [0, 0, 0, 250, -250][c % 5];
    const lost = b % 4 === 0;
    const charges = lost ? 0 : kept(amount);
    return { type: "carrierPays", rows: rows.map(([row]) => row), amount, charges, lost };
  },
  unpayCarrier({ state }, [a]) {
    const paid = Object.entries(state.carrierPaid);
    if (!paid.length) return;
    return { type: "unpayCarrier", payment: one(paid, a, ({ reversed }) => !reversed)[0] };
  },
  bank: ({ state }, [a]) => ({ type: "bank", amount: 1 + a * 7 % ((state.till ?? 0) + 250) }),
};
