/**
 * Functions that act with their owner's rights pass row-level security, so each one is written down in definers.txt: who may
 * call it, and why it needs more than its caller has. `UPDATE=1` rewrites the list; the reasons are written by hand.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { sql } from "../support/db.ts";
import { reachedByOthers } from "./callers.ts";
import { names, schemasAndPublic } from "./catalogue.ts";

const path = "tests/sql/definers.txt";

interface Line {
  name: string;
  callers: string;
  why: string;
}

const written: Line[] = readFileSync(path, "utf8").split("\n").filter((line) =>
  line && !line.startsWith("#")
).map((line) => {
  const [name = "", callers = "", why = ""] = line.split(" | ");
  return { name, callers, why };
});

/** `callers`: what runs as the caller of a request. `login`: what the functions call before or without a caller. `functions`: only other functions and triggers. */
const found = await sql<{ name: string; callers: string }[]>`
  select p.pronamespace::regnamespace || '.' || p.proname as name, case
    when has_function_privilege('barid_caller', p.oid, 'execute') and has_function_privilege('barid_api', p.oid, 'execute') then 'callers, login'
    when has_function_privilege('barid_caller', p.oid, 'execute') then 'callers'
    when has_function_privilege('barid_api', p.oid, 'execute') then 'login'
    else 'functions' end as callers
  from pg_proc p
  where p.prosecdef and p.pronamespace::regnamespace::text = any (${schemasAndPublic})
    and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    -- Written by app.counted() for each list with kept totals.
    and p.proname !~ '^tally_'
  order by 1`;

test("every function with its owner's rights is on the list, with those who may call it", () => {
  if (process.env.UPDATE) {
    const why = new Map(written.map((line) => [line.name, line.why]));
    const lines = found.map(({ name, callers }) => `${name} | ${callers} | ${why.get(name) ?? ""}`);
    const head = readFileSync(path, "utf8").split("\n").filter((line) => line.startsWith("#"));
    writeFileSync(path, `${[...head, ...lines].join("\n")}\n`);
    return;
  }
  expect(written.map(({ name, callers }) => ({ name, callers }))).toEqual(
    found.map((line) => ({ ...line })),
  );
});

test("each says why it needs more than its caller has, in words that no other one has", () => {
  const reasons = written.map(({ why }) => why);
  const isItsOwn = (why: string) =>
    /^\w.{15,}/.test(why) && reasons.indexOf(why) === reasons.lastIndexOf(why);
  expect(written.filter(({ why }) => !isItsOwn(why)).map(({ name }) => name)).toEqual([]);
});

test("each is called with less than the owner's rights; others run with these already (callers.ts)", async () => {
  const reached = await reachedByOthers();
  expect(found.map(({ name }) => name).filter((name) => !reached.has(name))).toEqual([]);
});

test("the login role of the functions calls the entrances of the engine and what the list says, nothing else", async () => {
  const entrances = await names(sql`
    select p.pronamespace::regnamespace || '.' || p.proname as name from pg_proc p
    where p.pronamespace::regnamespace::text = any (${schemasAndPublic}) and not p.prosecdef
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
      and has_function_privilege('barid_api', p.oid, 'execute') and has_schema_privilege('barid_api', p.pronamespace, 'usage')`);
  expect(entrances).toEqual([
    "private.call",
    "private.call_text",
    "private.check",
    "private.enter",
    "private.read",
    "private.refusal",
    "private.schema_version",
  ]);
});
