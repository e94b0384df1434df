import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newAddress } from "../../support/make.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded } from "../../support/promises.ts";
import { newWarehouse } from "../../support/warehouses.ts";

const path = "/warehousing/warehouses";
let tenant: Tenant;
const ids: Record<string, string> = {};

/** Twelve warehouses; the last one made is L. Capacities fall while the room that is left grows. */
beforeAll(async () => {
  tenant = await newTenant();
  const other = await newTenant();
  const [baghdad, erbil] = [
    await newAddress(tenant),
    await newAddress(tenant, { city: "Erbil" }),
  ];
  for (const [i, letter] of [..."ABCDEFGHIJKL"].entries()) {
    ids[letter] = await newWarehouse(tenant, {
      name: letter === "C" ? "50% more" : `House ${letter}`,
      code: `C-${letter}`,
      address_id: i < 9 ? baghdad : erbil,
      status: i < 6 ? "active" : i < 8 ? "maintenance" : i < 11 ? "inactive" : "full",
      total_capacity: 120 - 10 * i,
      available_capacity: i,
      access_mode: letter === "A" ? "select_users" : letter === "B" ? "exclude_users" : "all_users",
      created_at: new Date(Date.UTC(2026, 0, 1 + i, 12)),
    });
  }
  for (const letter of ["A", "B"]) {
    await sql`insert into warehousing.warehouse_users
      values (${tenant.id}, ${ids[letter]}, ${tenant.customer.id})`;
  }
  await sql`insert into warehousing.carrier_warehouses
    values (${tenant.id}, 'swift', ${ids.D}, 'SW-1', 'Swift hub')`;
  await newWarehouse(tenant, { name: "House gone", deleted_at: new Date() });
  const theirs = await newWarehouse(other);
  await sql`insert into warehousing.carrier_warehouses
    values (${other.id}, 'swift', ${theirs}, 'SW-2', 'Their hub')`;
});

type Query = Record<string, string | number | object>;
const list = async (query: Query = {}) => {
  const answer = await tenant.warehouse.get(path, { query: { limit: 100, ...query } });
  expect(answer, JSON.stringify(query)).toSucceed(200);
  return answer.body;
};
const letters = (body: { warehouses: { code: string }[] }) =>
  body.warehouses.map(({ code }) => code.slice(2)).join("");
const found = async (query: Query) => letters(await list(query));

const stats = {
  totalWarehouses: 12,
  activeCount: 6,
  maintenanceCount: 2,
  inactiveCount: 3,
  totalCapacity: 780,
  availableCapacity: 66,
};

test("ten a page, newest first, with key figures of the tenant", async () => {
  const answer = await tenant.warehouse.get(path);
  expect(answer).toSucceed(200);
  expect(Object.keys(answer.body).sort()).toEqual(
    ["limit", "message", "page", "stats", "success", "total", "warehouses"],
  );
  expect(answer.body).toMatchObject({ page: 1, limit: 10, total: 12, stats });
  expect(letters(answer.body)).toBe("LKJIHGFEDC");
  expect(letters(await list({ page: 2, limit: 10 }))).toBe("BA");
  expect(answer.body.warehouses[0]).not.toHaveProperty("city");
  expect(answer.body.warehouses[0]).not.toHaveProperty("carrier_warehouse");
  expect((await list({ limit: 1_000 })).limit).toBe(100);
  expect(await list({ limit: -1, page: 0 })).toMatchObject({ page: 1, limit: 10 });
});

test("figures ignore filters, but not whose access is asked for", async () => {
  const narrowed = await list({ status: "full", search: "house" });
  expect(narrowed).toMatchObject({ total: 1, stats });
  const theirs = await list({ customer_id: tenant.customer.id, status: "active" });
  expect(letters(theirs)).toBe("FEDCA");
  expect(theirs.stats).toMatchObject({ totalWarehouses: 11, totalCapacity: 670 });
  const anybody = await list({ customer_id: randomUUID() });
  expect(letters(anybody)).toBe("LKJIHGFEDCB");
});

test("status, code and search", async () => {
  expect(await found({ status: "maintenance" })).toBe("HG");
  expect(await found({ code: "C-A" })).toBe("A");
  expect(await found({ code: "C" })).toBe("");
  expect(await found({ search: "house a" })).toBe("A");
  expect(await found({ search: "c-" })).toBe("LKJIHGFEDCBA");
  expect(await found({ search: "%" })).toBe("C");
});

test("sorts by every column; the older orders win", async () => {
  for (
    const by of [
      "name",
      "code",
      "status",
      "total_capacity",
      "available_capacity",
      "created_at",
      "updated_at",
    ]
  ) {
    const up = await found({ sort_by: by, sort_order: "asc" });
    expect(up).toHaveLength(12);
    expect(await found({ sort_by: by }), by).toBe([...up].reverse().join(""));
  }
  expect(await found({ sort_by: "total_capacity", sort_order: "asc" })).toBe("LKJIHGFEDCBA");
  expect(await found({ total_capacity_order: "desc", sort_by: "name", sort_order: "desc" }))
    .toBe("ABCDEFGHIJKL");
  expect(await found({ available_capacity_order: "desc", sort_by: "code", sort_order: "asc" }))
    .toBe("LKJIHGFEDCBA");
});

test("column filters join the rest; unknown ones are ignored, wrong ones refused", async () => {
  const by = (column_filters: object, more: Query = {}) => found({ column_filters, ...more });
  expect(await by({ name: "house b" })).toBe("B");
  expect(await by({ code: "c-k" })).toBe("K");
  expect(await by({ city: "erb" })).toBe("LKJ");
  expect(await by({ country: "iq" })).toHaveLength(12);
  expect(await by({ status: "inactive" })).toBe("KJI");
  expect(await by({ access_mode: "exclude_users" })).toBe("B");
  expect(await by({ total_capacity: { min: 100 } })).toBe("CBA");
  expect(await by({ available_capacity: { min: 3, max: 4 } })).toBe("ED");
  expect(await by({ created_at: { from: "2026-01-02", to: "2026-01-03" } })).toBe("CB");
  expect(await by({ city: "erbil" }, { status: "full" })).toBe("L");
  expect(await by({ colour: "red" })).toHaveLength(12);
  for (const [wrong, field] of [["{", ""], ['{"status":"open"}', ".status"]] as const) {
    const answer = await tenant.warehouse.get(path, { query: { column_filters: wrong } });
    expect(answer).toFailWith(400, "invalid_column_filters");
    expect(answer.body.field).toBe(`column_filters${field}`);
  }
});

test("a carrier's warehouses carry the name they have there", async () => {
  const body = await list({ carrier_code: "swift" });
  expect(letters(body)).toBe("D");
  expect(body.warehouses[0].carrier_warehouse)
    .toEqual({ external_id: "SW-1", external_name: "Swift hub" });
  expect(await found({ carrier_code: "none" })).toBe("");
});

test("refuses wrong queries and people who do not look after the tenant", async () => {
  for (
    const [query, field, code] of [
      [{ status: "open" }, "status", "validation_failed"],
      [{ sort_by: "tenant_id" }, "sort_by", "validation_failed"],
      [{ sort_order: "up" }, "sort_order", "validation_failed"],
      [{ total_capacity_order: "up" }, "total_capacity_order", "validation_failed"],
      [{ customer_id: "me" }, "customer_id", "invalid_uuid"],
    ] as const
  ) {
    const answer = await tenant.warehouse.get(path, { query });
    expect(answer).toFailWith(400, code);
    expect(answer.body.field).toBe(field);
  }
  const { driver, institution, customer } = tenant;
  await expectGuarded({ method: "GET", path }, { denied: [driver, institution, customer] });
});
