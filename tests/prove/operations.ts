/** Every call that moves money or stock, as clients make it; each compares its answers with what it asked. */
import fc from "fast-check";
import type { Step } from "./asking.ts";
import { Purchases } from "./purchases.ts";

export const kinds = [
  "deliver",
  "carry",
  "pay",
  "bulk",
  "remit",
  "settle",
  "deposit",
  "counter",
  "payOut",
  "adjust",
  "receive",
  "correct",
  "writeOff",
  "takeBack",
  "shelve",
  "count",
  "transfer",
  "pick",
  "destine",
  "buy",
  "comeBack",
  "handOver",
  "travel",
  "comeShort",
  "giveBack",
  "breakDown",
  "atDoor",
  "split",
  "undo",
  "consign",
  "sendBack",
  "sendGoodsBack",
  "changeAmount",
  "sendElsewhere",
  "offer",
  "state",
  "payStatement",
  "reversePayout",
  "voidStatement",
] as const;

/** The operations, and the random numbers for them. */
export interface Operation extends Step {
  kind: typeof kinds[number];
}

const die = fc.nat(9_999);
const arbitrary: fc.Arbitrary<Operation> = fc.record({
  kind: fc.constantFrom(
    ...kinds,
    "deliver" as const,
    "remit" as const,
    "settle" as const,
    "state" as const,
    "state" as const,
    "buy" as const,
  ),
  a: die,
  b: die,
  c: die,
});

/** Operations without end, the same ones for a seed: each kind once, then as they are drawn. */
export function* operations(seed: number): Generator<Operation> {
  const dice = fc.sample(arbitrary, { seed: seed - 1, numRuns: kinds.length });
  yield* kinds.map((kind, place) => ({ ...dice[place], kind }));
  for (let page = 0;; page++) yield* fc.sample(arbitrary, { seed: seed + page, numRuns: 500 });
}

export class Actor extends Purchases {
  async run(step: Operation): Promise<void> {
    await this[step.kind](step);
  }
}
