/** The input of the route search: stops, distances, precedence and deadlines. */
export interface RoutingProblem {
  /** Stops are numbered 0 to count - 1 in the current order. */
  count: number;
  /** Distance between two stops, in kilometres. */
  distance(from: number, to: number): number;
  /** Distance from the route's fixed start; omit if there is none. */
  fromStart?(to: number): number;
  /** Distance to the route's fixed end; omit if there is none. */
  toEnd?(from: number): number;
  /** For each stop, the stop that must come before it, or -1. */
  predecessor: readonly number[];
  /** For each stop, its deadline in minutes from now; Infinity if none. Soft: lateness is a cost. */
  deadlines?: readonly number[];
  minutesPerKm?: number;
  minutesAtStop?: number;
}

/** The stops by deadline. A pickup takes the deadline of its drop-off if that is earlier, and precedes it. */
export function byDeadline({ count, predecessor, deadlines }: RoutingProblem): number[] {
  const due = Array.from({ length: count }, (_, stop) => deadlines?.[stop] ?? Infinity);
  predecessor.forEach((first, stop) => {
    if (first >= 0) due[first] = Math.min(due[first], due[stop]);
  });
  const tieRank = (stop: number) => (predecessor[stop] < 0 ? 0 : 1);
  return due.map((_, stop) => stop)
    .sort((a, b) => (due[a] === due[b] ? tieRank(a) - tieRank(b) || a - b : due[a] - due[b]));
}
