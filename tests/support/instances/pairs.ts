/** Pickups with their drop-offs, the same every time. */
import type { RoutingProblem } from "../../../functions/delivery/assignments/route-problem.ts";

/** A fixed row of numbers between 0 and 1. */
export function row(seed: number): () => number {
  let state = seed;
  return () => (state = state * 48_271 % 2_147_483_647) / 2_147_483_647;
}

/** Pairs of places in a square; the start is its middle. */
export function pairs(
  count: number,
  seed: number,
  deadlines?: (index: number) => number,
): RoutingProblem {
  const next = row(seed);
  const at = Array.from({ length: count * 2 }, () => [next() * 100, next() * 100]);
  const length = (a: number[], b: number[]) => Math.hypot(a[0] - b[0], a[1] - b[1]);
  return {
    count: at.length,
    distance: (a, b) => length(at[a], at[b]),
    fromStart: (a) => length([50, 50], at[a]),
    predecessor: at.map((_, index) => (index % 2 ? index - 1 : -1)),
    ...(deadlines && { deadlines: at.map((_, index) => deadlines(index)), minutesPerKm: 1 }),
  };
}
