/**
 * The common parts of a proof: its seed, its size, and the place of its figures. A proof is a test file, so that
 * its brief form stands in `npm test` and its long one behind `npm run prove -- <name>`.
 */
import { appendFileSync } from "node:fs";

/**
 * `brief`: within `npm test`, one case that always comes out the same. `test`: within `npm run test:full`, seconds. `short`:
 * within `npm run prove -- all`, about a minute. `full`: what the bar asks.
 */
export type Size = "brief" | "test" | "short" | "full";

export const size: Size = isSize(process.env.BARID_PROVE) ? process.env.BARID_PROVE : "brief";

/**
 * Repeats a run: `npm run prove -- <name> --seed N`. The suites draw the same every day, so that no change fails by a
 * fault that was there before; `npm run prove`, every night, draws anew.
 */
export const seed = Number(
  process.env.BARID_PROVE_SEED ??
    (size === "brief" || size === "test" ? 20_261_124 : Date.now() % 1_000_000_000),
);

/** A figure of the bar: what was asked, what was reached. */
export interface Figure {
  /** The counted or measured quantity, with its unit. */
  what: string;
  /** The bound in words: `0`, `at least 50`, `at most 250 ms`. */
  asked: string;
  reached: number | string;
  /** False is shown as a miss. What must never be wrong is an assertion of the test as well. */
  holds: boolean;
}

/** The value for this size; `brief` is as `test` unless it is said. */
export function of<T>(values: Record<Exclude<Size, "brief">, T> & { brief?: T }): T {
  return size === "brief" ? values.brief ?? values.test : values[size];
}

/** How often chance is given an opportunity: `brief` times in `npm test`, else `whole`. */
export const tries = (whole: number, brief: number): number => size === "brief" ? brief : whole;

/** All of these values; in `npm test` one of them, another from number to number. */
export const some = <T>(values: readonly T[], number: number): readonly T[] =>
  size === "brief" ? [values[number % values.length]!] : values;

/** Writes a figure down for the table of `npm run prove`; without it, nothing. */
export function figure(figure: Figure): void {
  const file = process.env.BARID_PROVE_FIGURES;
  if (file) appendFileSync(file, JSON.stringify(figure) + "\n");
}

/** A line of progress, for whoever waits. */
export function say(text: string): void {
  if (size === "short" || size === "full") console.log(`${text}`);
}

function isSize(text: string | undefined): text is Size {
  return text === "brief" || text === "test" || text === "short" || text === "full";
}
