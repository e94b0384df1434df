/** Parcels on the road: what drivers do with them, and how they come from one driver to another. */
import { record } from "./door.ts";
import { endReturn, takeFee } from "./customer-returns.ts";
import { cameBack, ended, leaves } from "./orders.ts";
import { arrive, bringHome, expectGoods, expectThere, setThere, withdraw } from "./send-backs.ts";
import { type Of, type Step } from "./ops.ts";
import { type Parcel, type State, tally } from "./state.ts";
import { book } from "./statements.ts";

export const from: Record<Step, string[]> = {
  pickup: ["accepted"],
  depart: ["picked_up"],
  complete: ["picked_up", "in_transit"],
  fail: ["picked_up", "in_transit"],
  return: ["picked_up", "in_transit", "failed"],
  retry: ["failed"],
};
const to = {
  pickup: "picked_up",
  depart: "in_transit",
  complete: "delivered",
  fail: "failed",
  return: "returned",
  retry: "in_transit",
} as const;

export function step(state: State, { id, name, driver, what }: Of<"step">): string {
  const parcel = state.parcels[name];
  if (parcel.driver !== driver) return "not_the_drivers";
  if (parcel.inHand !== null) return "assignment_not_accepted";
  if (!from[what].includes(parcel.status)) return "invalid_status_transition";
  if (what === "pickup" && parcel.of && !leaves(state, parcel.of)) return "goods_not_picked";
  // A return from a door ends where it goes.
  if (what === "return" && parcel.from) return "invalid_status_transition";
  if (what === "complete" && parcel.diverted) return arrive(state, name);
  if (what === "complete" && parcel.part) return "amount_is_for_part";
  if (what === "retry" && (parcel.refused || (parcel.attempts ?? 0) > 0)) {
    return "delivery_attempts_exhausted";
  }
  const before = structuredClone(parcel);
  moveTo(parcel, to[what]);
  if (what === "pickup") {
    setThere(state, parcel, false);
    const movements = parcel.customer === null ? 0 : state.movements[parcel.customer].length;
    parcel.pickup = { driver, movements, wentOn: false };
    takeFee(state, name);
    delete parcel.again;
  }
  if (["return", "complete", "retry"].includes(what)) withdraw(state, parcel);
  if (what === "retry" && parcel.returns) tally(state, "tried again");
  if (what === "retry" && parcel.pickup) parcel.pickup.wentOn = true;
  if (what === "return") {
    const said = record(state, name, before, () => {
      if (!parcel.back) return comeBack(state, name);
      expectThere(state, name, id);
      return " expected";
    });
    parcel.result!.returned = { refunded: said === " refunded" };
    return `ok returned${said}`;
  }
  if (what === "complete") {
    return `ok ${to[what]}${record(state, name, before, () => complete(state, name, id))}`;
  }
  if (what === "fail") {
    // The driver may try once more where it was not at the door of its receiver.
    const atDoor = !parcel.from && !parcel.back && !parcel.returns && !parcel.diverted;
    Object.assign(parcel, { refused: false, attempts: (parcel.attempts ?? 0) + (atDoor ? 1 : 0) });
    record(state, name, before, () => "");
  }
  return `ok ${to[what]}`;
}

export function moveTo(parcel: Parcel, status: Parcel["status"]): void {
  parcel.status = status;
  parcel.moves++;
}

/** The consequences of a delivery: its cash, its pay, the order it belongs to, or the parcel that it brought back. */
export function complete(state: State, name: string, id: string): string {
  const parcel = state.parcels[name];
  if (parcel.from) {
    const { parcel: original, brings } = parcel.from;
    if (brings === "all") giveFeeBack(state, original);
    leaveList(state, name, "completed");
    return " took 0";
  }
  if (parcel.back) {
    state.pay[name] = { driver: parcel.driver!, payout: null };
    leaveList(state, name, "completed");
    bringHome(state, name);
    return " took 0";
  }
  const { doorFee: fee = 0 } = parcel;
  if (parcel.cod + fee > 0) {
    state.rows[`${name} dropoff`] = {
      driver: parcel.driver!,
      cod: parcel.cod,
      fee,
      status: "collected",
      ...(state.holds && parcel.cod && !parcel.of ? { holds: parcel.customer! } : {}),
    };
  }
  if (parcel.cod > 0) {
    if (parcel.of) state.house += parcel.cod;
    else {book(state, parcel.customer!, {
        amount: parcel.cod,
        parcel: name,
        row: `${name} dropoff`,
      });}
  }
  state.pay[name] = { driver: parcel.driver!, payout: null };
  leaveList(state, name, "completed");
  if (parcel.of) ended(state, parcel.of.order);
  if (parcel.returns) endReturn(state, name, id);
  return ` took ${parcel.cod}`;
}

/** The sender gets the fee back, which the driver took in cash: into the wallet, or from the desk later. */
function comeBack(state: State, name: string): string {
  const parcel = state.parcels[name];
  if (parcel.of) {
    // On its driver's list until the warehouse has it.
    expectGoods(state, name, parcel.lay ? 2 : undefined);
    cameBack(state, parcel.of);
    return " expected";
  }
  leaveList(state, name, "returned");
  if (parcel.returns) tally(state, "given back");
  return giveFeeBack(state, name);
}

/** Nothing where nobody has paid it. */
export function giveFeeBack(state: State, name: string): string {
  const parcel = state.parcels[name];
  const { taken = 0 } = parcel;
  if (!taken && !parcel.returns?.wallet) return "";
  if (parcel.customer !== null) {
    // Cash that was taken is credited from outside, what a wallet paid from the company's.
    book(state, parcel.customer, { amount: parcel.fee, parcel: name });
    state.house -= parcel.fee - taken;
    return " refunded";
  }
  parcel.due = "open";
  return ` due ${taken}`;
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
