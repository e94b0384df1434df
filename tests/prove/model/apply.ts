/** The effect and response of each operation on the model, and the order that explains concurrent operations. */
import * as carriers from "./carriers.ts";
import * as cash from "./cash.ts";
import * as customerReturns from "./customer-returns.ts";
import * as door from "./door.ts";
import * as orders from "./orders.ts";
import * as parcels from "./parcels.ts";
import * as pay from "./pay.ts";
import * as sendBacks from "./send-backs.ts";
import type { Of, Op } from "./ops.ts";
import type { State } from "./state.ts";
import * as statements from "./statements.ts";
import * as stock from "./stock.ts";

const rules: { [T in Op["type"]]: (state: State, op: Of<T>) => string } = {
  settle: cash.settle,
  unsettle: cash.unsettle,
  declare: cash.declare,
  count: cash.count,
  resolve: cash.resolve,
  deposit: cash.deposit,
  bring: cash.bring,
  unbring: cash.unbring,
  counter: cash.counter,
  uncounter: cash.uncounter,
  payDue: cash.payDue,
  unpay: cash.unpay,
  payOut: pay.payOut,
  unpayOut: pay.unpayOut,
  adjust: cash.adjust,
  step: parcels.step,
  outcome: door.outcome,
  undo: door.undo,
  undoPickup: door.undoPickup,
  changeAmount: door.changeAmount,
  redirect: door.redirect,
  openStatement: statements.openStatement,
  payStatement: statements.payStatement,
  reverseStatement: statements.reverseStatement,
  voidStatement: statements.voidStatement,
  divert: sendBacks.divert,
  bringIn: sendBacks.bringIn,
  takeIn: sendBacks.takeIn,
  sendBack: sendBacks.sendBack,
  callOff: sendBacks.callOff,
  execute: sendBacks.execute,
  unprepare: sendBacks.unprepare,
  orderReturn: customerReturns.orderReturn,
  consign: carriers.consign,
  book: carriers.book,
  unbook: carriers.unbook,
  tell: carriers.tell,
  carrierPays: carriers.carrierPays,
  unpayCarrier: carriers.unpayCarrier,
  bank: carriers.bank,
  handOver: parcels.handOver,
  confirm: parcels.confirm,
  receive: stock.put,
  takeBack: stock.put,
  writeOff: stock.writeOff,
  correct: stock.correct,
  transfer: stock.transfer,
  pick: stock.pick,
  move: stock.move,
  report: stock.report,
  restock: stock.restock,
  order: orders.order,
  approve: orders.approve,
  cancel: orders.cancel,
  acceptShort: orders.acceptShort,
  fetch: orders.fetch,
  putBack: orders.putBack,
};

/**
 * Does an operation to the state, which is changed, and says what it answers: `ok …` or the code of a refusal. One that
 * was done before is not done again and answers the same; with its id and another meaning it is refused.
 */
export function apply(state: State, op: Op): string {
  const { id, ...rest } = op;
  const asked = JSON.stringify(rest);
  const known = state.done[id];
  if (known) return known.asked === asked ? known.answer : "settlement_idempotency_conflict";
  const answer = (rules[op.type] as (state: State, op: Op) => string)(state, op);
  if (answer.startsWith("ok")) state.done[id] = { asked, answer };
  return answer;
}

/**
 * The states after these operations in each order in which each of them answers what it answered; none when they were not
 * done one after the other. Answers alone may allow several orders, such as a count before or after a remittance.
 */
export function* explanations(
  state: State,
  done: readonly { op: Op; answer: string }[],
): Generator<State> {
  if (done.length === 0) yield state;
  for (const [index, { op, answer }] of done.entries()) {
    const next = structuredClone(state);
    if (apply(next, op) !== answer) continue;
    yield* explanations(next, done.filter((_, other) => other !== index));
  }
}
