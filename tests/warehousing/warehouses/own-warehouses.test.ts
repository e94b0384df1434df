/** Warehouse staff see and do what belongs to the warehouses they are active in, and nothing of the others. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newPackage, newStaff, newYard, type Yard } from "../../support/packages.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { newBin, newItem, newWarehouse, stockIn } from "../../support/warehouses.ts";
import { waybills, waybillSteps } from "../../support/waybills.ts";

let tenant: Tenant;
let yard: Yard;
/** Where the member of staff works, where they do not, and one more of those. */
let own: string;
let theirs: string;
let third: string;
/** Rows by what they are, of the reader's warehouse and of the others. */
const ids: Record<string, { own: string; theirs: string }> = {};
let between: { waybill: string; transfer: string; stock: string };

const fill = async (warehouse: string) => {
  const bin = await newBin(tenant, warehouse);
  const item = await newItem(tenant);
  await stockIn(tenant, { item_id: item, warehouse_id: warehouse, bin_id: bin, quantity: 5 });
  const [order] = await sql`insert into warehousing.picking_orders
    (tenant_id, reference_number, warehouse_id, order_type)
    values (${tenant.id}, ${`OWN-${bin}`}, ${warehouse}, 'batch') returning id`;
  const [receipt] = await sql`insert into warehousing.receiving_orders ${
    sql({
      tenant_id: tenant.id,
      reference_number: `R-${bin}`,
      warehouse_id: warehouse,
      source: "supplier",
    })
  } returning id`;
  const [session] = await sql`insert into warehousing.sorting_sessions (tenant_id, warehouse_id)
    values (${tenant.id}, ${warehouse}) returning id`;
  const counted = await tenant.ops.post("/warehousing/inventory/counts", {
    warehouse_id: warehouse,
    items: [{ item_id: item, bin_id: bin, counted: 5 }],
  });
  expect(counted).toSucceed(201);
  const count = counted.body.count.id;
  return { bin, order: order.id, receipt: receipt.id, session: session.id, count };
};

beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
  [own, theirs] = [yard.warehouse, yard.there];
  third = await newWarehouse(tenant);
  await newStaff(tenant, own, tenant.staff.id);
  await newStaff(tenant, theirs, (await newPerson(tenant.id, "staff", "warehouse_staff")).id);
  // They worked there once.
  await sql`insert into warehousing.warehouse_staff (tenant_id, warehouse_id, user_id, is_active)
    values (${tenant.id}, ${theirs}, ${tenant.staff.id}, false)`;
  const [mine, others] = [await fill(own), await fill(theirs)];
  for (const kind of ["bin", "order", "receipt", "session", "count"] as const) {
    ids[kind] = { own: mine[kind], theirs: others[kind] };
  }
  ids.warehouse = { own, theirs };
  const { draft } = waybillSteps(tenant, yard);
  const waybill = (await draft((await newPackage(yard)).id)).id;
  const [transfer] = await sql`select id from warehousing.package_transfers
    where waybill_id = ${waybill}`;
  const move = (source: string, destination: string) =>
    sql`insert into warehousing.inventory_transfers
      (tenant_id, reference_number, source_warehouse_id, destination_warehouse_id)
      values (${tenant.id}, ${`INT-${source}-${destination}`}, ${source}, ${destination}) returning id`;
  const [stock] = await move(own, theirs);
  between = { waybill, transfer: transfer.id, stock: stock.id };
  // Nothing of theirs.
  await move(theirs, third);
  const [elsewhere] = await sql`insert into warehousing.waybills
    (tenant_id, waybill_number, source_warehouse_id, destination_warehouse_id)
    values (${tenant.id}, ${`WB-${third}`}, ${theirs}, ${third}) returning id`;
  ids.waybill = { own: waybill, theirs: elsewhere.id };
  await sql`insert into warehousing.package_transfers
    (tenant_id, mode, source_warehouse_id, destination_warehouse_id)
    values (${tenant.id}, 'system_only', ${third}, ${theirs})`;
});

const see = async (path: string, person = tenant.staff, query: Body = {}): Promise<Body> => {
  const answer = await person.get(`/warehousing/${path}`, { query: { limit: 100, ...query } });
  expect(answer, path).toSucceed(200);
  return answer.body;
};

/** Where a row of each list is: the warehouses it names. */
const lists: [path: string, rows: string, of: (row: Body) => string[]][] = [
  ["warehouses", "warehouses", (row) => [row.id]],
  ["inventory", "data", (row) => [row.warehouse_id]],
  ["inventory/counts", "data", (row) => [row.warehouse.id]],
  ["picking-orders", "orders", (row) => [row.warehouse_id]],
  ["receiving-orders", "data", (row) => [row.warehouse_id]],
  [
    "inventory-transfers",
    "inventory_transfers",
    (row) => [row.source_warehouse_id, row.destination_warehouse_id],
  ],
  [
    "package-transfers",
    "package_transfers",
    (row) => [row.source_warehouse.id, row.destination_warehouse.id],
  ],
  ["waybills", "data", (row) => [row.source_warehouse_id, row.destination_warehouse_id]],
];

/** Lists of the documents say their total beside the rows, the others in `pagination`. */
const totalOf = ({ total, pagination }: Body): number => pagination?.total ?? total;

describe("a member of staff", () => {
  test.each(lists)(
    "finds in %s what is of their warehouse, counted the same",
    async (path, rows, of) => {
      const all = await see(path, tenant.warehouse);
      const seen = await see(path);
      const expected = all[rows].filter((row: Body) => of(row).includes(own));
      expect(expected.length).toBeGreaterThan(0);
      expect(expected.length).toBeLessThan(all[rows].length);
      expect(seen[rows]).toEqual(expected);
      expect(totalOf(seen)).toBe(expected.length);
      const filtered = await see(
        path,
        tenant.staff,
        path === "warehouses" ? {} : { status: undefined },
      );
      expect(totalOf(filtered)).toBe(expected.length);
    },
  );

  test("reads figures of their own warehouses alone", async () => {
    expect((await see("picking-orders")).stats).toMatchObject({ pending: 1, total: 1 });
    expect((await see("picking-orders", tenant.warehouse)).stats).toMatchObject({ total: 2 });
    for (const [id, total] of [[own.toUpperCase(), 1], [theirs, 0]] as const) {
      const asked = await see("picking-orders", tenant.staff, { warehouse_id: id });
      expect([asked.total, asked.stats.total], id).toEqual([total, total]);
    }
    expect((await see("warehouses")).stats.totalWarehouses).toBe(1);
    expect((await see("package-transfers")).stats).toMatchObject({ total: 1, waybill: 1 });
    expect((await see("package-transfers", tenant.warehouse)).stats).toMatchObject({ total: 2 });
  });

  test("knows the other end of what goes between by its name", async () => {
    const [row] = (await see("package-transfers")).package_transfers;
    expect(row.id).toBe(between.transfer);
    expect(row.destination_warehouse).toMatchObject({ id: theirs, name: expect.any(String) });
    const { inventory_transfer } = await see(`inventory-transfers/${between.stock}`);
    expect(inventory_transfer.destination_warehouse.name).toEqual(expect.any(String));
  });

  test("reads no record of another warehouse", async () => {
    const records = [
      ["warehouse", (id: string) => `warehouses/${id}`, "warehouse_not_found"],
      ["warehouse", (id: string) => `warehouses/${id}/bins`, "warehouse_not_found"],
      ["warehouse", (id: string) => `warehouses/${id}/staff`, "warehouse_not_found"],
      ["order", (id: string) => `picking-orders/${id}`, "picking_order_not_found"],
      ["receipt", (id: string) => `receiving-orders/${id}`, "receiving_order_not_found"],
      ["count", (id: string) => `inventory/counts/${id}`, "inventory_count_not_found"],
      ["session", (id: string) => `sorting-sessions/${id}`, "sorting_session_not_found"],
      [
        "session",
        (id: string) => `sorting-sessions/${id}/assignments`,
        "sorting_session_not_found",
      ],
      ["waybill", (id: string) => `waybills/${id}`, "waybill_not_found"],
    ] as const;
    for (const [kind, path, code] of records) {
      await see(path(ids[kind].own));
      await see(path(ids[kind].theirs), tenant.warehouse);
      const refused = await tenant.staff.get(`/warehousing/${path(ids[kind].theirs)}`);
      expect(refused, path("")).toFailWith(404, code);
    }
    const bin = (at: "own" | "theirs") => `warehouses/${ids.warehouse[at]}/bins/${ids.bin[at]}`;
    await see(bin("own"));
    expect(await tenant.staff.get(`/warehousing/${bin("theirs")}`)).toFailWith(
      404,
      "bin_not_found",
    );
    const sessions = await see("sorting-sessions", tenant.staff, { warehouse_id: theirs });
    expect(sessions.total).toBe(0);
    expect((await see("sorting-sessions", tenant.staff, { warehouse_id: own })).total).toBe(1);
    const dashboard = (warehouse_id: string) =>
      tenant.staff.get("/warehousing/dashboard", { query: { warehouse_id } });
    expect(await dashboard(own)).toSucceed(200);
    expect((await dashboard(theirs)).status).toBe(403);
  });

  test("does nothing in another warehouse", async () => {
    const { staff } = tenant;
    const writes = [
      staff.put(`/warehousing/receiving-orders/${ids.receipt.theirs}`, { status: "cancelled" }),
      staff.post("/warehousing/sorting-sessions", { warehouse_id: theirs }),
      staff.put(`/warehousing/sorting-sessions/${ids.session.theirs}`, { status: "completed" }),
      staff.post(`/warehousing/sorting-sessions/${ids.session.theirs}/scan`, {
        delivery_barcode: "X",
      }),
      staff.post(`${waybills}/${ids.waybill.theirs}/seal`, {}),
      staff.post(`${waybills}/${ids.waybill.theirs}/cancel`, {}),
      staff.post(`${waybills}/${ids.waybill.theirs}/driver-handover`, {
        driver_id: tenant.driver.id,
      }),
      staff.post(`${waybills}/${ids.waybill.own}/receive`, {}),
      staff.post(`${waybills}/${ids.waybill.own}/close`, {}),
    ];
    for (const [i, answer] of (await Promise.all(writes)).entries()) {
      expect(answer, String(i)).toFailWith(403, "forbidden");
    }
    expect(
      await staff.put(`/warehousing/receiving-orders/${ids.receipt.own}`, { status: "cancelled" }),
    ).toSucceed(200);
  });

  test("with no warehouse any more sees none; who also runs operations sees all", async () => {
    const idle = await newPerson(tenant.id, "staff", "warehouse_staff");
    for (const [path, rows] of lists) {
      const seen = await see(path, idle);
      expect([seen[rows], totalOf(seen)], path).toEqual([[], 0]);
    }
    expect((await see("picking-orders", idle)).stats.total).toBe(0);
    await sql`insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
      values (${tenant.id}, ${idle.id}, 'dispatcher')`;
    expect((await see("warehouses", idle)).total).toBe(3);
  });
});
