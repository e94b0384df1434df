/** Parcels on the road: what drivers do with them, and how they come from one driver to another. */
import { deliveryPay } from "../world.ts";
import { ended, leaves } from "./orders.ts";
import { backName, type Of, type Parcel, parcelFee, type State, type Step } from "./state.ts";

const from: Record<Step, string[]> = {
  pickup: ["accepted"],
  depart: ["picked_up"],
  complete: ["picked_up", "in_transit"],
  fail: ["picked_up", "in_transit"],
  return: ["picked_up", "in_transit", "failed"],
};
const to = {
  pickup: "picked_up",
  depart: "in_transit",
  complete: "delivered",
  fail: "failed",
  return: "returned",
} as const;

export function step(state: State, { name, driver, what }: Of<"step">): string {
  const parcel = state.parcels[name];
  if (parcel.driver !== driver) return "not_the_drivers";
  if (parcel.inHand !== null) return "assignment_not_accepted";
  if (!from[what].includes(parcel.status)) return "invalid_status_transition";
  if (what === "pickup" && parcel.of && !leaves(state, parcel.of)) return "goods_not_picked";
  // A return from a door ends where it goes.
  if (what === "return" && parcel.from) return "invalid_status_transition";
  parcel.status = to[what];
  if (what === "complete") return `ok ${to[what]}${complete(state, name)}`;
  if (what === "return") return `ok ${to[what]}${comeBack(state, name)}`;
  return `ok ${to[what]}`;
}

/** One of the two things that are in each parcel is kept, or it is exchanged, refused, or wanted another day. */
export function outcome(state: State, { name, driver, result }: Of<"outcome">): string {
  const parcel = state.parcels[name];
  if (!from.complete.includes(parcel.status) || parcel.driver !== driver) return "not_now";
  if (parcel.inHand !== null) return "assignment_not_accepted";
  if (result === "postponed" || result === "refused" && parcel.from) {
    parcel.status = "failed";
    return "ok failed took 0";
  }
  if (parcel.from) return "outcome_not_at_door";
  const back: Parcel = { ...parcel, status: "picked_up", hand: null, cod: 0, due: null };
  state.parcels[backName(name)] = back;
  if (result === "refused") {
    parcel.status = "returned";
    back.from = { parcel: name, brings: "all" };
    leaveList(state, name, "returned");
    return "ok returned took 0 back picked_up";
  }
  if (result === "partial") parcel.cod /= 2;
  back.from = { parcel: name, brings: result === "partial" ? "part" : "exchange" };
  parcel.status = "delivered";
  return `ok delivered${complete(state, name)} back picked_up`;
}

function complete(state: State, name: string): string {
  const parcel = state.parcels[name];
  if (parcel.from) {
    const { parcel: original, brings } = parcel.from;
    if (brings === "all") giveFeeBack(state, original);
    leaveList(state, name, "completed");
    return " took 0";
  }
  if (parcel.cod > 0) {
    state.rows[`${name} dropoff`] = {
      driver: parcel.driver!,
      cod: parcel.cod,
      fee: 0,
      status: "collected",
    };
    if (parcel.of) state.house += parcel.cod;
    else state.customers[parcel.customer!] += parcel.cod;
  }
  state.earned[parcel.driver!] += deliveryPay;
  leaveList(state, name, "completed");
  if (parcel.of) ended(state, parcel.of.order);
  return ` took ${parcel.cod}`;
}

/** The sender gets the fee back, which the driver took in cash: into the wallet, or from the desk later. */
function comeBack(state: State, name: string): string {
  const parcel = state.parcels[name];
  if (parcel.of) {
    // On its driver's list until the warehouse has it.
    state.orders[parcel.of.order].parts[parcel.of.part].back = "expected";
    ended(state, parcel.of.order);
    return " expected";
  }
  leaveList(state, name, "returned");
  return giveFeeBack(state, name);
}

function giveFeeBack(state: State, name: string): string {
  const parcel = state.parcels[name];
  if (parcel.customer !== null) {
    state.customers[parcel.customer] += parcelFee;
    return " refunded";
  }
  parcel.due = "open";
  return ` due ${parcelFee}`;
}

/** Off the list of its driver. */
export function leaveList(state: State, name: string, as: "completed" | "returned"): void {
  const parcel = state.parcels[name];
  if (parcel.hand) state.hands[parcel.hand].status = as;
  parcel.driver = parcel.hand = parcel.inHand = null;
}

export function handOver(state: State, op: Of<"handOver">): string {
  const parcel = state.parcels[op.name];
  if (op.from === op.to) return "same_driver";
  if (parcel.driver !== op.from) return "assignment_not_found";
  // Not yet confirmed, it is still with the one before.
  const inHand = parcel.inHand ?? op.from;
  leaveList(state, op.name, "returned");
  Object.assign(parcel, { driver: op.to, inHand, hand: op.id });
  state.hands[op.id] = { to: op.to, parcel: op.name, status: "pending" };
  return "ok 1 of which 1 to confirm";
}

/** The driver who gets it says that it is there, or that it is not. */
export function confirm(state: State, { hand, accept }: Of<"confirm">): string {
  const given = state.hands[hand];
  const parcel = state.parcels[given.parcel];
  if (given.status === "pending") {
    given.status = accept ? "accepted" : "rejected";
    if (!accept) Object.assign(parcel, { driver: parcel.inHand, hand: null });
    parcel.inHand = null;
    return "ok 1";
  }
  const same = accept ? ["accepted", "completed"] : ["rejected"];
  return same.includes(given.status) ? "ok 1" : "assignment_not_pending";
}
