/** The files that `npm run db:migration` makes of the statements between two catalogues. */
import { expect, test } from "vitest";
import { compose, readMark } from "./compose.ts";
import type { Action, CatalogueObject } from "./difference.ts";

const table: CatalogueObject = { kind: "table", schema: "delivery", name: "zones" };
const column: CatalogueObject = {
  kind: "column",
  schema: "delivery",
  table: "zones",
  name: "caretaker",
};

/** A statement on a table that is there, which locks it fully unless said otherwise. */
function action(sql: string, more: Partial<Action> = {}): Action {
  return {
    sql,
    verb: "alter",
    produces: [],
    consumes: [table],
    destroys: [],
    lockClass: "accessExclusive",
    dataLoss: "none",
    rewriteRisk: false,
    ...more,
  };
}

const parts = (
  actions: Action[],
  isUsed = (_: string) => false,
  givenByName = (_: string): string[] => [],
) => compose({ actions, rows: [], isUsed, givenByName });
const marksOf = (text: string) => text.split("\n").filter((line) => line.startsWith(readMark));

test.each([
  [
    "a value that is dropped",
    action('ALTER TABLE "delivery"."zones" DROP COLUMN "caretaker"', { dataLoss: "destructive" }),
    "values are lost",
  ],
  [
    "a type that changes",
    action('ALTER TABLE "delivery"."zones" ALTER COLUMN "area" TYPE real', { rewriteRisk: true }),
    "rewritten",
  ],
  [
    "a default of each row",
    action('ALTER TABLE "delivery"."zones" ADD COLUMN "key" uuid DEFAULT gen_random_uuid()', {
      rewriteRisk: true,
    }),
    "rewritten",
  ],
  [
    "a column that may not be null any more",
    action('ALTER TABLE "delivery"."zones" ALTER COLUMN "caretaker" SET NOT NULL'),
    "scanned",
  ],
  [
    "a new column without a value",
    action('ALTER TABLE "delivery"."zones" ADD COLUMN "caretaker" text NOT NULL'),
    "fails as soon as",
  ],
  [
    "a unique constraint",
    action('ALTER TABLE "delivery"."zones" ADD CONSTRAINT "once" UNIQUE (tenant_id, caretaker)'),
    "Build the index concurrently",
  ],
  [
    "a unique index",
    action("CREATE UNIQUE INDEX once ON delivery.zones USING btree (caretaker)", {
      produces: [{ kind: "index", schema: "delivery", name: "once" }],
      lockClass: "share",
    }),
    "Build it concurrently",
  ],
])("%s is marked to be read", (_, statement, reason) => {
  const [main, ...others] = parts([statement]);
  expect(others).toEqual([]);
  expect(marksOf(main!.text)).toEqual([expect.stringContaining(reason)]);
  expect(main!.text).toContain(`\n${statement.sql};\n`);
});

test("a fixed default, a new function and a new table are not marked", () => {
  const gates: CatalogueObject = { ...table, name: "gates" };
  const [main, ...others] = parts([
    action(`ALTER TABLE "delivery"."zones" ADD COLUMN "kind" text NOT NULL DEFAULT 'plain'::text`, {
      produces: [column],
      rewriteRisk: true,
    }),
    action("CREATE OR REPLACE FUNCTION delivery.f() RETURNS text", {
      consumes: [],
      lockClass: "none",
    }),
    action('CREATE TABLE "delivery"."gates" ("id" uuid)', {
      produces: [gates],
      consumes: [],
      lockClass: "none",
      rewriteRisk: true,
    }),
    action("CREATE INDEX gates_id ON delivery.gates USING btree (id)", {
      produces: [{ ...gates, kind: "index", name: "gates_id" }],
      consumes: [gates],
      lockClass: "share",
    }),
  ]);
  expect(others).toEqual([]);
  expect(marksOf(main!.text)).toEqual([]);
  expect(main!.text).toContain("lock table delivery.zones in access exclusive mode;");
});

test("a constraint on a table that is there is proven after the transaction that adds it", () => {
  const [main, validate, ...others] = parts([
    action(
      'ALTER TABLE "delivery"."zones" ADD CONSTRAINT "zones_owner" FOREIGN KEY (owner) REFERENCES tenancy.people(id)',
      {
        produces: [{ kind: "constraint", schema: "delivery", table: "zones", name: "zones_owner" }],
        lockClass: "shareRowExclusive",
      },
    ),
  ]);
  expect(others).toEqual([]);
  expect(main!.text).toContain("REFERENCES tenancy.people(id) NOT VALID;");
  expect(main!.text).toContain("lock table delivery.zones in share row exclusive mode;");
  expect(main!.text).toContain(
    "lock table tenancy.people in share row exclusive mode;",
  );
  expect(validate).toMatchObject({ suffix: "_validate" });
  expect(validate!.text).toContain(
    'ALTER TABLE "delivery"."zones" VALIDATE CONSTRAINT "zones_owner";',
  );
});

test("a constraint that goes may lock the table it names, which is to be written among the locks", () => {
  const name = { kind: "constraint", schema: "delivery", table: "zones", name: "zones_owner" };
  const drop = action('ALTER TABLE "delivery"."zones" DROP CONSTRAINT "zones_owner"', {
    verb: "drop",
    destroys: [name],
    consumes: [],
  });
  const add = action('ALTER TABLE "delivery"."zones" ADD CONSTRAINT "zones_owner" CHECK (true)', {
    produces: [name],
  });
  expect(marksOf(parts([drop])[0]!.text)).toEqual([expect.stringContaining("foreign key")]);
  expect(marksOf(parts([drop, add])[0]!.text)).toEqual([]);
});

test("an index on a table that is there is built while it is used, in a file of its own", () => {
  const [, index] = parts([
    action("CREATE INDEX zones_area ON delivery.zones USING btree (area)", {
      produces: [{ kind: "index", schema: "delivery", name: "zones_area" }],
      lockClass: "share",
    }),
  ]);
  expect(index).toMatchObject({ suffix: "_index_1" });
  expect(index!.text).toContain('DROP INDEX CONCURRENTLY IF EXISTS "delivery"."zones_area";');
  expect(index!.text).toContain(
    "CREATE INDEX CONCURRENTLY zones_area ON delivery.zones USING btree (area);",
  );
});

test("a view that the last release names is marked when it goes, and not when it is made anew", () => {
  const view: CatalogueObject = { kind: "view", schema: "delivery", name: "zones_list" };
  const drop = action('DROP VIEW "delivery"."zones_list"', {
    verb: "drop",
    destroys: [view],
    consumes: [],
  });
  const create = action('CREATE VIEW "delivery"."zones_list" AS SELECT 1', {
    verb: "create",
    produces: [view],
    consumes: [],
    lockClass: "none",
  });
  const isUsed = (name: string) => name === "delivery.zones_list";
  expect(marksOf(parts([drop], isUsed)[0]!.text)).toEqual([
    expect.stringContaining("delivery.zones_list"),
  ]);
  expect(marksOf(parts([drop])[0]!.text)).toEqual([]);
  const anew = parts([drop, create], isUsed)[0]!.text;
  expect(marksOf(anew)).toEqual([]);
  expect(anew).toContain("alter view delivery.zones_list reset (security_barrier);");
});

const functionOf = (name: string, ...args: string[]): CatalogueObject => ({
  kind: "function",
  schema: "delivery",
  name,
  args,
});
const noLock: Partial<Action> = { consumes: [], lockClass: "none" };
const dropOf = (gone: CatalogueObject) =>
  action(`DROP FUNCTION "delivery"."${gone.name}"(${gone.args})`, {
    verb: "drop",
    destroys: [gone],
    ...noLock,
  });
const createOf = (made: CatalogueObject, signature: string) =>
  action(`CREATE OR REPLACE FUNCTION delivery.${signature}\n RETURNS text`, {
    verb: "create",
    produces: [made],
    ...noLock,
  });

test.each([
  ["none is made in its place", []],
  ["the new one asks for more", [
    createOf(functionOf("f", "uuid", "text"), "f(a uuid, b text)"),
  ]],
  ["the new one asks for something else", [createOf(functionOf("f", "text"), "f(a text)")]],
  ["another one has its arguments", [createOf(functionOf("g", "uuid"), "g(a uuid)")]],
])("a function goes in a file after the calls under way, where %s", (_, made) => {
  const [main, drops, ...others] = parts([dropOf(functionOf("f", "uuid")), ...made]);
  expect(others).toEqual([]);
  expect(main!.text).not.toContain("DROP FUNCTION");
  expect(drops).toMatchObject({ suffix: "_drops" });
  expect(drops!.text).toContain('\nDROP FUNCTION IF EXISTS "delivery"."f"(uuid);\n');
});

test.each([
  ["is made again", createOf(functionOf("f", "uuid"), "f(other uuid)")],
  [
    "gets an argument with a default",
    createOf(functionOf("f", "uuid", "text"), "f(a uuid, b text DEFAULT NULL::text)"),
  ],
])("a function that %s goes with it: two that answer one call are one too many", (_, made) => {
  const [main, ...others] = parts([dropOf(functionOf("f", "uuid")), made]);
  expect(others).toEqual([]);
  expect(main!.text).toContain('\nDROP FUNCTION "delivery"."f"(uuid);\n');
});

test.each([
  ["gets another name", "f(other uuid)", ["a"]],
  ["keeps its name", "f(a uuid, b text DEFAULT NULL::text)", []],
])("an argument that calls under way give by name and that %s", (_, signature, lost) => {
  const gone = functionOf("f", "uuid");
  const made = createOf(functionOf("f", "uuid"), signature);
  const [main] = parts(
    [dropOf(gone), made],
    undefined,
    (name) => name === "delivery.f" ? ["a"] : [],
  );
  expect(marksOf(main!.text)).toEqual(
    lost.map((argument) => expect.stringContaining(`give the argument ${argument} by its name`)),
  );
  const unnamed = parts([dropOf(gone), made])[0]!;
  expect(marksOf(unnamed.text)).toEqual([]);
});
