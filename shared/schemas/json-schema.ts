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
    metadata: unnamed((part) => names === "all" || (names === "parts" && part !== schema)),
  });
  return rest;
}

/** The metadata of schemas, without the names of those that do not keep them. */
function unnamed(keepsName: (schema: z.core.$ZodType) => boolean): typeof z.globalRegistry {
  return new Proxy(z.globalRegistry, {
    get(registry, property) {
      if (property !== "get") return Reflect.get(registry, property, registry);
      return (schema: z.core.$ZodType) => {
        const { id, ...known } = registry.get(schema) ?? {};
        return keepsName(schema) && id ? { ...known, id } : known;
      };
    },
  });
}
