/** Collects figures and says them while they come; with machine, day and commit they go to results.ts. */
import { execFileSync } from "node:child_process";
import { cpus, totalmem } from "node:os";

export interface Figure {
  what: string;
  value: number;
  atLeast?: number;
  atMost?: number;
  unit?: string;
}

/** The last result of a part, stored in results.json. */
export interface PartResult {
  date: string;
  commit: string;
  machine: string;
  figures: Figure[];
  notes: string[];
}

/** Collects the figures of one part. */
export class Report {
  private readonly figures: Figure[] = [];
  private readonly notes: string[] = [];

  /** A figure that must hold; its bound is stated beside it. */
  ratio(figure: Figure): void {
    this.figures.push(figure);
    console.log(`  ${holds(figure) ? "ok  " : "MISS"} ${line(figure)}`);
  }

  /** Further measurements of the run. */
  note(text: string): void {
    this.notes.push(text);
    console.log(`       ${text}`);
  }

  get missed(): number {
    return this.figures.filter((figure) => !holds(figure)).length;
  }

  result(): PartResult {
    const { figures, notes } = this;
    return {
      date: new Date().toISOString().slice(0, 10),
      commit: commitNow(),
      machine: machine(),
      figures,
      notes,
    };
  }
}

export function commitNow(): string {
  const git = (...args: string[]) => execFileSync("git", args, { encoding: "utf8" }).trim();
  const changed = git("status", "--porcelain", "--", "functions", "shared", "sql") !== "";
  return git("rev-parse", "--short", "HEAD") + (changed ? " and changes" : "");
}

export function machine(): string {
  const cpu = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${cpu.length} × ${
    cpu[0]?.model.trim() ?? "unknown CPU"
  }, ${memory} GiB, Node ${process.versions.node}`;
}

export function holds({ value, atLeast, atMost }: Figure): boolean {
  return value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity);
}

function line(figure: Figure): string {
  return `${figure.what}: ${shown(figure.value, figure.unit)} (${asked(figure)})`;
}

export function shown(value: number, unit = ""): string {
  return `${value >= 100 ? value.toFixed(0) : value.toFixed(2)}${unit && ` ${unit}`}`;
}

export function asked({ atLeast, atMost, unit = "" }: Figure): string {
  return atLeast === undefined
    ? `at most ${atMost}${unit && ` ${unit}`}`
    : `at least ${atLeast}${unit && ` ${unit}`}`;
}
