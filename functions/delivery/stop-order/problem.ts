/**
 * The order of one driver's stops as a vehicle routing problem, in the JSON that VROOM takes and answers: whole seconds
 * from now, whole metres, places as numbers of rows of the matrices. Of VROOM's problems these are the ones with one
 * vehicle and at most one time window a stop.
 */

/** A stop. `time_windows` bounds when its service begins. */
export interface Task {
  id: number;
  location_index: number;
  service?: number;
  time_windows?: [[from: number, until: number]];
}

/** A parcel to be fetched first and then brought, by the same vehicle. */
export interface Shipment {
  pickup: Task;
  delivery: Task;
}

export type TaskType = "job" | "pickup" | "delivery";

export interface Vehicle {
  id: number;
  start_index: number;
  /** The order of the stops as it is now. */
  steps: { type: TaskType; id: number }[];
}

export interface Problem {
  /** Stops that wait for no other. */
  jobs: Task[];
  shipments: Shipment[];
  vehicles: [Vehicle];
  /** Seconds, metres, and what is to be made small. */
  matrices: { car: { durations: number[][]; distances: number[][]; costs: number[][] } };
}

export interface Step {
  type: "start" | TaskType;
  /** Of the stop; a start has none. */
  id?: number;
  location_index: number;
  /** Seconds until it is reached, of waiting there, and of service. */
  arrival: number;
  waiting_time: number;
  service: number;
  /** Seconds on the road and metres until there. */
  duration: number;
  distance: number;
  /** By how many seconds its service begins too late. */
  violations: { cause: "delay"; duration: number }[];
}

export interface Solution {
  code: 0;
  summary: {
    cost: number;
    unassigned: 0;
    service: number;
    duration: number;
    waiting_time: number;
    distance: number;
    /** All delays, `duration` in seconds. */
    violations: { cause: "delay"; duration: number }[];
  };
  unassigned: [];
  routes: [{ vehicle: number; steps: Step[] }];
}

/** Solves a problem. */
export type Solver = (problem: Problem) => Solution | Promise<Solution>;

/** A stop with its type, and the stop of its shipment that comes first. */
export interface Stop {
  type: TaskType;
  task: Task;
  after?: number;
}

export const keyOf = ({ type, id }: { type: string; id?: number }): string => `${type} ${id}`;

/** The stops of a problem in their present order, each with the position of the one that must come before it. */
export function stopsOf({ jobs, shipments, vehicles: [{ steps }] }: Problem): Stop[] {
  const stops = new Map<string, Stop>();
  for (const task of jobs) stops.set(`job ${task.id}`, { type: "job", task });
  for (const { pickup, delivery } of shipments) {
    stops.set(`pickup ${pickup.id}`, { type: "pickup", task: pickup });
    stops.set(`delivery ${delivery.id}`, { type: "delivery", task: delivery });
  }
  const position = new Map(steps.map((step, index) => [keyOf(step), index]));
  for (const { pickup, delivery } of shipments) {
    stops.get(`delivery ${delivery.id}`)!.after = position.get(`pickup ${pickup.id}`);
  }
  return steps.map((step) => stops.get(keyOf(step))!);
}
