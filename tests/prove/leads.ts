/** The operations by which each kind of fact is reported, so that none is left to chance. */
import type { Kind } from "./facts.ts";
import type { Operation } from "./operations.ts";

const any = (...of: Operation["kind"][]) => ({ kind }: Operation) => of.includes(kind);
const state = (how: number) => ({ kind, b }: Operation) => kind === "state" && b % 4 === how;
/** Paid at a gateway that signs its reports. */
const isSigned = ({ kind, b, c }: Operation) => kind === "buy" && c % 4 === 2 && b % 5 > 0;

/** The operations that each kind of fact is reported by, unless they are refused. */
const leads: Record<Kind, (step: Operation) => boolean> = {
  adjusted: any("adjust"),
  settled: any("state"),
  received: any("receive"),
  corrected: any("correct"),
  writtenOff: any("writeOff"),
  takenBack: any("takeBack"),
  shelved: any("shelve"),
  counted: any("count"),
  transferred: any("transfer"),
  picked: any("pick"),
  ordered: any("deliver"),
  collected: any("deliver"),
  undone: any("undo"),
  uncollected: ({ kind, c }) => kind === "undo" && c % 3 < 2,
  changed: any("changeAmount"),
  redirected: any("sendElsewhere"),
  stated: any("state"),
  merchantPaid: state(2),
  merchantPaidBack: state(3),
  voided: state(0),
  declared: any("deliver", "comeShort"),
  short: any("deliver", "comeShort"),
  owed: any("carry"),
  paid: any("carry", "pay"),
  moved: any("state"),
  paidOut: any("deliver", "payOut"),
  assigned: any("deliver"),
  searched: any("offer"),
  destined: any("destine"),
  bought: any("buy"),
  split: any("split"),
  charged: isSigned,
  returned: any("comeBack"),
  takenIn: any("sendBack"),
  sentBack: any("sendBack"),
  diverted: any("sendGoodsBack"),
  restocked: any("sendGoodsBack"),
  booked: any("consign"),
  reported: any("consign"),
  carried: any("consign"),
  handed: any("handOver"),
  travelled: any("travel"),
  resolved: (step) => isSigned(step) && step.a % 2 === 0,
  refunded: ({ kind, b, c }) => kind === "buy" && c % 4 === 0 && b % 2 === 0,
};

/** The next of these operations by which a fact of this kind is reported. */
export function leadingTo(kind: Kind, steps: Generator<Operation>): Operation {
  for (;;) {
    const step: Operation = steps.next().value;
    if (leads[kind](step)) return step;
  }
}
