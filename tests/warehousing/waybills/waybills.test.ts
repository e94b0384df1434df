import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { assign, checkAll, move } from "../../support/deliveries.ts";
import {
  checkTallies,
  newPackage,
  newStaff,
  newStagedPackage,
  whereIs,
} from "../../support/packages.ts";
import { checkStock, eventsOf, movementsOf, unitsOf } from "../../support/warehouses.ts";
import { type Hauling, itemOf, newHauling } from "../../support/waybills.ts";

let { tenant, yard, create, step, draft, onTheRoad } = {} as Hauling;

beforeAll(async () => {
  ({ tenant, yard, create, step, draft, onTheRoad } = await newHauling());
});

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
      cancelled_at: null,
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
    // It is drafted before and after it was sealed: people are told which of the two.
    expect((await step(id, "driver-handover", { driver_id: tenant.driver.id })).body)
      .toMatchObject({
        status: "drafted",
        message: "Not possible: the waybill is not sealed yet.",
      });
    expect(await step(id, "seal")).toSucceed(200);
    await refused("seal", "receive", "close");
    expect((await step(id, "seal")).body)
      .toMatchObject({ status: "drafted", message: "Not possible: the waybill is sealed." });
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
