/** The stops of a route, with their deadlines and the order they must keep. */
export interface Problem {
  /** Stops are 0 … count - 1; as given is how they are visited now. */
  count: number;
  distance(from: number, to: number): number;
  /** Distance from where the way begins; unset: it may begin anywhere. */
  fromStart?(to: number): number;
  /** Distance to where the way has to end; unset: it may end anywhere. */
  toEnd?(from: number): number;
  /** For each stop the one that has to come before it, or -1. */
  after: readonly number[];
  /** Minutes from now until which a stop is wanted; Infinity: whenever. */
  deadlines?: readonly number[];
  minutesPerUnit?: number;
  minutesAtStop?: number;
}

/** Stops in the order they are due; a pickup is due with its drop-off at the latest, and comes before it. */
export function byDeadline({ count, after, deadlines }: Problem): number[] {
  const due = Array.from({ length: count }, (_, stop) => deadlines?.[stop] ?? Infinity);
  after.forEach((first, stop) => {
    if (first >= 0) due[first] = Math.min(due[first], due[stop]);
  });
  const turn = (stop: number) => (after[stop] < 0 ? 0 : 1);
  return due.map((_, stop) => stop)
    .sort((a, b) => (due[a] === due[b] ? turn(a) - turn(b) || a - b : due[a] - due[b]));
}
