/** plpgsql_check, which reads every PL/pgSQL function as it would be run: a Debian package, not part of the embedded Postgres. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Sql } from "postgres";

/** Of an installation of Debian's. */
export function hasPlpgsqlCheck(postgresDir: string): boolean {
  const version = /(\d+)$/.exec(postgresDir)?.[1];
  const control = `/usr/share/postgresql/${version}/extension/plpgsql_check.control`;
  return existsSync(join(postgresDir, "bin", "postgres")) && existsSync(control);
}

/** Findings that are accepted, by function, with the reason. */
const explained: Record<string, string> = {
  "app.counted(text,regclass,text[],text,text[])":
    "writes triggers while a migration runs; nobody else may call it",
  "app.tenant_table(regclass,text[],text,boolean,text,text)":
    "writes policies while a migration runs; nobody else may do so",
  "private.plan_keep(text,text)":
    "the statement is one of private.read, prepared with its caller's own rights",
  "private.read(jsonb,jsonb,text,jsonb)":
    "the statement is a constant of the functions, every value in it a parameter",
  "private.restore_begin()": "the statement is made of the names of our own tables, quoted",
  "private.tallies_verify()": "the statement is of app.tally_kinds, which migrations alone write",
  "private.tally_count(text)": "the statement is of app.tally_kinds, which migrations alone write",
  "private.touch()": "sets `changed` only for tables whose trigger says that they have it",
};

export interface Reading {
  /** How many were read. */
  functions: number;
  /** Errors and warnings that are not explained: `name:line: level: message`. */
  findings: string[];
  /** Of functions about which nothing is found any more. */
  idleExplanations: string[];
}

/** Reads every function of ours, of triggers as each of their tables would run them. Installs the extension. */
export async function readFunctions(sql: Sql): Promise<Reading> {
  await sql`create extension if not exists plpgsql_check with schema extensions`;
  const rows = await sql<{ name: string; finding: string | null }[]>`
    select f.name, c.lineno || ': ' || c.level || ': ' || c.message || coalesce(' (' || c.hint || ')', '') as finding
    from (
      select p.oid, p.oid::regprocedure::text as name, coalesce(t.tgrelid, 0) as relation, t.tgoldtable, t.tgnewtable
      from pg_proc p
      -- Triggers of several events share a function; each of them names the rows it has.
      left join (select tgfoid, tgrelid, max(tgoldtable::text)::name as tgoldtable, max(tgnewtable::text)::name as tgnewtable
        from pg_trigger where not tgisinternal group by tgfoid, tgrelid) t on t.tgfoid = p.oid
      where p.prolang = (select oid from pg_language where lanname = 'plpgsql')
        and p.prorettype <> 'event_trigger'::regtype
        and (p.prorettype <> 'trigger'::regtype or t.tgrelid is not null)
        and p.pronamespace::regnamespace::text in ('app', 'private', 'tenancy', 'money', 'delivery', 'warehousing',
          'storefront', 'integration', 'public')
        and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    ) f
    left join lateral extensions.plpgsql_check_function_tb(f.oid, f.relation, oldtable => f.tgoldtable, newtable => f.tgnewtable,
      security_warnings => true, other_warnings => false, extra_warnings => false, performance_warnings => false) c
      on c.level in ('error', 'security')
    order by f.name, c.lineno`;
  const found = rows.filter(({ finding }) => finding !== null);
  return {
    functions: new Set(rows.map(({ name }) => name)).size,
    findings: found.filter(({ name }) => !Object.hasOwn(explained, name))
      .map(({ name, finding }) => `${name}:${finding}`),
    idleExplanations: Object.keys(explained).filter((name) =>
      !found.some((one) => one.name === name)
    ),
  };
}
