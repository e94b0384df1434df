/** Random operations: a kind and dice, which the state of the model gives a meaning, right most of the time. */
import fc from "fast-check";
import { randomUUID } from "node:crypto";
import { carrierDraws } from "./draws/carriers.ts";
import { cashDraws } from "./draws/cash.ts";
import { type Dice, type Draws, type Known } from "./draws/draw.ts";
import { orderDraws } from "./draws/orders.ts";
import { parcelDraws } from "./draws/parcels.ts";
import { sendBackDraws } from "./draws/send-backs.ts";
import { statementDraws } from "./draws/statements.ts";
import { stockDraws } from "./draws/stock.ts";
import { type Op, types } from "./ops.ts";

export const die = fc.nat(999);

/** The form in which a command is drawn. */
export interface Draft {
  kind: Op["type"] | "again";
  dice: Dice;
}

export const draft: fc.Arbitrary<Draft> = fc.record({
  kind: fc.constantFrom(
    ...types,
    "again",
    // The operations that need the most others before them.
    ...[
      "settle",
      "settle",
      "step",
      "step",
      "step",
      "outcome",
      "undo",
      "handOver",
      "confirm",
      "fetch",
      "acceptShort",
    ] as const,
    ...[
      "approve",
      "approve",
      "payDue",
      "count",
      "resolve",
      "putBack",
      "putBack",
      "putBack",
      "openStatement",
      "payStatement",
      "reverseStatement",
    ] as const,
    ...[
      "divert",
      "divert",
      "divert",
      "order",
      "bringIn",
      "takeIn",
      "takeIn",
      "sendBack",
      "sendBack",
      "execute",
      "execute",
      "book",
      "book",
      "tell",
      "tell",
      "tell",
      "carrierPays",
    ] as const,
  ),
  dice: fc.tuple(die, die, die, die),
});

const draws: Draws<Op["type"]> = {
  ...cashDraws,
  ...parcelDraws,
  ...statementDraws,
  ...stockDraws,
  ...orderDraws,
  ...sendBackDraws,
  ...carrierDraws,
};

/** The operation that a draft is in this state; undefined when it needs something that is not there yet. */
export function operation(known: Known, { kind, dice }: Draft): Op | undefined {
  if (kind === "again") return again(known, dice);
  const drawn = draws[kind](known, dice);
  return drawn && { id: `${kind} ${++known.serial} ${randomUUID().slice(0, 8)}`, ...drawn } as Op;
}

/** An earlier request, unchanged, or its key with another input, which only settlements store permanently. */
function again({ sent, state }: Known, [a, b]: Dice): Op | undefined {
  const known = sent[sent.length - 1 - a % Math.min(sent.length, 30)];
  if (!known) return;
  const rows = Object.keys(state.rows);
  if (known.type !== "settle" || b % 3 || !rows.length) return known;
  return { ...known, rows: known.rows === "all" ? [rows[a % rows.length]] : "all" };
}
