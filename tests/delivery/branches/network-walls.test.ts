import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newAddress, newBranch, newProcessingPoint } from "../../support/make.ts";
import { newTenant, type Part, type Tenant } from "../../support/people.ts";
import { newZone, square } from "../../support/zones.ts";

/** Row-level security: what the database itself lets a person do, whatever an endpoint forgets. */
let tenant: Tenant;
let other: Tenant;
let address: string;
let customers: string;
let point: string;
let branch: string;
let zone: string;

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  address = await newAddress(tenant);
  point = await newProcessingPoint(tenant, address);
  branch = await newBranch(tenant, { address, point });
  zone = await newZone(tenant, square(1, 1, 1));
  const made = await tenant.customer.post("/delivery/addresses", { full_address: "Home" });
  customers = made.body.data.id;
});

/** Runs one statement as that person would; how many rows it reached, or the SQLSTATE that stopped it. */
async function as(who: Tenant, part: Part, statement: string): Promise<number | string> {
  const undo = new Error("undo");
  let reached: number | string = "";
  await sql.begin(async (tx) => {
    await tx`select private.enter(${
      tx.json({ sub: who[part].id, tenant_id: who.id, tenant_mode: "required" })
    }, ${tx.json({ access: ["anyone"] })})`;
    reached = (await tx.unsafe(statement)).count;
    throw undo;
  }).catch((error) => {
    if (error !== undo) reached = error.code;
  });
  return reached;
}

const denied = "42501";
const people: Part[] = ["driver", "institution", "institution2", "customer"];

describe("addresses", () => {
  test("of the tenant are changed only by staff, and nobody can take one over", async () => {
    const change = `update delivery.addresses set city = 'X' where id = '${address}'`;
    const take =
      `update delivery.addresses set owner_user_id = app.user_id() where id = '${address}'`;
    const add =
      `insert into delivery.addresses (tenant_id, full_address) values ('${tenant.id}', 'X')`;
    expect(await as(tenant, "ops", change)).toBe(1);
    expect(await as(tenant, "ops", add)).toBe(1);
    for (const part of people) {
      expect(await as(tenant, part, change)).toBe(denied);
      expect(await as(tenant, part, take)).toBe(denied);
      expect(await as(tenant, part, add)).toBe(denied);
    }
    expect(await as(tenant, "ops", take)).toBe(denied);
  });

  test("of a person are visible only to them and to staff", async () => {
    const read = `select from delivery.addresses where id = '${customers}'`;
    const change = `update delivery.addresses set city = 'X' where id = '${customers}'`;
    expect(await as(tenant, "customer", change)).toBe(1);
    expect(await as(tenant, "ops", change)).toBe(1);
    for (const part of ["driver", "institution"] as const) {
      expect(await as(tenant, part, read)).toBe(0);
      expect(await as(tenant, part, change)).toBe(0);
    }
    for (const part of [...people, "ops"] as const) expect(await as(other, part, read)).toBe(0);
  });
});

test("branches: staff and drivers see all, an institution its own, a customer none", async () => {
  const read = `select from delivery.institution_branches where id = '${branch}'`;
  for (
    const [part, rows] of [
      ["ops", 1],
      ["driver", 1],
      ["institution", 1],
      ["institution2", 0],
      ["customer", 0],
    ] as const
  ) expect(await as(tenant, part, read), part).toBe(rows);
  expect(await as(other, "ops", read)).toBe(0);
  expect(await as(other, "driver", read)).toBe(0);
});

test("branches, points and zones are changed by staff, and deleted by nobody", async () => {
  const rows = {
    "delivery.institution_branches": branch,
    "delivery.transfer_processing_points": point,
    "delivery.zones": zone,
  };
  for (const [table, id] of Object.entries(rows)) {
    const change = `update ${table} set name = 'X' where id = '${id}'`;
    const remove = `delete from ${table} where id = '${id}'`;
    expect(await as(tenant, "ops", change)).toBe(1);
    expect(await as(other, "ops", change)).toBe(0);
    for (const part of people) expect([0, denied]).toContain(await as(tenant, part, change));
    for (const part of [...people, "ops"] as const) {
      expect(await as(tenant, part, remove)).toBe(denied);
    }
  }
});

test("drivers hold branches and points still while they make a manifest", async () => {
  for (
    const [table, id] of [
      ["delivery.institution_branches", branch],
      ["delivery.transfer_processing_points", point],
    ]
  ) {
    expect(await as(tenant, "driver", `select from ${table} where id = '${id}' for key share`))
      .toBe(1);
  }
});
