/**
 * Unknown fields of a request. In a body, money, evidence, and the lot or piece of stock under a
 * wrong name are refused, because they would be lost or other goods would move; everything else is
 * named in the answer as `ignored`. A body by which all the money moves where a field is missing is a
 * `z.strictObject`, which refuses by itself what it does not know.
 */
import type { z } from "zod";
import { AppError } from "../errors/errors.ts";

/** A property that no schema takes: where it stands, and the names that are known there. */
interface UnknownField {
  path: string;
  name: string;
  known: readonly string[];
}

type Schema = z.core.$ZodType;
type Definition = z.core.$ZodTypes["_zod"]["def"];

const kept = new WeakSet<Schema>();

/** The catchall of an object whose other properties are kept as they are sent, and named as ignored all the same. */
export function keptAs<S extends z.ZodType>(schema: S): S {
  kept.add(schema);
  return schema;
}

/** How many names an answer lists, and how much of each. */
const maxNames = 50;
const maxNameLength = 100;

/** The paths of a body's unknown properties. Fails: unknown_field (another name of what must not be lost). */
export function ignoredFields(schema: z.ZodType | undefined, body: unknown): string[] {
  const unknown = unknownFields(schema, body);
  for (const { path, name, known } of unknown) {
    const expected = meantBy(name, known);
    if (expected) throw new AppError("unknown_field", { field: path, expected_field: expected });
  }
  return pathsOf(unknown);
}

/** The same paths, also of what must not be lost. */
export function unknownPaths(schema: z.ZodType, body: unknown): string[] {
  return pathsOf(unknownFields(schema, body));
}

/** The names of a query's unknown parameters. */
export function ignoredParameters(schema: z.ZodType | undefined, query: unknown): string[] {
  return pathsOf(unknownFields(schema, query));
}

function unknownFields(schema: z.ZodType | undefined, value: unknown): UnknownField[] {
  return schema ? unknownIn(schema, value, "") : topLevel(value);
}

function pathsOf(unknown: readonly UnknownField[]): string[] {
  // Well-formed: a name may hold half of a surrogate pair, or be cut to one, which no header can carry.
  return unknown.slice(0, maxNames).map(({ path }) => path.slice(0, maxNameLength).toWellFormed());
}

function topLevel(value: unknown): UnknownField[] {
  return isRecord(value) ? Object.keys(value).map((name) => ({ path: name, name, known: [] })) : [];
}

function unknownIn(schema: Schema, value: unknown, path: string): UnknownField[] {
  if (value === null || typeof value !== "object") return [];
  const definition = schema._zod.def as Definition;
  const inner = (one: Schema, at = path, of: unknown = value) => unknownIn(one, of, at);
  switch (definition.type) {
    case "object": {
      if (!isRecord(value)) return [];
      const { shape, catchall } = definition;
      const takesMore = catchall !== undefined && !kept.has(catchall) &&
        catchall._zod.def.type !== "never";
      return Object.entries(value).flatMap(([name, of]) => {
        const at = under(path, name);
        if (Object.hasOwn(shape, name)) return inner(shape[name], at, of);
        return takesMore ? [] : [{ path: at, name, known: Object.keys(shape) }];
      });
    }
    case "array":
      return Array.isArray(value)
        ? value.flatMap((of, i) => inner(definition.element, under(path, String(i)), of))
        : [];
    case "record":
      return isRecord(value)
        ? Object.entries(value).flatMap(([name, of]) =>
          inner(definition.valueType, under(path, name), of)
        )
        : [];
    case "optional":
    case "nullable":
    case "default":
    case "prefault":
    case "nonoptional":
    case "readonly":
    case "catch":
      return inner(definition.innerType);
    case "pipe":
      return inner(definition.in._zod.def.type === "transform" ? definition.out : definition.in);
    case "lazy":
      return inner(definition.getter());
    case "union":
      return inAll(
        definition.options.filter((one) => mayTake(one, value)).map((one) => inner(one)),
      );
    case "intersection":
      return inAll([inner(definition.left), inner(definition.right)]);
    default:
      return [];
  }
}

function under(path: string, name: string): string {
  return path ? `${path}.${name}` : name;
}

/** The fields that none of several schemas knows. */
function inAll(lists: readonly UnknownField[][]): UnknownField[] {
  const [first = [], ...others] = lists;
  return first.filter(({ path }) => others.every((list) => list.some((one) => one.path === path)))
    .map((field) => ({
      ...field,
      known: lists.flatMap((list) => list.find(({ path }) => path === field.path)?.known ?? []),
    }));
}

/** Whether a schema is for values of this kind at all: lists, or objects. */
function mayTake(schema: Schema, value: object): boolean {
  const definition = schema._zod.def as Definition;
  switch (definition.type) {
    case "object":
    case "record":
      return isRecord(value);
    case "array":
    case "tuple":
      return Array.isArray(value);
    case "optional":
    case "nullable":
    case "default":
    case "prefault":
    case "nonoptional":
    case "readonly":
    case "catch":
      return mayTake(definition.innerType, value);
    case "pipe":
      return definition.in._zod.def.type === "transform" || mayTake(definition.in, value);
    case "lazy":
      return mayTake(definition.getter(), value);
    case "union":
      return definition.options.some((one) => mayTake(one, value));
    case "intersection":
    case "any":
    case "unknown":
    case "custom":
    case "transform":
      return true;
    default:
      return false;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

const pictures = ["photo", "photos", "photo_url", "image", "images", "picture", "pictures"];
const evidence = [...pictures, "photo_urls", "signature", "signature_url", "evidence", "pod"];
const collected = ["collected", "collected_cash", "collected_amount", "cod_collected"];

const lots = ["lot", "lot_no", "lot_number", "batch", "batch_no", "batch_number"];
const serials = ["serial", "serial_no", "serial_number"];

/** Names of money, evidence and stock in the interface, and what else people call them. */
const otherNames: Record<string, readonly string[]> = {
  proof: ["proofs", ...evidence],
  proofs: ["proof", ...evidence],
  photo_urls: [...pictures, "urls"],
  signature_url: ["signature"],
  cash_collected: [...collected, "cash", "cash_amount", "amount", "amount_collected", "cod"],
  cod: ["cod_amount", "cash", "amount"],
  delivery_fee: ["fee"],
  cod_amount: ["cod", "cod_value", "cash_on_delivery"],
  amount: ["sum", "refund_amount", "cash", "cash_amount"],
  counted_amount: ["counted", "counted_cash", "amount", "cash"],
  refund_required: ["refund"],
  cod_collection_ids: ["collection_ids", "collections", "ids"],
  driver_id: ["driver", "drivers", "driver_ids"],
  lot_number: lots,
  serial_number: serials,
  lot: lots,
  serial: serials,
};

/** The known name that an unknown one stands for. */
function meantBy(name: string, known: readonly string[]): string | undefined {
  const plain = plainName(name);
  return known.find((right) =>
    right in otherNames &&
    (plainName(right) === plain || otherNames[right].some((other) => plainName(other) === plain))
  );
}

/** `photoUrls`, `Photo-URL` and `photo_urls` are one name. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "").replace(/s$/, "");
}
