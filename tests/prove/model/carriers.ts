/** Parcels that another company carries: its bookings and reports, the cash that it collects and what it pays of it. */
import { endReturn } from "./customer-returns.ts";
import { record } from "./door.ts";
import { cameBack, ended, missing } from "./orders.ts";
import type { Of, Report } from "./ops.ts";
import { giveFeeBack, moveTo } from "./parcels.ts";
import { bringHome, expectGoods, expectThere, setThere, withdraw } from "./send-backs.ts";
import { type Parcel, type State, tally, unitPrice } from "./state.ts";
import { book as bookWallet } from "./statements.ts";

/** Its booking stands; not where the carrier has brought it back, and it waits. */
export const isBooked = ({ booked, broughtBack, status }: Parcel): boolean =>
  booked !== undefined && !(broughtBack && status === "pending");

function unbooked(parcel: Parcel): void {
  delete parcel.booked;
  parcel.broughtBack = false;
}

/** A waiting parcel is given to a carrier, or taken back from one that is not booked. */
export function consign(state: State, { name, external }: Of<"consign">): string {
  const parcel = state.parcels[name];
  // On its way with a carrier the name of that one may be corrected; here it is the same.
  const onItsWay = parcel.status === "picked_up" || parcel.status === "in_transit";
  if (onItsWay && parcel.external && external) return "ok";
  if (parcel.status !== "pending") return "invalid_status_transition";
  if (isBooked(parcel) && !external) return "shipment_with_other_carrier";
  if (!isBooked(parcel)) unbooked(parcel);
  parcel.external = external;
  return "ok";
}

/** It has to collect the cash that is due at the door. */
export function book(state: State, { name }: Of<"book">): string {
  const parcel = state.parcels[name];
  if (!parcel.external) return "delivery_not_external";
  if (!isBooked(parcel)) {
    if (parcel.status !== "pending") return "delivery_not_bookable";
    if (parcel.returnedBy) return "return_under_way";
    // No carrier takes a fee from who sends a parcel.
    const { returns, doorFee, taken } = parcel;
    if (returns && !returns.wallet && !doorFee && !taken) return "sender_cash_not_collected";
    const part = parcel.of && state.orders[parcel.of.order].parts[parcel.of.part];
    // A warehouse that need not pick gives it all; one that picked too little, nothing.
    if (part && !part.left && missing(part)) return "goods_not_picked";
    Object.assign(parcel, { booked: parcel.cod + (parcel.doorFee ?? 0), broughtBack: false });
  }
  return `ok booked ${parcel.booked}`;
}

export function unbook(state: State, { name }: Of<"unbook">): string {
  const parcel = state.parcels[name];
  if (parcel.booked === undefined) return "shipment_not_found";
  if (!["pending", "cancelled"].includes(parcel.status)) return "delivery_not_bookable";
  unbooked(parcel);
  return "ok cancelled";
}

/** The reports that are believed of a parcel in this state; that it was delivered or brought back says that the carrier had it. */
const believed: Partial<Record<Parcel["status"], readonly Report[]>> = {
  pending: ["picked_up", "in_transit", "delivered", "failed", "returned"],
  picked_up: ["in_transit", "delivered", "failed", "returned"],
  in_transit: ["delivered", "failed", "returned"],
  failed: ["in_transit", "delivered", "returned"],
};
/** A return that came back to its warehouse may set out again. */
const again: readonly Report[] = ["in_transit", "delivered", "failed"];

export function tell(state: State, { id, name, report }: Of<"tell">): string {
  const parcel = state.parcels[name];
  const { status } = parcel;
  if (parcel.booked === undefined || !parcel.external) return "ok unknown_shipment";
  // It ends the booking, and moves nothing.
  if (report === "cancelled" && ["pending", "cancelled"].includes(status)) {
    unbooked(parcel);
    return status === "pending" ? "ok applied" : "ok unchanged";
  }
  if (status === report) return "ok unchanged";
  const may = parcel.back && status === "returned" ? again : believed[status] ?? [];
  if (!may.includes(report) || parcel.returnedBy) return "ok impossible";
  if (status === "pending") take(state, name);
  const leaves = status === "returned" || status === "failed" && report === "in_transit";
  if (leaves || report === "delivered") withdraw(state, parcel);
  if (report === "returned" && parcel.lay && !parcel.of && !parcel.back) {
    // Fetched in the warehouse on its way, it comes back there.
    if (parcel.status !== "in_transit") moveTo(parcel, "in_transit");
    expectThere(state, name, id);
    return "ok applied";
  }
  if (report === "delivered") {
    // As it was on its way: there its undo puts it.
    const before = structuredClone(parcel);
    if (before.status !== "picked_up") before.status = "in_transit";
    return record(state, name, before, () => {
      moveTo(parcel, report);
      deliver(state, name, id);
      return "ok applied";
    });
  }
  moveTo(parcel, report);
  if (report === "returned") comeBack(state, name, id);
  return "ok applied";
}

/** It has the parcel: of an order what was picked, or all of it. */
function take(state: State, name: string): void {
  const parcel = state.parcels[name];
  setThere(state, parcel, false);
  if (!parcel.of) return;
  const order = state.orders[parcel.of.order];
  const part = order.parts[parcel.of.part];
  if (part.left) return;
  const less = missing(part);
  part.short += less;
  if (!order.wallet) part.charged = unitPrice * less;
  state.goods[part.warehouse] += less;
  part.left = true;
  if (order.status === "confirmed") order.status = "shipped";
}

/** It owes what it was told to collect; no driver earns anything. */
function deliver(state: State, name: string, id: string): void {
  const parcel = state.parcels[name];
  if (parcel.back) return bringHome(state, name);
  const { of, cod, customer, doorFee: fee = 0 } = parcel;
  if (cod + fee > 0) {
    const row = `${name} carrier`;
    state.owed[row] = {
      ...{ cod, fee, status: "owed" },
      ...(state.holds && cod && !of ? { holds: customer! } : {}),
    };
    if (of) state.house += cod;
    else if (cod) bookWallet(state, customer!, { amount: cod, parcel: name, row });
  }
  if (of) ended(state, of.order);
  if (parcel.returns) endReturn(state, name, id);
}

/** As when a driver brings a parcel back: goods are received, a return is expected in its warehouse, and else the fee is given back. */
function comeBack(state: State, name: string, id: string): void {
  const parcel = state.parcels[name];
  if (parcel.back) expectThere(state, name, id);
  else if (parcel.of) {
    expectGoods(state, name, parcel.lay ? 2 : undefined);
    cameBack(state, parcel.of);
  } else {
    if (parcel.returns) tally(state, "given back");
    giveFeeBack(state, name);
  }
}

/**
 * A payment is for rows that are named, or for the oldest: it pays whole ones, and what the carrier kept of it never comes to the till. What is
 * lost, the company bears.
 */
export function carrierPays(
  state: State,
  { id, rows, amount, charges, lost }: Of<"carrierPays">,
): string {
  if (charges > amount) return "charges_exceed_remittance";
  const due = (row: string) => state.owed[row].cod + state.owed[row].fee;
  const open = Object.keys(state.owed).filter((row) => state.owed[row].status === "owed");
  if (rows === "oldest" && !open.length) return "no_pending_collections";
  if (rows !== "oldest" && !rows.every((row) => open.includes(row))) {
    return "cod_collections_not_pending";
  }
  const from = rows === "oldest" ? open : open.filter((row) => rows.includes(row));
  const owed = from.reduce((sum, row) => sum + due(row), 0);
  if (amount > owed) return "remittance_exceeds_owed";
  const paid: string[] = [];
  let rest = rows === "oldest" ? amount : amount - owed;
  if (rows !== "oldest") paid.push(...from);
  else {for (const row of from) {
      if (rest > 0) {
        rest -= due(row);
        paid.push(row);
      }
    }}
  if (rest !== 0) return "remittance_amount_mismatch";
  for (const row of paid) state.owed[row].status = lost ? "written_off" : "remitted";
  const received = lost ? 0 : amount - charges;
  if (received) state.till = (state.till ?? 0) + received;
  state.carrierPaid[id] = { rows: paid, amount, received, charges, reversed: false };
  return `ok ${amount} of which ${charges} kept, ${received} came, in ${paid.length} leaves ${
    debt(state)
  }`;
}

export function unpayCarrier(state: State, { payment }: Of<"unpayCarrier">): string {
  const paid = state.carrierPaid[payment];
  if (!paid) return "remittance_not_found";
  if (paid.reversed) return "remittance_already_reversed";
  const { rows, amount, received, charges } = paid;
  if (received) {
    if ((state.till ?? 0) < received) return "insufficient_desk_cash";
    state.till = (state.till ?? 0) - received;
  }
  paid.reversed = true;
  for (const row of rows) state.owed[row].status = "owed";
  return `ok ${amount} of which ${charges} kept, ${received} came, in ${rows.length} leaves ${
    debt(state)
  }`;
}

/** The cash that carriers owe. */
export const debt = (state: State): number =>
  Object.values(state.owed).reduce(
    (sum, { cod, fee, status }) => sum + (status === "owed" ? cod + fee : 0),
    0,
  );

export function bank(state: State, { amount }: Of<"bank">): string {
  if (state.till === null) return "cash_desk_not_found";
  if (state.till < amount) return "insufficient_desk_cash";
  state.till -= amount;
  return `ok ${amount}`;
}
