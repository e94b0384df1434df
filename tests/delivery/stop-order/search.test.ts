import { describe, expect, test, vi } from "vitest";
import { searchOrder } from "../../../functions/delivery/stop-order/search.ts";
import { type Stops, Tour } from "../../../functions/delivery/stop-order/tour.ts";
import { type Described, pairs, row, stopsOf } from "../../support/instances/stops.ts";
import { distancesOf, instances } from "../../support/instances/tsp.ts";
import { bothDays, listOf, routes } from "../../support/instances/windows.ts";

function valueOf(stops: Stops, order: number[]) {
  const tour = new Tour(stops);
  tour.set(order);
  return { late: tour.late, cost: tour.cost };
}

/** Every stop once, and none before the one that must come first. */
function expectFair({ count, predecessor }: Stops, order: number[]) {
  expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i));
  predecessor.forEach((first, stop) => {
    if (first >= 0) expect(order.indexOf(first)).toBeLessThan(order.indexOf(stop));
  });
}

/** The least lateness, and the least length with it, by trying every order stop by stop. */
function best({ count, distance, fromStart, predecessor, after, due, service = 0 }: Described) {
  let found = { late: Infinity, cost: Infinity };
  const extend = (order: number[], cost: number, time: number, late: number) => {
    if (late > found.late || (late === found.late && cost >= found.cost)) return;
    if (order.length === count) found = { late, cost };
    for (let stop = 0; stop < count; stop++) {
      const first = predecessor?.[stop] ?? -1;
      if (order.includes(stop) || (first >= 0 && !order.includes(first))) continue;
      const way = order.length ? distance(order.at(-1)!, stop) : fromStart?.(stop) ?? 0;
      const begins = Math.max(time + way, after?.[stop] ?? 0);
      const delay = Math.max(0, time + way - (due?.[stop] ?? Infinity));
      extend([...order, stop], cost + way, begins + service, late + delay);
    }
  };
  extend([], 0, 0, 0);
  return found;
}

const lists = [
  ...routes,
  // 100 stops and more.
  bothDays(routes[2], routes[4]),
  bothDays(routes[3], routes[5]),
];

describe("a list with windows", () => {
  test.each(lists)("is on time and within 3 % of the best known length: $name", (route) => {
    const { described, solution } = listOf(route);
    const stops = stopsOf(described);
    const known = valueOf(stops, solution);
    expect(known.late).toBe(0);
    const order = searchOrder(stops);
    expectFair(stops, order);
    const { late, cost } = valueOf(stops, order);
    expect(late).toBe(0);
    expect(cost).toBeLessThanOrEqual(known.cost * 1.03);
  });

  test("goes out of its way to be on time", () => {
    // The nearest stop last, because the farthest is due first.
    const at = [10, 20, 90];
    const line: Described = {
      count: 3,
      distance: (a, b) => Math.abs(at[a] - at[b]),
      fromStart: (a) => at[a],
      service: 60,
    };
    expect(searchOrder(stopsOf(line))).toEqual([0, 1, 2]);
    expect(searchOrder(stopsOf({ ...line, due: [Infinity, Infinity, 90] }))).toEqual([2, 1, 0]);
  });

  test("waits for a receiver only as long as nobody else becomes late", () => {
    const at = [10, 20];
    const line: Described = {
      count: 2,
      distance: (a, b) => Math.abs(at[a] - at[b]),
      fromStart: (a) => at[a],
      after: [100, 0],
    };
    // Waiting at the first costs no way; with the second due before, it is made first.
    expect(searchOrder(stopsOf(line))).toEqual([0, 1]);
    expect(searchOrder(stopsOf({ ...line, due: [Infinity, 50] }))).toEqual([1, 0]);
  });

  test("is the best there is where every order can be tried, also when somebody has to be late", () => {
    const next = row(11);
    for (let seed = 1; seed <= 12; seed++) {
      const described: Described = {
        ...pairs(seed % 2 ? 4 : 3, seed * 977),
        after: Array.from({ length: 8 }, () => next() < 0.3 ? next() * 300 : 0),
        due: Array.from({ length: 8 }, () => next() < 0.6 ? next() * 300 : Infinity),
        service: 5,
      };
      const stops = stopsOf(described);
      const order = searchOrder(stops);
      expectFair(stops, order);
      const [found, known] = [valueOf(stops, order), best(described)];
      expect(found.late).toBeCloseTo(known.late, 6);
      expect(found.cost).toBeCloseTo(known.cost, 6);
    }
  });
});

describe("a list without windows", () => {
  test.each(instances)("comes within 2 % of the best known tour of $name", (instance) => {
    const distance = distancesOf(instance);
    const stops = stopsOf({
      count: instance.places.length - 1,
      distance: (a, b) => distance(a + 1, b + 1),
      fromStart: (a) => distance(0, a + 1),
      toEnd: (a) => distance(a + 1, 0),
    });
    const order = searchOrder(stops);
    expectFair(stops, order);
    const { cost } = valueOf(stops, order);
    // Nothing is shorter than the shortest: the data and the distances are right.
    expect(cost).toBeGreaterThanOrEqual(instance.best);
    expect(cost).toBeLessThanOrEqual(instance.best * 1.02);
  });

  test("is the shortest there is where every order can be tried, pickups before drop-offs", () => {
    for (let seed = 1; seed <= 6; seed++) {
      const described = pairs(4, seed * 977);
      const stops = stopsOf(described);
      const order = searchOrder(stops);
      expectFair(stops, order);
      expect(valueOf(stops, order).cost).toBeCloseTo(best(described).cost, 6);
    }
  });

  test("follows one-way roads", () => {
    // Round a ring it is 1 to the next place and 5 to the one before.
    const ring: Described = {
      count: 6,
      distance: (a, b) => (b - a + 6) % 6 === 1 ? 1 : 5,
      fromStart: (a) => a === 3 ? 0 : 5,
    };
    expect(searchOrder(stopsOf(ring))).toEqual([3, 4, 5, 0, 1, 2]);
  });
});

describe("an order", () => {
  test("keeps the rules with picked-up parcels, and is never worse than the present one", () => {
    for (const count of [1, 2, 7, 25]) {
      for (const due of [undefined, (index: number) => 20 + index * 3]) {
        const stops = stopsOf(pairs(count, 31 + count, due));
        const present = valueOf(stops, Array.from({ length: stops.count }, (_, index) => index));
        const order = searchOrder(stops);
        expectFair(stops, order);
        const { late, cost } = valueOf(stops, order);
        expect(late).toBeLessThanOrEqual(present.late);
        if (late === present.late) expect(cost).toBeLessThanOrEqual(present.cost);
      }
    }
  });

  test("of one stop or none is that", () => {
    expect(searchOrder(stopsOf({ count: 1, distance: () => 0 }))).toEqual([0]);
    expect(searchOrder(stopsOf({ count: 0, distance: () => 0 }))).toEqual([]);
  });

  test("is the same every time", () => {
    const stops = stopsOf(pairs(20, 5, (index) => (index % 5 ? Infinity : 60 + index * 5)));
    expect(searchOrder(stops)).toEqual(searchOrder(stops));
  });

  test("of many stops, most of them late, is found with a bounded amount of work", () => {
    const stops = stopsOf(pairs(400, 7, (index) => 30 + index * 7));
    const looked = vi.spyOn(Tour.prototype, "set");
    const order = searchOrder(stops);
    const { work } = looked.mock.contexts[0] as Tour;
    looked.mockRestore();
    expectFair(stops, order);
    expect(work).toBeLessThan(70_000_000);
  });
});
