/** The undo of an outcome beside other changes of its parcel: what people agreed with the office stays as they agreed it. */
import { beforeEach, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { change } from "../../support/amount-changes.ts";
import { sql } from "../../support/db.ts";
import { assign, deliveryIn, move, moves, path } from "../../support/deliveries.ts";
import { partial, priced } from "../../support/kept-parts.ts";
import { dayIn, failed, onItsWay, photoOf, report, sound, undo } from "../../support/outcomes.ts";
import { queuedOn } from "../../support/overlapping.ts";
import { newPackage, newYard, whereIs } from "../../support/packages.ts";
import { saveSettings, type Tenant } from "../../support/people.ts";
import { fee, newRoads, redirect, type Roads } from "../../support/redirects.ts";
import { received, transferNoted } from "../../support/send-back.ts";

let tenant: Tenant;
let roads: Roads;
beforeEach(async () => {
  roads = await newRoads();
  tenant = roads.tenant;
});

const detailOf = async (id: string): Promise<Body> =>
  (await tenant.ops.get(`${path}/${id}`)).body.delivery;

describe("a redirect since an attempt that did not deliver", () => {
  const failures: [string, Record<string, unknown>][] = [
    ["failed", failed],
    ["refused", { result: "refused", reason_code: "refused" }],
    ["postponed", { result: "postponed", reason_code: "postponed", postponed_to: dayIn(3) }],
  ];

  test.each(failures)("stands as a whole when the attempt is undone: %s", async (_, body) => {
    await saveSettings(tenant.id, "delivery.proof_settings", {
      delivery: { photo_required: true },
    });
    const id = await onItsWay(roads, "in_transit", {
      dropoff_address_id: undefined,
      dropoff_warehouse_id: roads.warehouse,
    });
    expect(await report(tenant.driver, id, body)).toSucceed(200);
    const recipient = { name: "Sara at home", phone: "+9647701234568" };
    expect(await redirect(tenant.ops, id, roads.far, { recipient })).toSucceed(200);
    const redirected = await detailOf(id);
    expect(await undo(tenant.ops, id)).toSucceed(200);
    const home = await detailOf(id);
    expect(home).toMatchObject({
      status: "in_transit",
      dropoff_warehouse_id: null,
      dropoff_address_id: roads.far,
      recipient,
      price: fee.far,
    });
    expect(home.dropoff).toEqual(redirected.dropoff);
    expect(await move(tenant.driver, id, "complete")).toFailWith(400, "delivery_proof_required");
    const proof = await photoOf(tenant.driver, id);
    expect(await move(tenant.driver, id, "complete", { proof })).toSucceed(200);
    expect(await sql`select status from warehousing.receiving_orders where delivery_id = ${id}`)
      .toEqual([]);
    await sound(tenant);
  });
});

test("a redirect stands, too, while its parcel is brought to another warehouse first", async () => {
  const yard = await newYard(tenant);
  const parcel = await newPackage(yard, {
    dropoff_address_id: undefined,
    dropoff_warehouse_id: roads.warehouse,
  });
  await transferNoted(yard, parcel.barcode);
  await assign(tenant, parcel.id);
  await moves(tenant.driver, parcel.id, "pickup", "depart", "fail");
  expect(await redirect(tenant.ops, parcel.id, roads.far)).toSucceed(200);
  expect(await undo(tenant.driver, parcel.id)).toSucceed(200);
  expect(await whereIs(parcel.id)).toMatchObject({ status: "in_transit", to: yard.there });
  await moves(tenant.driver, parcel.id, "complete");
  expect(await whereIs(parcel.id)).toMatchObject({ status: "pending", at: yard.there, to: null });
  expect((await detailOf(parcel.id)).dropoff_address_id).toBe(roads.far);
  await sound(tenant);
});

test("a parcel that was delivered into its warehouse ends there after the undo, too", async () => {
  const id = await onItsWay(roads, "in_transit", {
    cod_amount: 0,
    dropoff_address_id: undefined,
    dropoff_warehouse_id: roads.warehouse,
  });
  await saveSettings(tenant.id, "general.warehouse", { handoff_required: true });
  await moves(tenant.driver, id, "complete");
  expect(await undo(tenant.ops, id)).toSucceed(200);
  expect((await detailOf(id)).dropoff_warehouse_id).toBe(roads.warehouse);
  await moves(tenant.driver, id, "complete");
  const [{ id: receipt }] = await sql`select id from warehousing.receiving_orders
    where delivery_id = ${id} and status = 'pending'`;
  await received(roads, receipt);
  await sound(tenant);
});

describe("an amount that is agreed while the report of a part waits for its parcel", () => {
  const owed = async (id: string) => (await detailOf(id)).cod_amount;

  test("for exactly that part stays: the report changes no amount, so its undo changes none", async () => {
    const id = await onItsWay(roads, "in_transit", priced);
    const body = await partial(tenant, id, { Shirt: 1 });
    const [agreed, done] = await queuedOn(id, [
      () => change(tenant.ops, id, 6000, { kept_items: body.items }),
      () => report(tenant.driver, id, body),
    ]);
    expect(agreed).toSucceed(201);
    expect(done).toSucceed(200);
    expect(await owed(id)).toBe(6000);
    expect(await undo(tenant.driver, id)).toSucceed(200);
    expect(await owed(id)).toBe(6000);
    await sound(tenant);
  });

  test("for the whole parcel is what the undo puts back, not the one before it", async () => {
    const id = await onItsWay(roads, "in_transit", priced);
    expect(await change(tenant.ops, id, 15_000)).toSucceed(201);
    const body = await partial(tenant, id, { Shirt: 1 });
    const [agreed, done] = await queuedOn(id, [
      () => change(tenant.ops, id, 20_000),
      () => report(tenant.driver, id, body),
    ]);
    expect(agreed).toSucceed(201);
    expect(done).toSucceed(200);
    expect(await owed(id)).toBe(8000);
    expect(await undo(tenant.driver, id)).toSucceed(200);
    expect(await owed(id)).toBe(20_000);
    await sound(tenant);
  });

  test("an outcome from before it named its change is undone by the first change since", async () => {
    const id = await onItsWay(roads, "in_transit", priced);
    expect(await report(tenant.driver, id, await partial(tenant, id, { Shirt: 1 }))).toSucceed(200);
    await sql`update delivery.outcomes set before = before - 'amount_change_id' where delivery_id = ${id}`;
    expect(await undo(tenant.driver, id)).toSucceed(200);
    expect(await owed(id)).toBe(20_000);
    await sound(tenant);
  });
});

test("a return that its owner orders beside the undo is refused: nothing was delivered", async () => {
  const { id } = await deliveryIn(roads, "delivered");
  await sql`update delivery.delivery_services set allow_returns = true where tenant_id = ${tenant.id}`;
  const [{ service }] =
    await sql`select delivery_service_id as service from delivery.deliveries where id = ${id}`;
  const [undone, ordered] = await queuedOn(id, [
    () => undo(tenant.ops, id),
    () =>
      tenant.customer.post(path, {
        delivery_flow: "customer_return",
        original_delivery_id: id,
        delivery_service_id: service,
        payer_type: "sender",
        payment_method: "cash",
        unit_size: 2,
      }),
  ]);
  expect(undone!).toSucceed(200);
  expect(ordered!).toFailWith(409, "original_not_delivered");
  await sound(tenant);
});
