/** Somebody whose number stands in every column of the list: stopped after any table, the erasure continues, and nothing is left. */
import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { personalList, targetsOf } from "../../../supabase/tenant/personal.ts";
import type { Place } from "../../../supabase/tenant/place.ts";
import { sql } from "../../support/db.ts";
import { endAll, erased, newPlace, rowsThatSay } from "../../support/erasure.ts";
import { type Everything, fingerprintOf, newEverything } from "../../support/everything.ts";

const phone = "+9647708887766";
const said = `Ask 0770-888 7766 about it`;
let all: Everything;
let beside: Everything;
let place: Place;
let end = () => Promise.resolve();
let tables: string[];

beforeAll(async () => {
  ({ place, end } = await newPlace());
  [all, beside] = await Promise.all([newEverything("received"), newEverything("received")]);
  tables = await sql.begin(sayEverywhere) as string[];
}, 120_000);
afterAll(() => end());

/** Writes the number into each column in which words of people may stand, and ends what would be open. */
async function sayEverywhere(tx: postgres.TransactionSql): Promise<string[]> {
  const { id } = all.tenant;
  await endAll(tx, id);
  await tx`insert into app.idempotency_keys (scope, operation, key, input_hash, answer)
    values (${`${id}/x`}, 'POST /x', 'x', '\\x00', '{}')`;
  const written = new Set<string>();
  for (const { table, columns, types, by } of await targetsOf(tx)) {
    for (const { name, kind } of by ? [] : columns) {
      if (kind === "file") continue;
      const value = types[name]!.type === "jsonb"
        ? `case jsonb_typeof(${name}) when 'array' then '[${
          JSON.stringify(said)
        }]' else ${name} || '{"said": ${JSON.stringify(said)}}' end`
        : kind === "json"
        ? `'{"said": ${JSON.stringify(said)}}'`
        : `'${said}'`;
      const whose = table === "app.idempotency_keys"
        ? `scope = '${id}/x'`
        : table === "tenancy.tenants"
        ? `id = '${id}'`
        : table === "tenancy.wizard_runs"
        ? "false"
        : `tenant_id = '${id}'`;
      const checks = types[name]!.type === "jsonb"
        ? ` and ${name} is not null`
        : await couples(tx, table, name);
      const result = await tx.unsafe(
        `update ${table} set ${name} = ${value} where ${whose}${checks}`,
      );
      if (result.count > 0) written.add(table);
    }
  }
  return [...written].sort();
}

/** A column that stands or falls with another is written where it stands. */
async function couples(
  tx: postgres.TransactionSql,
  table: string,
  column: string,
): Promise<string> {
  const [{ coupled }] = await tx`select exists (select from pg_constraint k
    join pg_attribute a on a.attrelid = k.conrelid and a.attname = ${column} and a.attnum = any (k.conkey)
    where k.conrelid = ${table}::regclass and k.contype = 'c' and pg_get_constraintdef(k.oid) ~ (${column} || ' IS (NOT )?NULL')) as coupled` as [
    { coupled: boolean },
  ];
  return coupled ? ` and ${column} is not null` : "";
}

test("the number stands in the tables of the list", () => {
  const listed = new Set(personalList().lines.filter(({ by }) => !by).map(({ table }) => table));
  const none = [...listed].filter((table) => !tables.includes(table));
  expect(none.sort()).toEqual(["tenancy.wizard_runs"]);
});

test("stopped after any table it continues, and ends with nothing left", async () => {
  const before = await fingerprintOf(beside.tenant.id);
  const between = 2;
  let stops = 0;
  for (;;) {
    let seen = 0;
    const { failure, text } = await erased(place, all.tenant, { phone, confirm: phone }, (line) => {
      if (line.endsWith("rows erased") && ++seen === between) throw new Error("stopped");
    });
    if (failure === undefined) {
      // An even number of tables: the last stop came after the last of them.
      expect(text).toMatch(/Erased\.|Nothing more is to be erased\./);
      break;
    }
    expect(failure).toBe("stopped\nThe erasure has begun: the same command continues it.");
    stops++;
  }
  expect(stops).toBeGreaterThan(20);
  expect(await rowsThatSay(["888 7766", "8887766"])).toEqual([]);
  expect(await fingerprintOf(beside.tenant.id)).toEqual(before);
  const records = await sql`select run_by, subject, row_counts from tenancy.erasures
      where tenant_id = ${all.tenant.id} and row_counts <> '{}'`;
  expect(records).toHaveLength(1);
  expect(records[0]!.subject).toEqual({});
}, 120_000);
