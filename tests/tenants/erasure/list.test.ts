/** The list of personal columns: every column that can hold words of people is in it, or is said why not. */
import { describe, expect, test } from "vitest";
import {
  changeOf,
  keepIds,
  logOf,
  personalList,
  targetsOf,
} from "../../../supabase/tenant/personal.ts";
import { nothing } from "../../../supabase/tenant/contacts.ts";
import { sql } from "../../support/db.ts";
import { schemasAndPublic } from "../../sql/catalogue.ts";

const { lines, silent } = personalList();
const named = [
  ...lines.flatMap(({ table, columns }) => columns.map(({ name }) => `${table}.${name}`)),
  ...silent.flatMap(({ table, columns }) => columns.map((name) => `${table}.${name}`)),
];

describe("the list", () => {
  test("has every column of texts and documents", async () => {
    const columns = await sql`select n.nspname || '.' || c.relname || '.' || a.attname as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      where c.relkind in ('r', 'p') and not c.relispartition and n.nspname = any (${schemasAndPublic})
        and a.atttypid = any ('{text,varchar,json,jsonb,text[],jsonb[]}'::regtype[])
        and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
        and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]
          and pg_get_constraintdef(k.oid) ~ '= ANY \\(ARRAY|~ ''\\^')`;
    const all = new Set(named);
    expect(columns.map(({ name }) => name).filter((name) => !all.has(name))).toEqual([]);
  });

  test("names columns that there are, once, and why the silent ones are", async () => {
    const rows = await sql`select n.nspname || '.' || c.relname || '.' || a.attname as name
      from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
      where a.attrelid = any (${
      [...lines, ...silent].map(({ table }) => table)
    }::text[]::regclass[]) and a.attnum > 0`;
    const there = new Set(rows.map(({ name }) => name));
    expect(named.filter((name) => !there.has(name))).toEqual([]);
    const spoken = new Set(
      named.slice(0, named.length - silent.flatMap(({ columns }) => columns).length),
    );
    expect(
      silent.flatMap(({ table, columns }) => columns.map((name) => `${table}.${name}`)).filter((
        name,
      ) => spoken.has(name)),
    ).toEqual([]);
    expect(silent.filter(({ why }) => why.length < 5)).toEqual([]);
  });

  test("makes statements that PostgreSQL takes, each of which finds nobody when nobody is asked for", async () => {
    const id = "00000000-0000-4000-8000-000000000000";
    const subject = {
      ...{
        asked: {},
        tenant: id,
        sets: {},
        contact: nothing,
        texts: nothing,
        word: "it's",
      },
    };
    await sql.begin(async (tx) => {
      await keepIds(tx, {});
      for (const target of await targetsOf(tx)) {
        const withSets = {
          ...subject,
          sets: { account: [], ...(target.by && { [target.by.set]: [] }) },
        };
        const log = logOf(target, withSets);
        for (
          const { table, condition } of [
            { table: target.table, ...changeOf(target, withSets) },
            ...(log ? [{ table: "app.audit_log", ...log }] : []),
          ]
        ) {
          const [{ count }] = await tx.unsafe(
            `select count(*)::int from ${table} t where ${condition}`,
          ) as [
            { count: number },
          ];
          expect([table, count]).toEqual([table, 0]);
        }
      }
    });
  });
});
