/** Orders of the shop: which warehouses they leave from, what is short of them, how they end. */
import { leaveList, moveTo } from "./parcels.ts";
import { available, book } from "./statements.ts";
import { type Of } from "./ops.ts";
import { type Order, type Part, partName, type State, unitFee, unitPrice } from "./state.ts";

export function order(state: State, op: Of<"order">): string {
  const { name, customer, quantity, wallet } = op;
  const total = (unitPrice + unitFee) * quantity;
  if (state.goods[0] + state.goods[1] < quantity) return "insufficient_stock";
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

/** From one warehouse that has all of it, the first before the second; else from both, first the one that has more. */
function sources(goods: number[], quantity: number): Part[] {
  const most = (index: number) => Math.min(goods[index], quantity);
  const first = most(1) > most(0) ? 1 : 0;
  const part = (warehouse: number, units: number): Part => ({
    warehouse,
    quantity: units,
    short: 0,
    found: null,
    left: false,
    back: null,
  });
  const rest = quantity - most(first);
  return rest ? [part(first, most(first)), part(1 - first, rest)] : [part(first, quantity)];
}

export function approve(state: State, { name }: Of<"approve">): string {
  const order = state.orders[name];
  if (!order) return "order_not_found";
  if (order.status !== "pending") return "order_not_pending";
  if (state.goods[0] + state.goods[1] < order.quantity) return "insufficient_stock";
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
    };
  }
  collects(state, name);
  const from = order.parts.map(({ warehouse, quantity }) => `${quantity} of ${warehouse}`);
  return `ok confirmed ${from.join(" and ")}`;
}

/** The cash that each delivery of an order collects, until it has left: its goods, and for the first also the fee. */
function collects(state: State, name: string): void {
  const order = state.orders[name];
  if (order.wallet) return;
  let fee = unitFee * order.quantity;
  for (const [part, { quantity, short, left }] of order.parts.entries()) {
    const parcel = state.parcels[partName(name, part)];
    if (parcel.status === "cancelled" || quantity === short) continue;
    if (!left) parcel.cod = unitPrice * (quantity - short) + fee;
    fee = 0;
  }
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
  if (part.found !== null && part.found < part.quantity - part.short) return false;
  part.left = true;
  order.status = "shipped";
  return true;
}

const missing = ({ quantity, short, found, left }: Part) =>
  left || found === null ? 0 : quantity - short - found;

export function acceptShort(state: State, { name }: Of<"acceptShort">): string {
  const order = state.orders[name];
  if (!order) return "order_not_found";
  const units = order.parts.reduce((sum, part) => sum + missing(part), 0);
  if (!["confirmed", "shipped"].includes(order.status) || units === 0) return "order_not_short";
  if (order.parts.every((part) => part.quantity === part.short + missing(part))) {
    return "order_nothing_picked";
  }
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
  order.status = got > 0 ? "delivered" : "cancelled";
  if (!order.wallet) return;
  // Nothing delivered: all goes back. Else what did not arrive, and the fee stays.
  const due = (unitPrice + unitFee) * order.quantity - order.refunded;
  refund(state, order, got > 0 ? due - unitFee * order.quantity - unitPrice * got : due);
}

/** Goods that came back are received by the warehouse they left from. */
export function putBack(state: State, { name }: Of<"putBack">): string {
  const { of } = state.parcels[name];
  const part = state.orders[of!.order].parts[of!.part];
  if (!part.back) return "receiving_order_not_found";
  if (part.back === "expected") {
    part.back = "received";
    state.goods[part.warehouse] += part.quantity - part.short;
    leaveList(state, name, "returned");
  }
  return "ok received";
}
