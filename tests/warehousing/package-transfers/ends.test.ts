/** How the way of a transferred package ends: on paper nothing changes, with a driver it continues from the other warehouse. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { assign, checkAll, move, moves, newDelivery } from "../../support/deliveries.ts";
import { sql } from "../../support/db.ts";
import { newPackage, newStagedPackage, newYard, whereIs } from "../../support/packages.ts";
import { newTransferring, type Transferring } from "../../support/package-transfers.ts";
import { unitsOf } from "../../support/warehouses.ts";
import { itemOf, waybillSteps } from "../../support/waybills.ts";

let { tenant, yard, body, post } = {} as Transferring;

beforeAll(async () => {
  ({ tenant, yard, body, post } = await newTransferring());
});

const onPaper = async (parcel: Body) =>
  expect(await post(body("system_only", { package_barcodes: [parcel.barcode] }))).toSucceed(201);

const withDriver = async (parcel: Body) =>
  expect(await post(body("delivery_operation", { package_barcodes: [parcel.barcode] })))
    .toSucceed(201);

/** A driver takes the delivery, sets out and completes it. */
async function driven(parcel: Body, complete: Record<string, unknown> = {}): Promise<Body> {
  await assign(tenant, parcel.id);
  return await moves(tenant.driver, parcel.id, "pickup", "depart", ["complete", complete]);
}

async function cashOf(id: string): Promise<number[]> {
  const rows = await sql`select amount::float as cash from money.cod_collections
    where delivery_id = ${id} and collection_stage = 'dropoff'`;
  return rows.map(({ cash }) => cash);
}

async function receiptsOf(id: string): Promise<number> {
  const [{ count }] = await sql`select count(*)::int from warehousing.receiving_orders
    where delivery_id = ${id}`;
  return count;
}

describe("on paper", () => {
  test("the driver comes to the customer's door: proofs, cash and delivered as ever, nothing received", async () => {
    const parcel = await newPackage(yard, { cod_amount: 25 });
    await onPaper(parcel);
    const { delivery } = await driven(parcel);
    expect(delivery.status).toBe("delivered");
    expect(await whereIs(parcel.id)).toMatchObject({ at: null, to: null });
    expect(await cashOf(parcel.id)).toEqual([25 + parcel.price]);
    expect(await receiptsOf(parcel.id)).toBe(0);
    await checkAll(tenant);
  });

  test("what was ordered to a warehouse is received there and nowhere else", async () => {
    const third = (await newYard(tenant)).there;
    const parcel = await newPackage(yard, {
      dropoff_address_id: undefined,
      dropoff_warehouse_id: third,
      payer_type: "sender",
    });
    await onPaper(parcel);
    await onPaper(parcel);
    expect(await whereIs(parcel.id)).toMatchObject({ to: yard.there });
    await driven(parcel);
    expect(await whereIs(parcel.id)).toMatchObject({ status: "delivered", at: third, to: third });
    const receipts = await sql`select warehouse_id, status from warehousing.receiving_orders
      where delivery_id = ${parcel.id}`;
    expect(receipts).toEqual([{ warehouse_id: third, status: "received" }]);
  });

  test("a staged parcel that has come there by a waybill may travel anywhere", async () => {
    const { parent } = await newStagedPackage(yard);
    await onPaper(parent);
    const { onTheRoad, step } = waybillSteps(tenant, yard);
    expect(await step(await onTheRoad(parent.id), "receive")).toSucceed(200);
    expect(await whereIs(parent.id)).toMatchObject({ at: yard.there, to: null });
    const back = waybillSteps(tenant, { ...yard, warehouse: yard.there, there: yard.warehouse });
    expect(await back.step(await back.onTheRoad(parent.id), "receive")).toSucceed(200);
    const third = waybillSteps(tenant, { ...yard, there: (await newYard(tenant)).there });
    expect(await third.create({ delivery_ids: [parent.id] })).toSucceed(201);
    await checkAll(tenant);
  });

  test("a staged parcel that its first driver has brought there may travel anywhere", async () => {
    const parent = await newDelivery(yard, { staged: true, warehouse_id: yard.warehouse });
    const onPaperHere = body("system_only", {
      source_warehouse_id: yard.there,
      destination_warehouse_id: yard.warehouse,
      package_barcodes: [parent.barcode],
    });
    expect(await post(onPaperHere)).toSucceed(201);
    await assign(tenant, parent.legs[0].id);
    await moves(tenant.driver, parent.legs[0].id, "pickup", "depart", "complete");
    expect(await whereIs(parent.id)).toMatchObject({ at: yard.warehouse, to: null });
    const { onTheRoad, step } = waybillSteps(tenant, yard);
    expect(await step(await onTheRoad(parent.id), "receive")).toSucceed(200);
    const further = { warehouse: yard.there, there: (await newYard(tenant)).there };
    expect(
      await waybillSteps(tenant, { ...yard, ...further }).create({ delivery_ids: [parent.id] }),
    ).toSucceed(201);
    await checkAll(tenant);
  });

  test("a draft keeps the note when it is changed", async () => {
    const draft = await newPackage(yard, { status: "draft" });
    await onPaper(draft);
    const path = `/delivery/deliveries/${draft.id}`;
    expect(await tenant.ops.patch(path, { notes: "fragile" })).toSucceed(200);
    expect(await whereIs(draft.id)).toMatchObject({ to: yard.there });
    expect(await tenant.ops.post(`${path}/submit`)).toSucceed(200);
    expect((await driven(draft)).delivery.status).toBe("delivered");
    expect(await receiptsOf(draft.id)).toBe(0);
  });
});

describe("with a driver", () => {
  test("the parcel waits in the other warehouse and its cash is taken at the door", async () => {
    const parcel = await newPackage(yard, { cod_amount: 25 });
    await withDriver(parcel);
    await assign(tenant, parcel.id);
    const [{ due }] = await sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
      return await tx`select money.cash_to_take(d, 'dropoff') as due from delivery.deliveries d
        where id = ${parcel.id}`;
    });
    expect(due).toMatchObject({ cod: 0, delivery_fee: 0 });
    const { delivery } = await moves(tenant.driver, parcel.id, "pickup", "complete");
    expect(delivery.status).toBe("pending");
    expect(await whereIs(parcel.id))
      .toEqual({ status: "pending", at: yard.there, from: yard.there, to: null });
    expect(await cashOf(parcel.id)).toEqual([]);
    expect(await receiptsOf(parcel.id)).toBe(0);
    const [{ here }] = await sql`select d.pickup_address_id = w.address_id as here
      from delivery.deliveries d join warehousing.warehouses w on w.id = ${yard.there}
      where d.id = ${parcel.id}`;
    expect(here).toBe(true);

    const given = await tenant.ops.post("/delivery/assignments", {
      delivery_id: parcel.id,
      driver_id: tenant.driver2.id,
    });
    expect(given).toSucceed(201);
    await sql`update delivery.assignments set status = 'accepted'
      where delivery_id = ${parcel.id} and status = 'pending'`;
    const last = await moves(tenant.driver2, parcel.id, "pickup", "depart", "complete");
    expect(last.delivery.status).toBe("delivered");
    expect(await cashOf(parcel.id)).toEqual([25 + parcel.price]);
    await checkAll(tenant);
  });

  test("a failure between warehouses is no attempt at the door", async () => {
    const parcel = await newPackage(yard);
    await withDriver(parcel);
    await assign(tenant, parcel.id);
    const { delivery } = await moves(tenant.driver, parcel.id, "pickup", "depart", "fail");
    expect(delivery.status).toBe("failed");
    const [{ attempts_used }] = await sql`select attempts_used from delivery.deliveries
      where id = ${parcel.id}`;
    expect(attempts_used).toBe(0);
  });

  test("what was ordered to that warehouse ends there when nothing is due", async () => {
    const there = { dropoff_address_id: undefined, dropoff_warehouse_id: yard.there };
    const paid = await newPackage(yard, { ...there, payer_type: "sender" });
    const due = await newPackage(yard, { ...there, cod_amount: 5 });
    for (const parcel of [paid, due]) {
      await withDriver(parcel);
      await driven(parcel);
    }
    expect(await whereIs(paid.id)).toMatchObject({ status: "delivered", at: yard.there });
    expect(await receiptsOf(paid.id)).toBe(1);
    expect(await whereIs(due.id))
      .toEqual({ status: "pending", at: yard.there, from: yard.there, to: null });
    expect(await cashOf(due.id)).toEqual([]);
    await checkAll(tenant);
  });

  test("what lay on a shelf is received at the other warehouse, and picked there again", async () => {
    const { parent } = await newStagedPackage(yard);
    const made = await tenant.ops.post(`/delivery/deliveries/${parent.id}/operational-return`, {});
    expect(made).toSucceed(201);
    const back: Body = made.body.delivery;
    await withDriver(back);
    const item = await itemOf(parent.id);
    expect(await move(tenant.ops, back.id, "execute")).toSucceed(200);
    await assign(tenant, back.id);
    const [{ id }] = await sql`select id from delivery.package_handoffs
      where delivery_id = ${back.id} and status = 'pending'`;
    expect(await tenant.driver.post(`/delivery/handoffs/${id}/pickup`, {})).toSucceed(200);
    await moves(tenant.driver, back.id, "complete");
    expect(await whereIs(back.id)).toMatchObject({ status: "pending", at: yard.there });
    expect(await unitsOf(item, yard.thereBin)).toEqual({ available: 1 });
    expect(await move(tenant.ops, back.id, "execute")).toSucceed(200);
    await checkAll(tenant);
  });
});

test("a waybill ends what a transfer had recorded", async () => {
  const parcel = await newPackage(yard, { cod_amount: 3 });
  await withDriver(parcel);
  const { onTheRoad, step } = waybillSteps(tenant, yard);
  const id = await onTheRoad(parcel.id);
  expect(await step(id, "receive")).toSucceed(200);
  expect(await whereIs(parcel.id)).toMatchObject({ status: "pending", at: yard.there, to: null });
  expect((await driven(parcel)).delivery.status).toBe("delivered");
  expect(await cashOf(parcel.id)).toEqual([3 + parcel.price]);
});
