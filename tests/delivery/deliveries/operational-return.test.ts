/** A parcel that is sent back out of a warehouse: it is returned when it is back, and goes nowhere else until then. */
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { enable, external, report } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  move,
  moves,
  path,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { newYard, type Yard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { received } from "../../support/send-back.ts";

let tenant: Tenant;
let other: Tenant;
let yard: Yard;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  yard = await newYard(tenant);
});

/** A staged parcel that is to go back: the parcel, its second leg, and its return. */
async function sentBack(more: Record<string, unknown> = {}) {
  const { parent, a, b } = await stagedInWarehouse(yard, more);
  const answer = await move(tenant.ops, parent.id, "operational-return", { reason: "unwanted" });
  expect(answer).toSucceed(201);
  return { parent, a, b, back: answer.body.delivery };
}

const placeOf = async (...ids: string[]) =>
  (await sql`select current_warehouse_id as at from delivery.deliveries where id in ${sql(ids)}`)
    .map(({ at }) => at);

const movesOf = async (id: string) =>
  (await sql`select to_status from delivery.delivery_status_history where delivery_id = ${id} order by id`)
    .map(({ to_status }) => to_status);

const returnedEvents = (id: string) =>
  sql`select event_data ->> 'reason' as reason from integration.system_events
    where entity_id = ${id} and event_type = 'delivery.returned'`;

describe("a parcel on its way back", () => {
  test("is returned when its return is delivered, and not before", async () => {
    const { parent, a, b, back } = await sentBack({ cod_amount: 4000 });
    const goesOn = async () =>
      expect([await statusOf(parent.id), await statusOf(a), await statusOf(b)])
        .toEqual(["in_transit", "delivered", "pending"]);
    await goesOn();
    const { delivery } = (await tenant.ops.get(`${path}/${parent.id}`)).body;
    expect(delivery).toMatchObject({
      status: "in_transit",
      returns: [{ id: back.id, status: "pending" }],
    });
    expect(await placeOf(parent.id, b)).toEqual([yard.warehouse, yard.warehouse]);
    await takenOver(yard, back.id, tenant.driver2);
    await goesOn();
    expect(await placeOf(parent.id, a, b)).toEqual([null, null, null]);
    await moves(tenant.driver2, back.id, "depart");
    await goesOn();
    expect(await returnedEvents(parent.id)).toEqual([]);
    await moves(tenant.driver2, back.id, "complete");
    expect([await statusOf(parent.id), await statusOf(a), await statusOf(b)])
      .toEqual(["returned", "delivered", "returned"]);
    expect((await movesOf(parent.id)).filter((status) => status === "returned")).toHaveLength(1);
    expect(await returnedEvents(parent.id)).toEqual([{ reason: "unwanted" }]);
    const cash = await sql`select from money.cod_collections
      where delivery_id in ${sql([parent.id, b, back.id])} and cod_amount > 0`;
    expect(cash).toHaveLength(0);
    expect(await move(tenant.ops, parent.id, "operational-return"))
      .toFailWith(409, "delivery_not_in_warehouse");
    await checkAll(tenant);
  });

  test("cannot be sent elsewhere meanwhile, and the error says so", async () => {
    const { parent, b, back } = await sentBack();
    const executed = await move(tenant.ops, b, "execute");
    expect(executed).toFailWith(409, "return_under_way");
    expect(executed.body.return_delivery_id).toBe(back.id);
    for (const delivery_id of [parent.id, b]) {
      const given = await tenant.ops.post("/delivery/assignments", {
        delivery_id,
        driver_id: tenant.driver.id,
      });
      expect(given).toFailWith(409, "return_under_way");
    }
    const many = { driver_id: tenant.driver.id, delivery_ids: [parent.id] };
    expect(await tenant.ops.post("/delivery/assignments/bulk", many))
      .toFailWith(409, "return_under_way");
    expect(await move(tenant.ops, parent.id, "operational-return"))
      .toFailWith(409, "return_already_exists");
    expect(await move(tenant.ops, parent.id, "cancel", { reason: "no" }))
      .toFailWith(409, "return_already_exists");
    const sent = await tenant.ops.post("/warehousing/waybills", {
      source_warehouse_id: yard.warehouse,
      destination_warehouse_id: yard.there,
      delivery_ids: [parent.id],
    }, { headers: { "idempotency-key": `road-${parent.id}` } });
    expect(sent).toFailWith(400, "no_transferable_packages");
    // The last guard, below every core.
    await expect(sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
      await tx`update delivery.deliveries set status = 'in_transit' where id = ${b}`;
    })).rejects.toThrow("return_under_way");
    expect(await statusOf(b)).toBe("pending");
    expect(await movesOf(parent.id)).not.toContain("returned");
  });

  test("that is brought into the warehouse again still waits for its return", async () => {
    const { parent, b, back } = await sentBack();
    await takenOver(yard, back.id, tenant.driver2);
    await moves(tenant.driver2, back.id, "fail");
    const { receiving_order_id } = await moves(tenant.driver2, back.id, "return");
    expect([await statusOf(parent.id), await statusOf(b)]).toEqual(["in_transit", "pending"]);
    await received(yard, receiving_order_id);
    expect(await statusOf(back.id)).toBe("pending");
    expect(await placeOf(parent.id, b)).toEqual([yard.warehouse, yard.warehouse]);
    expect(await move(tenant.ops, b, "execute")).toFailWith(409, "return_under_way");
    await takenOver(yard, back.id, tenant.driver);
    await moves(tenant.driver, back.id, "complete");
    expect([await statusOf(parent.id), await statusOf(b)]).toEqual(["returned", "returned"]);
    await checkAll(tenant);
  });

  test("leaves again from its warehouse when its return is cancelled", async () => {
    const { parent, b, back } = await sentBack();
    expect(
      await tenant.ops.post("/warehousing/package-transfers", {
        mode: "delivery_operation",
        operation_type: "single_delivery",
        source_warehouse_id: yard.warehouse,
        destination_warehouse_id: yard.there,
        package_barcodes: [back.barcode],
      }, { headers: { "idempotency-key": `there-${back.id}` } }),
    ).toSucceed(201);
    await takenOver(yard, back.id, tenant.driver2);
    await moves(tenant.driver2, back.id, "complete");
    expect([await statusOf(back.id), await statusOf(b)]).toEqual(["pending", "pending"]);
    await moves(tenant.ops, back.id, ["cancel", { reason: "wanted after all" }]);
    const [leg] = await sql`select status, status_reason, pickup_warehouse_id as from_warehouse,
      current_warehouse_id as at from delivery.deliveries where id = ${b}`;
    expect(leg).toEqual({
      status: "pending",
      status_reason: null,
      from_warehouse: yard.there,
      at: yard.there,
    });
    await takenOver(yard, b, tenant.driver);
    await moves(tenant.driver, b, "depart", "complete");
    expect(await statusOf(parent.id)).toBe("delivered");
    await checkAll(tenant);
  });
});

test("its fee is given back when it is back, where the policy says so, and once", async () => {
  const wallet = await fundWallet(tenant, "customer", tenant.customer.id, 100_000);
  const paid = { payer_type: "sender", payment_method: "wallet" };
  const kept = await sentBack(paid);
  await takenOver(yard, kept.back.id, tenant.driver2);
  await moves(tenant.driver2, kept.back.id, "complete");
  const without = await balanceOf(wallet);
  await sql`update delivery.delivery_services set policy_mode = 'custom',
    policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_return": true}}'
    where id = ${yard.service}`;
  const { parent, back } = await sentBack(paid);
  const ordered = await balanceOf(wallet);
  expect(ordered).toBeLessThan(without);
  await takenOver(yard, back.id, tenant.driver2);
  expect(await balanceOf(wallet)).toBe(ordered);
  await moves(tenant.driver2, back.id, "complete");
  expect(await balanceOf(wallet)).toBe(without);
  const refunds = await sql`select amount from money.payments
    where delivery_id in ${sql([parent.id, back.id, kept.parent.id])} and type = 'REFUND'`;
  expect(refunds).toHaveLength(1);
  await checkAll(tenant);
});

test("during a return no carrier can be booked, and a booked carrier's reports do not move the parcel", async () => {
  const { secret } = await enable(tenant);
  const { parent, b } = await stagedInWarehouse(yard, {
    payment_method: "wallet",
    payer_type: "sender",
  });
  const { b: unbooked, parent: second } = await stagedInWarehouse(yard);
  for (const leg of [b, unbooked]) {
    expect(await tenant.ops.patch(`${path}/${leg}/carrier`, external)).toSucceed(200);
  }
  const book = (leg: string) =>
    tenant.ops.post(`/carriers/shipments/${leg}`, { carrier_code: "simulated" });
  const booked = await book(b);
  expect(booked).toSucceed(200);
  for (const { id } of [parent, second]) {
    expect(await move(tenant.ops, id, "operational-return")).toSucceed(201);
  }
  expect(await book(unbooked)).toFailWith(409, "return_under_way");
  const { tracking_number } = booked.body.shipment;
  for (const status of ["in_transit", "returned"]) {
    expect((await report(tenant, secret, { tracking_number, status })).body.outcome)
      .toBe("impossible");
  }
  expect([await statusOf(parent.id), await statusOf(b)]).toEqual(["in_transit", "pending"]);
});

test("is for staff of this company, once, and with one winner", async () => {
  const { parent, b } = await stagedInWarehouse(yard);
  const url = `${path}/${parent.id}/operational-return`;
  for (const person of [tenant.driver, tenant.customer]) {
    expect((await person.post(url, {})).status).toBe(403);
  }
  expect((await nobody.post(url, {})).status).toBe(401);
  expect(await other.ops.post(url, {})).toFailWith(404, "delivery_not_found");
  expect(await statusOf(b)).toBe("pending");
  const both = await Promise.all([tenant.ops.post(url, {}), tenant.warehouse.post(url, {})]);
  expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);

  const { parent: next } = await stagedInWarehouse(yard);
  const headers = { "idempotency-key": `back-${next.id}` };
  const once = await tenant.ops.post(`${path}/${next.id}/operational-return`, {}, { headers });
  const again = await tenant.ops.post(`${path}/${next.id}/operational-return`, {}, { headers });
  expect(again.body).toEqual(once.body);
});

test("sent back and prepared for its way out at once, one of the two happens", async () => {
  for (let round = 0; round < 5; round++) {
    const { parent, b } = await stagedInWarehouse(yard);
    const [back, picked] = await Promise.all([
      move(tenant.ops, parent.id, "operational-return"),
      move(tenant.ops, b, "execute"),
    ]);
    expect(back).toSucceed(201);
    // Picked before, it was put back; after, it was refused.
    if (picked.status !== 200) expect(picked).toFailWith(409, "return_under_way");
    const picks = await sql`select from warehousing.picking_orders
      where delivery_id = ${b} and status = 'completed'`;
    expect(picks).toHaveLength(0);
    const ends = await Promise.all([
      move(tenant.ops, back.body.delivery.id, "cancel", { reason: "kept" }),
      move(tenant.ops, b, "execute"),
    ]);
    expect(ends[0]).toSucceed(200);
    expect(await statusOf(b)).toBe("pending");
  }
  await checkAll(tenant);
});
