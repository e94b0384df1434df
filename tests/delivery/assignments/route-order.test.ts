import { describe, expect, test } from "vitest";
import { orderStops } from "../../../functions/delivery/assignments/route-order.ts";
import type { RoutingProblem } from "../../../functions/delivery/assignments/route-problem.ts";
import { pairs } from "../../support/instances/pairs.ts";
import { distancesOf, instances } from "../../support/instances/tsp.ts";

function lengthOf(problem: RoutingProblem, order: number[]): number {
  const distances = order.map((stop, index) =>
    index ? problem.distance(order[index - 1], stop) : problem.fromStart?.(stop) ?? 0
  );
  return distances.reduce((sum, distance) => sum + distance, 0) +
    (problem.toEnd?.(order.at(-1)!) ?? 0);
}

function expectFair(problem: RoutingProblem, order: number[]) {
  expect([...order].sort((a, b) => a - b)).toEqual(
    Array.from({ length: problem.count }, (_, index) => index),
  );
  problem.predecessor.forEach((first, stop) => {
    if (first >= 0) expect(order.indexOf(first)).toBeLessThan(order.indexOf(stop));
  });
}

/** The shortest there is, by trying every order. */
function shortest(problem: RoutingProblem): number {
  let best = Infinity;
  const extend = (order: number[], length: number) => {
    if (length >= best) return;
    if (order.length === problem.count) best = length;
    for (let stop = 0; stop < problem.count; stop++) {
      const first = problem.predecessor[stop];
      if (order.includes(stop) || (first >= 0 && !order.includes(first))) continue;
      const distance = order.length
        ? problem.distance(order.at(-1)!, stop)
        : problem.fromStart?.(stop) ?? 0;
      extend([...order, stop], length + distance);
    }
  };
  extend([], 0);
  return best;
}

describe("the order of stops", () => {
  test.each(instances)("comes within 2 % of the best known tour of $name", (instance) => {
    const distance = distancesOf(instance);
    const problem: RoutingProblem = {
      count: instance.places.length - 1,
      distance: (a, b) => distance(a + 1, b + 1),
      fromStart: (a) => distance(0, a + 1),
      toEnd: (a) => distance(a + 1, 0),
      predecessor: Array(instance.places.length - 1).fill(-1),
    };
    const order = orderStops(problem);
    expectFair(problem, order);
    const length = lengthOf(problem, order);
    // Nothing is shorter than the shortest: the data and the distances are right.
    expect(length).toBeGreaterThanOrEqual(instance.best);
    expect(length).toBeLessThanOrEqual(instance.best * 1.02);
  });

  test("is the shortest there is where every order can be tried, pickups before drop-offs", () => {
    for (let seed = 1; seed <= 12; seed++) {
      const problem = pairs(4, seed * 977);
      const order = orderStops(problem);
      expectFair(problem, order);
      expect(lengthOf(problem, order)).toBeCloseTo(shortest(problem), 6);
    }
  });

  test("keeps the rules with picked-up parcels, and never makes the route longer", () => {
    for (const count of [1, 2, 7, 25]) {
      const problem = pairs(count, 31 + count);
      const given = Array.from({ length: problem.count }, (_, index) => index);
      const order = orderStops(problem);
      expectFair(problem, order);
      expect(lengthOf(problem, order)).toBeLessThanOrEqual(lengthOf(problem, given) + 1e-6);
    }
    const single = { count: 1, distance: () => 0, predecessor: [-1] };
    expect(orderStops(single)).toEqual([0]);
    expect(orderStops({ ...single, count: 0, predecessor: [] })).toEqual([]);
  });

  test("goes out of its way for a promised time", () => {
    // The nearest stop last, because the farthest is due first.
    const at = [10, 20, 90];
    const problem: RoutingProblem = {
      count: 3,
      distance: (a, b) => Math.abs(at[a] - at[b]),
      fromStart: (a) => at[a],
      predecessor: [-1, -1, -1],
    };
    expect(orderStops(problem)).toEqual([0, 1, 2]);
    const due = { deadlines: [Infinity, Infinity, 90], minutesPerKm: 1, minutesAtStop: 60 };
    expect(orderStops({ ...problem, ...due })).toEqual([2, 1, 0]);
  });

  test("is the same every time", () => {
    const problem = pairs(20, 5, (index) => (index % 5 ? Infinity : 60 + index * 5));
    expect(orderStops(problem)).toEqual(orderStops(problem));
  });
});
