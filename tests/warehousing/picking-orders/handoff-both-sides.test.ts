/** A parcel between warehouse and driver, walked through both functions as their people do it. */
import { beforeAll, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { checkAll, move, moves } from "../../support/deliveries.ts";
import { newStagedPackage, newYard, whereIs, type Yard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { unitsOf } from "../../support/warehouses.ts";

let tenant: Tenant;
let yard: Yard;

beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
});

const scan = async (barcode: string): Promise<Body> => {
  const answer = await tenant.warehouse.get(`/warehousing/package-scan/${barcode}`);
  expect(answer).toSucceed(200);
  return answer.body;
};
const itemOf = async (parcel: string) =>
  (await sql`select item_id from delivery.delivery_items where delivery_id = ${parcel}`)[0].item_id;

async function given(leg: string, answered = "accepted"): Promise<void> {
  const answer = await tenant.ops.post("/delivery/assignments", {
    delivery_id: leg,
    driver_id: tenant.driver.id,
  });
  expect(answer).toSucceed(201);
  const [row] = await sql`select id from delivery.assignments
    where delivery_id = ${leg} and status = 'pending'`;
  const said = await tenant.driver.put(`/delivery/assignments/${row.id}`, { status: answered });
  expect(said).toSucceed(200);
}

test("executed, assigned, taken over, failed, brought back, received, and out again", async () => {
  const { parent, b } = await newStagedPackage(yard);
  const item = await itemOf(parent.id);
  for (const round of [1, 2]) {
    expect(await scan(parent.barcode), `round ${round}`).toMatchObject({
      action: "open_delivery",
      entity_id: parent.id,
      delivery: { next_action: "execute" },
    });
    expect(await move(tenant.ops, b, "execute")).toSucceed(200);
    expect(await unitsOf(item)).toEqual({ reserved: 1 });
    expect(await scan(parent.barcode)).toMatchObject({
      action: "open_delivery",
      delivery: { next_action: "assign" },
      handoff: null,
    });
    await given(b);
    const ready = await scan(parent.barcode);
    expect(ready).toMatchObject({
      action: "open_handoff",
      reason: "handoff_ready_for_driver",
      delivery: { next_action: "handoff" },
      handoff: { delivery_id: b, driver_id: tenant.driver.id, warehouse_id: yard.warehouse },
      warehouse_context: { warehouse_id: yard.warehouse, relation: "source" },
    });
    const listed = await tenant.warehouse.get("/delivery/handoffs", {
      query: { warehouse_id: yard.warehouse, status: "pending" },
    });
    expect(listed.body.data.map(({ id }: Body) => id)).toEqual([ready.entity_id]);
    expect(await tenant.driver.post(`/delivery/handoffs/${ready.entity_id}/pickup`, {}))
      .toSucceed(200);
    expect(await unitsOf(item)).toEqual({});
    expect(await whereIs(b)).toMatchObject({ status: "picked_up", at: null });
    expect(await scan(parent.barcode)).toMatchObject({
      action: "open_delivery",
      delivery: { next_action: "in_delivery" },
      handoff: null,
    });
    if (round === 2) break;
    await moves(tenant.driver, b, "depart", "fail", "return");
    const back = await scan(parent.barcode);
    expect(back).toMatchObject({
      action: "open_receiving_order",
      reason: "failed_delivery_return_ready_to_receive",
      delivery: { next_action: "receive" },
    });
    const received = await tenant.warehouse.put(
      `/warehousing/receiving-orders/${back.entity_id}`,
      { status: "received" },
    );
    expect(received).toSucceed(200);
    expect(await whereIs(b)).toMatchObject({ status: "pending", at: yard.warehouse });
    expect(await unitsOf(item)).toEqual({ available: 1 });
  }
  await moves(tenant.driver, b, "depart", "complete");
  expect((await scan(parent.barcode)).delivery).toMatchObject({
    status: "delivered",
    next_action: "none",
    is_active: false,
  });
  await checkAll(tenant);
});

test("a driver who has not answered, or declined, leaves no handoff to open", async () => {
  const { parent, b } = await newStagedPackage(yard);
  expect(await move(tenant.ops, b, "execute")).toSucceed(200);
  const waiting = await tenant.ops.post("/delivery/assignments", {
    delivery_id: b,
    driver_id: tenant.driver.id,
  });
  expect(waiting).toSucceed(201);
  expect(await scan(parent.barcode)).toMatchObject({
    action: "open_delivery",
    delivery: { next_action: "none" },
    handoff: null,
  });
  const [row] = await sql`select id from delivery.assignments where delivery_id = ${b}`;
  const said = await tenant.driver.put(`/delivery/assignments/${row.id}`, {
    status: "rejected",
    reason: "too far",
  });
  expect(said).toSucceed(200);
  expect(await scan(parent.barcode)).toMatchObject({
    action: "open_delivery",
    delivery: { next_action: "assign" },
    handoff: null,
  });
  await given(b);
  expect((await scan(parent.barcode)).action).toBe("open_handoff");
});

test("over a waybill: into another warehouse, and out of that one to the door", async () => {
  const { parent, b } = await newStagedPackage(yard);
  const made = await tenant.ops.post("/warehousing/waybills", {
    source_warehouse_id: yard.warehouse,
    destination_warehouse_id: yard.there,
    package_barcodes: [parent.barcode],
  }, { headers: { "idempotency-key": parent.id } });
  expect(made).toSucceed(201);
  expect((await scan(parent.barcode)).delivery.next_action).toBe("none");
  const at = `/warehousing/waybills/${made.body.waybill_id}`;
  expect(await tenant.warehouse.post(`${at}/seal`, {})).toSucceed(200);
  expect(await tenant.warehouse.post(`${at}/driver-handover`, { driver_id: tenant.driver2.id }))
    .toSucceed(200);
  expect((await scan(parent.barcode)).delivery.next_action).toBe("in_delivery");
  expect(await tenant.warehouse.post(`${at}/receive`, {})).toSucceed(200);
  expect(await scan(parent.barcode)).toMatchObject({
    delivery: { next_action: "execute" },
    warehouse_context: { warehouse_id: yard.there, relation: "source" },
  });
  expect(await move(tenant.ops, b, "execute")).toSucceed(200);
  await given(b);
  const { entity_id } = await scan(parent.barcode);
  const basra = { latitude: 30.5, longitude: 47.8 };
  await sql`update delivery.addresses set ${sql(basra)}
    where id = (select address_id from warehousing.warehouses where id = ${yard.there})`;
  expect(await tenant.driver.post(`/delivery/handoffs/${entity_id}/pickup`, basra)).toSucceed(200);
  const [taken] = await sql`select distance_m from delivery.delivery_status_history
    where delivery_id = ${b} and to_status = 'picked_up'`;
  expect(taken, "measured from the warehouse").toEqual({ distance_m: 0 });
  await moves(tenant.driver, b, "depart", "complete");
  await checkAll(tenant);
});
