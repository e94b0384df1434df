/** The named schemas of a document, each once among its components. */
import type { z } from "zod";
import { jsonSchemaOf } from "../schemas/json-schema.ts";
import { words } from "./openapi-words.ts";

export type Json = Record<string, unknown>;

/**
 * Where a schema stands. One schema means a little different things: an answer has its defaults and no other fields, a
 * POST takes null for a field that may be left out, a change does not.
 */
export type Use = "answer" | "post" | "change";

/** How the name ends where the schema is not that of an earlier use. */
const endings: Readonly<Record<Use, string>> = { answer: "", post: "Input", change: "Change" };
const uses = Object.keys(endings) as Use[];
const refTo = (name: string) => `#/components/schemas/${name}`;

/** Collects schemas that have a name (`.meta({ id })`), by use; `finish` finds those that are the same. */
export class Schemas {
  private readonly found: Record<Use, Map<string, Json>> = {
    answer: new Map(),
    post: new Map(),
    change: new Map(),
  };

  private readonly opened = new Set<string>();

  /** A schema as JSON Schema; what has a name is a reference, but for an answer as a whole. */
  of(schema: z.ZodType, use: Use, change: (schema: Json) => Json = (same) => same): Json {
    const { $defs = {}, ...rest } = change(
      // Beside its envelope an answer is another schema than by itself.
      use === "answer"
        ? jsonSchemaOf(schema, "output", "parts")
        : jsonSchemaOf(schema, "input", "all"),
    );
    const pointed = (part: unknown) =>
      withRefs(part, (ref) => ref.replace("#/$defs/", refTo(`${use}:`))) as Json;
    for (const [name, part] of Object.entries($defs as Json)) {
      const before = this.found[use].get(name);
      const now = pointed(part);
      if (before && JSON.stringify(before) !== JSON.stringify(now)) {
        throw new Error(`two schemas of a ${use} are called ${name}`);
      }
      this.found[use].set(name, now);
    }
    return pointed(rest);
  }

  /** A schema that is JSON already. */
  add(name: string, schema: Json): Json {
    this.found.answer.set(name, schema);
    return { $ref: refTo(name) };
  }

  /** A reference to a schema of an answer beside which other fields may stand. */
  open(ref: { $ref: unknown }): Json {
    this.opened.add(String(ref.$ref));
    return ref;
  }

  /** All named schemas, and the document with its references to them. */
  finish<T>(document: T): { document: T; schemas: Json } {
    const names = this.names();
    const point = <P>(part: P): P =>
      withRefs(part, (ref) => {
        const name = names.get(ref.slice(refTo("").length));
        return ref.startsWith(refTo("")) && name ? refTo(name) : ref;
      }) as P;
    const schemas = new Map<string, Json>();
    for (const use of uses) {
      for (const [name, schema] of this.found[use]) {
        const final = names.get(`${use}:${name}`)!;
        const { additionalProperties: _, ...open } = schema;
        const isOpen = this.opened.has(refTo(`${use}:${name}`));
        if (!schemas.has(final)) schemas.set(final, point(isOpen ? open : schema));
      }
    }
    const sorted = [...schemas].sort(([one], [other]) => one.localeCompare(other, "en"));
    return { document: point(document), schemas: Object.fromEntries(sorted) };
  }

  /** The name of each schema of each use: that of the first use whose schema is equal, with all it refers to. */
  private names(): Map<string, string> {
    const all = uses.flatMap((use) => [...this.found[use].keys()].map((name) => ({ use, name })));
    const first = (name: string) => uses.find((use) => this.found[use].has(name))!;
    const own = (use: Use, name: string) => use === first(name) ? name : name + endings[use];
    const names = new Map(all.map(({ use, name }) => [`${use}:${name}`, name]));
    const text = (use: Use, name: string) =>
      JSON.stringify(
        withRefs(this.found[use].get(name), (ref) => names.get(ref.slice(refTo("").length)) ?? ref),
      );
    for (let changed = true; changed;) {
      changed = false;
      for (const { use, name } of all) {
        const equal = uses.slice(0, uses.indexOf(use)).find((earlier) =>
          this.found[earlier].has(name) && text(earlier, name) === text(use, name)
        );
        const now = equal ? names.get(`${equal}:${name}`)! : own(use, name);
        if (names.get(`${use}:${name}`) === now) continue;
        names.set(`${use}:${name}`, now);
        changed = true;
      }
    }
    return names;
  }
}

/** A copy with every reference changed. */
function withRefs(part: unknown, change: (ref: string) => string): unknown {
  if (Array.isArray(part)) return part.map((item) => withRefs(item, change));
  if (part === null || typeof part !== "object") return part;
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) =>
      key === "$ref" && typeof value === "string"
        ? [key, change(value)]
        : [key, withRefs(value, change)]
    ),
  );
}

/** Whether a schema says what it is by its parts: an object with declared fields, a list of them, or a named schema. */
export function hasParts(schema: Json): boolean {
  const { $ref, properties, items, anyOf, oneOf, allOf } = schema;
  const within = [items, anyOf, oneOf, allOf].flat().filter(Boolean) as Json[];
  return $ref !== undefined || properties !== undefined || within.some(hasParts);
}

/** Gives every field of a document its shared description, where it has none of its own. */
export function describeFields(part: unknown): void {
  if (part === null || typeof part !== "object") return;
  const { properties } = part as { properties?: Record<string, Json> };
  for (const [name, schema] of Object.entries(properties ?? {})) {
    if (schema.description === undefined && schema.const === undefined && !hasParts(schema)) {
      if (Object.hasOwn(words, name)) schema.description = words[name];
    }
  }
  for (const within of Object.values(part)) describeFields(within);
}
