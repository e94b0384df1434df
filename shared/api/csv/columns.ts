/** Names of a file's columns and the types of its cells, from the schema that validates its lines. */
import type { z } from "zod";
import { numberText } from "../../schemas/digits.ts";
import { parseJson } from "../../schemas/input.ts";
import { jsonSchemaOf, moneyMark } from "../../schemas/json-schema.ts";
import { isStorable } from "../../schemas/storable.ts";

/** The part of JSON Schema that zod writes. */
interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: unknown;
  anyOf?: Schema[];
  allOf?: Schema[];
  const?: unknown;
  enum?: unknown[];
  [moneyMark]?: boolean;
}

export interface Columns {
  /** The cell's value as JSON would say it, undefined for an empty one; no function: no such column. */
  reader(name: string): ((cell: string) => unknown) | undefined;
  /** Whether the cell is an amount that may be meant in thousands: `25.000` is so in some places, and 25 in others. */
  mayBeThousands(name: string, cell: string): boolean;
  /** First parts of the names that a file cannot do without. */
  required: readonly string[];
  /** For the reference: every name, `contact_info.*` where any may follow. */
  names: readonly string[];
}

/** The columns of a line's schema: its fields, those of fields that have parts dotted (`title.en`). */
export function columnsOf(line: z.ZodType): Columns {
  const schema = jsonSchemaOf(line, "input", "none", true) as Schema;
  return {
    reader: (name) => {
      const options = optionsAt(schema, name.split("."));
      return options && ((cell) => valueOf(cell, options));
    },
    mayBeThousands: (name, cell) =>
      /^-?\d+\.\d{3}$/.test(numberText(cell)) &&
      (optionsAt(schema, name.split("."))?.some((option) => option[moneyMark]) ?? false),
    required: variants(schema).flatMap(({ required = [] }) => required),
    names: namesOf(schema, ""),
  };
}

/** A schema and what it may be instead. */
function variants(schema: Schema): Schema[] {
  const inner = [...schema.anyOf ?? [], ...schema.allOf ?? []];
  return inner.length ? inner.flatMap(variants) : [schema];
}

/** The schema of the field at a path; undefined when there is none. */
function optionsAt(schema: Schema, [step, ...rest]: string[]): Schema[] | undefined {
  if (step === undefined) return variants(schema);
  for (const option of variants(schema)) {
    const { properties = {} } = option;
    const found = Object.hasOwn(properties, step) && optionsAt(properties[step], rest);
    if (found) return found;
    if (isFree(option) && rest.length === 0 && /^(?!__proto__$)[\w-]{1,64}$/.test(step)) {
      return [{ type: "string" }];
    }
  }
}

/** An object that takes fields its schema does not name. */
function isFree({ type, additionalProperties }: Schema): boolean {
  return type === "object" && additionalProperties !== undefined && additionalProperties !== false;
}

function namesOf(schema: Schema, before: string): string[] {
  return variants(schema).flatMap((option) => [
    ...Object.entries(option.properties ?? {}).flatMap(([key, inner]) => [
      before + key,
      ...namesOf(inner, `${before}${key}.`),
    ]),
    ...(isFree(option) && before ? [`${before}*`] : []),
  ]);
}

const number = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/** A cell that does not read as what its field wants stays a text, for the schema to refuse. */
function valueOf(cell: string, options: Schema[]): unknown {
  const may = (...types: string[]) => options.some(({ type }) => type && types.includes(type));
  // An export writes `{}` for an object that has no parts.
  if (cell === "" || (may("object") && /^\s*\{\s*\}\s*$/.test(cell))) return undefined;
  const untyped = options.some((one) => !one.type && one.const === undefined && !one.enum);
  if (may("number", "integer") && number.test(numberText(cell))) return Number(numberText(cell));
  if (may("boolean") && /^\s*(true|false)\s*$/i.test(cell)) return /true/i.test(cell);
  if ((untyped || may("object", "array")) && /^\s*[[{]/.test(cell)) return fromJson(cell);
  return cell;
}

function fromJson(cell: string): unknown {
  try {
    const value = parseJson(new TextEncoder().encode(cell));
    return isStorable(value) ? value : cell;
  } catch {
    return cell;
  }
}
