/** Chance that a seed decides: the same seed draws the same things, whatever else is drawn and in whatever order. */
import { createHash } from "node:crypto";
import fc from "fast-check";

/** So many of something, for one part of the day; parts do not disturb one another. */
export function draw<T>(seed: number, part: string, what: fc.Arbitrary<T>, count: number): T[] {
  const own = createHash("sha256").update(`${seed} ${part}`).digest().readInt32BE();
  return count ? fc.sample(fc.noBias(what), { seed: own, numRuns: count }) : [];
}

/** One of several, each as often as its number says. */
export function mostly<T>(...choices: [times: number, value: T][]): fc.Arbitrary<T> {
  return fc.oneof(
    ...choices.map(([weight, value]) => ({ weight, arbitrary: fc.constant(value) })),
  );
}

/** An amount of money in steps of 250, as prices in dinars are. */
export const dinars = (min: number, max: number): fc.Arbitrary<number> =>
  fc.integer({ min: min / 250, max: max / 250 }).map((steps) => steps * 250);
