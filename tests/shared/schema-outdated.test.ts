/** Functions that are newer than the schema refuse to work, and begin to when the migrations have run. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { neededSchema, version } from "../../shared/runtime/version.ts";
import type { Stack } from "../../supabase/local/stack.ts";
import { startOwnStack } from "../support/own-stack.ts";

let stack: Stack;
const lines: string[] = [];
beforeAll(async () => {
  stack = await startOwnStack({ log: (line) => void lines.push(line) });
});
afterAll(async () => {
  await stack?.stop();
});

const setVersion = (schema: string) =>
  stack.sql.unsafe(`create or replace function private.schema_version() returns text
    language plpgsql immutable parallel safe set search_path = '' as $$ begin return '${schema}'; end $$`);

async function ask(path: string, language = "en") {
  const response = await fetch(`${stack.apiUrl}/storefront${path}`, {
    headers: { "accept-language": language },
  });
  return { status: response.status, body: await response.json() };
}
const logged = () => lines.filter((line) => line.includes('"event":"schema_outdated"'));

test("a schema that is new enough is named by the health check", async () => {
  expect(await ask("/health")).toEqual({
    status: 200,
    body: {
      success: true,
      function: "storefront",
      version,
      schema: neededSchema,
      needed_schema: neededSchema,
      database: "up",
    },
  });
});

test("an older schema is refused with one line in the log, until it is brought up to date", async () => {
  await setVersion("00000000000000");
  await stack.restartWorkers();
  expect(await ask("/health")).toEqual({
    status: 503,
    body: {
      success: false,
      code: "schema_outdated",
      function: "storefront",
      version,
      schema: "00000000000000",
      needed_schema: neededSchema,
      database: "up",
    },
  });
  const texts = await Promise.all(
    ["en", "ar", "ku"].map((language) => ask("/public/markets", language)),
  );
  for (const { status, body } of texts) {
    expect([status, body.code]).toEqual([503, "schema_outdated"]);
  }
  expect(new Set(texts.map(({ body }) => body.message)).size).toBe(3);
  expect(logged()).toHaveLength(1);
  expect(logged()[0]).toContain("npx supabase db push");

  await setVersion(neededSchema);
  expect((await ask("/public/markets")).body.code).not.toBe("schema_outdated");
  expect(await ask("/health")).toMatchObject({ status: 200, body: { success: true } });
});

test("a schema from before it had a version is older than any", async () => {
  await stack.sql`drop function private.schema_version()`;
  await stack.restartWorkers();
  expect(await ask("/health")).toMatchObject({
    status: 503,
    body: { code: "schema_outdated", schema: null },
  });
});
