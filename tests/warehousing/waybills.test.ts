import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../support/api.ts";
import { sql } from "../support/db.ts";
import { assign, checkAll, move } from "../support/deliveries.ts";
import {
  checkTallies,
  newPackage,
  newStaff,
  newStagedPackage,
  newYard,
  whereIs,
  type Yard,
} from "../support/packages.ts";
import { newTenant, type Tenant } from "../support/people.ts";
import {
  checkStock,
  eventsOf,
  inTenant,
  movementsOf,
  newItem,
  stockIn,
  unitsOf,
} from "../support/warehouses.ts";

const path = "/warehousing/waybills";
let tenant: Tenant;
let other: Tenant;
let yard: Yard;

beforeAll(async () => {
  [tenant, other] = [await newTenant(), await newTenant()];
  yard = await newYard(tenant);
});

const key = () => ({ headers: { "idempotency-key": randomUUID() } });
const create = (more: object = {}) =>
  tenant.warehouse.post(path, {
    source_warehouse_id: yard.warehouse,
    destination_warehouse_id: yard.there,
    ...more,
  }, key());
const step = (id: string, name: string, body: object = {}, person = tenant.warehouse) =>
  person.post(`${path}/${id}/${name}`, body);

async function draft(...deliveries: string[]): Promise<Body> {
  const answer = await create({ delivery_ids: deliveries });
  expect(answer).toSucceed(201);
  return answer.body.waybill;
}

async function onTheRoad(...deliveries: string[]): Promise<string> {
  const { id } = await draft(...deliveries);
  expect(await step(id, "seal")).toSucceed(200);
  expect(await step(id, "driver-handover", { driver_id: tenant.driver.id })).toSucceed(200);
  return id;
}

const itemOf = async (parcel: string) =>
  (await sql`select item_id from delivery.delivery_items where delivery_id = ${parcel}`)[0]
    .item_id as string;

describe("a waybill's way", () => {
  test("drafted, sealed, handed over, received, closed: custody, statuses and stock follow", async () => {
    const plain = await newPackage(yard);
    const { parent, b } = await newStagedPackage(yard);
    const item = await itemOf(parent.id);
    const made = await create({
      package_barcodes: [plain.barcode],
      delivery_ids: [b],
      notes: "night lorry",
    });
    expect(made).toSucceed(201);
    const { waybill } = made.body;
    const place = (id: string) => ({ id, name: expect.any(String), code: expect.any(String) });
    const onIt = (parcel: Body, more: object) => ({
      id: parcel.id,
      delivery_code: parcel.delivery_code,
      barcode: parcel.barcode,
      delivery_flow: parcel.delivery_flow,
      current_warehouse_id: yard.warehouse,
      received_state: null,
      ...more,
    });
    expect(waybill).toEqual({
      id: made.body.waybill_id,
      tenant_id: tenant.id,
      waybill_number: expect.stringMatching(/^WB-\d+$/),
      status: "drafted",
      source_warehouse_id: yard.warehouse,
      destination_warehouse_id: yard.there,
      source_warehouse: place(yard.warehouse),
      destination_warehouse: place(yard.there),
      driver: null,
      vehicle: null,
      seal_number: null,
      sealed_at: null,
      handed_over_at: null,
      received_at: null,
      closed_at: null,
      notes: "night lorry",
      created_by: tenant.warehouse.id,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      delivery_count: 2,
      open_discrepancy_count: 0,
      deliveries: [onIt(plain, { status: "pending" }), onIt(parent, { status: "in_transit" })],
      items: [
        expect.objectContaining({ delivery_id: plain.id, item_id: null, stock_quantity: 0 }),
        expect.objectContaining({ delivery_id: parent.id, item_id: item, stock_quantity: 1 }),
      ],
      discrepancies: [],
    });
    const { id } = waybill;
    expect(await unitsOf(item)).toEqual({ reserved: 1 });
    await checkStock(tenant);

    const sealed = await step(id, "seal", { seal_number: "S-77" });
    expect(sealed).toSucceed(200);
    expect(sealed.body.waybill).toMatchObject({
      status: "drafted",
      seal_number: "S-77",
      sealed_at: expect.any(String),
    });
    const out = await step(id, "driver-handover", { driver_id: tenant.driver.id });
    expect(out).toSucceed(200);
    expect(out.body.waybill).toMatchObject({
      status: "in_transit",
      driver: { id: tenant.driver.id },
      vehicle: { name: "Van" },
      deliveries: [{ status: "in_transit", current_warehouse_id: null }, {
        status: "in_transit",
        current_warehouse_id: null,
      }],
    });
    expect(await whereIs(b)).toMatchObject({ status: "in_transit", at: null });
    expect(await unitsOf(item)).toEqual({});
    await checkStock(tenant);

    const arrived = await step(id, "receive");
    expect(arrived).toSucceed(200);
    expect(arrived.body.waybill).toMatchObject({
      status: "received",
      deliveries: [{ status: "pending", received_state: "received" }, {
        received_state: "received",
      }],
    });
    expect(await whereIs(plain.id)).toEqual({
      status: "pending",
      at: yard.there,
      from: yard.there,
      to: null,
    });
    expect(await whereIs(b)).toMatchObject({ status: "pending", at: yard.there, from: yard.there });
    expect(await unitsOf(item, yard.thereBin)).toEqual({ available: 1 });
    expect((await movementsOf(item)).map(([type]) => type)).toEqual([
      "receive",
      "reserve",
      "transfer_out",
      "transfer_in",
    ]);
    const closed = await step(id, "close");
    expect(closed).toSucceed(200);
    expect(closed.body.waybill).toMatchObject({ status: "closed", closed_at: expect.any(String) });
    expect(await eventsOf(id)).toEqual([
      "waybill.sealed",
      "waybill.handed_over",
      "waybill.received",
      "waybill.closed",
    ]);
    // From its new warehouse it sets out like any other.
    expect(await move(tenant.ops, b, "execute")).toSucceed(200);
    await assign(tenant, plain.id);
    await checkAll(tenant);
    await checkTallies(tenant);
  });

  test("one step at a time: everything out of turn is refused and changes nothing", async () => {
    const { id } = await draft((await newPackage(yard)).id);
    const refused = async (...names: string[]) => {
      for (const name of names) {
        const body = name === "driver-handover" ? { driver_id: tenant.driver.id } : {};
        const answer = await step(id, name, body);
        expect(answer, name).toFailWith(409, "waybill_action_not_allowed");
        expect(answer.body).toHaveProperty("status");
      }
    };
    await refused("driver-handover", "receive", "close");
    expect(await step(id, "seal")).toSucceed(200);
    await refused("seal", "receive", "close");
    expect(await step(id, "driver-handover", { driver_id: tenant.driver.id })).toSucceed(200);
    await refused("seal", "driver-handover", "close");
    expect(await step(id, "receive")).toSucceed(200);
    await refused("seal", "driver-handover", "receive");
    expect(await step(id, "close")).toSucceed(200);
    await refused("seal", "driver-handover", "receive", "close");
    expect(await eventsOf(id)).toHaveLength(4);
  });

  test("is of the staff of its source, then of its destination", async () => {
    const there = await newStaff(tenant, yard.there, tenant.staff.id);
    const { id } = await draft((await newPackage(yard)).id);
    expect(await step(id, "seal", {}, tenant.staff)).toFailWith(403, "forbidden");
    expect(await step(id, "seal")).toSucceed(200);
    const driver = { driver_id: tenant.driver.id };
    expect(await step(id, "driver-handover", driver, tenant.staff)).toFailWith(403, "forbidden");
    expect(await step(id, "driver-handover", driver)).toSucceed(200);
    await sql`update warehousing.warehouse_staff set is_active = false where id = ${there}`;
    expect(await step(id, "receive", {}, tenant.staff)).toFailWith(403, "forbidden");
    await sql`update warehousing.warehouse_staff set is_active = true where id = ${there}`;
    expect(await step(id, "receive", {}, tenant.staff)).toSucceed(200);
    expect(await step(id, "close", {}, tenant.staff)).toSucceed(200);
  });

  test("ends a delivery at the warehouse it was sent to, and nowhere else", async () => {
    const ends = await newPackage(yard, {
      dropoff_address_id: undefined,
      dropoff_warehouse_id: yard.there,
      payer_type: "sender",
    });
    const waits = await newPackage(yard, {
      dropoff_address_id: undefined,
      dropoff_warehouse_id: yard.there,
      cod_amount: 5000,
    });
    const id = await onTheRoad(ends.id, waits.id);
    expect(await step(id, "receive")).toSucceed(200);
    expect(await whereIs(ends.id)).toMatchObject({ status: "delivered", at: yard.there });
    // Cash is still due: somebody has to take it.
    expect(await whereIs(waits.id)).toMatchObject({ status: "pending", at: yard.there, to: null });
  });
});

describe("what is missing", () => {
  test("opens a discrepancy that blocks assignment and closing until it is found", async () => {
    const here = await newPackage(yard);
    const { parent, b } = await newStagedPackage(yard);
    const item = await itemOf(parent.id);
    const id = await onTheRoad(here.id, parent.id);
    const received = await step(id, "receive", {
      received_delivery_ids: [here.id],
      missing_delivery_ids: [parent.id],
    });
    expect(received).toSucceed(200);
    const [discrepancy] = received.body.waybill.discrepancies;
    expect(discrepancy).toMatchObject({
      delivery_id: parent.id,
      type: "missing_on_receive",
      status: "open",
    });
    expect(received.body.waybill.open_discrepancy_count).toBe(1);
    expect(await whereIs(b)).toMatchObject({ status: "in_transit", at: null });
    expect(await unitsOf(item)).toEqual({});
    const early = await step(id, "close");
    expect(early).toFailWith(409, "waybill_has_open_discrepancies");
    expect(early.body.count).toBe(1);
    const assigning = await tenant.ops.post("/delivery/assignments", {
      delivery_id: b,
      driver_id: tenant.driver.id,
    });
    // It is not here; and were its status another one, the discrepancy would still keep it back.
    expect(assigning).toFailWith(409, "delivery_status_changed");
    const [problem] = await inTenant(
      tenant,
      "select code from delivery.preparation_problem(array[$1::uuid])",
      [b],
    );
    expect(problem).toEqual({ code: "parent_exception_open" });

    const at = `discrepancies/${discrepancy.id}/resolve`;
    const found = await step(id, at, { resolution: "found", notes: "under the seat" });
    expect(found).toSucceed(200);
    expect(found.body.waybill.discrepancies[0]).toMatchObject({
      status: "resolved",
      resolution: "found",
      notes: "under the seat",
      resolved_by: tenant.warehouse.id,
    });
    expect(await whereIs(b)).toMatchObject({ status: "pending", at: yard.there });
    expect(await unitsOf(item, yard.thereBin)).toEqual({ available: 1 });
    const again = await step(id, at, { resolution: "found" });
    expect(again).toSucceed(200);
    expect(await unitsOf(item, yard.thereBin)).toEqual({ available: 1 });
    expect(await step(id, at, { resolution: "lost" })).toFailWith(
      409,
      "waybill_action_not_allowed",
    );
    expect(await step(id, "close")).toSucceed(200);
    await checkStock(tenant);
  });

  test("and lost, has failed for good", async () => {
    const gone = await newPackage(yard);
    const id = await onTheRoad(gone.id);
    const received = await step(id, "receive", { missing_delivery_ids: [gone.id] });
    expect(received).toSucceed(200);
    const [{ id: discrepancy }] = received.body.waybill.discrepancies;
    const unassignable = await tenant.ops.post("/delivery/assignments", {
      delivery_id: gone.id,
      driver_id: tenant.driver.id,
    });
    expect(unassignable).toFailWith(409, "delivery_status_changed");
    await sql`update delivery.deliveries set status = 'pending' where id = ${gone.id}`;
    const still = await tenant.ops.post("/delivery/assignments", {
      delivery_id: gone.id,
      driver_id: tenant.driver.id,
    });
    expect(still).toFailWith(409, "delivery_has_open_exception");
    await sql`update delivery.deliveries set status = 'in_transit' where id = ${gone.id}`;
    const lost = await step(id, `discrepancies/${discrepancy}/resolve`, { resolution: "lost" });
    expect(lost).toSucceed(200);
    expect(await whereIs(gone.id)).toMatchObject({ status: "failed", at: null });
    expect(await step(id, "close")).toSucceed(200);
    const unknown = await step(id, `discrepancies/${randomUUID()}/resolve`, {});
    expect(unknown).toFailWith(404, "discrepancy_not_found");
  });

  test("is said of each parcel once, of parcels of this waybill", async () => {
    const [one, two, stranger] = [
      await newPackage(yard),
      await newPackage(yard),
      await newPackage(yard),
    ];
    const id = await onTheRoad(one.id, two.id);
    const incomplete = await step(id, "receive", { received_delivery_ids: [one.id] });
    expect(incomplete).toFailWith(400, "waybill_receipt_incomplete");
    expect(incomplete.body.delivery_ids).toEqual([two.id]);
    const both = await step(id, "receive", {
      received_delivery_ids: [one.id, two.id],
      missing_delivery_ids: [two.id],
    });
    expect(both).toFailWith(400, "waybill_receipt_incomplete");
    for (const wrong of [stranger.id, randomUUID()]) {
      const answer = await step(id, "receive", { missing_delivery_ids: [wrong] });
      expect(answer).toFailWith(400, "delivery_not_in_waybill");
      expect(answer.body.field).toBe("missing_delivery_ids");
    }
    expect(await step(id, "receive", { missing_delivery_ids: [two.id, two.id] })).toSucceed(200);
  });

  test("needs a bin for its stock where none is the default", async () => {
    const own = await newYard(tenant);
    await sql`update warehousing.bins set is_default_receiving = false where id = ${own.thereBin}`;
    const { parent } = await newStagedPackage(own);
    const made = await tenant.warehouse.post(path, {
      source_warehouse_id: own.warehouse,
      destination_warehouse_id: own.there,
      delivery_ids: [parent.id],
    }, key());
    const id = made.body.waybill_id;
    expect(await step(id, "seal")).toSucceed(200);
    expect(await step(id, "driver-handover", { driver_id: tenant.driver.id })).toSucceed(200);
    const without = await step(id, "receive");
    expect(without).toFailWith(400, "bin_id_required_for_received_items");
    expect(await step(id, "receive", { bin_id: yard.thereBin })).toFailWith(404, "bin_not_found");
    expect(await step(id, "receive", { bin_id: own.thereBin })).toSucceed(200);
    await checkStock(tenant);
  });
});

describe("before the road", () => {
  test("a parcel that is called off leaves the waybill, and its stock is free again", async () => {
    const { parent } = await newStagedPackage(yard);
    const kept = await newPackage(yard);
    const gone = await newPackage(yard);
    const item = await itemOf(parent.id);
    const { id } = await draft(parent.id, kept.id, gone.id);
    expect(await step(id, "seal")).toSucceed(200);
    expect(await move(tenant.customer, gone.id, "cancel", { reason: "changed my mind" })).toSucceed(
      200,
    );
    const returned = await tenant.ops.post(
      `/delivery/deliveries/${parent.id}/operational-return`,
      {},
    );
    expect(returned).toSucceed(201);
    expect(await unitsOf(item)).toEqual({ available: 1 });
    const read = await tenant.ops.get(`${path}/${id}`);
    expect(read.body.waybill.deliveries.map((d: Body) => d.id)).toEqual([kept.id]);
    expect(await step(id, "driver-handover", { driver_id: tenant.driver.id })).toSucceed(200);
    await checkStock(tenant);
  });

  test("what is on a waybill is not assigned and not picked", async () => {
    const plain = await newPackage(yard);
    const { parent, b } = await newStagedPackage(yard);
    await draft(plain.id, parent.id);
    const assigning = await tenant.ops.post("/delivery/assignments", {
      delivery_id: plain.id,
      driver_id: tenant.driver.id,
    });
    expect(assigning).toFailWith(409, "warehouse_preparation_inconsistent");
    expect(await move(tenant.ops, b, "execute")).toFailWith(
      409,
      "warehouse_preparation_inconsistent",
    );
  });

  test("nobody but an active driver of the tenant, with a vehicle of it, takes it over", async () => {
    const { id } = await draft((await newPackage(yard)).id);
    expect(await step(id, "seal")).toSucceed(200);
    for (const driver_id of [randomUUID(), other.driver.id, tenant.customer.id]) {
      expect(await step(id, "driver-handover", { driver_id })).toFailWith(404, "driver_not_found");
    }
    const vehicle = { driver_id: tenant.driver.id, vehicle_id: randomUUID() };
    expect(await step(id, "driver-handover", vehicle)).toFailWith(404, "vehicle_not_found");
    const missing = await step(id, "driver-handover");
    expect(missing).toFailWith(400, "invalid_uuid");
    expect(missing.body.field).toBe("driver_id");
  });

  test("raw inventory travels as draft deliveries, one unit each", async () => {
    const item_id = await newItem(tenant, { is_serialized: true, name: "Scanner" });
    for (const serial_number of ["S1", "S2"]) {
      await stockIn(tenant, {
        item_id,
        warehouse_id: yard.warehouse,
        bin_id: yard.bin!,
        quantity: 1,
        serial_number,
      });
    }
    const defaults = {
      customer_id: tenant.customer.id,
      delivery_service_id: yard.service,
      payer_type: "sender",
      payment_method: "cash",
    };
    const parcel = await newPackage(yard);
    const without = await create({ inventory_item_ids: [item_id] });
    expect(without).toFailWith(400, "new_delivery_defaults_required");
    const made = await create({
      package_barcodes: [parcel.barcode],
      inventory_item_ids: [item_id, item_id, randomUUID()],
      new_delivery_defaults: defaults,
    });
    expect(made).toSucceed(201);
    expect(made.body.rejected.map((r: Body) => r.reason)).toEqual(["duplicate", "not_found"]);
    const { created_delivery_ids: [created], reused_delivery_ids } = made.body.operation_result;
    expect(reused_delivery_ids).toEqual([parcel.id]);
    expect(made.body.delivery_ids).toEqual([parcel.id, created]);
    expect(await whereIs(created)).toMatchObject({ status: "draft", at: yard.warehouse });
    expect(await unitsOf(item_id)).toEqual({ available: 1, reserved: 1 });
    const { waybill_id: id } = made.body;
    expect(await step(id, "seal")).toSucceed(200);
    expect(await step(id, "driver-handover", { driver_id: tenant.driver.id })).toSucceed(200);
    expect(await step(id, "receive")).toSucceed(200);
    expect(await whereIs(created)).toMatchObject({ status: "draft", at: yard.there });
    expect(await unitsOf(item_id, yard.thereBin)).toEqual({ available: 1 });
    await checkStock(tenant);
    // On from there, its draft is used again.
    const back = await tenant.warehouse.post(path, {
      source_warehouse_id: yard.there,
      destination_warehouse_id: yard.warehouse,
      inventory_item_ids: [item_id],
    }, key());
    expect(back).toSucceed(201);
    expect(back.body.delivery_ids).toEqual([created]);
  });
});
