/** Results that are reported at the door and undone again, and parcels on the road that owe another amount or go elsewhere. */
import { redirectReturn } from "./customer-returns.ts";
import { withdraw } from "./send-backs.ts";
import { isBooked } from "./carriers.ts";
import { uncovered } from "./cash.ts";
import { complete, from, leaveList, moveTo } from "./parcels.ts";
import type { Of, Place } from "./ops.ts";
import { backName, fees, type Parcel, type State } from "./state.ts";
import { available, book, isStated } from "./statements.ts";

/** Does what follows from an attempt with a parcel, and keeps what an undo needs. */
export function record(
  state: State,
  name: string,
  { result: _, ...before }: Parcel,
  follow: () => string,
): string {
  const { customer, of } = before;
  const movements = customer === null ? 0 : state.movements[customer].length;
  const refunded = of ? state.orders[of.order].refunded : 0;
  const parcels = Object.keys(state.parcels).length;
  const said = follow();
  const parcel = state.parcels[name];
  parcel.result = {
    driver: before.driver,
    before,
    moves: parcel.moves,
    movements,
    refunded,
    parcels,
    undone: false,
  };
  return said;
}

/** One of the two things that are in each parcel is kept, or it is exchanged, refused, or wanted another day. */
export function outcome(state: State, { id, name, driver, result }: Of<"outcome">): string {
  const parcel = state.parcels[name];
  if (!from.complete.includes(parcel.status) || parcel.driver !== driver) return "not_now";
  if (parcel.inHand !== null) return "assignment_not_accepted";
  const before = structuredClone(parcel);
  const isReturn = parcel.from || parcel.returns;
  if (result === "postponed" || result === "refused" && isReturn) {
    moveTo(parcel, "failed");
    parcel.refused = result === "refused";
    return record(state, name, before, () => "ok failed took 0");
  }
  if (isReturn) return "outcome_not_at_door";
  // Prices of things add up to what was ordered, not to what was agreed since for both.
  const priced = result === "partial" && parcel.cod > 0 && !parcel.part;
  if (priced && parcel.cod !== parcel.ordered) return "item_prices_required";
  if (result === "exchanged" && parcel.part) return "amount_is_for_part";
  const { result: _, expected: __, ...back } = {
    ...structuredClone(parcel),
    hand: null,
    cod: 0,
    part: false,
    due: null,
  };
  withdraw(state, parcel);
  return record(state, name, before, () => {
    if (result === "refused") {
      state.parcels[backName(name)] = { ...back, ...fresh, from: { parcel: name, brings: "all" } };
      moveTo(parcel, "returned");
      leaveList(state, name, "returned");
      return "ok returned took 0 back picked_up";
    }
    const brings = result === "partial" ? "part" : "exchange";
    state.parcels[backName(name)] = { ...back, ...fresh, from: { parcel: name, brings } };
    if (priced) Object.assign(parcel, { cod: parcel.cod / 2, part: true });
    moveTo(parcel, "delivered");
    return `ok delivered${complete(state, name, id)} back picked_up`;
  });
}

const fresh = { status: "picked_up", moves: 0 } as const;

/** The parcel is on its way again, and its cash, pay, return and the end of its order are as if it had never been reported. */
export function undo(state: State, { name, driver }: Of<"undo">): string {
  const parcel = state.parcels[name];
  const { result } = parcel;
  if (driver !== null && result?.driver !== driver) return "not_the_drivers";
  const obstacle = obstacleOf(state, name);
  if (obstacle) return obstacle;
  const { before, driver: by } = result!;
  const row = `${name} dropoff`;
  const owed = `${name} carrier`;
  // Only this result's own row: an earlier one was undone with its result.
  const its = parcel.status === "delivered" ? state.rows[row] ?? state.owed[owed] : undefined;
  const cod = its?.cod ?? 0;
  const ended = parcel.status !== "failed";
  if (result!.returned?.refunded) {
    if (available(state, parcel.customer!) < parcel.fee) return "insufficient_wallet_balance";
    book(state, parcel.customer!, { amount: -parcel.fee, parcel: name });
    state.house += parcel.fee - (parcel.taken ?? 0);
  }
  if (result!.returned) {
    parcel.due = null;
    withdraw(state, parcel);
  }
  if (cod && !parcel.of) {
    // Held COD could not be spent.
    const spent = available(state, parcel.customer!) < cod;
    if (its!.holds === undefined && spent) return "insufficient_wallet_balance";
  }
  if (parcel.status === "delivered" && state.rows[row]) {
    const { [row]: _, ...rows } = state.rows;
    const ends = uncovered({ ...state, rows }, by!).map(([, count]) => count);
    // Counted cash lies on a desk.
    if (ends.some(({ status }) => status !== "declared")) return "outcome_is_settled";
    delete state.rows[row];
    for (const count of ends) count.status = "cancelled";
  }
  delete state.owed[owed];
  if (cod) {
    if (parcel.of) state.house -= cod;
    else book(state, parcel.customer!, { amount: -cod, parcel: name });
  }
  if (parcel.status === "delivered") delete state.pay[name];
  const back = state.parcels[backName(name)];
  if (back && back.status === "picked_up" && ended && !parcel.from) {
    leaveList(state, backName(name), "returned");
    moveTo(back, "cancelled");
  }
  if (parcel.of) {
    const order = state.orders[parcel.of.order];
    const part = order.parts[parcel.of.part];
    if (part.back === "expected") part.back = "cancelled";
    order.status = "shipped";
  }
  moveTo(parcel, before.status);
  Object.assign(parcel, { attempts: before.attempts, refused: before.refused });
  if (parcel.returns && ended) withdraw(state, parcel);
  // A failed one may owe another amount by now.
  if (ended) {
    const { cod, part = false } = before;
    Object.assign(parcel, { cod, part, driver: by, inHand: null, hand: null });
  }
  result!.undone = true;
  return `ok ${before.status} without ${cod}`;
}

/** The first thing that stands in the way of an undo. */
function obstacleOf(state: State, name: string): string | undefined {
  const parcel = state.parcels[name];
  const { result, of } = parcel;
  if (
    parcel.external && ["failed", "returned"].includes(parcel.status) &&
    parcel.moves !== result?.moves
  ) return "carrier_reports_outcome";
  if (!result) return "no_outcome_to_undo";
  if (result.undone) return "outcome_already_undone";
  if (parcel.moves > result.moves) return "outcome_went_on";
  // A failed parcel that came to another driver, or is on its way there.
  const elsewhere = parcel.driver !== result.driver || parcel.inHand !== null;
  if (parcel.status === "failed" && elsewhere) return "outcome_went_on";
  const back = state.parcels[backName(name)];
  if (back && back.status !== "cancelled") {
    const withDriver = back.driver === result.driver && back.inHand === null;
    if (back.status !== "picked_up" || !withDriver) return "outcome_went_on";
  }
  // Its customer has ordered a return, perhaps of what this delivery gave back to them; one that was cancelled in a warehouse was fetched.
  const original = parcel.back ? state.parcels[parcel.back] : undefined;
  const gaveBackOf = parcel.status === "delivered" && original?.status === "cancelled"
    ? original.returns?.parcel
    : undefined;
  const since = Object.values(state.parcels).slice(result.parcels).some((one) =>
    (one.returns?.parcel === (gaveBackOf ?? name) &&
      (one.status !== "cancelled" || one.there || one.returnedBy)) ||
    result.returned && parcel.returns && one.returns?.parcel === parcel.returns.parcel &&
      one.status !== "cancelled"
  );
  // A warehouse has what its return brought, or gave it on.
  const { there, returnedBy, received } = parcel;
  const taken = parcel.returns && (there || returnedBy || received !== undefined);
  if (since || taken) return "outcome_went_on";
  if (parcel.from?.brings === "all" && parcel.status === "delivered") return "outcome_went_on";
  if (
    parcel.back && parcel.status === "delivered" && state.parcels[parcel.back].status === "returned"
  ) {
    return "outcome_went_on";
  }
  if (parcel.status === "returned" && parcel.due && !(result.returned && parcel.due === "open")) {
    return "outcome_went_on";
  }
  if (result.returned && parcel.of) return "outcome_went_on";
  if (of) {
    const { status, refunded, parts } = state.orders[of.order];
    if (parcel.status === "returned" && parts[of.part].back === "received") {
      return "outcome_went_on";
    }
    if (!["shipped", "delivered"].includes(status) || refunded > result.refunded) {
      return "outcome_went_on";
    }
  }
  const row = parcel.status === "delivered" ? state.rows[`${name} dropoff`] : undefined;
  if (row && row.status !== "collected") return "outcome_is_settled";
  const owed = parcel.status === "delivered" ? state.owed[`${name} carrier`] : undefined;
  if (owed && owed.status !== "owed") return "outcome_is_settled";
  if (parcel.status === "delivered" && state.pay[name]?.payout) return "outcome_is_settled";
  return isStated(state, name, result.movements) ? "outcome_is_settled" : undefined;
}

/** The parcel waits at its sender's for its driver again, and its fee was not taken. */
export function undoPickup(state: State, { name, driver }: Of<"undoPickup">): string {
  const parcel = state.parcels[name];
  const { pickup, customer } = parcel;
  const onWay = ["picked_up", "in_transit"].includes(parcel.status);
  if (driver !== null && parcel.driver !== driver) return "not_the_drivers";
  if (parcel.inHand !== null) return "assignment_not_accepted";
  if (!onWay) return "no_pickup_to_undo";
  if (parcel.external) return "carrier_reports_outcome";
  if (parcel.from || !pickup) return "no_pickup_to_undo";
  if (parcel.of || parcel.back || parcel.lay) return "pickup_not_at_sender";
  const borne = customer === null || parcel.returns?.wallet
    ? []
    : state.movements[customer].slice(pickup.movements)
      .filter((one) => one.parcel === name && !one.row);
  const isBorne = borne.reduce((sum, { amount }) => sum + amount, 0) !== 0;
  if (pickup.wentOn || parcel.diverted || isBorne || parcel.driver !== pickup.driver) {
    return "pickup_went_on";
  }
  const row = `${name} pickup`;
  const its = state.rows[row];
  if (its && its.status !== "collected") return "outcome_is_settled";
  if (its && isStated(state, name, pickup.movements)) return "outcome_is_settled";
  if (its) {
    const { [row]: _, ...rows } = state.rows;
    const ends = uncovered({ ...state, rows }, its.driver).map(([, count]) => count);
    if (ends.some(({ status }) => status !== "declared")) return "outcome_is_settled";
    delete state.rows[row];
    for (const count of ends) count.status = "cancelled";
  }
  moveTo(parcel, "accepted");
  parcel.again = true;
  delete parcel.taken;
  delete parcel.pickup;
  return `ok accepted without ${its?.fee ?? 0}`;
}

/** The office changes what a parcel owes, its owner lowers it. */
export function changeAmount(state: State, op: Of<"changeAmount">): string {
  const { name, cod, part, byOwner } = op;
  const parcel = state.parcels[name];
  if (hasEnded(parcel)) return "delivery_ended";
  if (isBooked(parcel)) return "shipment_booked";
  if (cod > 0 && parcel.customer === null) return "customer_required_for_cod";
  // Others were picked up once, also where they wait.
  const ordered = (parcel.doorFee || parcel.again) &&
    ["pending", "accepted"].includes(parcel.status);
  if (byOwner && cod > parcel.cod && !ordered) return "amount_may_only_fall";
  // The same amount may be for a part, and for the whole again.
  if (cod === parcel.cod && !part && !parcel.part) return "amount_unchanged";
  Object.assign(parcel, { cod, part });
  return `ok ${cod}`;
}

/**
 * The office sends a parcel elsewhere: a fee that was taken in cash is charged to the owner's wallet or not at all, one that its sender still
 * owes is another one.
 */
export function redirect(state: State, op: Of<"redirect">): string {
  const { name, charge } = op;
  const parcel = state.parcels[name];
  if (hasEnded(parcel)) return "delivery_ended";
  if (isBooked(parcel)) return "shipment_booked";
  if (parcel.returnedBy) return "return_under_way";
  if (parcel.returns) return redirectReturn(state, op);
  const place = op.place as Place;
  const fee = (charge || parcel.again) && place !== parcel.place ? fees[place] : parcel.fee;
  const more = parcel.again ? 0 : fee - parcel.fee;
  if (more) {
    const { customer } = parcel;
    if (customer === null) return "customer_required_for_wallet";
    if (available(state, customer) < more) return "insufficient_wallet_balance";
    book(state, customer, { amount: -more, parcel: name });
    state.house += more;
  }
  Object.assign(parcel, { place, fee });
  return `ok ${fee}`;
}

const hasEnded = ({ status }: Parcel) => ["delivered", "returned", "cancelled"].includes(status);
