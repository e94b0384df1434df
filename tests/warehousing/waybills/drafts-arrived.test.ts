/** A draft that a waybill has brought to another warehouse: its owner still changes it, it ends where it goes, and no parcel is stranded. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, checkAll, move, moves, newDelivery, path } from "../../support/deliveries.ts";
import { sendFile } from "../../support/files.ts";
import { whereIs } from "../../support/packages.ts";
import { type Hauling, newHauling } from "../../support/waybills.ts";

let { tenant, yard, create, step, onTheRoad, draft } = {} as Hauling;
beforeAll(async () => {
  ({ tenant, yard, create, step, onTheRoad, draft } = await newHauling());
});

const inYard = { status: "draft", pickup_address_id: undefined };
const newDraft = async (more: Record<string, unknown> = {}): Promise<string> =>
  (await newDelivery(yard, { ...inYard, pickup_warehouse_id: yard.warehouse, ...more })).id;

async function arrived(more: Record<string, unknown> = {}): Promise<string> {
  const id = await newDraft(more);
  expect(await step(await onTheRoad(id), "receive")).toSucceed(200);
  return id;
}

/** A waybill that is drafted from where the draft has come to. */
async function draftBack(id: string) {
  const { body } = await create({
    source_warehouse_id: yard.there,
    destination_warehouse_id: yard.warehouse,
    delivery_ids: [id],
  });
  const rows = await sql`select delivery_id from warehousing.waybill_deliveries
    where waybill_id = ${body.waybill.id} and is_open`;
  return { id: body.waybill.id, deliveries: rows.map(({ delivery_id }) => delivery_id) };
}

/** A draft whose parcel a waybill was received without, and given up as lost. */
async function lost(): Promise<string> {
  const id = await newDraft();
  const waybill = await onTheRoad(id);
  const { body } = await step(waybill, "receive", { missing_delivery_ids: [id] });
  const [{ id: missing }] = body.waybill.discrepancies;
  expect(await step(waybill, `discrepancies/${missing}/resolve`, { resolution: "lost" }))
    .toSucceed(200);
  return id;
}

describe("in a warehouse that is not open to its owner", () => {
  const closed = (is: boolean) =>
    sql`update warehousing.warehouses set access_mode = ${is ? "select_users" : "all_users"}
      where id = ${yard.there}`;

  test("it is changed in what they send, and stays to be fetched there", async () => {
    const id = await arrived();
    await closed(true);
    try {
      expect(await tenant.customer.patch(`${path}/${id}`, { notes: "fragile" })).toSucceed(200);
      expect(await whereIs(id)).toMatchObject({ status: "draft", from: yard.there });
      const named = { pickup_warehouse_id: yard.there };
      expect(await tenant.customer.patch(`${path}/${id}`, named))
        .toFailWith(404, "warehouse_not_found");
    } finally {
      await closed(false);
    }
  });

  test("they take a price that changed, and order it", async () => {
    const id = await arrived();
    await closed(true);
    try {
      await sql`update delivery.delivery_services set default_price = default_price + 1
        where id = ${yard.service}`;
      expect(await move(tenant.customer, id, "submit")).toFailWith(409, "delivery_price_changed");
      expect(await tenant.customer.patch(`${path}/${id}`, { notes: "yes" })).toSucceed(200);
      expect(await move(tenant.customer, id, "submit")).toSucceed(200);
    } finally {
      await closed(false);
    }
    expect(await whereIs(id)).toMatchObject({ status: "pending", from: yard.there });
    await checkAll(tenant);
  });
});

describe("where it was ordered to", () => {
  const toThere = () => ({
    dropoff_address_id: undefined,
    dropoff_warehouse_id: yard.there,
    payer_type: "sender",
  });

  test("it keeps its destination, and ends there once it is ordered", async () => {
    const id = await arrived(toThere());
    expect(await whereIs(id)).toMatchObject({ status: "draft", at: yard.there, to: yard.there });
    expect(await tenant.ops.patch(`${path}/${id}`, { notes: "fragile" })).toSucceed(200);
    const answer = await move(tenant.customer, id, "submit");
    expect(answer).toSucceed(200);
    expect(answer.body.delivery.status).toBe("delivered");
    expect(await whereIs(id)).toMatchObject({ at: yard.there, to: yard.there });
    await checkAll(tenant);
  });

  test("ordered while it is drafted for the way on, it leaves that waybill", async () => {
    const id = await arrived(toThere());
    const { id: on, deliveries } = await draftBack(id);
    expect(deliveries).toEqual([id]);
    expect(await move(tenant.customer, id, "submit")).toSucceed(200);
    const open = await sql`select from warehousing.waybill_deliveries
      where waybill_id = ${on} and is_open`;
    expect(open).toHaveLength(0);
    await checkAll(tenant);
  });

  test("with cash due it waits for who takes it, as an order does", async () => {
    const id = await arrived({ ...toThere(), cod_amount: 25 });
    expect(await move(tenant.customer, id, "submit")).toSucceed(200);
    expect(await whereIs(id)).toMatchObject({ status: "pending", at: yard.there, to: null });
    await assign(tenant, id);
    await moves(tenant.driver, id, "pickup", "depart", "complete");
    await checkAll(tenant);
  });
});

test("changed, it costs the way from where it was ordered, as an order that is redirected does", async () => {
  await sql`update delivery.delivery_services set price_per_km = 100 where id = ${yard.service}`;
  try {
    const [far, near] = [await newDraft(), await arrived()];
    const { longitude, latitude } = (await sql`select longitude, latitude from delivery.addresses
      where id = ${yard.to}`)[0]!;
    const place = { delivery_location: { longitude: longitude + 0.1, latitude } };
    const price = async (id: string) => {
      const answer = await tenant.ops.patch(`${path}/${id}`, place);
      expect(answer).toSucceed(200);
      return answer.body.delivery.price;
    };
    expect(await price(near)).toBe(await price(far));
  } finally {
    await sql`update delivery.delivery_services set price_per_km = 0 where id = ${yard.service}`;
  }
});

test("it is fetched where it lies and nowhere else, so that it goes back when it is cancelled", async () => {
  const id = await arrived();
  const elsewhere = await tenant.ops.patch(`${path}/${id}`, { pickup_address_id: yard.from });
  expect(elsewhere).toFailWith(409, "delivery_already_ordered");
  expect(elsewhere.body.field).toBe("pickup_address_id");
  expect(elsewhere.body.message).toMatch(/waits in a warehouse on its way/);
  expect(await tenant.ops.patch(`${path}/${id}`, { pickup_warehouse_id: yard.there }))
    .toSucceed(200);
  const refused = await move(tenant.customer, id, "cancel", { reason: "no" });
  expect(refused).toFailWith(409, "invalid_status_transition");
  expect(refused.body.message).toMatch(/waits in a warehouse on its way/);
  const cancelled = await move(tenant.ops, id, "cancel", { reason: "no" });
  expect(cancelled).toSucceed(200);
  expect(await whereIs(cancelled.body.operational_return.id))
    .toMatchObject({ from: yard.there, to: yard.warehouse });
  await checkAll(tenant);
});

describe("given up as lost", () => {
  test("it is not ordered or given to a carrier, only cancelled", async () => {
    const id = await lost();
    for (const person of [tenant.ops, tenant.customer]) {
      const refused = await move(person, id, "submit");
      expect(refused).toFailWith(409, "invalid_status_transition");
      expect(refused.body.message).toMatch(/lost/);
    }
    const carrier = { carrier_type: "external", carrier_code: "easypost" };
    expect(await tenant.ops.patch(`${path}/${id}/carrier`, carrier))
      .toFailWith(409, "invalid_status_transition");
    expect(await move(tenant.customer, id, "cancel", { reason: "lost" })).toSucceed(200);
    await checkAll(tenant);
  });

  test("turned up where it was sent from, it is put on a waybill again and can be ordered", async () => {
    const id = await lost();
    await draft(id);
    expect(await move(tenant.customer, id, "submit")).toSucceed(200);
  });
});

test("an import counts none as cancellable that its cancellation leaves", async () => {
  const row = {
    status: "draft",
    customer_id: tenant.customer.id,
    delivery_service_id: yard.service,
    payer_type: "receiver",
    payment_method: "cash",
    pickup_warehouse_id: yard.warehouse,
    dropoff_address_id: yard.to,
  };
  const { import_id, ids } = (await sendFile(tenant.ops, `${path}/import`, [row, row, row])).body;
  expect(await step(await onTheRoad(ids[0]), "receive")).toSucceed(200);
  await onTheRoad(ids[1]);
  for (const person of [tenant.ops, tenant.customer]) {
    const { body } = await person.get(`${path}/imports`);
    const found = body.data.find(({ id }: { id: string }) => id === import_id);
    if (found) expect(found).toMatchObject({ imported: 3, cancellable: 1 });
    else expect(person).toBe(tenant.customer);
  }
  const cancelled = await tenant.ops.post(`${path}/imports/${import_id}/cancel`, { reason: "no" });
  expect(cancelled.body).toMatchObject({ cancelled: 1 });
});
