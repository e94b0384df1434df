/**
 * Searches the order of stops with the least lateness and, among these, the shortest: strings of neighbouring stops are
 * taken out and put in again one by one, each where it is best; what is a little worse is kept for a while (simulated
 * annealing). After Christiaens and Vanden Berghe, "Slack induction by string removals" (2020). Deterministic: a
 * counter of work, not a clock, ends it within a request's CPU.
 */
import { isBetter, type Stops, Tour, type Value } from "./tour.ts";

/** The positions that a search may look at, about a quarter of a second of CPU; and fewer where there are few stops. */
const [maxWork, workPerStop] = [12_000_000, 120_000];
/** The work of a round of taking out and putting in besides, in positions. */
const roundWork = 200;
/** How many stops are taken out on average, and how many of them at most in one string. */
const [averageRemoved, longestString] = [10, 10];
/** How often a place is passed over, so that repeated insertions differ. */
const blinks = 0.01;
/** The positions that the first tour may look at; what is not in it by then goes behind it, each time the nearest. */
const firstWork = 60_000_000;
/** Temperatures at the beginning and at the end, in average ways of the first tour. */
const [hot, cold] = [0.3, 0.003];

/** The best order found; it is never worse than 0, 1, 2, ..., where that keeps every predecessor first. */
export function searchOrder(stops: Stops, budget = maxWork): number[] {
  if (stops.count < 2) return Array.from({ length: stops.count }, (_, index) => index);
  return new Search(stops, Math.min(budget, stops.count * workPerStop)).run();
}

class Search {
  private readonly tour: Tour;
  /** Stops that are taken out and put in at once: one, or one with its successor. */
  private readonly units: number[][];
  private readonly unitOf: Int32Array;
  /** For each stop that was asked for, those around it, the nearest first. */
  private readonly near: (Int32Array | undefined)[];
  private seed = 1;

  constructor(private readonly stops: Stops, private readonly budget: number) {
    this.tour = new Tour(stops);
    const { count, predecessor } = stops;
    this.unitOf = new Int32Array(count);
    const successor = new Int32Array(count).fill(-1);
    predecessor.forEach((first, stop) => first >= 0 && (successor[first] = stop));
    this.units = [];
    for (let stop = 0; stop < count; stop++) {
      if (predecessor[stop] >= 0) continue;
      const unit = successor[stop] < 0 ? [stop] : [stop, successor[stop]];
      for (const one of unit) this.unitOf[one] = this.units.length;
      this.units.push(unit);
    }
    this.near = Array(count);
  }

  run(): number[] {
    let best = this.first();
    let value = this.valueOf(best);
    let [order, current] = [best, value];
    const way = Math.max(value.cost / this.stops.count, 1e-9);
    while (this.tour.work < this.budget && this.units.length > 1) {
      const done = this.tour.work / this.budget;
      const heat = way * hot * (cold / hot) ** done;
      this.tour.set(order);
      if (!this.insert(this.removeStrings(), this.budget)) break;
      // A second of lateness weighs as much as an average way.
      const worse = (this.tour.late - current.late) * way + this.tour.cost - current.cost;
      if (worse < -heat * Math.log(this.random())) {
        order = this.tour.order;
        current = { late: this.tour.late, cost: this.tour.cost };
        if (isBetter(current, value)) [best, value] = [order, current];
      }
      this.tour.work += this.stops.count + roundWork;
    }
    return best;
  }

  /** The best of the order as it is, the order by due times, and one made by insertion alone. */
  private first(): number[] {
    const { count, due } = this.stops;
    const given = Array.from({ length: count }, (_, index) => index);
    const dueOf = (unit: number[]) => Math.min(...unit.map((stop) => due[stop]));
    const byDue = [...this.units].sort((a, b) => dueOf(a) - dueOf(b));
    this.tour.set([]);
    this.insert(byDue.map((unit) => this.unitOf[unit[0]]), firstWork);
    this.append();
    return [this.tour.order, byDue.flat(), given].reduce((best, order) =>
      isBetter(this.valueOf(order), this.valueOf(best)) ? order : best
    );
  }

  private valueOf(order: number[]): Value {
    this.tour.set(order);
    return { late: this.tour.late, cost: this.tour.cost };
  }

  /** Puts units in one by one, each where it is best, while the work is less than this. -> whether all are in */
  private insert(units: readonly number[], until: number): boolean {
    const skip = () => this.random() < blinks;
    for (const unit of units) {
      if (this.tour.work > until) return false;
      const stops = this.units[unit];
      const place = stops.length > 1
        ? this.tour.placesOf(stops[0], stops[1], skip)
        : this.tour.placeOf(stops[0], skip);
      this.tour.insert(stops, place);
    }
    return true;
  }

  /** Puts what is not in the tour behind it, each time the nearest that may come next. */
  private append(): void {
    const { count, costs, predecessor } = this.stops;
    const order = this.tour.order;
    const there = new Uint8Array(count);
    for (const stop of order) there[stop] = 1;
    const mayCome = (stop: number) =>
      !there[stop] && (predecessor[stop] < 0 || there[predecessor[stop]] === 1);
    for (let last = order.at(-1) ?? count; order.length < count; last = order.at(-1)!) {
      let nearest = -1;
      for (let stop = 0; stop < count; stop++) {
        if (!mayCome(stop)) continue;
        const way = costs[last * (count + 2) + stop];
        if (nearest < 0 || way < costs[last * (count + 2) + nearest]) nearest = stop;
      }
      order.push(nearest);
      there[nearest] = 1;
    }
    this.tour.set(order);
  }

  /** Takes strings of stops out near a random one. -> the units, in the order in which they go in again */
  private removeStrings(): number[] {
    const { count } = this.stops;
    const place = new Int32Array(count + 2).fill(-1);
    this.tour.route.forEach((stop, index) => (place[stop] = index));
    const removed = new Set<number>();
    const longest = Math.min(longestString, count);
    const strings = 1 + Math.floor(this.random() * (4 * averageRemoved / (1 + longest) - 1));
    const taken = new Uint8Array(this.tour.route.length);
    let left = strings;
    for (const seed of this.around(Math.floor(this.random() * count))) {
      if (left === 0) break;
      if (taken[place[seed]]) continue;
      const length = 1 + Math.floor(this.random() * longest);
      const from = Math.max(1, place[seed] - Math.floor(this.random() * length));
      for (let at = from; at < Math.min(from + length, count + 1); at++) {
        removed.add(this.unitOf[this.tour.route[at]]);
        taken[at] = 1;
      }
      left--;
    }
    this.tour.set(this.tour.order.filter((stop) => !removed.has(this.unitOf[stop])));
    return this.sorted([...removed]);
  }

  private around(stop: number): Int32Array {
    return this.near[stop] ??= this.sortedAround(stop);
  }

  private sortedAround(stop: number): Int32Array {
    const { count, costs } = this.stops;
    const size = count + 2;
    const ways = Float64Array.from(
      { length: count },
      (_, other) => costs[stop * size + other] + costs[other * size + stop],
    );
    return Int32Array.from(ways.keys()).sort((a, b) => ways[a] - ways[b] || a - b);
  }

  /** By chance, far ones first, due ones first, or narrow ones first. */
  private sorted(units: number[]): number[] {
    const { count, costs, due, after } = this.stops;
    const kind = this.random();
    const weight = new Map(units.map((unit) => {
      const [first] = this.units[unit];
      const last = this.units[unit].at(-1)!;
      if (kind < 0.4) return [unit, this.random()];
      if (kind < 0.55) return [unit, -costs[count * (count + 2) + first]];
      if (kind < 0.7) return [unit, costs[count * (count + 2) + first]];
      if (kind < 0.85) return [unit, Math.min(due[first], due[last])];
      return [unit, due[last] - after[last]];
    }));
    return units.sort((a, b) => {
      const [one, other] = [weight.get(a)!, weight.get(b)!];
      return one === other ? a - b : one - other;
    });
  }

  /** A pseudo-random number between 0 and 1 from a fixed seed (Park and Miller). */
  private random(): number {
    this.seed = this.seed * 48_271 % 2_147_483_647;
    return this.seed / 2_147_483_647;
  }
}
