/**
 * `fields=id,status`: a list or a detail with only the fields that are asked for. Where the rows of an answer stand and
 * which fields they have, its schema says; a row's key is always among them.
 */
import type { z } from "zod";
import { AppError } from "../errors/errors.ts";
import type { AnyEndpoint, Result } from "./endpoint.ts";
import { listOf } from "./list-declaration.ts";

/** The rows of an answer, or the one row of a detail. */
export interface Rows {
  /** Where they stand: `["data"]`. */
  path: readonly string[];
  /** The schema of each field. */
  shape: Readonly<Record<string, z.ZodType>>;
  /** The field that names a row; a board or a price is no row of many and has none. */
  key: string | undefined;
}

/** The most characters of `fields`: more than the names of any answer take. */
const maxLength = 2_000;

/** Parts of an answer beside the rows of a list. */
const beside = ["pagination", "summary", "stats", "status_matrix"];

const known = new WeakMap<AnyEndpoint, Rows | undefined>();

/** Where the rows of an endpoint's answer stand; undefined where it reads neither a list nor a detail. */
export function rowsOf(endpoint: AnyEndpoint): Rows | undefined {
  if (!known.has(endpoint)) known.set(endpoint, findRows(endpoint));
  return known.get(endpoint);
}

function findRows({ method, response, query }: AnyEndpoint): Rows | undefined {
  if (method !== "get" || typeof response === "string") return undefined;
  const found = rowsIn(shapeOf(response) ?? {}, [], listOf(query) !== undefined);
  if (!found) return undefined;
  const names = Object.keys(found.shape);
  const isKey = (name: string) => name === "id" || name.endsWith("_id");
  return {
    ...found,
    key: names.find((name) => name === "id") ?? names.find(isKey) ??
      (found.many ? names[0] : undefined),
  };
}

type Found = Pick<Rows, "path" | "shape"> & { many: boolean };

/** The only list or object of an answer that is not about the list as a whole. */
function rowsIn(
  shape: Rows["shape"],
  path: readonly string[],
  isList: boolean,
): Found | undefined {
  const parts = Object.entries(shape).flatMap(([name, schema]): Found[] => {
    const row = shapeOf(elementOf(schema) ?? schema);
    const many = elementOf(schema) !== undefined;
    return row && !beside.includes(name) ? [{ path: [...path, name], shape: row, many }] : [];
  });
  const lists = parts.filter(({ many }) => many);
  const named = lists.find((list) => list.path.at(-1) === "data");
  const only = named ??
    (isList && lists.length ? lists[0] : parts.length === 1 ? parts[0] : undefined);
  if (!only || only.many) return only;
  // `data: {order: {…}}`, and a list inside of what is named after it.
  const inner = Object.keys(only.shape).length === 1 || isList
    ? rowsIn(only.shape, only.path, isList)
    : undefined;
  return inner ?? only;
}

/** The fields of an object; of one that is shown in several ways, those of all. */
function shapeOf(schema: z.core.$ZodType): Rows["shape"] | undefined {
  const { def } = bare(schema)._zod;
  if (def.type === "object") return (def as z.core.$ZodObjectDef).shape as Rows["shape"];
  if (def.type !== "union") return undefined;
  const shapes = (def as z.core.$ZodUnionDef).options.map(shapeOf);
  return shapes.every((shape) => shape) ? Object.assign({}, ...shapes) : undefined;
}

function elementOf(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  const { def } = bare(schema)._zod;
  return def.type === "array" ? (def as z.core.$ZodArrayDef).element : undefined;
}

/** A schema without what says that a value may be missing. */
function bare(schema: z.core.$ZodType): z.core.$ZodType {
  const { def } = schema._zod;
  return def.type === "optional" || def.type === "nullable"
    ? bare((def as z.core.$ZodOptionalDef).innerType)
    : schema;
}

/**
 * The fields a query asks for, in the order of the answer, and the names among them that it does not have. Undefined when
 * it asks for none, or the answer has none to choose from. Fails: validation_failed, when it is too long.
 */
export function askedFields(
  endpoint: AnyEndpoint,
  sent: string | undefined,
): { fields: string[]; unknown: string[] } | undefined {
  const rows = sent === undefined ? undefined : rowsOf(endpoint);
  if (sent === undefined || !rows) return undefined;
  if (sent.length > maxLength) throw new AppError("validation_failed", { field: "fields" });
  const names = new Set(sent.split(",").map((name) => name.trim()));
  return {
    fields: Object.keys(rows.shape).filter((name) => names.has(name) || name === rows.key),
    unknown: [...names].filter((name) => name !== "" && !Object.hasOwn(rows.shape, name)),
  };
}

/** The answer with these fields of its rows and no others. */
export function withFields<R extends Result>(
  endpoint: AnyEndpoint,
  result: R,
  fields: readonly string[],
): R {
  const rows = rowsOf(endpoint);
  if (!rows || result instanceof Response) return result;
  return replaced(
    result,
    rows.path,
    (row) =>
      Object.fromEntries(fields.filter((name) => name in row).map((name) => [name, row[name]])),
  ) as R;
}

/** The first field that is not as its schema says, in an answer that has only these fields; undefined when all are. */
export function wrongField(
  endpoint: AnyEndpoint,
  result: Result,
  fields: readonly string[],
): string | undefined {
  const rows = rowsOf(endpoint);
  if (!rows) return undefined;
  let wrong: string | undefined;
  replaced(result, rows.path, (row) => {
    wrong ??= fields.find((name) => !rows.shape[name].safeParse(row[name]).success);
    return row;
  });
  return wrong;
}

type Row = Record<string, unknown>;

/** A value in which what stands at a path, or each element of it, is another. Null stays. */
function replaced(value: unknown, path: readonly string[], change: (row: Row) => Row): unknown {
  if (value === null || value === undefined) return value;
  const [key, ...rest] = path;
  if (key === undefined) {
    return Array.isArray(value) ? value.map((row) => change(row as Row)) : change(value as Row);
  }
  const whole = value as Row;
  // Symbols come along: the status of an answer is one.
  return { ...whole, [key]: replaced(whole[key], rest, change) };
}
