/** Every field and parameter of the API document says what it is: by its name, by its parts, or in words. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { describeAll } from "../../shared/http/openapi.ts";
import { hasParts } from "../../shared/http/openapi-components.ts";
import { queryWords, words } from "../../shared/http/openapi-words.ts";
import { everyFunction } from "../../supabase/local/endpoints.ts";

type Json = Record<string, unknown>;
const document = JSON.parse(JSON.stringify(describeAll(await everyFunction())));

/** Shapes of names that say what they are: an id of something, when or by whom it was done, how many there are. */
const plainShape = new RegExp(
  `(^id|_ids?|Ids?|_at|At|_by|_name|_url|_count|Count|_number|_notes?|Notes|_reason|_time|_date)$|^(is|has|can|already)_`,
);
/** Names that say what they are: nouns that need neither unit nor format, and states, of which a count has the number. */
const plainNames = new Set(
  readFileSync("tests/contract/plain-names.txt", "utf8").trim().split(/\s+/),
);
const isPlain = (name: string) => plainShape.test(name) || plainNames.has(name);

interface Field {
  name: string;
  at: string;
  schema: Json;
}

function fieldsIn(part: unknown, at: string): Field[] {
  if (part === null || typeof part !== "object") return [];
  const own = (part as { properties?: Record<string, Json> }).properties ?? {};
  return [
    ...Object.entries(own).map(([name, schema]) => ({ name, at, schema })),
    ...Object.values(part).flatMap((within) => fieldsIn(within, at)),
  ];
}

const operations = Object.entries<Record<string, Json>>(document.paths)
  .flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ at: `${method} ${path}`, operation }))
  );
// The fields of a refusal stand in its message.
const schemas = Object.entries(document.components.schemas).filter(([name]) =>
  !/Error$/.test(name)
);
const fields = [
  ...schemas.flatMap(([name, schema]) => fieldsIn(schema, name)),
  ...operations.flatMap(({ at, operation }) => fieldsIn(operation, at)),
];
const parameters: Json[] = [
  ...Object.values<Json>(document.components.parameters),
  ...operations.flatMap(({ operation }) => operation.parameters as Json[]),
].filter(({ $ref }) => !$ref);

test("no field is without a description that its name does not replace", () => {
  const silent = fields.filter(({ name, schema }) =>
    schema.description === undefined && schema.const === undefined && !hasParts(schema) &&
    !isPlain(name)
  );
  expect(silent.map(({ name, at }) => `${at}: ${name}`)).toEqual([]);
  expect(fields.length).toBeGreaterThan(4_000);
});

test("no parameter is without one either", () => {
  const silent = parameters.filter(({ name, description }) => !description && !isPlain(`${name}`));
  expect(silent.map(({ name }) => name)).toEqual([]);
});

test("every shared description stands in the document", () => {
  const used = new Set([...fields.map(({ name }) => name), ...parameters.map(({ name }) => name)]);
  expect(Object.keys({ ...words, ...queryWords }).filter((name) => !used.has(name))).toEqual([]);
});

test("every plain name is the name of a field that has no description", () => {
  const silent = new Set<unknown>([
    ...fields.filter(({ schema }) => !schema.description).map(({ name }) => name),
    ...parameters.filter(({ description }) => !description).map(({ name }) => name),
  ]);
  expect([...plainNames].filter((name) => !silent.has(name) || plainShape.test(name)))
    .toEqual([]);
});
