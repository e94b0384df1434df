/** Solves routing problems here, in the process that asks. */
import { keyOf, type Problem, type Solution, type Step, type Stop, stopsOf } from "./problem.ts";
import { searchOrder } from "./search.ts";
import { isBetter, type Stops, Tour } from "./tour.ts";

/** The order with the least lateness and, among these, the least cost that was found; never worse than the present one. */
export function solve(problem: Problem): Solution {
  const stops = stopsOf(problem);
  return scheduled(problem, stops, searchOrder(stopsForSearch(problem, stops)));
}

/**
 * A solution with the stops in the order in which another solver's answer has them. Undefined when it leaves a stop out,
 * has one twice, brings what was not fetched, or is worse than the present order.
 */
export function solutionOf(
  problem: Problem,
  steps: readonly { type: string; id?: number }[],
): Solution | undefined {
  const stops = stopsOf(problem);
  const position = new Map(
    stops.map(({ type, task }, index) => [keyOf({ type, id: task.id }), index]),
  );
  const order = steps.filter(({ type }) => type !== "start" && type !== "end")
    .map((step) => position.get(keyOf(step)) ?? -1);
  const place = new Map(order.map((stop, index) => [stop, index]));
  const whole = order.length === stops.length && place.size === stops.length && !place.has(-1);
  if (!whole) return undefined;
  const fetched = stops.every(({ after }, stop) =>
    after === undefined || place.get(after)! < place.get(stop)!
  );
  if (!fetched) return undefined;
  const valueOf = (chosen: number[]) => {
    const tour = new Tour(stopsForSearch(problem, stops));
    tour.set(chosen);
    return { late: tour.late, cost: tour.cost };
  };
  const present = stops.map((_, index) => index);
  return isBetter(valueOf(present), valueOf(order)) ? undefined : scheduled(problem, stops, order);
}

/** The present order with its schedule. */
export function present(problem: Problem): Solution {
  const stops = stopsOf(problem);
  return scheduled(problem, stops, stops.map((_, index) => index));
}

function stopsForSearch({ matrices: { car }, vehicles }: Problem, stops: Stop[]): Stops {
  const size = stops.length + 2;
  const [durations, costs] = [new Float64Array(size * size), new Float64Array(size * size)];
  const places = [...stops.map(({ task }) => task.location_index), vehicles[0].start_index];
  // The last row and column are the end, which is open: no way to it takes anything.
  places.forEach((from, i) =>
    stops.forEach(({ task }, j) => {
      durations[i * size + j] = car.durations[from][task.location_index];
      costs[i * size + j] = car.costs[from][task.location_index];
    })
  );
  const window = ({ task }: Stop) => task.time_windows?.[0] ?? [0, Infinity];
  return {
    count: stops.length,
    durations,
    costs,
    service: Float64Array.from(stops, ({ task }) => task.service ?? 0),
    after: Float64Array.from(stops, (stop) => window(stop)[0]),
    due: Float64Array.from(stops, (stop) => window(stop)[1]),
    predecessor: Int32Array.from(stops, ({ after }) => after ?? -1),
  };
}

function scheduled(problem: Problem, stops: Stop[], order: number[]): Solution {
  const { vehicles: [{ id, start_index }], matrices: { car } } = problem;
  const steps: Step[] = [{
    type: "start",
    location_index: start_index,
    arrival: 0,
    waiting_time: 0,
    service: 0,
    duration: 0,
    distance: 0,
    violations: [],
  }];
  let cost = 0;
  for (const stop of order) {
    const { type, task } = stops[stop];
    const before = steps.at(-1)!;
    const [from, to] = [before.location_index, task.location_index];
    const arrival = before.arrival + before.waiting_time + before.service + car.durations[from][to];
    const [opens, due] = task.time_windows?.[0] ?? [0, Infinity];
    cost += car.costs[from][to];
    steps.push({
      type,
      id: task.id,
      location_index: to,
      arrival,
      waiting_time: Math.max(0, opens - arrival),
      service: task.service ?? 0,
      duration: before.duration + car.durations[from][to],
      distance: before.distance + car.distances[from][to],
      violations: arrival > due ? [{ cause: "delay", duration: arrival - due }] : [],
    });
  }
  const sum = (of: (step: Step) => number) => steps.reduce((all, step) => all + of(step), 0);
  const { duration, distance } = steps.at(-1)!;
  return {
    code: 0,
    summary: {
      cost,
      unassigned: 0,
      service: sum(({ service }) => service),
      duration,
      waiting_time: sum(({ waiting_time }) => waiting_time),
      distance,
      violations: steps.flatMap(({ violations }) => violations),
    },
    unassigned: [],
    routes: [{ vehicle: id, steps }],
  };
}
