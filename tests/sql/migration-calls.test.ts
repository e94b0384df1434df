/** A call that is under way while a migration changes its functions ends as it began. */
import { setTimeout } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newDatabase, type OwnDatabase } from "../support/database.ts";
import { until } from "../support/receiver.ts";
import { compose } from "../tools/migrations/compose.ts";
import type { Action, CatalogueObject } from "../tools/migrations/difference.ts";

let database: OwnDatabase;
beforeAll(async () => {
  database = await newDatabase(() => Promise.resolve());
});
afterAll(() => database.close());

const body = (text: string) => `language plpgsql as $$ begin ${text} end $$`;
const inner: CatalogueObject = { kind: "function", schema: "public", name: "inner_step", args: [] };
const outer: CatalogueObject = { ...inner, name: "outer_step" };
const changed = (sql: string, more: Partial<Action>): Action => ({
  sql,
  verb: "create",
  produces: [],
  consumes: [],
  destroys: [],
  lockClass: "none",
  dataLoss: "none",
  rewriteRisk: false,
  ...more,
});

test("what it calls is dropped when it has ended", async () => {
  const { sql } = database;
  await sql.unsafe(
    `create function inner_step() returns text ${body("return 'old';")};
     create function outer_step() returns text ${
      body("perform pg_advisory_xact_lock(1); return inner_step();")
    };`,
  );
  const [main, drops] = compose({
    actions: [
      changed('DROP FUNCTION "public"."inner_step"()', { verb: "drop", destroys: [inner] }),
      changed(
        `CREATE FUNCTION public.inner_step(step integer) RETURNS text ${
          body("return 'new ' || step;")
        }`,
        { produces: [{ ...inner, args: ["integer"] }] },
      ),
      changed(
        `CREATE OR REPLACE FUNCTION public.outer_step() RETURNS text ${
          body("return inner_step(1);")
        }`,
        { produces: [outer] },
      ),
    ],
    rows: [],
    isUsed: () => false,
    givenByName: () => [],
  });
  const [holder, caller, runner] = [1, 2, 3].map(() =>
    postgres(database.url, { max: 1, onnotice: () => {} })
  );
  try {
    await holder!`select pg_advisory_lock(1)`;
    const call = caller!`select outer_step() as said`.execute();
    await until(async () =>
      (await sql`select from pg_locks where locktype = 'advisory' and not granted`).length === 1
    );
    await runner!.begin((t) => t.unsafe(main!.text));
    let isDropped = false;
    const dropping = runner!.begin((t) => t.unsafe(drops!.text)).then(() => isDropped = true);
    await setTimeout(300);
    expect(isDropped).toBe(false);
    await holder!`select pg_advisory_unlock(1)`;
    expect(await call).toEqual([{ said: "old" }]);
    await dropping;
    expect(await caller!`select outer_step() as said`).toEqual([{ said: "new 1" }]);
    expect(await sql`select to_regprocedure('inner_step()') as it`).toEqual([{ it: null }]);
  } finally {
    await Promise.all([holder, caller, runner].map((each) => each!.end({ timeout: 1 })));
  }
});
