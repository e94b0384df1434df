import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { checkAll, move } from "../../support/deliveries.ts";
import { sql } from "../../support/db.ts";
import {
  checkTallies,
  newPackage,
  newStaff,
  newStagedPackage,
  whereIs,
} from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { checkStock, newItem, stockIn, unitsOf } from "../../support/warehouses.ts";
import {
  type Hauling,
  itemOf,
  newHauling,
  waybills as path,
  withKey,
} from "../../support/waybills.ts";

let other: Tenant;
let { tenant, yard, create, step, new_delivery_defaults, draft } = {} as Hauling;

beforeAll(async () => {
  ({ tenant, yard, create, step, new_delivery_defaults, draft } = await newHauling());
  other = await newTenant();
});

describe("before the road", () => {
  test("a parcel that is cancelled leaves the waybill, and its stock is free again", async () => {
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
    await sql`update delivery.drivers set status = 'inactive' where user_id = ${tenant.driver2.id}`;
    const idle = await step(id, "driver-handover", { driver_id: tenant.driver2.id });
    expect(idle).toFailWith(409, "driver_inactive");
    await sql`update delivery.drivers set status = 'active' where user_id = ${tenant.driver2.id}`;
    const vehicle = { driver_id: tenant.driver.id, vehicle_id: randomUUID() };
    expect(await step(id, "driver-handover", vehicle)).toFailWith(404, "vehicle_not_found");
    const missing = await step(id, "driver-handover");
    expect(missing).toFailWith(400, "validation_failed");
    expect(missing.body.field).toBe("driver_id");
    expect(await step(id, "driver-handover", { driver_id: tenant.driver2.id })).toSucceed(200);
    expect(await step(id, "receive")).toSucceed(200);
    await checkAll(tenant);
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
    const parcel = await newPackage(yard);
    const without = await create({ inventory_item_ids: [item_id] });
    expect(without).toFailWith(400, "new_delivery_defaults_required");
    const made = await create({
      package_barcodes: [parcel.barcode],
      inventory_item_ids: [item_id, item_id, randomUUID()],
      new_delivery_defaults,
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
    }, withKey());
    expect(back).toSucceed(201);
    expect(back.body.delivery_ids).toEqual([created]);
  });
});

describe("a waybill that is cancelled", () => {
  test("is closed, and its parcels and stock are free for another", async () => {
    const { parent } = await newStagedPackage(yard);
    const plain = await newPackage(yard);
    const item = await itemOf(parent.id);
    const { id } = await draft(parent.id, plain.id);
    expect(await unitsOf(item)).toEqual({ reserved: 1 });
    const answer = await step(id, "cancel");
    expect(answer).toSucceed(200);
    expect(answer.body.waybill).toMatchObject({
      status: "closed",
      cancelled_at: expect.any(String),
      closed_at: expect.any(String),
      received_at: null,
      delivery_count: 0,
      deliveries: [{ id: parent.id, received_state: null }, { id: plain.id, received_state: null }],
    });
    expect(await unitsOf(item)).toEqual({ available: 1 });
    expect(await whereIs(plain.id)).toMatchObject({ status: "pending", at: yard.warehouse });
    const [event] = await sql`select event_data from integration.system_events
      where entity_id = ${id} and event_type = 'waybill.cancelled'`;
    expect(event!.event_data).toMatchObject({
      waybill_id: id,
      delivery_ids: [parent.id, plain.id],
    });
    // One transfer stands for it still, and what was on it goes on another.
    const transfers = await tenant.ops.get("/warehousing/package-transfers", {
      query: { search: answer.body.waybill.waybill_number },
    });
    expect(transfers.body.package_transfers).toMatchObject([{ waybill: { id, status: "closed" } }]);
    await draft(parent.id, plain.id);
    await checkStock(tenant);
    await checkTallies(tenant);
  });

  test("leaves the draft of a piece of inventory for the next", async () => {
    const item_id = await newItem(tenant, { is_serialized: true });
    await stockIn(tenant, {
      item_id,
      warehouse_id: yard.warehouse,
      bin_id: yard.bin!,
      quantity: 1,
      serial_number: "C1",
    });
    const made = await create({
      inventory_item_ids: [item_id],
      new_delivery_defaults,
    });
    expect(made).toSucceed(201);
    expect(await step(made.body.waybill_id, "cancel")).toSucceed(200);
    expect(await unitsOf(item_id)).toEqual({ available: 1 });
    const again = await create({ delivery_ids: made.body.delivery_ids });
    expect(again).toSucceed(201);
    expect(await unitsOf(item_id)).toEqual({ reserved: 1 });
  });

  test("was sealed or not; it is cancelled once, by staff of its source, in the caller's language", async () => {
    const { id } = await draft((await newPackage(yard)).id);
    await newStaff(tenant, yard.there, tenant.staff.id, "E-9");
    expect(await step(id, "cancel", {}, tenant.staff)).toFailWith(403, "forbidden");
    expect(await step(id, "cancel", {}, tenant.driver)).toFailWith(403, "forbidden");
    expect(await step(id, "cancel", {}, other.warehouse)).toFailWith(404, "waybill_not_found");
    expect(await step(randomUUID(), "cancel")).toFailWith(404, "waybill_not_found");
    const both = await Promise.all([step(id, "cancel"), step(id, "cancel")]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    for (const late of [await step(id, "seal"), both.find(({ status }) => status === 409)!]) {
      expect(late).toFailWith(409, "waybill_action_not_allowed");
    }
    const moved = (await newPackage(yard)).id;
    const sealed = await draft(moved);
    expect(await step(sealed.id, "seal")).toSucceed(200);
    const off = await step(sealed.id, "cancel");
    expect(off.body.waybill).toMatchObject({ status: "closed", sealed_at: expect.any(String) });
    const { id: second } = await draft(moved);
    expect(await step(second, "seal")).toSucceed(200);
    expect(await step(second, "driver-handover", { driver_id: tenant.driver.id })).toSucceed(200);
    expect(await step(second, "cancel")).toFailWith(409, "waybill_action_not_allowed");
  });

  test("is what is left of one that was sealed and emptied", async () => {
    const only = await newPackage(yard);
    const { id } = await draft(only.id);
    expect(await step(id, "seal")).toSucceed(200);
    expect(await move(tenant.customer, only.id, "cancel", { reason: "no" })).toSucceed(200);
    expect(await step(id, "driver-handover", { driver_id: tenant.driver.id }))
      .toFailWith(409, "waybill_has_no_deliveries");
    expect(await step(id, "cancel")).toSucceed(200);
  });
});

describe("what another company carried away", () => {
  test("is taken off at the hand-over, with the reason; the rest travels", async () => {
    const { parent } = await newStagedPackage(yard);
    const [stays, gone] = [await newPackage(yard), await newPackage(yard)];
    const { id } = await draft(stays.id, gone.id, parent.id);
    expect(await step(id, "seal")).toSucceed(200);
    await sql`update delivery.deliveries set carrier_type = 'external'
      where id = ${gone.id} or (parent_id = ${parent.id} and delivery_flow = 'pnd_outbound')`;
    expect(await move(tenant.ops, gone.id, "depart")).toSucceed(200);
    const [{ id: leg }] = await sql`select id from delivery.deliveries
      where parent_id = ${parent.id} and delivery_flow = 'pnd_outbound'`;
    expect(await move(tenant.ops, leg, "depart")).toSucceed(200);
    const item = await itemOf(parent.id);
    const answer = await step(id, "driver-handover", { driver_id: tenant.driver.id });
    expect(answer).toSucceed(200);
    expect(answer.body.waybill).toMatchObject({
      status: "in_transit",
      delivery_count: 1,
      open_discrepancy_count: 0,
    });
    expect(
      answer.body.waybill.discrepancies.map((d: Body) => [d.delivery_id, d.type, d.resolution]),
    )
      .toEqual(expect.arrayContaining([
        [gone.id, "left_before_handover", "external_carrier"],
        [parent.id, "left_before_handover", "external_carrier"],
      ]));
    expect(await unitsOf(item)).toEqual({});
    // The receipt asks for what travelled, and nothing stays open.
    expect(await step(id, "receive", { missing_delivery_ids: [gone.id] })).toFailWith(
      400,
      "delivery_not_in_waybill",
    );
    expect(await step(id, "receive")).toSucceed(200);
    expect(await whereIs(stays.id)).toMatchObject({ at: yard.there });
    expect(await whereIs(gone.id)).toMatchObject({ status: "in_transit" });
    expect(await step(id, "close")).toSucceed(200);
    await checkStock(tenant);
  });

  test("and nothing else on it: there is nothing to hand over", async () => {
    const gone = await newPackage(yard);
    const { id } = await draft(gone.id);
    expect(await step(id, "seal")).toSucceed(200);
    await sql`update delivery.deliveries set carrier_type = 'external' where id = ${gone.id}`;
    expect(await move(tenant.ops, gone.id, "depart")).toSucceed(200);
    expect(await step(id, "driver-handover", { driver_id: tenant.driver.id })).toFailWith(
      409,
      "waybill_has_no_deliveries",
    );
  });
});
