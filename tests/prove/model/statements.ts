/** The wallets of owners: what of them is available, the statements of what is due, and their payouts. */
import type { Of } from "./ops.ts";
import type { Movement, Owed, Row, State, Statement } from "./state.ts";

/** Moves an owner's wallet by something that statements say. */
export function book(state: State, customer: number, movement: Movement): void {
  state.customers[customer] += movement.amount;
  state.movements[customer].push(movement);
}

const sum = (numbers: number[]) => numbers.reduce((total, n) => total + n, 0);

/** True while somebody has the cash of a row. */
const isOut = ({ status }: Row | Owed) => status === "collected" || status === "owed";

/** The COD of rows whose cash is not in. */
export const held = (state: State, customer: number): number =>
  sum(
    [...Object.values(state.rows), ...Object.values(state.owed)].flatMap((row) =>
      row.holds === customer && isOut(row) ? [row.cod] : []
    ),
  );

const statementsOf = (state: State, customer: number): Statement[] =>
  Object.values(state.statements).filter((one) =>
    one.customer === customer && one.status !== "void"
  );

/** The part of a wallet that is neither held nor waits to be paid out. */
export const available = (state: State, customer: number): number =>
  state.customers[customer] - held(state, customer) -
  sum(statementsOf(state, customer).flatMap(({ status, net }) => status === "open" ? [net] : []));

/** True when a statement that is not void says something of a parcel, of movements from that place on. */
export const isStated = (state: State, parcel: string, from: number): boolean =>
  Object.values(state.statements).some(({ customer, status, lines }) =>
    status !== "void" &&
    Object.keys(lines).some((place) =>
      Number(place) >= from && state.movements[customer][Number(place)].parcel === parcel
    )
  );

/** A line for what of each movement is released and not stated yet. */
export function openStatement(state: State, { name, customer }: Of<"openStatement">): string {
  const others = statementsOf(state, customer);
  const lines: Statement["lines"] = {};
  for (const [place, { amount, row }] of state.movements[customer].entries()) {
    const cash = row ? state.rows[row] ?? state.owed[row] : undefined;
    const isHeld = cash?.holds === customer && isOut(cash) &&
      // The movement of a row before its outcome was undone is another one.
      state.movements[customer].findLastIndex((other) => other.row === row) === place;
    const due = (isHeld ? 0 : amount) - sum(others.map(({ lines }) => lines[place] ?? 0));
    if (due) lines[place] = due;
  }
  const net = sum(Object.values(lines));
  if (net <= 0) return "statement_below_minimum";
  state.statements[name] = { customer, net, lines, status: "open", cash: false };
  return `ok ${net} in ${Object.keys(lines).length}`;
}

export function payStatement(state: State, { name, cash }: Of<"payStatement">): string {
  const statement = state.statements[name];
  if (!statement) return "statement_not_found";
  const { status, customer, net } = statement;
  if (status !== "open") return status === "paid" ? "statement_already_paid" : "statement_not_open";
  if (cash && state.desk === null) return "insufficient_desk_cash";
  if (state.customers[customer] - held(state, customer) < net) return "statement_not_covered";
  if (cash) {
    if (state.desk! < net) return "insufficient_desk_cash";
    state.desk = state.desk! - net;
  }
  state.customers[customer] -= net;
  Object.assign(statement, { status: "paid", cash });
  return "ok paid";
}

export function reverseStatement(state: State, { name }: Of<"reverseStatement">): string {
  const statement = state.statements[name];
  if (!statement) return "statement_not_found";
  if (statement.status !== "paid") return "statement_not_paid";
  statement.status = "open";
  state.customers[statement.customer] += statement.net;
  if (statement.cash) state.desk = state.desk! + statement.net;
  return "ok open";
}

export function voidStatement(state: State, { name }: Of<"voidStatement">): string {
  const statement = state.statements[name];
  if (!statement) return "statement_not_found";
  if (statement.status !== "open") return "statement_not_open";
  statement.status = "void";
  return "ok void";
}
