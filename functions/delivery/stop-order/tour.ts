/** A tour with its schedule: which stops it has in which order, when each is reached, and what an insertion would cost. */

/** The input of a search. Stops are numbered 0 to `count` - 1; place `count` is the start, `count` + 1 the end. */
export interface Stops {
  count: number;
  /** From place to place, `count` + 2 a row; 0 where a start or an end is open. Seconds, and the measure to be made small. */
  durations: Float64Array;
  costs: Float64Array;
  /** Seconds that a stop takes, the second before which it cannot begin, and the one after which it is late. */
  service: Float64Array;
  after: Float64Array;
  due: Float64Array;
  /** The stop that must be made before this one, or -1. */
  predecessor: Int32Array;
}

/** Lateness in seconds over all stops, and the sum of the costs. */
export interface Value {
  late: number;
  cost: number;
}

const epsilon = 1e-7;

/** Whether one value is better: less late, or as late and shorter. */
export function isBetter(one: Value, other: Value): boolean {
  return one.late < other.late - epsilon ||
    (one.late <= other.late + epsilon && one.cost < other.cost - epsilon);
}

/** Where one or two stops would be inserted, and the value of the tour with them. */
export interface Insertion extends Value {
  /** Behind which positions; `second` is that of the tour before the insertion. */
  first: number;
  second: number;
}

export class Tour {
  /** Places in order, start and end among them. */
  route: number[] = [];
  late = 0;
  cost = 0;
  /** The positions that were looked at: a measure of work that is no clock. */
  work = 0;
  private readonly arrival: Float64Array;
  private readonly departure: Float64Array;
  /** Lateness before a position, and from it on. */
  private readonly lateBefore: Float64Array;
  private readonly lateFrom: Float64Array;
  /** The latest arrival at a position with which nothing from there on is late; -Infinity if something is in any case. */
  private readonly latest: Float64Array;
  /** The least that a stop costs behind a position or a later one; of the stop that is being placed. */
  private readonly leastBehind: Float64Array;

  constructor(private readonly stops: Stops) {
    const size = stops.count + 2;
    this.arrival = new Float64Array(size);
    this.departure = new Float64Array(size);
    this.lateBefore = new Float64Array(size + 1);
    this.lateFrom = new Float64Array(size + 1);
    this.latest = new Float64Array(size);
    this.leastBehind = new Float64Array(size + 1);
  }

  /** Takes these stops in this order. */
  set(order: readonly number[]): void {
    this.route = [this.stops.count, ...order, this.stops.count + 1];
    this.schedule();
  }

  get order(): number[] {
    return this.route.slice(1, -1);
  }

  insert(stops: readonly number[], { first, second }: Insertion): void {
    if (stops.length > 1) this.route.splice(second + 1, 0, stops[1]);
    this.route.splice(first + 1, 0, stops[0]);
    this.schedule();
  }

  private schedule(): void {
    const { route, stops: { durations, costs, service, after, due, count } } = this;
    const [size, length] = [count + 2, route.length];
    this.work += length;
    let [time, late, cost] = [0, 0, 0];
    this.lateBefore[0] = this.lateBefore[1] = 0;
    for (let at = 1; at < length - 1; at++) {
      const stop = route[at];
      const way = route[at - 1] * size + stop;
      time += durations[way];
      cost += costs[way];
      this.arrival[at] = time;
      if (time > due[stop]) late += time - due[stop];
      this.lateBefore[at + 1] = late;
      if (time < after[stop]) time = after[stop];
      time += service[stop];
      this.departure[at] = time;
    }
    const last = length - 1;
    cost += costs[route[last - 1] * size + route[last]];
    [this.late, this.cost] = [late, cost];
    this.arrival[last] = time;
    this.latest[last] = Infinity;
    this.lateFrom[last] = 0;
    for (let at = last - 1; at > 0; at--) {
      const stop = route[at];
      const begin = at + 1 === last
        ? Infinity
        : this.latest[at + 1] - durations[stop * size + route[at + 1]] - service[stop];
      this.latest[at] = begin < after[stop] ? -Infinity : Math.min(due[stop], begin);
      this.lateFrom[at] = late - this.lateBefore[at];
    }
  }

  /** The lateness from a position on if it is reached at `time`; Infinity as soon as it is more than `bound`. */
  private lateIf(position: number, time: number, bound: number): number {
    if (time <= this.latest[position]) return 0;
    const { route, stops: { durations, service, after, due, count } } = this;
    let late = 0;
    for (let at = position; at < route.length - 1; at++) {
      this.work += 0.5;
      if (time <= this.arrival[at]) return late + this.lateFrom[at];
      const stop = route[at];
      if (time > due[stop]) late += time - due[stop];
      if (late + this.lateFrom[at + 1] > bound) return Infinity;
      time = Math.max(time, after[stop]) + service[stop] +
        durations[stop * (count + 2) + route[at + 1]];
    }
    return late;
  }

  /** The best place for one stop; `skip` says which places are not looked at. */
  placeOf(stop: number, skip: () => boolean): Insertion {
    const { route, stops: { durations, costs, service, after, due, count } } = this;
    const size = count + 2;
    const best: Insertion = { late: Infinity, cost: Infinity, first: -1, second: -1 };
    this.work += route.length;
    for (let at = 0; at < route.length - 1; at++) {
      if (best.first >= 0 && skip()) continue;
      const [from, to] = [route[at], route[at + 1]];
      const cost = this.cost + costs[from * size + stop] + costs[stop * size + to] -
        costs[from * size + to];
      if (best.late <= this.late && cost >= best.cost) continue;
      const time = this.departure[at] + durations[from * size + stop];
      let late = this.lateBefore[at + 1] + Math.max(0, time - due[stop]);
      if (late + this.lateFrom[at + 1] > best.late) continue;
      const next = Math.max(time, after[stop]) + service[stop] + durations[stop * size + to];
      late += this.lateIf(at + 1, next, best.late - late);
      if (isBetter({ late, cost }, best)) {
        Object.assign(best, { late, cost, first: at, second: at });
      }
    }
    return best;
  }

  /** Notes the least cost of `stop` behind each position or a later one, so that places which cannot be better are not looked at. */
  private boundFrom(stop: number): void {
    const { route, leastBehind, stops: { costs, count } } = this;
    const size = count + 2;
    this.work += route.length / 4;
    leastBehind[route.length - 1] = Infinity;
    for (let at = route.length - 2; at >= 0; at--) {
      const [from, to] = [route[at], route[at + 1]];
      const cost = costs[from * size + stop] + costs[stop * size + to] - costs[from * size + to];
      leastBehind[at] = Math.min(cost, leastBehind[at + 1]);
    }
  }

  /** The best places for a stop and one that must come later. */
  placesOf(first: number, last: number, skip: () => boolean): Insertion {
    const { route, stops: { durations, costs, service, after, due, count } } = this;
    const size = count + 2;
    const best: Insertion = { late: Infinity, cost: Infinity, first: -1, second: -1 };
    this.boundFrom(last);
    for (let i = 0; i < route.length - 1; i++) {
      this.work++;
      if (best.first >= 0 && skip()) continue;
      const [from, to] = [route[i], route[i + 1]];
      const gap = costs[from * size + to];
      const arrival = this.departure[i] + durations[from * size + first];
      let late = this.lateBefore[i + 1] + Math.max(0, arrival - due[first]);
      if (late + this.lateFrom[i + 1] > best.late) continue;
      const extra = this.cost + costs[from * size + first] - gap;
      // The other one right behind it, or, once the first has gone in here, behind each later position.
      let time = Math.max(arrival, after[first]) + service[first];
      let before = first;
      const apart = extra + costs[first * size + to];
      for (let j = i; j < route.length - 1; j++) {
        if (j > i) {
          if (best.late <= this.late && apart + this.leastBehind[j] >= best.cost) break;
          const stop = route[j];
          time += durations[before * size + stop];
          if (time > due[stop]) late += time - due[stop];
          if (late + this.lateFrom[j + 1] > best.late) break;
          time = Math.max(time, after[stop]) + service[stop];
          before = stop;
        }
        this.work++;
        const next = route[j + 1];
        const cost = (j === i ? extra : apart - costs[before * size + next]) +
          costs[before * size + last] + costs[last * size + next];
        if (best.late <= this.late && cost >= best.cost) continue;
        const reached = time + durations[before * size + last];
        let all = late + Math.max(0, reached - due[last]);
        if (all + this.lateFrom[j + 1] > best.late) continue;
        const onward = Math.max(reached, after[last]) + service[last] +
          durations[last * size + next];
        all += this.lateIf(j + 1, onward, best.late - all);
        if (isBetter({ late: all, cost }, best)) {
          Object.assign(best, { late: all, cost, first: i, second: j });
        }
      }
    }
    return best;
  }
}
