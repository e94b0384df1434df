/** Collects figures, says them while they come, and writes them down with machine and date. */
import { execFileSync } from "node:child_process";
import { cpus, totalmem } from "node:os";

export interface Figure {
  what: string;
  value: number;
  atLeast?: number;
  atMost?: number;
  unit?: string;
}

export class Report {
  private readonly figures: Figure[] = [];
  private readonly notes: string[] = [];

  /** A figure that must hold; its bound is stated beside it. */
  ratio(figure: Figure): void {
    this.figures.push(figure);
    console.log(`  ${this.holds(figure) ? "ok  " : "MISS"} ${line(figure)}`);
  }

  /** What was measured on the way. */
  note(text: string): void {
    this.notes.push(text);
    console.log(`       ${text}`);
  }

  get missed(): number {
    return this.figures.filter((figure) => !this.holds(figure)).length;
  }

  markdown(): string {
    const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" })
      .trim();
    const cpu = cpus();
    return [
      "# Benchmarks",
      "",
      "Written by `npm run bench`. Ratios are taken within one run, so that a slow or busy machine changes them little.",
      "",
      `Run on ${new Date().toISOString().slice(0, 10)} at commit ${commit}: ${cpu.length} × ${
        cpu[0]?.model ?? "unknown CPU"
      }, ` +
      `${
        Math.round(totalmem() / 2 ** 30)
      } GiB, Node ${process.versions.node}; database, functions and load generator share these cores.`,
      "",
      "| figure | reached | asked | holds |",
      "| --- | --- | --- | --- |",
      ...this.figures.map((f) =>
        `| ${f.what} | ${shown(f.value, f.unit)} | ${asked(f)} | ${
          this.holds(f) ? "yes" : "**no**"
        } |`
      ),
      "",
      "## Measured on the way",
      "",
      ...this.notes.map((note) => `- ${note}`),
      "",
    ].join("\n");
  }

  private holds({ value, atLeast, atMost }: Figure): boolean {
    return value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity);
  }
}

function line(figure: Figure): string {
  return `${figure.what}: ${shown(figure.value, figure.unit)} (${asked(figure)})`;
}

function shown(value: number, unit = ""): string {
  return `${value >= 100 ? value.toFixed(0) : value.toFixed(2)}${unit && ` ${unit}`}`;
}

function asked({ atLeast, atMost, unit = "" }: Figure): string {
  return atLeast === undefined
    ? `at most ${atMost}${unit && ` ${unit}`}`
    : `at least ${atLeast}${unit && ` ${unit}`}`;
}
