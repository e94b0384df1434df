/**
 * A short order of stops of which some have to come after others, with soft deadlines. Insertion makes a first order,
 * moving and turning runs of stops makes it better, and parts of it are taken out and put back again and again. The same
 * input always gives the same order: there is no clock, and the work is counted, to stay within a request's CPU.
 */
import { byDeadline, type Problem } from "./route-problem.ts";

/** Looks at possible moves: about a fifth of a second of CPU. */
const workMax = 3_000_000;
/** The weight of a minute of delay in distance, and the smallest gain worth a change. */
const [latePrice, tiny] = [1, 1e-9];

/** The order of the stops. Never longer, or later, than the order given (if that keeps the rules). */
export function orderStops(problem: Problem): number[] {
  if (problem.count < 2) return Array.from({ length: problem.count }, (_, index) => index);
  return new Search(problem).run();
}

class Search {
  private readonly n: number;
  private readonly size: number;
  /** Distances between all places; the last two are where the way begins and ends. */
  private readonly d: Float64Array;
  private readonly before: Int32Array;
  private readonly behind: Int32Array;
  private readonly timed: boolean;
  private route: number[] = [];
  private place: Int32Array;
  private late = 0;
  private work = 0;
  private seed = 1;

  constructor(private readonly problem: Problem) {
    const n = this.n = problem.count;
    const size = this.size = n + 2;
    this.d = new Float64Array(size * size);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) if (i !== j) this.d[i * size + j] = problem.distance(i, j);
      this.d[n * size + i] = problem.fromStart?.(i) ?? 0;
      this.d[i * size + n + 1] = problem.toEnd?.(i) ?? 0;
    }
    this.before = Int32Array.from(problem.after);
    this.behind = new Int32Array(n).fill(-1);
    problem.after.forEach((first, stop) => {
      if (first >= 0) this.behind[first] = stop;
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
      if (cost < bestCost - tiny) [best, bestCost] = [this.route, cost];
    };
    if (this.timed) {
      this.take(this.framed(byDeadline(this.problem)));
      keep();
    }
    this.take(this.framed([]));
    this.putIn(this.units());
    keep();
    // The order as it is, at last: what is proposed is never worse.
    this.take(this.framed(Array.from({ length: this.n }, (_, index) => index)));
    keep();
    while (this.work < workMax) {
      this.take(best);
      this.putIn(this.takeOut());
      keep();
      this.work += 1000;
    }
    return best.slice(1, -1);
  }

  private framed(stops: number[]): number[] {
    return [this.n, ...stops, this.n + 1];
  }

  private way(a: number, b: number): number {
    return this.d[a * this.size + b];
  }

  private take(route: number[]): void {
    this.route = route;
    this.place.fill(-1);
    route.forEach((stop, index) => (this.place[stop] = index));
    this.late = this.lateness(route);
  }

  private lateness(route: readonly number[]): number {
    if (!this.timed) return 0;
    const { deadlines, minutesPerUnit = 0, minutesAtStop = 0 } = this.problem;
    let minutes = 0;
    let late = 0;
    for (let i = 1; i < route.length - 1; i++) {
      minutes += this.way(route[i - 1], route[i]) * minutesPerUnit;
      late += Math.max(0, minutes - deadlines![route[i]]);
      minutes += minutesAtStop;
    }
    // A look at a stop here costs a fraction of a look at a move.
    this.work += route.length >> 3;
    return late * latePrice;
  }

  private cost(route: readonly number[]): number {
    let sum = this.lateness(route);
    for (let i = 1; i < route.length; i++) sum += this.way(route[i - 1], route[i]);
    return sum;
  }

  /** Takes a changed order when it is better, counting delays where there are any. */
  private better(gain: number, changed: () => number[]): boolean {
    if (gain + this.late <= tiny) return false;
    const route = changed();
    if (this.timed && gain + this.late - this.lateness(route) <= tiny) return false;
    this.take(route);
    return true;
  }

  private improve(): void {
    let moved = true;
    while (moved && this.work < workMax) {
      moved = this.turn() || this.shift() || this.replace();
    }
  }

  /**
   * Turns a run of stops around, as long as no stop in it has to precede another of it. Distances are the
   * same both ways, so only its ends change.
   */
  private turn(): boolean {
    let moved = false;
    for (let i = 1; i < this.route.length - 2; i++) {
      for (let j = i + 1; j < this.route.length - 1; j++) {
        const { route } = this;
        const first = this.before[route[j]];
        if (first >= 0 && this.place[first] >= i) break;
        this.work++;
        const gain = this.way(route[i - 1], route[i]) + this.way(route[j], route[j + 1]) -
          this.way(route[i - 1], route[j]) - this.way(route[i], route[j + 1]);
        const turned = () => [
          ...route.slice(0, i),
          ...route.slice(i, j + 1).reverse(),
          ...route.slice(j + 1),
        ];
        if (this.better(gain, turned)) moved = true;
      }
    }
    return moved;
  }

  /** Moves a run of one to three stops to another place, turned around or not. */
  private shift(): boolean {
    let moved = false;
    for (let length = 1; length <= 3; length++) {
      for (let i = 1; i + length < this.route.length; i++) {
        moved = this.shiftRun(i, length) || moved;
      }
    }
    return moved;
  }

  /** Moves one run to the first place where it gains. */
  private shiftRun(i: number, length: number): boolean {
    const { route } = this;
    const j = i + length - 1;
    const [head, tail] = [route[i], route[j]];
    const freed = this.way(route[i - 1], head) + this.way(tail, route[j + 1]) -
      this.way(route[i - 1], route[j + 1]);
    const [low, high] = this.reach(i, j);
    const turnable = !this.holdsPair(i, j);
    for (let k = low; k <= high; k++) {
      if (k >= i - 1 && k <= j) continue;
      this.work++;
      const [a, b] = [route[k], route[k + 1]];
      const gap = this.way(a, b);
      const straight = freed - (this.way(a, head) + this.way(tail, b) - gap);
      const turned = freed - (this.way(a, tail) + this.way(head, b) - gap);
      const reverse = turnable && turned > straight;
      const changed = () => {
        const run = route.slice(i, j + 1);
        const rest = [...route.slice(0, i), ...route.slice(j + 1)];
        rest.splice(k < i ? k + 1 : k + 1 - length, 0, ...(reverse ? run.reverse() : run));
        return rest;
      };
      if (this.better(reverse ? turned : straight, changed)) return true;
    }
    return false;
  }

  /** Behind which places a run may stand: after what must precede it, before what must follow it. */
  private reach(i: number, j: number): [low: number, high: number] {
    let low = 0;
    let high = this.route.length - 2;
    for (let at = i; at <= j; at++) {
      const first = this.before[this.route[at]];
      const last = this.behind[this.route[at]];
      if (first >= 0 && this.place[first] < i) low = Math.max(low, this.place[first]);
      if (last >= 0 && this.place[last] > j) high = Math.min(high, this.place[last] - 1);
    }
    return [low, high];
  }

  private holdsPair(i: number, j: number): boolean {
    for (let at = i + 1; at <= j; at++) {
      const first = this.before[this.route[at]];
      if (first >= 0 && this.place[first] >= i) return true;
    }
    return false;
  }

  /** Takes each pair out and puts it back where it costs least. */
  private replace(): boolean {
    let moved = false;
    for (const unit of this.units()) {
      if (unit.length < 2) continue;
      const kept = this.route;
      const cost = this.cost(kept);
      this.take(kept.filter((stop) => !unit.includes(stop)));
      this.putIn([unit]);
      if (this.cost(this.route) < cost - tiny) moved = true;
      else this.take(kept);
    }
    return moved;
  }

  /** Pairs that belong together, and stops on their own. */
  private units(): number[][] {
    const units: number[][] = [];
    for (let stop = 0; stop < this.n; stop++) {
      if (this.before[stop] >= 0) units.push([this.before[stop], stop]);
      else if (this.behind[stop] < 0) units.push([stop]);
    }
    return units;
  }

  /** Puts units in one after the other, each where it adds least to the way. */
  private putIn(units: number[][]): void {
    for (const [first, last = -1] of units) {
      const { route } = this;
      let best = Infinity;
      let [bestI, bestJ] = [0, 0];
      // Of the places before the one looked at, the best for the first of a pair.
      let [early, earlyAt] = [Infinity, 0];
      for (let j = 0; j < route.length - 1; j++) {
        const [a, b] = [route[j], route[j + 1]];
        const gap = this.way(a, b);
        const one = this.way(a, first) + this.way(first, b) - gap;
        if (last < 0) {
          if (one < best - tiny) [best, bestI] = [one, j];
          continue;
        }
        const both = this.way(a, first) + this.way(first, last) + this.way(last, b) - gap;
        const apart = early + this.way(a, last) + this.way(last, b) - gap;
        if (both < best - tiny) [best, bestI, bestJ] = [both, j, j];
        if (apart < best - tiny) [best, bestI, bestJ] = [apart, earlyAt, j];
        if (one < early) [early, earlyAt] = [one, j];
      }
      this.work += route.length;
      const next = [...route];
      if (last >= 0) next.splice(bestJ + 1, 0, last);
      next.splice(bestI + 1, 0, first);
      this.take(next);
    }
  }

  /** Takes out some units: half of the times a run of neighbours, otherwise here and there. */
  private takeOut(): number[][] {
    const units = this.units();
    const many = Math.min(
      units.length,
      2 + this.pick(Math.max(2, Math.min(10, units.length >> 1))),
    );
    const chosen = new Set<number>();
    if (this.pick(2)) {
      const from = 1 + this.pick(this.n);
      const near = new Set(this.route.slice(from, from + many));
      units.forEach((unit, index) => unit.some((stop) => near.has(stop)) && chosen.add(index));
    } else {
      for (let i = 0; i < many; i++) chosen.add(this.pick(units.length));
    }
    const out = [...chosen].map((index) => units[index]);
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.pick(i + 1);
      [out[i], out[j]] = [out[j], out[i]];
    }
    const gone = new Set(out.flat());
    this.take(this.route.filter((stop) => !gone.has(stop)));
    return out;
  }

  /** A number below `bound`, from a fixed row of numbers (Park and Miller's). */
  private pick(bound: number): number {
    this.seed = this.seed * 48_271 % 2_147_483_647;
    return this.seed % bound;
  }
}
