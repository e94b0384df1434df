/** Random operations: a kind and dice, which the state of the model gives a meaning, right most of the time. */
import fc from "fast-check";
import { randomUUID } from "node:crypto";
import { carrierDraws } from "./draws/carriers.ts";
import { cashDraws } from "./draws/cash.ts";
import { customerReturnDraws } from "./draws/customer-returns.ts";
import { type Dice, type Draws, type Known } from "./draws/draw.ts";
import { leadReturn } from "./draws/leads.ts";
import { orderDraws } from "./draws/orders.ts";
import { parcelDraws } from "./draws/parcels.ts";
import { sendBackDraws } from "./draws/send-backs.ts";
import { statementDraws } from "./draws/statements.ts";
import { stockDraws } from "./draws/stock.ts";
import { type Op, types } from "./ops.ts";
import { type ReturnWay, returnWays } from "./state.ts";

/** The name under which a way of returns is counted. */
export const returnName = (way: ReturnWay) => `return ${way}`;

export const die = fc.nat(999);

/** The form in which a command is drawn. */
export interface Draft {
  kind: Op["type"] | "again";
  /** The operation is the next by which a customer's return goes this way. */
  way?: ReturnWay;
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
      "step",
      "step",
      "step",
      "step",
      "outcome",
      "undo",
      "undoPickup",
      "handOver",
      "confirm",
      "fetch",
      "acceptShort",
    ] as const,
    ...[
      "approve",
      "approve",
      "payDue",
      "declare",
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
      "unprepare",
      "book",
      "book",
      "tell",
      "tell",
      "tell",
      "carrierPays",
    ] as const,
    ...["orderReturn", "orderReturn", "orderReturn", "orderReturn"] as const,
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
  ...customerReturnDraws,
};

/** The operation that a draft is in this state; undefined when it needs something that is not there yet. */
export function operation(known: Known, { kind, way, dice }: Draft): Op | undefined {
  if (kind === "again") return again(known, dice);
  const drawn = way ? leadReturn(known, way, dice) : draws[kind](known, dice);
  const id = () => `${drawn!.type} ${++known.serial} ${randomUUID().slice(0, 8)}`;
  return drawn && { id: id(), ...drawn } as Op;
}

/** The operations that one needs before it, where chance seldom makes them all. */
const needs: Partial<Record<Op["type"], readonly Op["type"][]>> = {
  unsettle: ["settle"],
  resolve: ["count"],
  confirm: ["handOver"],
  report: ["pick"],
  move: ["pick"],
  pick: ["receive"],
  undo: ["step", "outcome"],
  fetch: ["order", "approve"],
  approve: ["order"],
  putBack: ["order", "approve", "fetch", "step", "step"],
  unbring: ["settle", "bring"],
  counter: ["settle"],
  uncounter: ["settle", "counter"],
  payDue: ["step", "step", "settle", "settle"],
  unpay: ["step", "step", "settle", "settle", "payDue"],
  payOut: ["step", "settle"],
  unpayOut: ["step", "settle", "payOut"],
  cancel: ["order"],
  acceptShort: ["order", "approve", "fetch", "fetch"],
  divert: ["order", "approve"],
  sendBack: ["bringIn", "takeIn"],
  callOff: ["bringIn", "takeIn", "sendBack"],
  execute: ["bringIn", "takeIn", "sendBack"],
  unprepare: ["bringIn", "takeIn", "sendBack", "execute"],
  orderReturn: ["step"],
  unbook: ["book"],
  carrierPays: ["book", "tell"],
  unpayCarrier: ["book", "tell", "carrierPays"],
  bank: ["book", "tell", "carrierPays"],
  voidStatement: ["openStatement"],
  reverseStatement: ["openStatement", "payStatement"],
};

/** A draft of an operation or a return that is missing, or of one that it needs; mostly as it is where none is missing. */
export function towards(missing: readonly string[], draft: Draft): Draft {
  const [a, b, c, d] = draft.dice;
  const lacking = returnWays.filter((way) => missing.includes(returnName(way)));
  // Chance alone would bring few returns to their end.
  const ways = missing.length ? lacking : a % 2 ? returnWays : [];
  // Small numbers are drawn more often.
  if (ways.length && d % 3 !== 1) return { ...draft, way: ways[c % ways.length] };
  const kinds = types.filter((kind) => missing.includes(kind))
    .flatMap((kind) => [...needs[kind] ?? [], kind]);
  return kinds.length ? { ...draft, kind: kinds[(a + b) % kinds.length] } : draft;
}

/** An earlier request, unchanged, or its key with another input, which only settlements store permanently. */
function again({ sent, state }: Known, [a, b]: Dice): Op | undefined {
  const known = sent[sent.length - 1 - a % Math.min(sent.length, 30)];
  if (!known) return;
  const rows = Object.keys(state.rows);
  if (known.type !== "settle" || b % 3 || !rows.length) return known;
  return { ...known, rows: known.rows === "all" ? [rows[a % rows.length]] : "all" };
}
