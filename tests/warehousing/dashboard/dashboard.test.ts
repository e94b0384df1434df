import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { anId } from "../../support/expect.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded } from "../../support/promises.ts";
import { inTenant, newShelf, newWarehouse, type Shelf, stockIn } from "../../support/warehouses.ts";

const path = "/warehousing/dashboard";
let tenant: Tenant;
let shelf: Shelf;

const assign = (of: Tenant, warehouse: string, user: string, is_active = true) =>
  sql`insert into warehousing.warehouse_staff ${
    sql({ tenant_id: of.id, warehouse_id: warehouse, user_id: user, is_active })
  }`;

beforeAll(async () => {
  tenant = await newTenant();
  shelf = await newShelf(tenant, 0);
  await assign(tenant, shelf.warehouse, tenant.staff.id);
});

const see = (warehouse_id = shelf.warehouse, person = tenant.staff) =>
  person.get(path, { query: { warehouse_id } });

describe("the dashboard", () => {
  test("of an empty warehouse is empty", async () => {
    const { warehouse } = await newShelf(tenant, 0);
    await assign(tenant, warehouse, tenant.staff.id);
    const answer = await see(warehouse);
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      warehouse: { id: warehouse, name: expect.any(String), code: expect.any(String) },
      status: {
        available_units: 0,
        reserved_units: 0,
        damaged_units: 0,
        expired_units: 0,
        other_units: 0,
        total_units: 0,
      },
      recent_activity: [],
    });
  });

  test("counts units by status, and the parts make the whole", async () => {
    const at = { item_id: shelf.item, warehouse_id: shelf.warehouse, bin_id: shelf.bin };
    for (
      const [status, quantity] of [
        ["available", 7],
        ["damaged", 3],
        ["expired", 2],
        ["quarantine", 4],
        ["lost", 1],
      ] as const
    ) {
      await stockIn(tenant, { ...at, status, quantity });
    }
    await inTenant(tenant, "select warehousing.stock_reserve('order', $1::uuid, $2::text::jsonb)", [
      randomUUID(),
      [{ item_id: shelf.item, quantity: 5 }],
    ]);
    expect((await see()).body.status).toEqual({
      available_units: 2,
      reserved_units: 5,
      damaged_units: 3,
      expired_units: 2,
      other_units: 5,
      total_units: 17,
    });
  });

  test("tells the latest ten events, newest first, without what was only set aside", async () => {
    const { warehouse, bin, item } = await newShelf(tenant, 0);
    await assign(tenant, warehouse, tenant.ops.id);
    const types = [
      ["initial_stock", "inventory_initial_stock"],
      ["receive", "inventory_received"],
      ["pick", "inventory_picked"],
      ["move", "inventory_moved"],
      ["adjust", "inventory_adjusted"],
      ["return", "inventory_returned"],
      ["count", "inventory_counted"],
      ["transfer_in", "inventory_transferred_in"],
      ["transfer_out", "inventory_transferred_out"],
      ["write_off", "inventory_adjusted"],
      ["reserve", null],
      ["release", null],
    ] as const;
    const reference = randomUUID();
    await stockIn(tenant, { item_id: item, warehouse_id: warehouse, bin_id: bin, quantity: 100 });
    for (const [type] of types) {
      const out = /pick|out|off/.test(type);
      await inTenant(tenant, "select warehousing.stock_post($1::text::jsonb)", [[{
        type,
        item_id: item,
        warehouse_id: warehouse,
        quantity: 2,
        [out ? "from" : "to"]: { bin_id: bin },
        reference_type: "test",
        reference_id: reference,
      }]]);
    }
    const { body } = await see(warehouse, tenant.ops);
    const shown = types.filter(([, type]) => type).map(([, type]) => type).reverse();
    expect(body.recent_activity.map(({ type }: { type: string }) => type)).toEqual(shown);
    const location = { id: bin, code: expect.any(String) };
    expect(body.recent_activity[0]).toEqual({
      id: anId,
      type: "inventory_adjusted",
      label: "Adjusted",
      quantity: 2,
      timestamp: expect.any(String),
      item: { id: item, name: expect.any(String), sku: expect.any(String) },
      performed_by: { id: null, name: null },
      from_location: location,
      to_location: null,
      reference: { id: reference, type: "test" },
    });
    expect(body.recent_activity[2]).toMatchObject({ from_location: null, to_location: location });
    // In the reader's language; the type stays the interface's word.
    const arabic = await see(warehouse, tenant.ops.in("ar"));
    expect(arabic.body.recent_activity[0]).toMatchObject({
      type: "inventory_adjusted",
      label: expect.stringMatching(/[\u0600-\u06ff]/),
    });
    // The response names the person who did it through the API.
    const place = {
      warehouse_id: warehouse,
      item_id: item,
      bin_id: bin,
      delta: 1,
      reason: "found",
    };
    expect(await tenant.warehouse.post("/warehousing/inventory/adjustments", place)).toSucceed(201);
    const [latest] = (await see(warehouse, tenant.ops)).body.recent_activity;
    expect(latest).toMatchObject({
      performed_by: { id: tenant.warehouse.id, name: expect.any(String) },
      reference: { type: "adjustment" },
    });
  });
});

describe("it is for those who work there", () => {
  test("without an active assignment it is refused, and no warehouse is given away", async () => {
    const other = await newTenant();
    const foreign = await newWarehouse(other);
    await assign(other, foreign, other.staff.id);
    const left = await newWarehouse(tenant);
    await assign(tenant, left, tenant.staff.id, false);
    const unassigned = await newWarehouse(tenant);
    for (const warehouse of [foreign, left, unassigned, randomUUID()]) {
      expect(await see(warehouse)).toFailWith(403, "warehouse_assignment_required");
    }
    for (const person of [tenant.admin, tenant.warehouse, tenant.ops]) {
      expect(await see(shelf.warehouse, person)).toFailWith(403, "warehouse_assignment_required");
    }
  });

  test("an inactive warehouse answers 409, a full one is shown", async () => {
    for (
      const [more, code] of [
        [{ status: "inactive" }, 409],
        [{ status: "maintenance" }, 409],
        [{ deleted_at: new Date() }, 409],
        [{ status: "full" }, 200],
      ] as const
    ) {
      const warehouse = await newWarehouse(tenant, more);
      await assign(tenant, warehouse, tenant.staff.id);
      const answer = await see(warehouse);
      if (code === 200) expect(answer).toSucceed(200);
      else expect(answer, JSON.stringify(more)).toFailWith(409, "warehouse_inactive");
      // A person who does not work there does not learn its state.
      expect(await see(warehouse, tenant.warehouse))
        .toFailWith(403, "warehouse_assignment_required");
    }
  });

  test("says which parameter is missing, and turns away other roles", async () => {
    const missing = await tenant.staff.get(path);
    expect(missing).toFailWith(400, "warehouse_id_required");
    expect(missing.body.field).toBe("warehouse_id");
    expect(await tenant.staff.get(path, { query: { warehouse_id: "W1" } }))
      .toFailWith(400, "invalid_uuid");
    const { dispatcher, driver, institution, customer } = tenant;
    for (const person of [dispatcher, driver]) {
      await assign(tenant, shelf.warehouse, person.id);
    }
    await expectGuarded({ method: "GET", path: `${path}?warehouse_id=${shelf.warehouse}` }, {
      denied: [dispatcher, driver, institution, customer],
    });
  });
});
