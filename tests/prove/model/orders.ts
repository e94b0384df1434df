/** Orders of the shop: which warehouses they leave from, what is short of them, how they end. */
import { leaveList, moveTo } from "./parcels.ts";
import { expectGoods } from "./send-backs.ts";
import { available, book } from "./statements.ts";
import { type Of } from "./ops.ts";
import {
  type Order,
  type Parcel,
  type Part,
  partName,
  type State,
  unitFee,
  unitPrice,
} from "./state.ts";

export function order(state: State, op: Of<"order">): string {
  const { name, customer, quantity, wallet } = op;
  const total = (unitPrice + unitFee) * quantity;
  if (unitsOf(state) < quantity) return "insufficient_stock";
  if (wallet && available(state, customer) < total) return "insufficient_wallet_balance";
  if (wallet) {
    book(state, customer, { amount: -total });
    state.house += total;
  }
  state.orders[name] = {
    customer,
    quantity,
    total,
    wallet,
    status: "pending",
    refunded: 0,
    parts: [],
  };
  return `ok ${total}`;
}

const unitsOf = ({ goods }: State) => goods.reduce((sum, units) => sum + units, 0);

/** The warehouses in the order of their age: the shop's first, that for parcels, the shop's second. */
const byAge = [0, 2, 1];

/** From those that have most of what is missing, the oldest of them first: from one that has all of it, or from as few as can be. */
function sources(goods: number[], quantity: number): Part[] {
  const left = [...goods];
  const parts: Part[] = [];
  for (let rest = quantity; rest > 0;) {
    const most = Math.max(...left.map((units) => Math.min(units, rest)));
    const warehouse = byAge.find((index) => Math.min(left[index], rest) === most)!;
    parts.push(part(warehouse, most));
    left[warehouse] = 0;
    rest -= most;
  }
  return parts;
}

const part = (warehouse: number, quantity: number): Part => ({
  ...{ warehouse, quantity, short: 0, found: null, left: false, back: null },
});

export function approve(state: State, { name }: Of<"approve">): string {
  const order = state.orders[name];
  if (!order) return "order_not_found";
  if (order.status !== "pending") return "order_not_pending";
  if (unitsOf(state) < order.quantity) return "insufficient_stock";
  order.status = "confirmed";
  order.parts = sources(state.goods, order.quantity);
  for (const [part, { warehouse, quantity }] of order.parts.entries()) {
    state.goods[warehouse] -= quantity;
    state.parcels[partName(name, part)] = {
      status: "pending",
      driver: null,
      inHand: null,
      hand: null,
      customer: order.customer,
      ...{ cod: 0, ordered: 0, fee: 0, place: "near", moves: 0 },
      due: null,
      of: { order: name, part },
      // Goods that came back into the warehouse for parcels are sold from there.
      ...(warehouse === 2 ? { lay: true } : {}),
    };
  }
  collects(state, name);
  const from = order.parts.map(({ warehouse, quantity }) => `${quantity} of ${warehouse}`);
  return `ok confirmed ${from.join(" and ")}`;
}

/**
 * The cash that each delivery of an order collects, until it has left: its goods, and the first that is here also the fee, unless that has
 * left with another that did not come back.
 */
function collects(state: State, name: string): void {
  const order = state.orders[name];
  if (order.wallet) return;
  const parts = order.parts.map((part, place) => ({
    ...part,
    parcel: state.parcels[partName(name, place)],
  })).filter(({ parcel }) => parcel.status !== "cancelled");
  let fee = unitFee * order.quantity;
  if (parts.some((part) => part.left && part.parcel.status !== "returned" && hasFee(part))) fee = 0;
  for (const part of parts.filter(({ left, quantity, short }) => !left && quantity > short)) {
    part.parcel.cod = goods(part) + fee;
    fee = 0;
  }
}

const goods = ({ quantity, short }: Part) => unitPrice * (quantity - short);
const hasFee = (part: Part & { parcel: Parcel }) =>
  part.parcel.cod > goods(part) + (part.charged ?? 0);

/** Divides the cash of an order anew; false, and nothing is changed, where a carrier is booked for another amount. */
function collectsAnew(state: State, name: string): boolean {
  const next = structuredClone(state);
  collects(next, name);
  if (changesBooked(state, next, name)) return false;
  collects(state, name);
  return true;
}

/** A delivery of an order has come back: another one collects its fee, unless a carrier is booked for that without it. */
export function cameBack(
  state: State,
  { order: name, part }: { order: string; part: number },
): void {
  const order = state.orders[name];
  const parcel = state.parcels[partName(name, part)];
  if (order.status === "shipped" && !order.wallet && hasFee({ ...order.parts[part], parcel })) {
    collectsAnew(state, name);
  }
  ended(state, name);
}

/** A delivery of an order is cancelled; false where a carrier is booked that would have to collect its fee, and takes no other amount. */
export function cancelled(state: State, { order, part }: { order: string; part: number }): boolean {
  const next = structuredClone(state);
  moveTo(next.parcels[partName(order, part)], "cancelled");
  if (!collectsAnew(next, order)) return false;
  moveTo(state.parcels[partName(order, part)], "cancelled");
  collects(state, order);
  return true;
}

/** A carrier that is booked takes no other amount. */
function changesBooked(state: State, next: State, name: string): boolean {
  const order = state.orders[name]!;
  return !order.wallet && order.parts.some((part, place) => {
    const { booked, status } = state.parcels[partName(name, place)] ?? {};
    const after = next.parcels[partName(name, place)];
    if (booked === undefined || part.left || status === "cancelled") return false;
    // One with nothing to collect is given up with its parcel.
    return after!.status === "cancelled"
      ? booked > 0
      : after!.cod + (after!.doorFee ?? 0) !== booked;
  });
}

/** Somebody of the warehouse found so many of a part. */
export function fetch(state: State, { name, found }: Of<"fetch">): string {
  const { of } = state.parcels[name];
  const { status, parts } = state.orders[of!.order];
  const part = parts[of!.part];
  const open = !part.left && ["confirmed", "shipped"].includes(status);
  if (!open || part.quantity === part.short || found > part.quantity - part.short) {
    return "not_to_be_picked";
  }
  part.found = found;
  return `ok ${found}`;
}

/** A part is picked up; false where less was found and nobody accepted that. */
export function leaves(
  state: State,
  { order: name, part: place }: { order: string; part: number },
): boolean {
  const order = state.orders[name];
  const part = order.parts[place];
  if (part.left) return true;
  if (part.found !== null && part.found < part.quantity - part.short) return false;
  part.left = true;
  order.status = "shipped";
  return true;
}

export const missing = ({ quantity, short, found, left }: Part) =>
  left || found === null ? 0 : quantity - short - found;

export function acceptShort(state: State, { name }: Of<"acceptShort">): string {
  const order = state.orders[name];
  if (!order) return "order_not_found";
  const units = order.parts.reduce((sum, part) => sum + missing(part), 0);
  if (!["confirmed", "shipped"].includes(order.status) || units === 0) return "order_not_short";
  if (order.parts.every((part) => part.quantity === part.short + missing(part))) {
    return "order_nothing_picked";
  }
  const next = structuredClone(state);
  const answer = sendWithout(next, name, units);
  if (changesBooked(state, next, name)) return "shipment_cash_changes";
  Object.assign(state, next);
  return answer;
}

function sendWithout(state: State, name: string, units: number): string {
  const order = state.orders[name]!;
  for (const [place, part] of order.parts.entries()) {
    const less = missing(part);
    part.short += less;
    state.goods[part.warehouse] += less;
    if (less && part.quantity === part.short) callOff(state, partName(name, place));
  }
  order.total -= unitPrice * units;
  collects(state, name);
  const before = order.refunded;
  if (order.wallet) refund(state, order, unitPrice * units);
  if (order.status === "shipped") ended(state, name);
  return `ok ${order.total} back ${order.refunded - before}`;
}

function callOff(state: State, name: string): void {
  if (state.parcels[name].status === "cancelled") return;
  leaveList(state, name, "returned");
  moveTo(state.parcels[name], "cancelled");
}

function refund(state: State, order: Order, amount: number): void {
  if (amount) book(state, order.customer, { amount });
  state.house -= amount;
  order.refunded += amount;
}

export function cancel(state: State, { name }: Of<"cancel">): string {
  const order = state.orders[name];
  if (!order) return "order_not_found";
  if (!["pending", "confirmed"].includes(order.status)) return "order_not_cancellable";
  for (const [place, { warehouse, quantity, short }] of order.parts.entries()) {
    state.goods[warehouse] += quantity - short;
    callOff(state, partName(name, place));
  }
  const back = order.wallet ? (unitPrice + unitFee) * order.quantity - order.refunded : 0;
  refund(state, order, back);
  order.status = "cancelled";
  return `ok cancelled back ${back}`;
}

/** The outcome of a shipped order once none of its deliveries is under way. */
export function ended(state: State, name: string): void {
  const order = state.orders[name];
  const parcels = order.parts.map((_, place) => state.parcels[partName(name, place)]);
  const over = parcels.every(({ status }) =>
    ["delivered", "returned", "cancelled"].includes(status)
  );
  if (!over || order.status !== "shipped") return;
  const got = order.parts.reduce(
    (sum, { quantity, short }, place) =>
      sum + (parcels[place].status === "delivered" ? quantity - short : 0),
    0,
  );
  // A carrier may say that it took and brought a parcel in which there was nothing.
  order.status = parcels.some(({ status }) => status === "delivered") ? "delivered" : "cancelled";
  for (const [place, part] of order.parts.entries()) {
    if (part.left && parcels[place].status !== "delivered") {
      expectGoods(state, partName(name, place));
    } else if (!part.left && !part.released) {
      part.released = true;
      state.goods[part.warehouse] += part.quantity - part.short;
    }
  }
  // Nothing delivered: all goes back. Else what did not arrive, and the fee stays.
  if (order.wallet) {
    const due = (unitPrice + unitFee) * order.quantity - order.refunded;
    return refund(state, order, got > 0 ? due - unitFee * order.quantity - unitPrice * got : due);
  }
  // At the door too much was paid where a carrier was booked to collect for what the warehouse did not find.
  const paid = order.parts.filter((_, place) => parcels[place].status === "delivered");
  const collected = parcels.reduce(
    (sum, { status, cod }) => sum + (status === "delivered" ? cod : 0),
    0,
  );
  refund(
    state,
    order,
    got > 0 ? paid.reduce((sum, { charged = 0 }) => sum + charged, 0) : collected,
  );
}

/** Goods that came back are received by the warehouse they left from. */
export function putBack(state: State, { name }: Of<"putBack">): string {
  const { of } = state.parcels[name];
  const part = state.orders[of!.order].parts[of!.part];
  if (!part.back) return "receiving_order_not_found";
  if (part.back === "cancelled") return "invalid_status_transition";
  if (part.back === "expected") {
    part.back = "received";
    state.goods[part.backAt!] += part.quantity - part.short;
    leaveList(state, name, "returned");
  }
  return "ok received";
}
