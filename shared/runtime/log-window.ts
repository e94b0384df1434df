/**
 * The platform takes 100 log lines in ten seconds and drops what is more, whatever it says. So the lines of requests that went well
 * have a share of them, and those beyond it are counted, in one line when the ten seconds are over.
 */

/** Lines of a window after which requests that went well are folded: the rest is left to warnings and errors. */
const share = 50;
const windowMs = 10_000;
/** Kinds of requests that the line of a window names. */
const maxNamed = 40;

/** The requests of a window that have no line of their own. */
export interface Folded {
  requests: number;
  /** The sum of their durations. */
  ms: number;
  /** By operation and status, the most frequent first. */
  operations: Record<string, number>;
  /** Of kinds that `operations` does not name. */
  others?: number;
}

/** Counts the lines of a process. `now`: milliseconds, of a clock that only goes forward. */
export class LogWindow {
  private since = -Infinity;
  private lines = 0;
  private folded = new Map<string, number>();
  private ms = 0;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** A line that is written whatever happens. */
  take(): void {
    this.lines++;
  }

  /** True when a request that went well may have a line; else it is counted. `kind`: its operation and status. */
  admits(kind: string, ms: number): boolean {
    if (this.lines < share) return true;
    this.folded.set(kind, (this.folded.get(kind) ?? 0) + 1);
    this.ms += ms;
    return false;
  }

  /** The folded requests, once their window is over; asked before every line. */
  next(): Folded | undefined {
    if (this.now() - this.since < windowMs) return undefined;
    const counts = [...this.folded].sort(([, one], [, other]) => other - one);
    const ms = Math.round(this.ms);
    [this.since, this.lines, this.folded, this.ms] = [this.now(), 0, new Map(), 0];
    if (counts.length === 0) return undefined;
    const sum = (list: [string, number][]) => list.reduce((total, [, count]) => total + count, 0);
    const others = sum(counts.slice(maxNamed));
    return {
      requests: sum(counts),
      ms,
      operations: Object.fromEntries(counts.slice(0, maxNamed)),
      ...(others > 0 && { others }),
    };
  }
}
