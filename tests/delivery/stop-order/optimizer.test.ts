import { setupServer } from "msw/node";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { solveBest } from "../../../functions/delivery/stop-order/optimizer.ts";
import type { Problem } from "../../../functions/delivery/stop-order/problem.ts";
import { present, solve } from "../../../functions/delivery/stop-order/solver.ts";
import { asSent, optimizer } from "../../support/outside/optimizer.ts";

const url = "https://optimizer.example/";
const engine = optimizer(url);
const server = setupServer(...engine.handlers);
beforeAll(() => server.listen({ onUnhandledRequest: "bypass" }));
beforeEach(() => {
  engine.asked.length = 0;
  engine.answer = asSent;
});
afterAll(() => server.close());

/** Places along a line, kilometres from the start: a parcel in hand for 3, one to be fetched at 1 and brought to 2. */
function line(windows: { [id: number]: [number, number] } = {}): Problem {
  const at = [0, 1, 2, 3];
  const ways = (unit: number) => at.map((from) => at.map((to) => Math.abs(from - to) * unit));
  const task = (id: number) => ({
    id,
    location_index: id,
    service: 60,
    ...(windows[id] && { time_windows: [windows[id]] as [[number, number]] }),
  });
  return {
    jobs: [task(3)],
    shipments: [{ pickup: task(1), delivery: task(2) }],
    vehicles: [{
      id: 1,
      start_index: 0,
      steps: [{ type: "job", id: 3 }, { type: "pickup", id: 1 }, { type: "delivery", id: 2 }],
    }],
    matrices: { car: { durations: ways(100), distances: ways(1000), costs: ways(1000) } },
  };
}
const idsOf = ({ routes: [{ steps }] }: { routes: [{ steps: { id?: number }[] }] }) =>
  steps.slice(1).map(({ id }) => id);

describe("a problem solved here", () => {
  test("has the schedule that VROOM's answer would have", () => {
    const { summary, routes: [{ steps }] } = solve(line());
    expect(steps.map(({ type, id, arrival, distance }) => [type, id, arrival, distance])).toEqual([
      ["start", undefined, 0, 0],
      ["pickup", 1, 100, 1000],
      ["delivery", 2, 260, 2000],
      ["job", 3, 420, 3000],
    ]);
    expect(summary).toEqual({
      cost: 3000,
      unassigned: 0,
      service: 180,
      duration: 300,
      waiting_time: 0,
      distance: 3000,
      violations: [],
    });
  });

  test("names waiting and delays", () => {
    const { summary, routes: [{ steps }] } = solve(line({ 1: [500, 900], 2: [0, 10] }));
    expect(steps[1]).toMatchObject({ arrival: 100, waiting_time: 400, violations: [] });
    expect(steps[2]).toMatchObject({ id: 2, violations: [{ cause: "delay", duration: 650 }] });
    expect(summary).toMatchObject({
      waiting_time: 400,
      violations: [{ cause: "delay", duration: 650 }],
    });
  });
});

describe("an engine", () => {
  test("is sent the problem without the present order, and its order is taken", async () => {
    const solution = await solveBest(line(), url);
    const { vehicles: _, ...rest } = line();
    expect(engine.asked).toEqual([{ ...rest, vehicles: [{ id: 1, start_index: 0 }] }]);
    // As long as the present order, and another one than is found here.
    expect(idsOf(solution)).toEqual([3, 1, 2]);
    expect(solution.summary).toEqual(present(line()).summary);
    expect(idsOf(solve(line()))).toEqual([1, 2, 3]);
  });

  test.each<[string, typeof engine.answer]>([
    ["refuses", () => ({ status: 400, body: { code: 2, error: "bad" } })],
    ["answers an error", () => ({ body: { code: 1 } })],
    ["answers nonsense", () => ({ body: { code: 0, routes: "none" } })],
    ["leaves a stop out", (problem) => asSent(problem).slice(1)],
    ["has a stop twice", (problem) => [...asSent(problem), { type: "job", id: 3 }]],
    [
      "names a stop that is none",
      (problem) => [...asSent(problem).slice(1), { type: "job", id: 9 }],
    ],
    ["brings what was not fetched", (problem) => asSent(problem).reverse()],
    ["answers without end", () => ({ body: "x".repeat(2_000_001) })],
    ["is silent", () => undefined],
  ])("that %s is replaced by what is found here", async (_, answer) => {
    engine.answer = answer;
    // Only silence ends by the time limit: on a busy machine an answer may take longer than a short one.
    const solution = await solveBest(line(), url, _ === "is silent" ? 200 : 10_000);
    expect(engine.asked).toHaveLength(1);
    expect(solution).toEqual(solve(line()));
  });

  test("that proposes what is later than the present order is replaced as well", async () => {
    const due = line({ 3: [0, 300] });
    engine.answer = (problem) => asSent(problem).slice(1).concat(asSent(problem).slice(0, 1));
    expect(idsOf(await solveBest(due, url))).toEqual(idsOf(solve(due)));
    expect(idsOf(solve(due))).toEqual([3, 1, 2]);
  });

  test("is not asked where there is nothing to order", async () => {
    const one = line();
    one.shipments = [];
    one.vehicles[0].steps = [{ type: "job", id: 3 }];
    expect(idsOf(await solveBest(one, url))).toEqual([3]);
    expect(engine.asked).toEqual([]);
  });
});
