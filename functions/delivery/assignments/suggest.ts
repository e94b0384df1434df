/** Proposes an order for the stops of a driver's assignments. */
import { orderStops } from "./route-order.ts";
import type { RoutingProblem } from "./route-problem.ts";

interface Point {
  latitude: number;
  longitude: number;
}

export interface DriverList {
  /** The driver's starting point; null when it is unknown. */
  start: Point | null;
  /** In their present order. */
  assignments: {
    assignment_id: string;
    delivery_id: string;
    delivery_code: number;
    picked_up: boolean;
    pickup: Point | null;
    dropoff: Point | null;
    pickup_by: string | null;
    dropoff_by: string | null;
  }[];
}

/** The assumed speed of a driver where only the distance is known, and the assumed time of a stop. */
const kmPerHour = 30;
const minutesAtStop = 3;

interface Stop extends Point {
  assignment: number;
  type: "pickup" | "dropoff";
  by: string | null;
}

/**
 * Proposes an order of stops: each pickup before its drop-off, little lateness and a short route. A parcel that was
 * picked up already has only its drop-off left. The search includes the current order, so the proposal is never worse.
 * The sequence number of an assignment is the rank of its first remaining stop.
 */
export function suggest({ start, assignments }: DriverList, now: number) {
  const stops: Stop[] = [];
  const placed = assignments.filter(({ picked_up, pickup, dropoff }) =>
    dropoff && (picked_up || pickup)
  );
  placed.forEach((assignment, index) => {
    const { picked_up, pickup, dropoff, pickup_by, dropoff_by } = assignment;
    if (!picked_up) stops.push({ ...pickup!, assignment: index, type: "pickup", by: pickup_by });
    stops.push({ ...dropoff!, assignment: index, type: "dropoff", by: dropoff_by });
  });
  const problem = problemOf(stops, start, now);
  const order = orderStops(problem);
  const current = lengthOf(problem, stops.map((_, index) => index));
  const proposed = lengthOf(problem, order);
  const ranked = [...new Set(order.map((index) => stops[index].assignment))]
    .map((index) => placed[index].assignment_id);
  const unplaced = assignments.filter((one) => !placed.includes(one))
    .map(({ assignment_id }) => assignment_id);
  return {
    assignments: [...ranked, ...unplaced].map((assignment_id, index) => ({
      assignment_id,
      sequence_number: index + 1,
    })),
    stops: order.map((index, position) => {
      const { assignment, type, latitude, longitude } = stops[index];
      const { assignment_id, delivery_id, delivery_code } = placed[assignment];
      const distance = distanceTo(problem, position ? order[position - 1] : -1, index);
      return {
        assignment_id,
        delivery_id,
        delivery_code,
        type,
        latitude,
        longitude,
        distance_km: rounded(distance),
      };
    }),
    unplaced,
    distance_km: rounded(proposed),
    distance_saved_km: rounded(current - proposed),
  };
}

function problemOf(stops: Stop[], start: Point | null, now: number): RoutingProblem {
  const pickups = new Map<number, number>();
  stops.forEach(({ assignment, type }, index) => {
    if (type === "pickup") pickups.set(assignment, index);
  });
  return {
    count: stops.length,
    distance: (a, b) => kilometres(stops[a], stops[b]),
    fromStart: start ? (a) => kilometres(start, stops[a]) : undefined,
    predecessor: stops.map(({ assignment, type }) =>
      type === "dropoff" ? pickups.get(assignment) ?? -1 : -1
    ),
    deadlines: stops.map(({ by }) => (by ? (Date.parse(by) - now) / 60_000 : Infinity)),
    minutesPerKm: 60 / kmPerHour,
    minutesAtStop,
  };
}

function distanceTo(problem: RoutingProblem, from: number, to: number): number {
  return from < 0 ? problem.fromStart?.(to) ?? 0 : problem.distance(from, to);
}

function lengthOf(problem: RoutingProblem, order: number[]): number {
  return order.reduce(
    (sum, index, position) => sum + distanceTo(problem, position ? order[position - 1] : -1, index),
    0,
  );
}

function kilometres(a: Point, b: Point): number {
  const radians = Math.PI / 180;
  const half = (degrees: number) => Math.sin(degrees * radians / 2) ** 2;
  const h = half(b.latitude - a.latitude) + Math.cos(a.latitude * radians) *
      Math.cos(b.latitude * radians) * half(b.longitude - a.longitude);
  return 2 * 6371.0088 * Math.asin(Math.min(1, Math.sqrt(h)));
}

const rounded = (km: number) => Math.round(km * 1000) / 1000;
