/**
 * Row-level security alone: the rows that people reach when no core and no access rule stands before it. Every row of every
 * table of tenants is tried, by every kind of person.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../support/db.ts";
import { addEverything, newEverything, tenantTables } from "../support/everything.ts";
import { newPerson, type Tenant } from "../support/people.ts";
import {
  actingAs,
  acts,
  type Caller,
  type Granted,
  grantedOn,
  type Kind,
  kinds,
  passes,
  type Reach,
  reachOf,
  type Row,
  rowsOf,
} from "./reach.ts";

const file = fileURLToPath(new URL("walls.txt", import.meta.url));
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
  await sql`select private.tenant_timeline_begin(${tenant.id}, 0)`;
  const tables = await tenantTables();
  rows = Object.fromEntries(
    await Promise.all(tables.map(async (table) => [table, await rowsOf(table, tenant.id)])),
  );
  granted = await grantedOn(tables);
  const reachIn = (caller: Caller) => reachOf(caller, tenant.id, rows, granted);
  for (const kind of kinds) {
    reached[kind] = await reachIn({ tenant: tenant.id, user: tenant[kind].id, kind });
  }
  reached["nobody's member"] = await reachIn({
    tenant: "",
    user: tenant.driver.id,
    kind: "driver",
  });
  reached["no user"] = await reachIn({ tenant: "", user: "", kind: "admin" });
  reached.stranger = await reachIn({ tenant: stranger.id, user: stranger.admin.id, kind: "admin" });
  await forgetMoved();
}, 300_000);

/** Rows are known by their place; one that others moved meanwhile (totals are folded for all) cannot be compared. */
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
    expect(reachedIn(reached[who])).toEqual([]);
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
    await actingAs(
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
      actingAs(
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
    const tried = await actingAs(
      { tenant: tenant.id, user: id, kind: "admin" },
      (tx) => passes(tx, `update tenancy.profiles set ${change} where id = '${id}'`),
    );
    expect(tried, change).toBe(false);
  }
});

const people = /^(user_id|owner_user_id|owner_id|driver_id|institution_user_id|customer_id)$/;

/** A row that names people, the caller not among them. */
function isSomebodyElses(kind: Kind): (row: Row) => boolean {
  // Drivers know what they carry or carried, though it names its customer and not the driver.
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

function reachedIn(reach: Record<string, Reach>): string[] {
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
