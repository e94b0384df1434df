/** Schemas as JSON Schema. */
import { z } from "zod";

export type JsonSchema = Record<string, unknown>;

/**
 * A schema of requests (`input`) or answers (`output`) as JSON Schema 2020-12, with everything in it written out. Of
 * schemas that have a name (`.meta({ id })`) the `parts`, or `all` with the schema itself, may be references to `$defs`.
 */
export function jsonSchemaOf(
  schema: z.ZodType,
  io: "input" | "output",
  names: "none" | "parts" | "all" = "none",
): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    target: "draft-2020-12",
    metadata: new Metadata((part) => names === "all" || (names === "parts" && part !== schema)),
  });
  return rest;
}

/** The metadata of all schemas, without the names of those that do not keep them. */
class Metadata extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  constructor(private readonly keepsName: (schema: z.core.$ZodType) => boolean) {
    super();
  }

  override get<S extends z.core.$ZodType>(schema: S) {
    const { id, ...known } = z.globalRegistry.get(schema) ?? {};
    return id && this.keepsName(schema) ? { ...known, id } : known;
  }
}
