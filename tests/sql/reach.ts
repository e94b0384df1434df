/** Acts as requests do, past cores and access rules, to find the rows that row-level security leaves within reach. */
import type postgres from "postgres";
import { sql } from "../support/db.ts";

/** The permissions of each kind of person beside their role. */
const permissions = {
  admin: ["view:tenant", "manage:tenant", "manage:operations:tenant", "manage:module:warehouse"],
  staff: ["view:tenant"],
  driver: [],
  institution: [],
  customer: [],
};
/** A kind of person in a tenant. */
export type Kind = keyof typeof permissions;
export const kinds: Kind[] = ["customer", "institution", "driver", "staff", "admin"];
/** The ways to reach a row. */
export const acts = ["see", "add", "change", "remove"] as const;

/** A row as it lies in its table, known by its place. */
export interface Row {
  table: string;
  ctid: string;
  doc: Record<string, unknown>;
}
/** The rows of a table that somebody reaches, by way. */
export type Reach = Record<typeof acts[number], Row[]>;

/** The rows of a table that belong to a tenant. */
export async function rowsOf(table: string, tenantId: string): Promise<Row[]> {
  const found = await sql.unsafe(
    `select ctid::text as ctid, to_jsonb(t) as doc from ${table} t where tenant_id = $1`,
    [tenantId],
  );
  return found.map(({ ctid, doc }) => ({ table, ctid, doc }));
}

/** Somebody who acts in a tenant; empty ids stand for none. */
export type Caller = { tenant: string; user: string; kind: Kind };

/** Work as a request of this person would do it, all of it undone in the end. */
export async function actingAs<T>(
  caller: Caller,
  work: (tx: postgres.TransactionSql) => Promise<T>,
): Promise<T> {
  const grants = [
    "anyone",
    `role:${
      { admin: "tenant_admin", staff: "warehouse_staff" }[caller.kind as string] ?? caller.kind
    }`,
    ...permissions[caller.kind].map((name) => `permission:${name}`),
  ];
  const staff = caller.kind === "admin" || caller.kind === "staff";
  let result: T;
  await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${caller.tenant}, true), set_config('app.user_id', ${caller.user}, true),
      set_config('app.grants', ${`{${grants.map((grant) => `"${grant}"`)}}`}, true),
      set_config('app.sees_tenant', ${staff ? "on" : "off"}, true),
      set_config('role', 'barid_caller', true)`;
    result = await work(tx);
    throw new Undone();
  }).catch((error) => {
    if (!(error instanceof Undone)) throw error;
  });
  return result!;
}
class Undone extends Error {}

/**
 * Which of these statements reach a row: they do something, or something after the policies refuses it. Each is undone,
 * so that the next one meets the same rows; the server tries them all, since there are thousands.
 */
async function passing(tx: postgres.TransactionSql, statements: string[]): Promise<boolean[]> {
  await tx`select set_config('walls.statements', ${JSON.stringify(statements)}, true)`;
  await tx.unsafe(`do $walls$
    declare
      one text;
      n bigint;
      passed text := '';
    begin
      for one in select value from jsonb_array_elements_text(current_setting('walls.statements')::jsonb) loop
        begin
          execute one;
          get diagnostics n = row_count;
          raise exception using errcode = 'UNDO0';
        exception
          when sqlstate 'UNDO0' then passed := passed || case when n > 0 then 'y' else 'n' end;
          when insufficient_privilege then passed := passed || 'n';
          when others then passed := passed || 'y';
        end;
      end loop;
      perform set_config('walls.passed', passed, true);
    end $walls$`);
  const [{ passed }] = await tx`select current_setting('walls.passed') as passed`;
  return [...passed].map((one) => one === "y");
}

/** One statement of those. */
export const passes = async (tx: postgres.TransactionSql, statement: string) =>
  (await passing(tx, [statement]))[0];

/** The rights on a table, the same for every caller. */
export interface Granted {
  reads: boolean;
  inserts: boolean;
  deletes: boolean;
  /** A column that may be changed. */
  column: string | null;
  /** All but those that the database works out by itself, which nobody can add. */
  columns: string;
}

/** The rights of requests on these tables, by table. */
export async function grantedOn(tables: string[]): Promise<Record<string, Granted>> {
  const found = await sql<(Granted & { name: string })[]>`
    select t.name, has_table_privilege('barid_caller', t.name, 'select') as reads,
      has_table_privilege('barid_caller', t.name, 'insert') as inserts,
      has_table_privilege('barid_caller', t.name, 'delete') as deletes,
      (array_agg(a.attname order by a.attnum)
        filter (where has_column_privilege('barid_caller', a.attrelid, a.attnum, 'update')))[1] as column,
      string_agg(quote_ident(a.attname), ', ' order by a.attnum) filter (where a.attgenerated = '') as columns
    from unnest(${tables}::text[]) t (name)
    join pg_attribute a on a.attrelid = t.name::regclass and a.attnum > 0 and not a.attisdropped
    group by t.name`;
  return Object.fromEntries(found.map((row) => [row.name, row]));
}

/** The rows of the tenant that a caller reaches through the policies, by table. */
export function reachOf(
  caller: Caller,
  tenantId: string,
  rows: Record<string, Row[]>,
  granted: Record<string, Granted>,
): Promise<Record<string, Reach>> {
  return actingAs(caller, async (tx) => {
    const all: Record<string, Reach> = {};
    for (const [table, list] of Object.entries(rows)) {
      const reach: Reach = all[table] = { see: [], add: [], change: [], remove: [] };
      const { reads, inserts, deletes, column, columns } = granted[table];
      if (reads) {
        const seen = await tx.unsafe(
          `select ctid::text as ctid from ${table} where tenant_id = $1`,
          [tenantId],
        );
        const places = new Set(seen.map(({ ctid }) => ctid));
        reach.see = list.filter(({ ctid }) => places.has(ctid));
      }
      const tries = list.flatMap((row) => {
        const at = `where ctid = '${row.ctid}'`;
        const doc = JSON.stringify(row.doc);
        return [
          ...(inserts
            ? [{
              act: "add" as const,
              row,
              statement: `insert into ${table} (${columns}) overriding system value
                select ${columns} from jsonb_populate_record(null::${table}, $doc$${doc}$doc$)`,
            }]
            : []),
          ...(column
            ? [{
              act: "change" as const,
              row,
              statement: `update ${table} set ${column} = ${column} ${at}`,
            }]
            : []),
          ...(deletes
            ? [{ act: "remove" as const, row, statement: `delete from ${table} ${at}` }]
            : []),
        ];
      });
      const passed = await passing(tx, tries.map(({ statement }) => statement));
      tries.filter((_, n) => passed[n]).forEach(({ act, row }) => reach[act].push(row));
    }
    return all;
  });
}
