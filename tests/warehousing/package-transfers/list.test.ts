import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { checkTallies, newPackage, newYard, type Yard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded } from "../../support/promises.ts";

const path = "/warehousing/package-transfers";
let tenant: Tenant;
let yard: Yard;
let back: Body;
const made: Record<string, Body> = {};

beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
  await sql`update warehousing.warehouses set name = 'Basra South', code = 'BSR' where id = ${yard.there}`;
  const post = async (more: object) => {
    const answer = await tenant.ops.post(path, {
      source_warehouse_id: yard.warehouse,
      destination_warehouse_id: yard.there,
      package_barcodes: [(await newPackage(yard)).barcode],
      ...more,
    }, { headers: { "idempotency-key": randomUUID() } });
    expect(answer).toSucceed(201);
    return answer.body;
  };
  made.system = await post({ mode: "system_only", notes: "n" });
  made.single = await post({ mode: "delivery_operation" });
  made.waybill = await post({ mode: "delivery_operation", operation_type: "waybill" });
  const parcel = await newPackage(yard);
  await sql`update delivery.deliveries set current_warehouse_id = ${yard.there} where id = ${parcel.id}`;
  back = await post({
    mode: "system_only",
    source_warehouse_id: yard.there,
    destination_warehouse_id: yard.warehouse,
    package_barcodes: [parcel.barcode],
  });
});

async function ask(query: Record<string, string | number> = {}) {
  const answer = await tenant.warehouse.get(path, { query });
  expect(answer).toSucceed(200);
  return answer.body;
}
const idsOf = async (query: Record<string, string | number> = {}) =>
  (await ask(query)).package_transfers.map(({ id }: { id: string }) => id);
const ids = (...names: string[]) => names.map((name) => made[name].transfer_id);

describe("the list", () => {
  test("shows every kind, newest first, 25 a page, with its counters", async () => {
    const body = await ask();
    expect(body).toMatchObject({
      page: 1,
      limit: 25,
      total: 4,
      stats: { total: 4, system_only: 2, single_delivery: 1, waybill: 1 },
    });
    const place = (id: string) => ({ id, name: expect.any(String), code: expect.any(String) });
    const row = (of: Body, more: object) => ({
      id: of.transfer_id,
      tenant_id: tenant.id,
      mode: of.mode,
      operation_type: of.operation_type ?? null,
      source_warehouse_id: yard.warehouse,
      destination_warehouse_id: yard.there,
      waybill_id: null,
      notes: null,
      created_at: expect.any(String),
      delivery_ids: of.delivery_ids,
      source_warehouse: place(yard.warehouse),
      destination_warehouse: place(yard.there),
      waybill: null,
      performer: { id: tenant.ops.id, full_name: expect.any(String) },
      ...more,
    });
    const { single, waybill, system } = made;
    expect(body.package_transfers.slice(1)).toEqual([
      row(waybill, {
        waybill_id: waybill.waybill_id,
        waybill: {
          id: waybill.waybill_id,
          waybill_number: waybill.waybill_number,
          status: "drafted",
        },
      }),
      row(single, {
        delivery: {
          id: single.delivery_ids[0],
          delivery_code: expect.any(Number),
          barcode: expect.any(String),
          status: "pending",
        },
      }),
      row(system, { notes: "n" }),
    ]);
    expect(Object.keys(body.package_transfers[1])).not.toContain("delivery");
    await checkTallies(tenant);
  });

  test("by pill, and the counters stay", async () => {
    const { stats } = await ask();
    const single = { mode: "delivery_operation", operation_type: "single_delivery" };
    expect(await idsOf({ mode: "system_only" })).toEqual([back.transfer_id, ...ids("system")]);
    expect(await idsOf(single)).toEqual(ids("single"));
    expect(await idsOf({ operation_type: "waybill" })).toEqual(ids("waybill"));
    expect(await idsOf({ mode: "delivery_operation" })).toEqual(ids("waybill", "single"));
    const pills: Record<string, string>[] = [
      single,
      { mode: "system_only" },
      { operation_type: "waybill" },
    ];
    for (const query of pills) {
      const body = await ask(query);
      expect(body.stats).toEqual(stats);
      expect(body.total).toBe(body.package_transfers.length);
    }
  });

  test("column filters replace the parameters of the same name", async () => {
    const filters = (columns: object) => ({ column_filters: JSON.stringify(columns) });
    expect(await idsOf({ mode: "delivery_operation", ...filters({ mode: "system_only" }) }))
      .toEqual([back.transfer_id, ...ids("system")]);
    expect(
      await idsOf({
        operation_type: "single_delivery",
        ...filters({ operation_type: "waybill", other: 1 }),
      }),
    ).toEqual(ids("waybill"));
    // The parameter alone would be refused with this operation; the column filter takes its place.
    expect(
      await idsOf({
        mode: "system_only",
        operation_type: "waybill",
        ...filters({ mode: "delivery_operation" }),
      }),
    ).toEqual(ids("waybill"));
    for (
      const query of [
        { mode: "system_only", operation_type: "waybill" },
        { mode: "system_only", ...filters({ operation_type: "single_delivery" }) },
        { operation_type: "waybill", ...filters({ mode: "system_only" }) },
        filters({ mode: "system_only", operation_type: "waybill" }),
      ]
    ) {
      const answer = await tenant.ops.get(path, { query });
      expect(answer, JSON.stringify(query)).toFailWith(400, "operation_type_not_allowed");
    }
    expect(await tenant.ops.get(path, { query: { column_filters: "{" } }))
      .toFailWith(400, "invalid_column_filters");
    expect(await tenant.ops.get(path, { query: filters({ mode: "by_air" }) }))
      .toFailWith(400, "invalid_column_filters");
  });

  test("by warehouse and search, which the counters follow", async () => {
    expect(await idsOf({ source_warehouse_id: yard.there })).toEqual([back.transfer_id]);
    const there = await ask({ destination_warehouse_id: yard.there, mode: "system_only" });
    expect(there).toMatchObject({
      total: 1,
      stats: { total: 3, system_only: 1, single_delivery: 1, waybill: 1 },
    });
    const number = made.waybill.waybill_number.toLowerCase();
    const found = await ask({ search: number, mode: "delivery_operation" });
    const onAnotherKeyboard = number.replace(/\d/g, (digit: string) => "٠١٢٣٤٥٦٧٨٩"[Number(digit)]);
    expect(await ask({ search: onAnotherKeyboard, mode: "delivery_operation" })).toEqual(found);
    expect(found).toMatchObject({
      total: 1,
      stats: { total: 1, system_only: 0, single_delivery: 0, waybill: 1 },
    });
    expect((await ask({ search: "basra" })).total).toBe(4);
    expect((await ask({ search: "bsr", mode: "system_only" })).total).toBe(2);
    expect((await ask({ search: "%" })).total).toBe(0);
    expect(await idsOf({ page: 2, limit: 3 })).toEqual(ids("system"));
    expect((await ask({ limit: 500 })).limit).toBe(100);
    const long = await tenant.ops.get(path, { query: { search: "x".repeat(101) } });
    expect(long).toFailWith(400, "validation_failed");
    expect(long.body.field).toBe("search");
    expect((await ask({ search: "x".repeat(100) })).total).toBe(0);
  });

  test("refuses filters it has not, and people it is not for", async () => {
    for (const field of ["status", "transfer_type"]) {
      const answer = await tenant.ops.get(path, { query: { [field]: "drafted" } });
      expect(answer).toFailWith(400, "unsupported_filter");
      expect(answer.body.field).toBe(field);
    }
    await expectGuarded({ method: "GET", path }, {
      denied: [tenant.driver, tenant.customer, tenant.institution],
    });
    const other = await newTenant();
    const answer = await other.ops.get(path, { query: { source_warehouse_id: yard.warehouse } });
    expect(answer.body).toMatchObject({ total: 0, stats: { total: 0 } });
  });
});

describe("the projection of a waybill", () => {
  const attach = (waybill: string, delivery: string, position = 1) =>
    sql`insert into warehousing.waybill_deliveries (tenant_id, waybill_id, delivery_id, position)
    values (${tenant.id}, ${waybill}, ${delivery}, ${position})`;
  const newWaybill = async (destination: string) =>
    (await sql`insert into warehousing.waybills
      (tenant_id, waybill_number, source_warehouse_id, destination_warehouse_id)
      values (${tenant.id}, ${randomUUID()}, ${yard.warehouse}, ${destination}) returning id`)[0]
      .id;
  const projections = async (waybill: string) =>
    (await sql`select t.id, (select count(*)::int from warehousing.package_transfer_deliveries d
      where d.transfer_id = t.id) as packages
      from warehousing.package_transfers t where t.waybill_id = ${waybill}`).map((row) => ({
      ...row,
    }));

  test("comes with the first package and stays the only one, whatever the status", async () => {
    const waybill = await newWaybill(yard.there);
    expect(await projections(waybill)).toEqual([]);
    await attach(waybill, (await newPackage(yard)).id);
    const [first] = await projections(waybill);
    expect(first.packages).toBe(1);
    await attach(waybill, (await newPackage(yard)).id, 2);
    expect(await projections(waybill)).toEqual([{ id: first.id, packages: 2 }]);
    await sql`update warehousing.waybills set status = 'closed', sealed_at = now(), handed_over_at = now(),
      received_at = now(), closed_at = now(), driver_id = ${tenant.driver.id} where id = ${waybill}`;
    expect(await idsOf({ destination_warehouse_id: yard.there, limit: 100 })).toContain(first.id);
  });

  test("is not made for routes within one warehouse or to a deleted one", async () => {
    const gone = await newYard(tenant);
    await sql`update warehousing.warehouses set deleted_at = now() where id = ${gone.there}`;
    for (const destination of [yard.warehouse, gone.there]) {
      const waybill = await newWaybill(destination);
      await attach(waybill, (await newPackage(yard)).id);
      expect(await projections(waybill)).toEqual([]);
    }
  });

  test("is gone again when the attachment is rolled back, and can be filled in later, once", async () => {
    const waybill = await newWaybill(yard.there);
    const { id } = await newPackage(yard);
    await sql.begin(async (tx) => {
      await tx`insert into warehousing.waybill_deliveries (tenant_id, waybill_id, delivery_id, position)
        values (${tenant.id}, ${waybill}, ${id}, 1)`;
      throw new Error("rolled back");
    }).catch((error: Error) => expect(error.message).toBe("rolled back"));
    expect(await projections(waybill)).toEqual([]);
    await sql.begin(async (tx) => {
      await tx`set local session_replication_role = replica`;
      await tx`insert into warehousing.waybill_deliveries (tenant_id, waybill_id, delivery_id, position)
        values (${tenant.id}, ${waybill}, ${id}, 1)`;
    });
    expect(await projections(waybill)).toEqual([]);
    await sql`select warehousing.package_transfers_backfill()`;
    const once = await projections(waybill);
    expect(once).toEqual([{ id: expect.any(String), packages: 1 }]);
    await sql`select warehousing.package_transfers_backfill()`;
    expect(await projections(waybill)).toEqual(once);
    await checkTallies(tenant);
  });
});
