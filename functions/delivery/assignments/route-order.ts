/**
 * Searches a short order of stops with precedence and soft deadlines: insertion builds a first order, local search
 * moves and reverses runs of stops, then parts of the order are removed and reinserted repeatedly. Deterministic: a
 * counter of work, not a clock, ends the search within a request's CPU budget.
 */
import { byDeadline, type RoutingProblem } from "./route-problem.ts";

/** The number of moves that the search may evaluate: about a fifth of a second of CPU. */
const maxWork = 3_000_000;
/** The weight of a minute of delay in distance, and the smallest gain worth a change. */
const [lateCost, minGain] = [1, 1e-9];

/** The best order found. It costs no more than the current order, if that one respects `predecessor`. */
export function orderStops(problem: RoutingProblem): number[] {
  if (problem.count < 2) return Array.from({ length: problem.count }, (_, index) => index);
  return new Search(problem).run();
}

class Search {
  private readonly n: number;
  private readonly size: number;
  /** Distances between all places; the last two places are the route's start and end. */
  private readonly distances: Float64Array;
  private readonly predecessor: Int32Array;
  private readonly successor: Int32Array;
  private readonly timed: boolean;
  private route: number[] = [];
  private place: Int32Array;
  private late = 0;
  private work = 0;
  private seed = 1;

  constructor(private readonly problem: RoutingProblem) {
    const n = this.n = problem.count;
    const size = this.size = n + 2;
    this.distances = new Float64Array(size * size);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        if (i !== j) this.distances[i * size + j] = problem.distance(i, j);
      }
      this.distances[n * size + i] = problem.fromStart?.(i) ?? 0;
      this.distances[i * size + n + 1] = problem.toEnd?.(i) ?? 0;
    }
    this.predecessor = Int32Array.from(problem.predecessor);
    this.successor = new Int32Array(n).fill(-1);
    problem.predecessor.forEach((first, stop) => {
      if (first >= 0) this.successor[first] = stop;
    });
    this.place = new Int32Array(size);
    this.timed = problem.deadlines?.some((minutes) => minutes !== Infinity) ?? false;
  }

  run(): number[] {
    let best: number[] = [];
    let bestCost = Infinity;
    const keep = () => {
      this.improve();
      const cost = this.cost(this.route);
      if (cost < bestCost - minGain) [best, bestCost] = [this.route, cost];
    };
    if (this.timed) {
      this.setRoute(this.withEnds(byDeadline(this.problem)));
      keep();
    }
    this.setRoute(this.withEnds([]));
    this.insert(this.units());
    keep();
    // The current order is a candidate too, so the proposal is never worse.
    this.setRoute(this.withEnds(Array.from({ length: this.n }, (_, index) => index)));
    keep();
    while (this.work < maxWork) {
      this.setRoute(best);
      this.insert(this.removeSome());
      keep();
      this.work += 1000;
    }
    return best.slice(1, -1);
  }

  private withEnds(stops: number[]): number[] {
    return [this.n, ...stops, this.n + 1];
  }

  private distance(a: number, b: number): number {
    return this.distances[a * this.size + b];
  }

  private setRoute(route: number[]): void {
    this.route = route;
    this.place.fill(-1);
    route.forEach((stop, index) => (this.place[stop] = index));
    this.late = this.lateness(route);
  }

  private lateness(route: readonly number[]): number {
    if (!this.timed) return 0;
    const { deadlines, minutesPerKm = 0, minutesAtStop = 0 } = this.problem;
    let minutes = 0;
    let late = 0;
    for (let i = 1; i < route.length - 1; i++) {
      minutes += this.distance(route[i - 1], route[i]) * minutesPerKm;
      late += Math.max(0, minutes - deadlines![route[i]]);
      minutes += minutesAtStop;
    }
    // Evaluating one stop here costs a fraction of evaluating a move.
    this.work += route.length >> 3;
    return late * lateCost;
  }

  private cost(route: readonly number[]): number {
    let sum = this.lateness(route);
    for (let i = 1; i < route.length; i++) sum += this.distance(route[i - 1], route[i]);
    return sum;
  }

  /** Adopts a changed order if it costs less, lateness included. */
  private acceptIfBetter(gain: number, changed: () => number[]): boolean {
    if (gain + this.late <= minGain) return false;
    const route = changed();
    if (this.timed && gain + this.late - this.lateness(route) <= minGain) return false;
    this.setRoute(route);
    return true;
  }

  private improve(): void {
    let moved = true;
    while (moved && this.work < maxWork) {
      moved = this.reverseRuns() || this.moveRuns() || this.reinsertPairs();
    }
  }

  /**
   * Reverses a run of stops, unless one stop of the run must precede another. Distances are symmetric, so only
   * the ends of the run change the length.
   */
  private reverseRuns(): boolean {
    let moved = false;
    for (let i = 1; i < this.route.length - 2; i++) {
      for (let j = i + 1; j < this.route.length - 1; j++) {
        const { route } = this;
        const first = this.predecessor[route[j]];
        if (first >= 0 && this.place[first] >= i) break;
        this.work++;
        const gain = this.distance(route[i - 1], route[i]) + this.distance(route[j], route[j + 1]) -
          this.distance(route[i - 1], route[j]) - this.distance(route[i], route[j + 1]);
        const turned = () => [
          ...route.slice(0, i),
          ...route.slice(i, j + 1).reverse(),
          ...route.slice(j + 1),
        ];
        if (this.acceptIfBetter(gain, turned)) moved = true;
      }
    }
    return moved;
  }

  /** Moves a run of one to three stops to another place, reversed or not. */
  private moveRuns(): boolean {
    let moved = false;
    for (let length = 1; length <= 3; length++) {
      for (let i = 1; i + length < this.route.length; i++) {
        moved = this.moveRun(i, length) || moved;
      }
    }
    return moved;
  }

  /** Moves one run to the first place where it gains. */
  private moveRun(i: number, length: number): boolean {
    const { route } = this;
    const j = i + length - 1;
    const [head, tail] = [route[i], route[j]];
    const freed = this.distance(route[i - 1], head) + this.distance(tail, route[j + 1]) -
      this.distance(route[i - 1], route[j + 1]);
    const [low, high] = this.reach(i, j);
    const turnable = !this.holdsPair(i, j);
    for (let k = low; k <= high; k++) {
      if (k >= i - 1 && k <= j) continue;
      this.work++;
      const [a, b] = [route[k], route[k + 1]];
      const gap = this.distance(a, b);
      const straight = freed - (this.distance(a, head) + this.distance(tail, b) - gap);
      const turned = freed - (this.distance(a, tail) + this.distance(head, b) - gap);
      const reverse = turnable && turned > straight;
      const changed = () => {
        const run = route.slice(i, j + 1);
        const rest = [...route.slice(0, i), ...route.slice(j + 1)];
        rest.splice(k < i ? k + 1 : k + 1 - length, 0, ...(reverse ? run.reverse() : run));
        return rest;
      };
      if (this.acceptIfBetter(reverse ? turned : straight, changed)) return true;
    }
    return false;
  }

  /** The range of positions after which a run may stand: behind its predecessors, before its successors. */
  private reach(i: number, j: number): [low: number, high: number] {
    let low = 0;
    let high = this.route.length - 2;
    for (let at = i; at <= j; at++) {
      const first = this.predecessor[this.route[at]];
      const last = this.successor[this.route[at]];
      if (first >= 0 && this.place[first] < i) low = Math.max(low, this.place[first]);
      if (last >= 0 && this.place[last] > j) high = Math.min(high, this.place[last] - 1);
    }
    return [low, high];
  }

  private holdsPair(i: number, j: number): boolean {
    for (let at = i + 1; at <= j; at++) {
      const first = this.predecessor[this.route[at]];
      if (first >= 0 && this.place[first] >= i) return true;
    }
    return false;
  }

  /** Removes each pair and reinserts it where it costs least. */
  private reinsertPairs(): boolean {
    let moved = false;
    for (const unit of this.units()) {
      if (unit.length < 2) continue;
      const kept = this.route;
      const cost = this.cost(kept);
      this.setRoute(kept.filter((stop) => !unit.includes(stop)));
      this.insert([unit]);
      if (this.cost(this.route) < cost - minGain) moved = true;
      else this.setRoute(kept);
    }
    return moved;
  }

  /** The units that are inserted at once: a pickup with its drop-off, or a single stop. */
  private units(): number[][] {
    const units: number[][] = [];
    for (let stop = 0; stop < this.n; stop++) {
      if (this.predecessor[stop] >= 0) units.push([this.predecessor[stop], stop]);
      else if (this.successor[stop] < 0) units.push([stop]);
    }
    return units;
  }

  /** Inserts the units one by one, each where it adds least to the route. */
  private insert(units: number[][]): void {
    for (const [first, last = -1] of units) {
      const { route } = this;
      let best = Infinity;
      let [bestI, bestJ] = [0, 0];
      // The cheapest position so far, before position j, for the first stop of a pair.
      let [early, earlyAt] = [Infinity, 0];
      for (let j = 0; j < route.length - 1; j++) {
        const [a, b] = [route[j], route[j + 1]];
        const gap = this.distance(a, b);
        const one = this.distance(a, first) + this.distance(first, b) - gap;
        if (last < 0) {
          if (one < best - minGain) [best, bestI] = [one, j];
          continue;
        }
        const both = this.distance(a, first) + this.distance(first, last) + this.distance(last, b) -
          gap;
        const apart = early + this.distance(a, last) + this.distance(last, b) - gap;
        if (both < best - minGain) [best, bestI, bestJ] = [both, j, j];
        if (apart < best - minGain) [best, bestI, bestJ] = [apart, earlyAt, j];
        if (one < early) [early, earlyAt] = [one, j];
      }
      this.work += route.length;
      const next = [...route];
      if (last >= 0) next.splice(bestJ + 1, 0, last);
      next.splice(bestI + 1, 0, first);
      this.setRoute(next);
    }
  }

  /** Removes some units: half of the time neighbours in the route, otherwise random ones. */
  private removeSome(): number[][] {
    const units = this.units();
    const many = Math.min(
      units.length,
      2 + this.random(Math.max(2, Math.min(10, units.length >> 1))),
    );
    const chosen = new Set<number>();
    if (this.random(2)) {
      const from = 1 + this.random(this.n);
      const near = new Set(this.route.slice(from, from + many));
      units.forEach((unit, index) => unit.some((stop) => near.has(stop)) && chosen.add(index));
    } else {
      for (let i = 0; i < many; i++) chosen.add(this.random(units.length));
    }
    const out = [...chosen].map((index) => units[index]);
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.random(i + 1);
      [out[i], out[j]] = [out[j], out[i]];
    }
    const gone = new Set(out.flat());
    this.setRoute(this.route.filter((stop) => !gone.has(stop)));
    return out;
  }

  /** A pseudo-random number below `bound` from a fixed seed (Park and Miller). */
  private random(bound: number): number {
    this.seed = this.seed * 48_271 % 2_147_483_647;
    return this.seed % bound;
  }
}
