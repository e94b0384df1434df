/** Why a value was found wrong, in the words of a refusal. */
import type { z } from "zod";
import { numberText } from "./digits.ts";

/** JSON's names of the types that schemas name otherwise. */
const jsonTypes: Record<string, string> = { record: "object", int: "integer" };

/** The types that have a text of their own, in the words of each language. */
const namedTypes = ["array", "boolean", "integer", "number", "object", "string"];

function wrongType(type: string): Record<string, unknown> {
  return namedTypes.includes(type)
    ? { reason_key: `reason_type_${type}` }
    : { reason_key: "reason_type", expected: type };
}

/** A number with a separator of thousands, or a comma before decimals: `25,000`, `٢٥٬٠٠٠`. */
function isGrouped(value: unknown): boolean {
  const text = typeof value === "string" ? numberText(value) : "";
  return !/^-?\d+(\.\d+)?$/.test(text) &&
    /^[-+]?\d+([,،٬'’ \u00a0\u202f.]\d+)+$/.test(text);
}

/**
 * The issue that names the words, of a value that may be one of them or several, or a boolean. The first issue of each form counts: the
 * length of an array is measured of a text as well.
 */
function wordsOf({ errors }: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue | undefined {
  const issues = errors.flatMap(([first]) => first ?? []);
  const ofWords = issues.every((one) =>
    one.code === "invalid_value" ||
    one.code === "invalid_type" && ["array", "boolean"].includes(one.expected)
  );
  return ofWords ? issues.find(({ code }) => code === "invalid_value") : undefined;
}

/** Why a value was found wrong, as the parameters of a refusal whose message says `{reason}`. */
export function reasonOf(issue: z.core.$ZodIssue): Record<string, unknown> {
  // A schema may name what it wants itself: z.string({ error: "reason_day" }).
  if (issue.message.startsWith("reason_")) return { reason_key: issue.message };
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return { reason_key: "reason_required" };
      return isGrouped(issue.input) && ["number", "int"].includes(issue.expected)
        ? { reason_key: "reason_number_separators" }
        : wrongType(jsonTypes[issue.expected] ?? issue.expected);
    case "too_small":
      return {
        reason_key: issue.inclusive === false ? "reason_above" : "reason_too_small",
        bound: String(issue.minimum),
      };
    case "too_big":
      return { reason_key: "reason_too_big", bound: String(issue.maximum) };
    case "invalid_value":
      return { reason_key: "reason_options", options: issue.values.map(String).join(", ") };
    case "unrecognized_keys":
      return { reason_key: "reason_unknown" };
    case "invalid_union":
      if (wordsOf(issue)) return reasonOf(wordsOf(issue)!);
      // Of what may be one of several things, none fits nothing at all; one of them may name what it wants.
      if (issue.input === undefined) return { reason_key: "reason_required" };
      return {
        reason_key: issue.errors.flat().map(({ message }) => message)
          .find((message) => message.startsWith("reason_")) ?? "reason_invalid",
      };
    case "custom":
      // A rule between fields may name what it wants of them: refine(…, { params: { reason_key, … } }).
      return { reason_key: "reason_invalid", ...issue.params };
    default:
      return { reason_key: "reason_invalid" };
  }
}
