/** Stops to order, the same every time: from functions, and pickups with their drop-offs in a square. */
import type { Stops } from "../../../functions/delivery/stop-order/tour.ts";

export interface Described {
  count: number;
  distance(from: number, to: number): number;
  fromStart?(to: number): number;
  toEnd?(from: number): number;
  /** For each stop the one that must come before it, or -1. */
  predecessor?: readonly number[];
  after?: readonly number[];
  due?: readonly number[];
  service?: number;
}

/** Stops as the search takes them; a way takes as long as it is long. */
export function stopsOf(described: Described): Stops {
  const { count, distance, fromStart, toEnd } = described;
  const size = count + 2;
  const costs = new Float64Array(size * size);
  for (let i = 0; i < count; i++) {
    for (let j = 0; j < count; j++) if (i !== j) costs[i * size + j] = distance(i, j);
    costs[count * size + i] = fromStart?.(i) ?? 0;
    costs[i * size + count + 1] = toEnd?.(i) ?? 0;
  }
  return {
    count,
    durations: costs,
    costs,
    service: new Float64Array(count).fill(described.service ?? 0),
    after: Float64Array.from(described.after ?? Array(count).fill(0)),
    due: Float64Array.from(described.due ?? Array(count).fill(Infinity)),
    predecessor: Int32Array.from(described.predecessor ?? Array(count).fill(-1)),
  };
}

/** A fixed row of numbers between 0 and 1. */
export function row(seed: number): () => number {
  let state = seed;
  return () => (state = state * 48_271 % 2_147_483_647) / 2_147_483_647;
}

/** Pairs of places in a square; the start is its middle. */
export function pairs(count: number, seed: number, due?: (index: number) => number): Described {
  const next = row(seed);
  const at = Array.from({ length: count * 2 }, () => [next() * 100, next() * 100]);
  const length = (a: number[], b: number[]) => Math.hypot(a[0] - b[0], a[1] - b[1]);
  return {
    count: at.length,
    distance: (a, b) => length(at[a], at[b]),
    fromStart: (a) => length([50, 50], at[a]),
    predecessor: at.map((_, index) => (index % 2 ? index - 1 : -1)),
    ...(due && { due: at.map((_, index) => due(index)) }),
  };
}
