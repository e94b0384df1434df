/**
 * The second wall alone: what row-level security lets people do when no core and no access rule
 * stands before it. Every row of every table of tenants is tried, by every kind of person.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type postgres from "postgres";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../support/db.ts";
import { addEverything, newEverything, tenantTables } from "../support/everything.ts";
import { newPerson, type Tenant } from "../support/people.ts";

const file = fileURLToPath(new URL("walls.txt", import.meta.url));
const permissions = {
  admin: ["view:tenant", "manage:tenant", "manage:operations:tenant", "manage:module:warehouse"],
  staff: ["view:tenant"],
  driver: [],
  institution: [],
  customer: [],
};
type Kind = keyof typeof permissions;
const kinds: Kind[] = ["customer", "institution", "driver", "staff", "admin"];
const acts = ["see", "add", "change", "remove"] as const;

interface Row {
  table: string;
  ctid: string;
  doc: Record<string, unknown>;
}
type Reach = Record<typeof acts[number], Row[]>;

let tenant: Tenant;
let stranger: Tenant;
/** The rows of the tenant by table, and what each kind of person reaches of them. */
let rows: Record<string, Row[]>;
let granted: Record<string, Granted>;
const reached: Record<string, Record<string, Reach>> = {};

beforeAll(async () => {
  const everything = await newEverything("draft");
  tenant = everything.tenant;
  stranger = (await newEverything("draft")).tenant;
  await addEverything({
    ...tenant,
    driver: tenant.driver2,
    institution: tenant.institution2,
    customer: await newPerson(tenant.id, "customer", "customer"),
  });
  const tables = await tenantTables();
  rows = Object.fromEntries(
    await Promise.all(tables.map(async (table) => [table, await rowsOf(table, tenant.id)])),
  );
  granted = await grantedOn(tables);
  for (const kind of kinds) {
    reached[kind] = await reachOf({ tenant: tenant.id, user: tenant[kind].id, kind });
  }
  reached["nobody's member"] = await reachOf({
    tenant: "",
    user: tenant.driver.id,
    kind: "driver",
  });
  reached["no user"] = await reachOf({ tenant: "", user: "", kind: "admin" });
  reached.stranger = await reachOf({ tenant: stranger.id, user: stranger.admin.id, kind: "admin" });
  await forgetMoved();
}, 300_000);

/** Rows are known by their place; one that others moved meanwhile (totals are folded for all) cannot be judged. */
async function forgetMoved(): Promise<void> {
  for (const table of Object.keys(rows)) {
    const places = new Set((await rowsOf(table, tenant.id)).map(({ ctid }) => ctid));
    const stayed = (row: Row) => places.has(row.ctid);
    rows[table] = rows[table].filter(stayed);
    for (const reach of Object.values(reached)) {
      for (const act of acts) reach[table][act] = reach[table][act].filter(stayed);
    }
  }
}

test("walls.txt says who reaches what (UPDATE=1 writes it anew)", () => {
  const table = describeWalls();
  if (process.env.UPDATE) writeFileSync(file, table);
  expect(readFileSync(file, "utf8")).toBe(table);
});

test("the tenant has rows of several people, so that own and all differ", () => {
  expect(Object.entries(rows).filter(([, list]) => list.length === 0).map(([table]) => table))
    .toEqual([]);
});

test.each(["stranger", "nobody's member", "no user"])(
  "%s sees, adds, changes and removes nothing of the tenant",
  (who) => {
    expect(told(reached[who])).toEqual([]);
  },
);

describe.each(["customer", "institution", "driver"] as const)("%s", (kind) => {
  test("sees all of a table or what names nobody else alone", () => {
    const foreign = Object.entries(reached[kind]).flatMap(([table, { see }]) =>
      see.length === rows[table].length ? [] : see.filter(isSomebodyElses(kind)).map(() => table)
    );
    expect([...new Set(foreign)]).toEqual([]);
  });

  test("changes and removes no row that the caller does not see, and no row of another person", () => {
    const foreign = Object.entries(reached[kind]).flatMap(([table, { change, remove }]) =>
      [...change, ...remove].filter(isSomebodyElses(kind)).map(() => table)
    );
    expect([...new Set(foreign)]).toEqual([]);
  });
});

test("nobody can grant themselves a role or permission, and only administrators change members", () => {
  const open = kinds.filter((kind) => kind !== "admin").flatMap((kind) =>
    [
      "tenancy.tenant_user_roles",
      "tenancy.tenant_users",
      "tenancy.tenant_settings",
      "tenancy.api_keys",
    ]
      .filter((table) => {
        const { add, change, remove } = reached[kind][table];
        return add.length + change.length + remove.length > 0;
      }).map((table) => `${kind}: ${table}`)
  );
  expect(open).toEqual([]);
});

test("a tenant's own row is changed by its administrators, and made or left to others by none", async () => {
  const tried = async (kind: Kind, statement: string) =>
    await as(
      { tenant: tenant.id, user: tenant[kind].id, kind },
      (tx) => passes(tx, statement),
    );
  for (const kind of kinds) {
    const own = `update tenancy.tenants set status = status where id = '${tenant.id}'`;
    expect(await tried(kind, own), kind).toBe(kind === "admin");
    expect(await tried(kind, own.replace(tenant.id, stranger.id)), kind).toBe(false);
    expect(
      await tried(
        kind,
        `insert into tenancy.tenants (name, slug) values ('{"en": "X"}', 'x-${kind}')`,
      ),
    )
      .toBe(false);
  }
});

test("a profile is written by its person and by administrators of their tenant", async () => {
  for (const kind of kinds) {
    const change = (id: string) =>
      as(
        { tenant: tenant.id, user: tenant[kind].id, kind },
        (tx) => passes(tx, `update tenancy.profiles set phone = phone where id = '${id}'`),
      );
    expect(await change(tenant[kind].id), kind).toBe(true);
    expect(await change(tenant.ops.id), kind).toBe(kind === "admin");
    expect(await change(stranger.ops.id), kind).toBe(false);
  }
});

test("who made an account, and whether it is proven, is written by no request", async () => {
  const { id } = tenant.admin;
  for (const change of ["proven_at = now()", "made_by_tenant = null"]) {
    const tried = await as(
      { tenant: tenant.id, user: id, kind: "admin" },
      (tx) => passes(tx, `update tenancy.profiles set ${change} where id = '${id}'`),
    );
    expect(tried, change).toBe(false);
  }
});

const people = /^(user_id|owner_user_id|owner_id|driver_id|institution_user_id|customer_id)$/;

/** A row that names people, the caller not among them. */
function isSomebodyElses(kind: Kind): (row: Row) => boolean {
  // A driver knows what he carries or carried, though it names its customer and not him.
  const carried = kind === "driver"
    ? rows["delivery.assignments"].filter(({ doc }) => doc.driver_id === tenant.driver.id)
      .map(({ doc }) => doc.delivery_id)
    : [];
  return ({ table, doc }) => {
    if (table === "delivery.deliveries" && carried.includes(doc.id)) return false;
    const named = Object.entries(doc).filter(([column, value]) => people.test(column) && value);
    return named.length > 0 && !named.some(([, value]) => value === tenant[kind].id);
  };
}

async function rowsOf(table: string, tenantId: string): Promise<Row[]> {
  const found = await sql.unsafe(
    `select ctid::text as ctid, to_jsonb(t) as doc from ${table} t where tenant_id = $1`,
    [tenantId],
  );
  return found.map(({ ctid, doc }) => ({ table, ctid, doc }));
}

type Caller = { tenant: string; user: string; kind: Kind };

/** Work as a request of this person would do it, all of it undone in the end. */
async function as<T>(
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

const passes = async (tx: postgres.TransactionSql, statement: string) =>
  (await passing(tx, [statement]))[0];

/** The rights on a table, the same for every caller. */
interface Granted {
  reads: boolean;
  inserts: boolean;
  deletes: boolean;
  /** A column that may be changed. */
  column: string | null;
  /** All but those that the database works out by itself, which nobody can add. */
  columns: string;
}

async function grantedOn(tables: string[]): Promise<Record<string, Granted>> {
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

function reachOf(caller: Caller): Promise<Record<string, Reach>> {
  return as(caller, async (tx) => {
    const all: Record<string, Reach> = {};
    for (const [table, list] of Object.entries(rows)) {
      const reach: Reach = all[table] = { see: [], add: [], change: [], remove: [] };
      const { reads, inserts, deletes, column, columns } = granted[table];
      if (reads) {
        const seen = await tx.unsafe(
          `select ctid::text as ctid from ${table} where tenant_id = $1`,
          [tenant.id],
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

function told(reach: Record<string, Reach>): string[] {
  return Object.entries(reach).flatMap(([table, one]) =>
    acts.filter((act) => one[act].length > 0).map((act) => `${table}: ${act}`)
  );
}

function describeWalls(): string {
  const wide = Math.max(...Object.keys(rows).map((table) => table.length)) + 2;
  const cell = (kind: Kind, table: string) =>
    acts.map((act) => {
      const count = reached[kind][table][act].length;
      const letter = act === "remove" ? "d" : act[0];
      return count === 0 ? "-" : count === rows[table].length ? letter.toUpperCase() : letter;
    }).join("");
  return `${
    [
      "What row-level security alone lets people do with the rows of their tenant.",
      "Written by UPDATE=1 npx vitest run tests/sql/walls.test.ts; a change here is a change of rights.",
      "",
      "s sees, a adds, c changes, d removes: capital letters all rows, small ones some, - none.",
      "",
      "table".padEnd(wide) + kinds.map((kind) => kind.padEnd(13)).join(""),
      ...Object.keys(rows).map((table) =>
        table.padEnd(wide) + kinds.map((kind) => cell(kind, table).padEnd(13)).join("")
      ),
    ].map((line) => line.trimEnd()).join("\n")
  }\n`;
}
