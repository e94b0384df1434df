/** A draft that is ordered from a warehouse travels by waybill like an order: it follows its parcel, and is moved by nobody on the road. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { assign, checkAll, move, moves, newDelivery, path } from "../../support/deliveries.ts";
import { whereIs } from "../../support/packages.ts";
import { type Hauling, newHauling } from "../../support/waybills.ts";

let { tenant, yard, step, onTheRoad, draft } = {} as Hauling;
beforeAll(async () => {
  ({ tenant, yard, step, onTheRoad, draft } = await newHauling());
});

const newDraft = async (more: Record<string, unknown> = {}): Promise<string> =>
  (await newDelivery(yard, {
    status: "draft",
    pickup_address_id: undefined,
    pickup_warehouse_id: yard.warehouse,
    ...more,
  })).id;

/** Whether the place where a delivery is fetched is that of a warehouse: its address, and what it shows of it. */
async function isFetchedIn(id: string, warehouse: string): Promise<boolean> {
  const [{ here }] = await sql`select d.pickup_warehouse_id = w.id
      and d.pickup_address_id = w.address_id and (d.pickup_snapshot ->> 'id')::uuid = w.address_id
      and d.pickup_zone_id is not distinct from a.zone_id as here
    from delivery.deliveries d, warehousing.warehouses w
    join delivery.addresses a on a.id = w.address_id
    where d.id = ${id} and w.id = ${warehouse}`;
  return here;
}

describe("arrived", () => {
  test("it is a draft that is fetched there, ordered there and delivered from there", async () => {
    const id = await newDraft();
    const waybill = await onTheRoad(id);
    expect(await whereIs(id)).toMatchObject({ status: "draft", at: null });
    expect(await step(waybill, "receive")).toSucceed(200);
    expect(await whereIs(id))
      .toEqual({ status: "draft", at: yard.there, from: yard.there, to: null });
    expect(await isFetchedIn(id, yard.there)).toBe(true);
    expect(await move(tenant.customer, id, "submit")).toSucceed(200);
    expect(await whereIs(id)).toMatchObject({ status: "pending", from: yard.there });
    await assign(tenant, id);
    await moves(tenant.driver, id, "pickup", "depart", "complete");
    await checkAll(tenant);
  });

  test.each([
    ["ordered there and cancelled", true],
    ["cancelled there by the office", false],
  ])("%s, it goes back to where it was ordered from", async (_, ordered) => {
    const id = await newDraft();
    expect(await step(await onTheRoad(id), "receive")).toSucceed(200);
    if (ordered) expect(await move(tenant.ops, id, "submit")).toSucceed(200);
    expect(await move(tenant.customer, id, "cancel", { reason: "no" }))
      .toFailWith(409, "invalid_status_transition");
    const cancelled = await move(tenant.ops, id, "cancel", { reason: "no" });
    expect(cancelled).toSucceed(200);
    expect(await whereIs(cancelled.body.operational_return.id))
      .toMatchObject({ from: yard.there, to: yard.warehouse });
    await checkAll(tenant);
  });

  test("changed, it is fetched there still, and begins where it was ordered from", async () => {
    const id = await newDraft();
    expect(await step(await onTheRoad(id), "receive")).toSucceed(200);
    expect(await tenant.ops.patch(`${path}/${id}`, { notes: "fragile" })).toSucceed(200);
    expect(await isFetchedIn(id, yard.there)).toBe(true);
    const [{ begins }] = await sql`select ordered_from_warehouse_id as begins
      from delivery.deliveries where id = ${id}`;
    expect(begins).toBe(yard.warehouse);
  });

  test("it travels on by another waybill, also one without a destination of its own", async () => {
    const id = await newDraft();
    expect(await step(await onTheRoad(id), "receive")).toSucceed(200);
    const back = await tenant.warehouse.post("/warehousing/waybills", {
      source_warehouse_id: yard.there,
      destination_warehouse_id: yard.warehouse,
      delivery_ids: [id],
    }, { headers: { "idempotency-key": id } });
    expect(back).toSucceed(201);
  });
});

describe("on the road", () => {
  const refused = async (person: Person, id: string, name: string, text?: RegExp) => {
    const answer = await move(person, id, name, name === "cancel" ? { reason: "no" } : {});
    expect(answer, name).toFailWith(409, "invalid_status_transition");
    if (text) expect(answer.body.message).toMatch(text);
  };

  test("it is neither ordered nor cancelled, by the office or its customer", async () => {
    const id = await newDraft();
    const waybill = await onTheRoad(id);
    for (const person of [tenant.ops, tenant.customer]) {
      await refused(person, id, "submit", /on its way to another warehouse/);
      await refused(person, id, "cancel", /on its way to another warehouse/);
    }
    const said = await move(tenant.ops, id, "cancel", { reason: "no" });
    expect(said.body).toMatchObject({
      from: "draft",
      to: "cancelled",
      waybill_id: waybill,
      destination_warehouse_id: yard.there,
    });
    expect(await step(waybill, "receive")).toSucceed(200);
    expect(await move(tenant.customer, id, "submit")).toSucceed(200);
    await checkAll(tenant);
  });

  test("its words change, but not where it goes, what it costs or who carries it", async () => {
    const id = await newDraft();
    const waybill = await onTheRoad(id);
    const { ops, customer } = tenant;
    expect(await ops.patch(`${path}/${id}`, { notes: "fragile" })).toSucceed(200);
    const elsewhere = await ops.patch(`${path}/${id}`, { pickup_address_id: yard.from });
    expect(elsewhere).toFailWith(409, "delivery_already_ordered");
    expect(elsewhere.body.field).toBe("pickup_address_id");
    expect(elsewhere.body.message).toMatch(/on its way to another warehouse/);
    expect(await customer.patch(`${path}/${id}`, { notes: "no" }))
      .toFailWith(409, "delivery_already_picked_up");
    const carrier = { carrier_type: "external", carrier_code: "easypost" };
    expect(await ops.patch(`${path}/${id}/carrier`, carrier))
      .toFailWith(409, "invalid_status_transition");
    expect(await step(waybill, "receive")).toSucceed(200);
    expect(await isFetchedIn(id, yard.there)).toBe(true);
  });

  test("missing at its receipt, it waits for what became of it, and follows when it is found", async () => {
    const id = await newDraft();
    const waybill = await onTheRoad(id);
    const { body } = await step(waybill, "receive", { missing_delivery_ids: [id] });
    await refused(tenant.ops, id, "submit", /missing/);
    await refused(tenant.customer, id, "cancel");
    const [{ id: missing }] = body.waybill.discrepancies;
    expect(await step(waybill, `discrepancies/${missing}/resolve`, { resolution: "found" }))
      .toSucceed(200);
    expect(await whereIs(id)).toMatchObject({ status: "draft", at: yard.there, from: yard.there });
    expect(await move(tenant.ops, id, "submit")).toSucceed(200);
    await checkAll(tenant);
  });

  test("given up as lost, it can be cancelled", async () => {
    const id = await newDraft();
    const waybill = await onTheRoad(id);
    const { body } = await step(waybill, "receive", { missing_delivery_ids: [id] });
    const [{ id: missing }] = body.waybill.discrepancies;
    expect(await step(waybill, `discrepancies/${missing}/resolve`, { resolution: "lost" }))
      .toSucceed(200);
    expect(await move(tenant.customer, id, "cancel", { reason: "lost" })).toSucceed(200);
    await checkAll(tenant);
  });
});

test("before the road it is ordered and cancelled as ever", async () => {
  const [ordered, cancelled] = [await newDraft(), await newDraft()];
  await draft(ordered, cancelled);
  expect(await move(tenant.customer, ordered, "submit")).toSucceed(200);
  expect(await move(tenant.customer, cancelled, "cancel", { reason: "no" })).toSucceed(200);
  // An exception of its own says nothing of any road.
  const questioned = await newDraft();
  expect(
    await tenant.warehouse.post(`${path}/${questioned}/exceptions`, { type: "damaged" }),
  ).toSucceed(201);
  expect(await move(tenant.customer, questioned, "submit")).toSucceed(200);
});
