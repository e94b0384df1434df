/**
 * What every proof needs: its seed, how large it is to be, and where its figures go. A proof is a test file, so that
 * its short form stands in `npm test` and its long one behind `npm run prove -- <name>`.
 */
import { appendFileSync } from "node:fs";

/** `test`: within `npm test`, seconds. `short`: within `npm run prove -- all`, about a minute. `full`: what the bar asks. */
export type Size = "test" | "short" | "full";

export const size: Size = isSize(process.env.BARID_PROVE) ? process.env.BARID_PROVE : "test";

/** Repeats a run: `npm run prove -- <name> --seed N`. */
export const seed = Number(process.env.BARID_PROVE_SEED ?? Date.now() % 1_000_000_000);

/** A figure of the bar: what was asked, what was reached. */
export interface Figure {
  /** What is counted or measured, with its unit. */
  what: string;
  /** The bound in words: `0`, `at least 50`, `at most 250 ms`. */
  asked: string;
  reached: number | string;
  /** False is shown as a miss. What must never be wrong is an assertion of the test as well. */
  holds: boolean;
}

/** The value for this size. */
export function of<T>(values: Record<Size, T>): T {
  return values[size];
}

/** Writes a figure down for the table of `npm run prove`; without it, nothing. */
export function figure(figure: Figure): void {
  const file = process.env.BARID_PROVE_FIGURES;
  if (file) appendFileSync(file, JSON.stringify(figure) + "\n");
}

/** A line of progress, for whoever waits. */
export function say(text: string): void {
  if (size !== "test") console.log(`${text}`);
}

function isSize(text: string | undefined): text is Size {
  return text === "test" || text === "short" || text === "full";
}
