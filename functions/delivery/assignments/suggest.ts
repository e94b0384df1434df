/** Proposes an order for the stops of a driver's assignments. */
import type { Point } from "../../../shared/routing/routing-service.ts";
import { type Ways, waysBetween } from "../../../shared/routing/table.ts";
import { solveBest } from "../stop-order/optimizer.ts";
import type { Problem, Shipment, Task } from "../stop-order/problem.ts";
import { present } from "../stop-order/solver.ts";

interface Coordinates {
  latitude: number;
  longitude: number;
}

export interface DriverStops {
  /** The driver's starting point; null when it is unknown. */
  start: Coordinates | null;
  /** How much longer roads are than great circles there. */
  detour: number;
  /** In their present order. */
  assignments: {
    assignment_id: string;
    delivery_id: string;
    delivery_code: number;
    picked_up: boolean;
    pickup: Coordinates | null;
    dropoff: Coordinates | null;
    pickup_by: string | null;
    dropoff_after: string | null;
    dropoff_by: string | null;
  }[];
}

/** The assumed time of a stop. */
const secondsAtStop = 180;

interface Stop extends Coordinates {
  /** Its place among the assignments that have coordinates. */
  assignment: number;
  type: "pickup" | "dropoff";
  after: string | null;
  by: string | null;
}

/**
 * Proposes an order of stops: each pickup before its drop-off, little lateness and then a short route. A parcel that was
 * picked up already has only its drop-off left. The search includes the current order, so the proposal is never later, and where it
 * is as late, never longer. Assignments are numbered in the order of their first stops; those without coordinates come last, in their present
 * order.
 */
export async function suggest({ start, detour, assignments }: DriverStops, now: number) {
  const placed = assignments.filter(({ picked_up, pickup, dropoff }) =>
    dropoff && (picked_up || pickup)
  );
  const stops = placed.flatMap((one, assignment): Stop[] => {
    const dropoff: Stop = {
      ...one.dropoff!,
      assignment,
      type: "dropoff",
      after: one.dropoff_after,
      by: one.dropoff_by,
    };
    if (one.picked_up) return [dropoff];
    return [
      { ...one.pickup!, assignment, type: "pickup", after: null, by: one.pickup_by },
      dropoff,
    ];
  });
  const { places, numbers } = placesOf(stops);
  // Where the driver is now is no place to keep ways of.
  const passing = start ? 1 : 0;
  const ways = await waysBetween(start ? [placeOf(start), ...places] : places, passing, detour);
  const problem = problemOf(stops, numbers, start ? ways : startingAnywhere(ways), now);
  const { routes: [{ steps }], summary } = await solveBest(problem);
  const current = present(problem).summary;
  const made = steps.slice(1);
  const ranked = [...new Set(made.map(({ id }) => stops[id!].assignment))]
    .map((index) => placed[index].assignment_id);
  const unplaced = assignments.filter((one) => !placed.includes(one))
    .map(({ assignment_id }) => assignment_id);
  return {
    assignments: [...ranked, ...unplaced].map((assignment_id, index) => ({
      assignment_id,
      sequence_number: index + 1,
    })),
    stops: made.map(({ id, distance }, position) => {
      const { assignment, type, latitude, longitude } = stops[id!];
      const { assignment_id, delivery_id, delivery_code } = placed[assignment];
      return {
        assignment_id,
        delivery_id,
        delivery_code,
        type,
        latitude,
        longitude,
        // The step before, since the first is the start.
        distance_km: (distance - steps[position].distance) / 1000,
      };
    }),
    unplaced,
    distance_km: summary.distance / 1000,
    distance_saved_km: (current.distance - summary.distance) / 1000,
    measured_by: ways.measured_by,
    late_stops: made.filter(({ id, arrival, waiting_time }) => {
      const { by } = stops[id!];
      return by && arrival + waiting_time > secondsUntil(by, now);
    }).length,
    minutes: Math.round((summary.duration + summary.waiting_time + summary.service) / 60),
  };
}

const placeOf = ({ latitude, longitude }: Coordinates): Point => [
  Math.round(latitude * 1e5) / 1e5,
  Math.round(longitude * 1e5) / 1e5,
];

const secondsUntil = (time: string, now: number) => Math.round((Date.parse(time) - now) / 1000);

/** Each place once, to about a metre, and for each stop the number of its place. */
function placesOf(stops: Stop[]): { places: Point[]; numbers: number[] } {
  const places = new Map<string, Point>();
  const keys = stops.map((stop) => {
    const place = placeOf(stop);
    places.set(String(place), place);
    return String(place);
  });
  const order = [...places.keys()];
  return { places: [...places.values()], numbers: keys.map((key) => order.indexOf(key)) };
}

/** The same ways with a start in front from which every place is at no distance: of a driver whose position is not known. */
function startingAnywhere({ distances, durations, measured_by }: Ways): Ways {
  const grown = (rows: number[][]) => [
    new Array(rows.length + 1).fill(0),
    ...rows.map((row) => [0, ...row]),
  ];
  return { distances: grown(distances), durations: grown(durations), measured_by };
}

/** Place 0 is the start; a stop is a task with its own number. */
function problemOf(stops: Stop[], numbers: number[], ways: Ways, now: number): Problem {
  const tasks = stops.map((stop, id): Task => {
    // A `by` that has passed becomes now, and one before `after` becomes that: `late_stops` counts by what was agreed.
    const from = stop.after ? Math.max(0, secondsUntil(stop.after, now)) : 0;
    const until = stop.by ? Math.max(from, secondsUntil(stop.by, now)) : horizon;
    return {
      id,
      location_index: numbers[id] + 1,
      service: secondsAtStop,
      ...((stop.after || stop.by) && { time_windows: [[from, until]] }),
    };
  });
  const shipments: Shipment[] = [];
  stops.forEach(({ type }, id) => {
    // Its drop-off follows it.
    if (type === "pickup") shipments.push({ pickup: tasks[id], delivery: tasks[id + 1] });
  });
  const paired = new Set(shipments.map(({ delivery }) => delivery.id));
  const typeOf = ({ type }: Stop, id: number) =>
    type === "pickup" ? "pickup" : paired.has(id) ? "delivery" : "job";
  return {
    jobs: tasks.filter((_, id) => typeOf(stops[id], id) === "job"),
    shipments,
    vehicles: [{
      id: 1,
      start_index: 0,
      steps: stops.map((stop, id) => ({ type: typeOf(stop, id), id })),
    }],
    matrices: {
      car: { durations: ways.durations, distances: ways.distances, costs: ways.distances },
    },
  };
}

/** The end of a window that is open: a year, in seconds. */
const horizon = 31_536_000;
