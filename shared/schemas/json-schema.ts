/** Schemas as JSON Schema. */
import { z } from "zod";

export type JsonSchema = Record<string, unknown>;

/** The mark of an amount of money, for who asks for marks (`jsonSchemaOf`); no document shows it. */
export const moneyMark = "x-money";

/**
 * A schema of requests (`input`) or answers (`output`) as JSON Schema 2020-12, with everything in it written out. Of
 * schemas that have a name (`.meta({ id })`) the `parts`, or `all` with the schema itself, may be references to `$defs`.
 * Amounts of money are marked when asked for.
 */
export function jsonSchemaOf(
  schema: z.ZodType,
  io: "input" | "output",
  names: "none" | "parts" | "all" = "none",
  marked = false,
): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    target: "draft-2020-12",
    metadata: new Metadata(
      (part) => names === "all" || (names === "parts" && part !== schema),
      marked,
    ),
  });
  return rest;
}

/** The metadata of all schemas, without the names of those that do not keep them, and without marks unless asked for. */
class Metadata extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  constructor(
    private readonly keepsName: (schema: z.core.$ZodType) => boolean,
    private readonly marked: boolean,
  ) {
    super();
  }

  override get<S extends z.core.$ZodType>(schema: S) {
    const { id, [moneyMark]: money, ...rest } = z.globalRegistry.get(schema) ?? {};
    const known = this.marked && money ? { ...rest, [moneyMark]: money } : rest;
    return id && this.keepsName(schema) ? { ...known, id } : known;
  }
}
