/** How an operation is drawn: dice, which the state of the model gives a meaning, right most of the time. */
import type { Of, Op } from "../ops.ts";
import type { State } from "../state.ts";

export const [drivers, customers] = [3, 4];

/** The sources of a draw: the state, and the earlier requests. */
export interface Known {
  state: State;
  sent: Op[];
  serial: number;
}

export type Dice = [number, number, number, number];
/** Undefined where something is needed that is not there yet. */
export type Drawn<T extends Op["type"]> = Omit<Of<T>, "id"> | undefined;
export type Draws<T extends Op["type"]> = { [K in T]: (known: Known, dice: Dice) => Drawn<K> };

/** One of the last few of a list; of those that fit, if there are any and the dice do not say otherwise. */
export function one<T>(
  list: [string, T][],
  die: number,
  fits: (one: T) => boolean = () => true,
): [string, T] {
  const fitting = list.filter(([, one]) => fits(one));
  const from = fitting.length && die % 7 ? fitting : list;
  return from[from.length - 1 - die % Math.min(from.length, 6)];
}
