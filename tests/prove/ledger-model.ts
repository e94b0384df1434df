/**
 * What cash, wallets, stock and orders must do, as a model without a database: a state, and what each operation makes of
 * it and answers. Whole units only. Things have names that the operations choose.
 */
export type Way = "remit" | "settle-by-wallet";

export type Op =
  | {
    type: "settle";
    way: Way;
    driver: number;
    office: boolean;
    rows: string[] | "all";
    key: string;
  }
  | { type: "unsettle"; key: string }
  | { type: "adjust"; driver: number; amount: number; credit: boolean }
  | { type: "receive"; shelf: number; item: number; quantity: number }
  | { type: "correct"; shelf: number; item: number; delta: number }
  | { type: "writeOff" | "takeBack"; shelf: number; item: number; quantity: number }
  | { type: "transfer"; from: number; item: number; quantity: number }
  | { type: "pick"; name: string; shelf: number; item: number; quantity: number }
  | { type: "move"; name: string; to: "completed" | "cancelled"; reported: boolean }
  | { type: "order"; name: string; customer: number; quantity: number; wallet: boolean }
  | { type: "approve" | "cancel"; name: string };

export interface Row {
  driver: number;
  cod: number;
  fee: number;
  status: "collected" | "remitted" | "settled_by_wallet";
}

export interface State {
  rows: Record<string, Row>;
  /** Of drivers and customers. */
  drivers: number[];
  customers: number[];
  /** Of the tenant. */
  house: number;
  /** Available units: shelf, item. */
  units: number[][];
  /** Available units of what the shop sells. */
  goods: number;
  picks: Record<string, { shelf: number; item: number; quantity: number; status: string }>;
  orders: Record<
    string,
    { customer: number; quantity: number; total: number; wallet: boolean; status: string }
  >;
  /** What was answered under a key, to what, and what it settled. */
  keys: Record<string, { asked: string; answer: string; settled: Settled }>;
}

interface Settled {
  way: Way;
  driver: number;
  names: string[];
  total: number;
  fees: number;
  reversed: boolean;
}

/** One unit of the shop's product with its delivery. */
export const orderPrice = 6_000;

/** Does an operation to the state, which is changed, and says what it answers: `ok …` or the code of a refusal. */
export function apply(state: State, op: Op): string {
  switch (op.type) {
    case "settle":
      return settle(state, op);
    case "unsettle":
      return unsettle(state, op);
    case "adjust": {
      const after = state.drivers[op.driver] + (op.credit ? op.amount : -op.amount);
      if (after < 0) return "insufficient_wallet_balance";
      state.drivers[op.driver] = after;
      return `ok ${after}`;
    }
    case "receive":
    case "takeBack":
      state.units[op.shelf][op.item] += op.quantity;
      return `ok ${op.quantity}`;
    case "correct":
      if (state.units[op.shelf][op.item] + op.delta < 0) return "insufficient_stock";
      state.units[op.shelf][op.item] += op.delta;
      return `ok ${Math.abs(op.delta)}`;
    case "writeOff":
      if (state.units[op.shelf][op.item] < op.quantity) return "insufficient_stock";
      state.units[op.shelf][op.item] -= op.quantity;
      return `ok ${op.quantity}`;
    case "transfer":
      if (state.units[op.from][op.item] < op.quantity) return "insufficient_stock";
      state.units[op.from][op.item] -= op.quantity;
      state.units[1 - op.from][op.item] += op.quantity;
      return "ok";
    case "pick": {
      const { name, shelf, item, quantity } = op;
      if (state.units[shelf][item] < quantity) return "insufficient_stock";
      state.units[shelf][item] -= quantity;
      state.picks[name] = { shelf, item, quantity, status: "in_progress" };
      return "ok in_progress";
    }
    case "move": {
      const pick = state.picks[op.name];
      if (!pick) return "picking_order_not_found";
      if (pick.status !== op.to && pick.status !== "in_progress") {
        return "invalid_status_transition";
      }
      if (pick.status !== op.to && op.to === "cancelled") {
        state.units[pick.shelf][pick.item] += pick.quantity;
      }
      pick.status = op.to;
      return `ok ${op.to}`;
    }
    case "order": {
      const { name, customer, quantity, wallet } = op;
      const total = orderPrice * quantity;
      if (state.goods < quantity) return "insufficient_stock";
      if (wallet && state.customers[customer] < total) return "insufficient_wallet_balance";
      if (wallet) {
        state.customers[customer] -= total;
        state.house += total;
      }
      state.orders[name] = { customer, quantity, total, wallet, status: "pending" };
      return `ok ${total}`;
    }
    default:
      return decide(state, op);
  }
}

function settle(state: State, op: Op & { type: "settle" }): string {
  const { key, ...rest } = op;
  const asked = JSON.stringify(rest);
  const known = state.keys[key];
  if (known) return known.asked === asked ? known.answer : "settlement_idempotency_conflict";
  const names = op.rows === "all"
    ? Object.keys(state.rows).filter((name) =>
      state.rows[name].driver === op.driver && state.rows[name].status === "collected"
    )
    : op.rows;
  if (names.length === 0) return "no_pending_collections";
  const rows = names.map((name) => state.rows[name]);
  if (
    rows.some(({ status, driver }) =>
      status !== "collected" || (!op.office && driver !== op.driver)
    )
  ) {
    return "cod_collections_not_pending";
  }
  if (rows.some(({ driver }) => driver !== rows[0].driver)) return "mixed_driver_selection";
  const { driver } = rows[0];
  const fees = rows.reduce((sum, { fee }) => sum + fee, 0);
  const total = rows.reduce((sum, { cod }) => sum + cod, fees);
  if (op.way === "settle-by-wallet") {
    if (state.drivers[driver] < total) return "insufficient_wallet_balance";
    state.drivers[driver] -= total;
    state.house += fees;
  }
  for (const row of rows) row.status = op.way === "remit" ? "remitted" : "settled_by_wallet";
  const after = op.way === "remit" ? "" : ` leaves ${state.drivers[driver]}`;
  const answer = `ok ${total} of which ${fees} in ${rows.length}${after}`;
  const settled = { way: op.way, driver, names, total, fees, reversed: false };
  state.keys[key] = { asked, answer, settled };
  return answer;
}

function unsettle(state: State, { key }: Op & { type: "unsettle" }): string {
  const settled = state.keys[key]?.settled;
  if (!settled) return "settlement_not_found";
  if (settled.reversed) return "settlement_already_reversed";
  const { way, driver, names, total, fees } = settled;
  settled.reversed = true;
  if (way === "settle-by-wallet") {
    state.drivers[driver] += total;
    state.house -= fees;
  }
  for (const name of names) state.rows[name].status = "collected";
  return `ok ${total} of which ${fees} in ${names.length}`;
}

function decide(state: State, { type, name }: Op & { type: "approve" | "cancel" }): string {
  const order = state.orders[name];
  if (!order) return "order_not_found";
  if (type === "approve") {
    if (order.status !== "pending") return "order_not_pending";
    if (state.goods < order.quantity) return "insufficient_stock";
    state.goods -= order.quantity;
    order.status = "confirmed";
    return "ok confirmed";
  }
  if (order.status === "cancelled") return "order_not_cancellable";
  if (order.status === "confirmed") state.goods += order.quantity;
  if (order.wallet) {
    state.customers[order.customer] += order.total;
    state.house -= order.total;
  }
  order.status = "cancelled";
  return "ok cancelled";
}

/**
 * The state after these operations in some order in which each of them answers what it answered; undefined when there is
 * no such order, so that they were not done one after the other.
 */
export function explain(
  state: State,
  done: readonly { op: Op; answer: string }[],
): State | undefined {
  if (done.length === 0) return state;
  for (const [index, { op, answer }] of done.entries()) {
    const next = structuredClone(state);
    if (apply(next, op) !== answer) continue;
    const end = explain(next, done.filter((_, other) => other !== index));
    if (end) return end;
  }
  return undefined;
}
