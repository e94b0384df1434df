/** A return that was reported by mistake, or by the office while the driver delivered, is undone: the parcel is with its driver again. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  deliveryIn,
  type Ground,
  move,
  moves,
  newDelivery,
  newGround,
  outboundOnRoad,
  statusOf,
} from "../../support/deliveries.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { eventsOf, onItsWay, sound, undo } from "../../support/outcomes.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { newYard } from "../../support/packages.ts";
import { received } from "../../support/send-back.ts";
import { approveOrder, bring, withDriver } from "../../support/order-goods.ts";
import { newShop, placeOrder } from "../../support/orders.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

const now = () => new Date().toISOString();
const returned = (id: string, by = tenant.ops, body = {}) => move(by, id, "return", body);

test("the office returned what the driver delivered offline: undone, the report is taken as it was", async () => {
  const id = await onItsWay(ground);
  const report = {
    occurred_at: now(),
    cash_collected: { cod: 5000, delivery_fee: 2000 },
  };
  expect(await returned(id, tenant.ops, { reason: "Nobody answers" })).toSucceed(200);
  expect(await move(tenant.driver, id, "complete", report)).toFailWith(409, "assignment_ended");
  expect(await undo(tenant.driver2, id)).toFailWith(404, "delivery_not_found");
  const undone = await undo(tenant.ops, id);
  expect(undone).toSucceed(200);
  expect(undone.body.data).toMatchObject({
    delivery: { status: "in_transit", status_reason: "outcome_undone" },
    cash: { cod: 0, delivery_fee: 0, currency: "IQD" },
  });
  expect(await eventsOf(id, "delivery.outcome_undone")).toMatchObject([{ result: "returned" }]);
  const [notice] = (await tenant.driver.get("/tenants/me/notifications?type=outcome_undone")).body
    .data;
  expect(notice.payload).toMatchObject({ delivery_id: id, result: "returned" });
  await sound(tenant);
  const done = await move(tenant.driver, id, "complete", report);
  expect(done).toSucceed(200);
  expect(done.body.cash.collected).toMatchObject({ cod: 5000, delivery_fee: 2000 });
  await sound(tenant);
});

test.each(["picked_up", "in_transit", "failed"])(
  "a driver who tapped it by mistake undoes it: %s again, once, and not what the office reported long ago",
  async (status) => {
    const { id } = await deliveryIn(ground, status);
    const [was] = await sql`select attempts_used from delivery.deliveries where id = ${id}`;
    expect(await returned(id, tenant.driver)).toSucceed(200);
    const answers = await Promise.all([1, 2, 3].map(() => undo(tenant.driver, id)));
    expect(answers.map((one) => one.status).sort()).toEqual([200, 409, 409]);
    expect(await statusOf(id)).toBe(status);
    const [is] = await sql`select attempts_used from delivery.deliveries where id = ${id}`;
    expect(is).toEqual(was);
    expect(await returned(id, tenant.driver)).toSucceed(200);
    await sql`update delivery.outcomes set created_at = now() - interval '2 hours' where delivery_id = ${id}`;
    expect(await undo(tenant.driver, id)).toFailWith(409, "undo_period_over");
    expect(await undo(tenant.ops, id)).toSucceed(200);
  },
);

describe("its refund", () => {
  const refunds = () =>
    saveSettings(tenant.id, "delivery.fulfillment_policy", {
      payment_policies: { refund_delivery_fee_on_return: true },
    });

  test("to a wallet is reversed, refused where it was spent, and made again by the next return", async () => {
    await refunds();
    const wallet = await fundWallet(tenant, "customer", tenant.customer.id, 10_000);
    const byWallet = { payer_type: "sender", payment_method: "wallet" };
    const { id } = await deliveryIn(ground, "in_transit", byWallet);
    const paid = await balanceOf(wallet);
    for (let time = 0; time < 2; time++) {
      expect((await returned(id)).body.refunded).toBe(true);
      expect(await balanceOf(wallet)).toBe(paid + 2000);
      await sound(tenant);
      expect(await undo(tenant.ops, id)).toSucceed(200);
      expect(await balanceOf(wallet)).toBe(paid);
      await sound(tenant);
    }
    expect((await returned(id)).body.refunded).toBe(true);
    await fundWallet(tenant, "customer", tenant.customer.id, 1000 - (await balanceOf(wallet)));
    expect(await undo(tenant.ops, id)).toFailWith(400, "insufficient_wallet_balance");
    expect(await statusOf(id)).toBe("returned");
    await sound(tenant);
  });

  test("at a desk is due no more; one that was paid stands in the way", async () => {
    await refunds();
    for (const isPaid of [false, true]) {
      const { id } = await deliveryIn(ground, "in_transit", {
        payer_type: "sender",
        customer_id: null,
        sender: { name: "Passer-by", phone: "+9647701234567" },
      });
      const { refund_due } = (await returned(id)).body;
      expect(refund_due.amount).toBe(2000);
      if (isPaid) {
        await sql`update money.payments set status = 'SUCCESS', processed_at = now() where id = ${refund_due.id}`;
        expect(await undo(tenant.ops, id)).toFailWith(409, "outcome_went_on");
        await sql`update money.payments set status = 'pending', processed_at = null where id = ${refund_due.id}`;
      }
      expect(await undo(tenant.ops, id)).toSucceed(200);
      const [{ status }] = await sql`select status from money.payments where id = ${refund_due.id}`;
      expect(status).toBe("CANCELLED");
      expect((await returned(id)).body.refund_due.amount).toBe(2000);
    }
    await sound(tenant);
  });
});

test("what a warehouse expects back is expected no more, and what it received went on", async () => {
  const { parent, b } = await outboundOnRoad(ground);
  const first = await returned(b);
  expect(first).toSucceed(200);
  expect(await undo(tenant.ops, parent.id)).toSucceed(200);
  expect(await statusOf(b)).toBe("in_transit");
  expect(await statusOf(parent.id)).toBe("in_transit");
  const [{ status }] = await sql`select status from warehousing.receiving_orders
    where id = ${first.body.receiving_order_id}`;
  expect(status).toBe("cancelled");
  const { receiving_order_id } = await moves(tenant.ops, b, "return");
  await received(ground, receiving_order_id);
  expect(await undo(tenant.ops, b)).toFailWith(409, "outcome_went_on");
  await sound(tenant);
});

test("the leg that was to follow a first one follows it again", async () => {
  const parent = await newDelivery(ground, { staged: true, warehouse_id: ground.warehouse });
  const [a, b] = parent.legs.map(({ id }: { id: string }) => id);
  await assign(tenant, a);
  await moves(tenant.driver, a, "pickup", "depart");
  expect(await returned(a)).toSucceed(200);
  expect([await statusOf(b), await statusOf(parent.id)]).toEqual(["cancelled", "returned"]);
  expect(await undo(tenant.ops, parent.id)).toSucceed(200);
  expect([await statusOf(a), await statusOf(b), await statusOf(parent.id)])
    .toEqual(["in_transit", "draft", "in_transit"]);
  await moves(tenant.driver, a, "complete");
  expect(await statusOf(b)).toBe("pending");
  await sound(tenant);
});

describe("a first leg that was brought to another warehouse by mistake", () => {
  const broughtThere = async () => {
    const own = await newTenant({ settings: { "general.warehouse": { handoff_required: true } } });
    const yard = await newYard(own);
    const parent = await newDelivery(yard, { staged: true, warehouse_id: yard.warehouse });
    const [a, b] = parent.legs.map(({ id }: { id: string }) => id);
    await assign(own, a);
    await moves(own.driver, a, "pickup", "depart");
    const places = () =>
      sql`select leg, staging_warehouse_id, pickup_warehouse_id, pickup_address_id, pickup_snapshot ->> 'id' as pickup, pickup_zone_id,
        dropoff_warehouse_id, dropoff_address_id, dropoff_snapshot ->> 'id' as dropoff, dropoff_zone_id
        from delivery.deliveries where id in (${parent.id}, ${a}, ${b}) order by leg nulls first`;
    const before = await places();
    await moves(own.driver, a, ["return", { warehouse_id: yard.there }]);
    expect(await statusOf(a)).toBe("delivered");
    expect((await places())[0]!.staging_warehouse_id).toBe(yard.there);
    return { own, yard, parent, a, b, places, before };
  };

  test("goes where it was ordered to again, and its parcel continues from there", async () => {
    const { own, yard, parent, a, b, places, before } = await broughtThere();
    expect(await undo(own.ops, parent.id)).toSucceed(200);
    expect([await statusOf(a), await statusOf(b)]).toEqual(["in_transit", "draft"]);
    expect(await places()).toEqual(before);
    await moves(own.driver, a, "complete");
    const [receipt] = await sql`select id, warehouse_id from warehousing.receiving_orders
      where delivery_id = ${a} and status = 'pending'`;
    expect(receipt!.warehouse_id).toBe(yard.warehouse);
    await received(yard, receipt!.id);
    expect(await statusOf(b)).toBe("pending");
    expect(await places()).toEqual(before);
    await sound(own);
  });

  test("stays on its way to that one where the other was deleted since", async () => {
    const { own, yard, parent, a, places } = await broughtThere();
    const there = await places();
    await sql`update warehousing.warehouses set deleted_at = now() where id = ${yard.warehouse}`;
    expect(await undo(own.ops, parent.id)).toSucceed(200);
    expect(await statusOf(a)).toBe("in_transit");
    expect(await places()).toEqual(there);
    await sound(own);
  });
});

test("the goods of a store's order went on", async () => {
  const shop = await newShop();
  await withDriver(shop);
  const { id } = await placeOrder(shop, "cash", 2);
  await approveOrder(shop, id);
  const [{ id: delivery }] = await sql`select id from delivery.deliveries where order_id = ${id}`;
  await bring(shop, delivery, "returned");
  expect(await undo(shop.tenant.ops, delivery)).toFailWith(409, "outcome_went_on");
});
