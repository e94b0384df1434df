/** Parcels in the warehouse for parcels: how they come there, set out again, and are sent back. */
import { record } from "./door.ts";
import { isOfGoods, receiveGoods } from "./customer-returns.ts";
import { cameBack, cancelled, ended } from "./orders.ts";
import type { Of } from "./ops.ts";
import { complete, from, giveFeeBack, leaveList, moveTo } from "./parcels.ts";
import { type Parcel, sentBackName, type State, tally } from "./state.ts";

/** It lies there, or does not; so does what it brings back. */
export function setThere(state: State, parcel: Parcel, there: boolean): void {
  parcel.there = there;
  if (there) parcel.lay = true;
  if (parcel.back) state.parcels[parcel.back].there = there;
}

/** Nothing of it is expected there any more. */
export function withdraw(state: State, parcel: Parcel): void {
  if (parcel.expected) state.receipts[parcel.expected].status = "cancelled";
  delete parcel.expected;
}

/** Parcels are expected in the warehouse for parcels, goods in any. */
export function expectThere(state: State, name: string, op: string, at = 2): void {
  const parcel = state.parcels[name];
  if (parcel.expected) return;
  parcel.expected = op;
  const goods = isOfGoods(state, parcel) ? { at } : {};
  state.receipts[op] = { parcel: name, ...goods, status: "pending" };
}

/** A part of an order that waits where it is sold goes there before it goes to its door. */
export function divert(state: State, { name }: Of<"divert">): string {
  const parcel = state.parcels[name];
  // It is fetched there already.
  if (parcel.lay) return "warehouses_must_differ";
  if (parcel.status !== "pending" || parcel.external) return "no_transferable_packages";
  parcel.diverted = true;
  return "ok";
}

/** Its driver has brought it there, and it waits. */
export function arrive(state: State, name: string): string {
  const parcel = state.parcels[name];
  moveTo(parcel, "pending");
  setThere(state, parcel, true);
  parcel.diverted = false;
  leaveList(state, name, "completed");
  return "ok pending took 0";
}

/** A driver brings a parcel there that did not come to its door; it is theirs until the staff have it. */
export function bringIn(state: State, { id, name, driver }: Of<"bringIn">): string {
  const parcel = state.parcels[name];
  if (parcel.driver !== driver) return "not_the_drivers";
  if (parcel.inHand !== null) return "assignment_not_accepted";
  if (!from.return.includes(parcel.status)) return "invalid_status_transition";
  if (parcel.returns?.ends === 2) {
    tally(state, "ended where its driver brought it");
    if (parcel.status === "failed") moveTo(parcel, "in_transit");
    const before = structuredClone(parcel);
    moveTo(parcel, "delivered");
    withdraw(state, parcel);
    record(state, name, before, () => complete(state, name, id));
    return "ok delivered expected";
  }
  expectThere(state, name, id);
  if (parcel.pickup) parcel.pickup.wentOn = true;
  if (parcel.status !== "in_transit") moveTo(parcel, "in_transit");
  return "ok in_transit expected";
}

export function takeIn(state: State, { receipt, goods }: Of<"takeIn">): string {
  const found = state.receipts[receipt];
  if (!found) return "receiving_order_not_found";
  if (found.status === "cancelled") return "invalid_status_transition";
  if (found.status === "pending") {
    found.status = "received";
    const parcel = state.parcels[found.parcel];
    delete parcel.expected;
    parcel.picked = false;
    if (found.at !== undefined) {
      // Goods that their driver brought into a warehouse end there.
      const { driver, status } = parcel;
      const ends = status !== "delivered" && driver !== null;
      leaveList(state, found.parcel, ends ? "completed" : "returned");
      if (ends) state.pay[found.parcel] = { driver, payout: null };
      found.counted = goods;
      receiveGoods(state, found.parcel, goods!);
      return "ok received";
    }
    leaveList(state, found.parcel, "returned");
    if (parcel.returns) tally(state, "came into a warehouse on its way");
    if (parcel.booked !== undefined) parcel.broughtBack = true;
    moveTo(parcel, "pending");
    setThere(state, parcel, true);
  } else if (
    found.counted?.received !== goods?.received || found.counted?.damaged !== goods?.damaged
  ) {
    // Another count of what was received already.
    return "invalid_status_transition";
  }
  return "ok received";
}

/** By a delivery of its own. Cancelled, its fee is given back at once, and a part of an order ends there. */
export function sendBack(state: State, { id, name, cancels }: Of<"sendBack">): string {
  const parcel = state.parcels[name];
  const waits = parcel.status === "pending" || parcel.status === "accepted";
  if (cancels && waits && !parcel.there) {
    const { of } = parcel;
    if (!of) moveTo(parcel, "cancelled");
    else if (!cancelled(state, of)) return "shipment_cash_changes";
    leaveList(state, name, "returned");
    if (of) ended(state, of.order);
    if (parcel.returns) tally(state, "cancelled");
    // The fee that was paid at its pickup goes back also while it is on its way back.
    return `ok cancelled${of ? "" : giveFeeBack(state, name)}`;
  }
  if (!cancels && !parcel.there) return "delivery_not_in_warehouse";
  // A customer's return continues from where it ended; it waits else, or is cancelled.
  const goesBack = parcel.status === (parcel.returns ? "delivered" : "pending");
  if (cancels ? !waits : !goesBack) return "invalid_status_transition";
  if (parcel.returnedBy) return "return_already_exists";
  if (cancels && parcel.of && !cancelled(state, parcel.of)) return "shipment_cash_changes";
  leaveList(state, name, "returned");
  const back = sentBackName(name, id);
  state.parcels[back] = {
    ...{ status: "pending", driver: null, inHand: null, hand: null, customer: parcel.customer },
    ...{ cod: 0, ordered: 0, fee: 0, place: "near", moves: 0, due: null },
    ...{ there: true, back: name },
  };
  parcel.returnedBy = back;
  if (parcel.returns) tally(state, cancels ? "cancelled in a warehouse" : "brought on");
  if (!cancels) return "ok pending";
  if (parcel.of) ended(state, parcel.of.order);
  else moveTo(parcel, "cancelled");
  return `ok cancelled${parcel.of ? "" : giveFeeBack(state, name)} back pending`;
}

/** The parcel is not sent back, and waits as before; one that was cancelled goes back in any case. */
export function callOff(state: State, { name }: Of<"callOff">): string {
  const parcel = state.parcels[name];
  const original = state.parcels[parcel.back!];
  const waits = parcel.status === "pending" || parcel.status === "accepted";
  if (!waits || original.status === "cancelled") return "invalid_status_transition";
  moveTo(parcel, "cancelled");
  leaveList(state, name, "returned");
  parcel.there = false;
  delete original.returnedBy;
  return "ok cancelled";
}

/** All of it is picked for its driver. */
export function execute(state: State, { name }: Of<"execute">): string {
  const parcel = state.parcels[name];
  const waits = parcel.status === "pending" || parcel.status === "accepted";
  if (!waits) return "invalid_status_transition";
  parcel.picked = true;
  return "ok completed";
}

/** No driver is given it: it lies open again. */
export function unprepare(state: State, { name }: Of<"unprepare">): string {
  const parcel = state.parcels[name];
  if (parcel.status !== "pending") return "invalid_status_transition";
  if (!parcel.picked) return "delivery_not_prepared";
  parcel.picked = false;
  return "ok cancelled";
}

/** A delivery that brought a parcel back is over: the parcel is returned, unless its order was cancelled before. */
export function bringHome(state: State, name: string): void {
  const home = state.parcels[name].back!;
  const original = state.parcels[home];
  if (original.of) expectGoods(state, home);
  if (original.status !== "pending") return;
  moveTo(original, "returned");
  if (original.of) cameBack(state, original.of);
  else giveFeeBack(state, home);
}

/** The goods of a part are to be received where they are sold from, or where their driver fetched them. */
export function expectGoods(state: State, name: string, at?: number): void {
  const { of } = state.parcels[name];
  const part = state.orders[of!.order].parts[of!.part];
  const known = part.back === "expected" || part.back === "received";
  if (!part.left || known || part.quantity === part.short) return;
  part.back = "expected";
  part.backAt = at ?? part.warehouse;
}
