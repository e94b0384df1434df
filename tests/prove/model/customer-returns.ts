/** Parcels that customers send back: how much of one is left to return, what that costs, and how its return ends. */
import type { Goods, Of } from "./ops.ts";
import { moveTo } from "./parcels.ts";
import { expectThere, setThere } from "./send-backs.ts";
import {
  distances,
  fees,
  type Parcel,
  partName,
  type ReturnPlace,
  type State,
  tally,
} from "./state.ts";
import { available, book } from "./statements.ts";

/** Orders a return of all that no other one brings back, or of so many units. */
export function orderReturn(state: State, op: Of<"orderReturn">): string {
  const { name, parcel: of, units, owner, payer, wallet, to } = op;
  const original = state.parcels[of];
  if (original.status !== "delivered" || original.from || original.back || original.returns) {
    return "original_not_delivered";
  }
  const left = unitsLeft(state, of);
  if (left < (units ?? 1)) return "return_already_exists";
  // The receiver of what a store's customer sends back is the store.
  if (original.of && owner !== null && payer === "receiver") return "forbidden";
  const { customer } = original;
  const fee = returnFee(original, to);
  if (wallet) {
    if (customer === null) return "customer_required_for_wallet";
    if (available(state, customer) < fee) return "insufficient_wallet_balance";
    book(state, customer, { amount: -fee, parcel: name });
    state.house += fee;
  }
  for (const other of returnsOf(state, of).filter((other) => !counts(state, other))) {
    tally(state, `ordered again when ${other.status === "returned" ? "given back" : "cancelled"}`);
  }
  state.parcels[name] = {
    ...{ status: "pending", driver: null, inHand: null, hand: null, customer, fee },
    ...{ cod: 0, ordered: 0, place: "near", moves: 0, due: null },
    ...(payer === "receiver" && !wallet ? { doorFee: fee } : {}),
    returns: { parcel: of, units: units ?? left, wallet, to, ends: endOf(state, original, to) },
  };
  return `ok pending for ${fee}`;
}

const returnsOf = ({ parcels }: State, original: string): Parcel[] =>
  Object.values(parcels).filter(({ returns }) => returns?.parcel === original);

/** Not what was cancelled before it came anywhere, nor what its customer has again. */
function counts(state: State, { status, returnedBy }: Parcel): boolean {
  if (status === "returned") return false;
  if (status !== "cancelled") return true;
  return returnedBy !== undefined && state.parcels[returnedBy].status !== "delivered";
}

/** The units of a parcel that no return brings back; what its receiver did not keep is one of them. */
export function unitsLeft(state: State, name: string): number {
  const customers = returnsOf(state, name).filter((parcel) => counts(state, parcel));
  const fromDoor = Object.values(state.parcels).filter(({ from, status }) =>
    from?.parcel === name && from.brings === "part" && status !== "cancelled"
  );
  return unitsOf(state, name) - fromDoor.length -
    customers.reduce((sum, { returns }) => sum + returns!.units, 0);
}

/** A driver's parcel holds two things, a carrier's one, that of an order what was sent. */
export function unitsOf(state: State, name: string): number {
  const { of, things = 1 } = state.parcels[name];
  if (!of) return things;
  const { quantity, short } = state.orders[of.order].parts[of.part];
  return quantity - short;
}

/** As a parcel costs that goes as far, from the door of its customer. */
export function returnFee(original: Parcel, to: ReturnPlace): number {
  return fees.near + distances[original.of ? "shop's customer" : original.place][to];
}

/** The warehouse in which a return ends that goes there; null: at a door. What a store sold goes home to where it was sold from. */
export function endOf(state: State, { of }: Parcel, to: ReturnPlace): number | null {
  if (to === "there") return 2;
  return of && to === "home" ? state.orders[of.order].parts[of.part].warehouse : null;
}

export const isOfGoods = (state: State, { returns }: Parcel): boolean =>
  Boolean(returns && state.parcels[returns.parcel].of);

/** It leaves something with its customer. */
export const isOfSome = (state: State, { returns }: Parcel): boolean =>
  returns!.units < unitsOf(state, returns!.parcel);

/** It has come to where it goes: goods of a store are expected there, anything else lies there. */
export function endReturn(state: State, name: string, op: string): void {
  const parcel = state.parcels[name];
  const { ends } = parcel.returns!;
  tally(state, ends === null ? "came to a door" : "came to its warehouse");
  if (parcel.external) tally(state, "carried to its end");
  if (ends === null) return;
  if (!isOfGoods(state, parcel)) return setThere(state, parcel, true);
  expectThere(state, name, op, ends);
  if (isOfSome(state, parcel)) tally(state, "came with some of the goods");
}

/** Its receiver, or its sender at the pickup, pays another fee in cash; a wallet the difference; where cash was taken, only if the office says so. */
export function redirectReturn(state: State, { name, place, charge }: Of<"redirect">): string {
  const parcel = state.parcels[name];
  const { returns } = parcel;
  const original = state.parcels[returns!.parcel];
  const elsewhere = place !== returns!.to;
  const booked = returns!.wallet || parcel.taken && charge;
  const fee = elsewhere && (booked || !parcel.taken) ? returnFee(original, place) : parcel.fee;
  if (booked && fee !== parcel.fee) {
    const { customer } = parcel;
    if (customer === null) return "customer_required_for_wallet";
    if (available(state, customer) < fee - parcel.fee) return "insufficient_wallet_balance";
    book(state, customer, { amount: parcel.fee - fee, parcel: name });
    state.house += fee - parcel.fee;
  }
  if (elsewhere) {
    Object.assign(returns!, { to: place, ends: endOf(state, original, place) });
    tally(state, place === "home" ? "redirected home" : "redirected");
  }
  parcel.fee = fee;
  if (parcel.doorFee) parcel.doorFee = fee;
  return `ok ${fee}`;
}

/** Its sender pays at the first pickup. */
export function takeFee(state: State, name: string): void {
  const parcel = state.parcels[name];
  if (!parcel.returns && !parcel.again || parcel.returns?.wallet) return;
  if (parcel.doorFee || parcel.taken) return;
  parcel.taken = parcel.fee;
  state.rows[`${name} pickup`] = {
    ...{ driver: parcel.driver!, cod: 0, fee: parcel.fee, status: "collected" },
  };
}

/** Goods are on sale again where they were received, or are damaged. Brought there on its way, their return is over. */
export function receiveGoods(state: State, name: string, goods: Goods): void {
  const parcel = state.parcels[name];
  const { warehouse, received, damaged } = goods;
  parcel.received = received;
  state.goods[warehouse] += received - damaged;
  state.damaged[warehouse] += damaged;
  const all = received === parcel.returns!.units;
  tally(state, damaged ? "received damaged" : all ? "received as goods" : "received in part");
  if (parcel.status !== "delivered") moveTo(parcel, "delivered");
}

/** Where the units of an order are that its customer got, and those that came back. */
export function whereabouts(state: State, name: string) {
  const found = { delivered: 0, back: 0, lost: 0 };
  for (const [place, { quantity, short, back }] of state.orders[name].parts.entries()) {
    const part = partName(name, place);
    if (back === "received") found.back += quantity - short;
    if (state.parcels[part].status !== "delivered") continue;
    found.delivered += quantity - short;
    for (const { expected, received, returns } of returnsOf(state, part)) {
      if (!expected && received === undefined) continue;
      found.delivered -= returns!.units;
      found.back += received ?? 0;
      found.lost += received === undefined ? 0 : returns!.units - received;
    }
  }
  return found;
}
