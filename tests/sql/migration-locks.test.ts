/** A migration meets calls that took its tables in another order: neither is broken off. */
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newDatabase, type OwnDatabase } from "../support/database.ts";
import { until } from "../support/receiver.ts";
import type { Action } from "../tools/migrations/difference.ts";
import { lockFirst } from "../tools/migrations/locks.ts";

let database: OwnDatabase;
let call: postgres.Sql;
let migration: postgres.Sql;

beforeAll(async () => {
  database = await newDatabase();
  const connect = () => postgres(database.url, { max: 1, onnotice: () => {} });
  [call, migration] = [connect(), connect()];
  await call.unsafe(
    `create table parcels (id integer); insert into parcels values (1);
     create table drivers (id integer); insert into drivers values (1);
     create view parcels_list as select id from parcels`,
  );
});
afterAll(async () => {
  await Promise.all([call, migration].map((sql) => sql.end()));
  await database.close();
});

test("a view is locked without the tables below it, which calls have that then read the view", async () => {
  await call.begin(async (tx) => {
    await tx`update parcels set id = id`;
    const read = await migration.begin(async (own) => {
      await own.unsafe(locks("view", "parcels_list"));
      const read = tx`select id from parcels_list`.execute();
      await until(() => isAwaited("parcels_list"));
      return { rows: read };
    });
    expect(await read.rows).toHaveLength(1);
  });
});

test("a try that waits for what a call has is given up before PostgreSQL breaks off the call", async () => {
  let migrated: Promise<unknown> | undefined;
  await call.begin(async (tx) => {
    await tx`update parcels set id = id`;
    migrated = migration.begin((own) => own.unsafe(locks("table", "drivers", "parcels")));
    await until(() => isAwaited("parcels"));
    await tx`update drivers set id = id`;
  });
  await migrated;
});

/** The beginning of a migration that changes these. */
function locks(kind: "table" | "view", ...names: string[]): string {
  const changes = names.map((name): Action => ({
    sql: `ALTER ${kind} "public"."${name}"`,
    verb: "alter",
    produces: [],
    consumes: [{ kind, schema: "public", name }],
    destroys: [],
    lockClass: "accessExclusive",
    dataLoss: "none",
    rewriteRisk: false,
  }));
  return lockFirst(changes, (name) => name !== undefined).join("\n");
}

async function isAwaited(relation: string): Promise<boolean> {
  const waiting = await database.sql`
    select from pg_locks where not granted and relation = ${relation}::regclass`;
  return waiting.length > 0;
}
