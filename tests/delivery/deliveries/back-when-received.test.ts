/** A parcel that a driver brings back into a warehouse is back when its staff have received it: not before does it read returned, nor is its fee refunded. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  deliveryIn,
  move,
  moves,
  newDelivery,
  parcelStock,
  path,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { fundWallet } from "../../support/money.ts";
import { newYard, whereIs, type Yard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { fromWarehouse, received, sentBackBy, transferred } from "../../support/send-back.ts";
import { adjust } from "../../support/wallets.ts";

let tenant: Tenant;
let yard: Yard;
beforeAll(async () => {
  // Whatever arrives is counted by staff, and whatever comes back gives its sender the fee back.
  tenant = await newTenant({ settings: { "general.warehouse": { handoff_required: true } } });
  yard = await newYard(tenant);
  await sql`update delivery.delivery_services set allow_returns = true, policy_mode = 'custom',
    policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_return": true}}'
    where id = ${yard.service}`;
});

const paid = { payer_type: "sender", payment_method: "cash" };

/** Orders in each workflow whose driver has the parcel: the delivery that moves, and the parcel that reads its status. */
const flows: Record<string, () => Promise<{ moved: string; parcel: string }>> = {
  standard: async () => {
    const { id } = await fromWarehouse(yard, paid);
    return { moved: id, parcel: id };
  },
  customer_return: async () => {
    const { id } = await deliveryIn(yard, "delivered");
    const back = await newDelivery(yard, {
      delivery_flow: "customer_return",
      original_delivery_id: id,
      pickup_address_id: undefined,
      dropoff_address_id: undefined,
      ...paid,
    });
    return { moved: back.id, parcel: back.id };
  },
};

async function onTheRoad(flow: string) {
  const made = await flows[flow]!();
  await assign(tenant, made.moved);
  await moves(tenant.driver, made.moved, "pickup", "depart");
  return made;
}

const refundsOf = async (parcel: string): Promise<number> =>
  (await sql`select from money.payments where delivery_id = ${parcel} and type = 'REFUND'`).length;

const returnEventsOf = async (parcel: string): Promise<number> =>
  (await sql`select from integration.system_events
    where entity_id = ${parcel} and event_type = 'delivery.returned'`).length;

const facts = async (parcel: string) => ({
  status: await statusOf(parcel),
  events: await returnEventsOf(parcel),
  refunds: await refundsOf(parcel),
  stock: await parcelStock(parcel),
});

const back = { status: "returned", events: 1, refunds: 1, stock: { available: 1 } };
const away = { status: "in_transit", events: 0, refunds: 0, stock: {} };

/** A customer's return continues from the warehouse; everything else was ordered from there, or is back for good. */
const receivedAs = (flow: string) =>
  flow === "customer_return" ? { ...away, status: "pending", stock: { available: 1 } } : back;

describe.each(Object.keys(flows))("of the workflow %s", (flow) => {
  const there = receivedAs(flow);
  const brought = async (moved: string, headers = {}): Promise<Body> => {
    const answer = await tenant.driver.post(
      `${path}/${moved}/return`,
      { reason: "refused", warehouse_id: yard.warehouse },
      { headers },
    );
    expect(answer).toSucceed(200);
    return answer.body;
  };

  test("it is on its way until staff receive it, and back or waiting then", async () => {
    const { moved, parcel } = await onTheRoad(flow);
    const key = { "idempotency-key": randomUUID() };
    const answer = await brought(moved, key);
    expect(answer).toMatchObject({ refunded: false, refund_due: null });
    expect(await brought(moved, key)).toEqual(answer);
    expect(await facts(parcel)).toEqual(away);
    await received(yard, answer.receiving_order_id);
    expect(await facts(parcel)).toEqual(there);
    expect(await whereIs(moved)).toMatchObject({ status: there.status, at: yard.warehouse });
    const [given] = await sql`select status from delivery.assignments where delivery_id = ${moved}`;
    expect(given.status).toBe("returned");
    // Said again, nothing more happens.
    await received(yard, answer.receiving_order_id);
    expect(await facts(parcel)).toEqual(there);
    const open = await sql`select from delivery.deliveries
      where parent_id = ${parcel} and status in ('draft', 'pending')`;
    expect(open).toHaveLength(0);
    await checkAll(tenant);
  });

  test("the warehouse calls it off, or its sender gets it after all: nothing is received", async () => {
    const off = await onTheRoad(flow);
    const { receiving_order_id } = await brought(off.moved);
    expect(
      await tenant.warehouse.put(`/warehousing/receiving-orders/${receiving_order_id}`, {
        status: "cancelled",
      }),
    ).toSucceed(200);
    expect(await facts(off.parcel)).toEqual(away);

    const home = await onTheRoad(flow);
    const expected = await brought(home.moved);
    await moves(tenant.driver, home.moved, "return");
    expect(await facts(home.parcel)).toEqual({ ...back, stock: {} });
    expect(
      await tenant.warehouse.put(
        `/warehousing/receiving-orders/${expected.receiving_order_id}`,
        { status: "received" },
      ),
    ).toFailWith(409, "invalid_status_transition");
    await checkAll(tenant);
  });

  test("received and cancelled at the same moment, one of the two happens", async () => {
    for (let round = 0; round < 3; round++) {
      const { moved, parcel } = await onTheRoad(flow);
      const { receiving_order_id } = await brought(moved);
      const url = `/warehousing/receiving-orders/${receiving_order_id}`;
      const [taken, off] = await Promise.all([
        tenant.warehouse.put(url, { status: "received" }),
        tenant.warehouse.put(url, { status: "cancelled" }),
      ]);
      expect([taken.status, off.status].sort()).toEqual([200, 409]);
      expect(await facts(parcel)).toEqual(taken.status === 200 ? there : away);
    }
    await checkAll(tenant);
  });
});

describe("a return that ends in the warehouse of its order", () => {
  const arrived = async () => {
    const parcel = await fromWarehouse(yard, paid);
    await transferred(yard, parcel);
    const { id } = await sentBackBy(yard, parcel.id, "operational-return");
    await takenOver(yard, id, tenant.driver2);
    await moves(tenant.driver2, id, "depart", "complete");
    const [{ id: receipt }] = await sql`select id from warehousing.receiving_orders
      where delivery_id = ${id} and status = 'pending'`;
    return { parcel: parcel.id as string, id, receipt: receipt as string };
  };

  test("brings nothing back until staff have received it", async () => {
    const { parcel, id, receipt } = await arrived();
    expect(await statusOf(id)).toBe("delivered");
    expect(await facts(parcel)).toEqual({ ...away, status: "pending" });
    const elsewhere = await tenant.ops.post("/delivery/assignments", {
      delivery_id: parcel,
      driver_id: tenant.driver.id,
    });
    expect(elsewhere).toFailWith(409, "return_under_way");
    expect(await move(tenant.ops, parcel, "operational-return"))
      .toFailWith(409, "delivery_not_in_warehouse");
    await received(yard, receipt);
    expect(await facts(parcel)).toEqual(back);
    expect((await whereIs(parcel)).at).toBe(yard.warehouse);
    await received(yard, receipt);
    expect(await facts(parcel)).toEqual(back);
    await checkAll(tenant);
  });

  test("received while its order is cancelled: the fee goes back once, whichever comes first", async () => {
    for (let round = 0; round < 3; round++) {
      const { parcel, receipt } = await arrived();
      const [, off] = await Promise.all([
        received(yard, receipt),
        move(tenant.ops, parcel, "cancel", { reason: "no" }),
      ]);
      expect([200, 409]).toContain(off.status);
      expect(await statusOf(parcel)).toBe(off.status === 200 ? "cancelled" : "returned");
      expect(await refundsOf(parcel)).toBe(1);
      expect(await parcelStock(parcel)).toEqual({ available: 1 });
    }
    await checkAll(tenant);
  });
});

test("where the company's wallet is short of the fee, it is received all the same, and an event says what is owed", async () => {
  const own = await newTenant();
  const place = await newYard(own);
  await sql`update delivery.delivery_services set policy_mode = 'custom',
    policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_return": true}}'
    where id = ${place.service}`;
  await fundWallet(own, "customer", own.customer.id, 10_000);
  const { id } = await fromWarehouse(place, { payer_type: "sender", payment_method: "wallet" });
  await assign(own, id);
  await moves(own.driver, id, "pickup", "depart");
  const { receiving_order_id } = await moves(own.driver, id, [
    "return",
    { warehouse_id: place.warehouse },
  ]);
  const [till] = await sql`select id, balance from money.accounts
    where tenant_id = ${own.id} and kind = 'wallet' and owner_type = 'tenant'`;
  expect(await adjust(own.admin, till.id, Number(till.balance), "debit")).toSucceed();
  await received(place, receiving_order_id);
  expect(await statusOf(id)).toBe("returned");
  expect(await refundsOf(id)).toBe(0);
  expect(
    await sql`select event_data from integration.system_events
      where event_type = 'delivery.refund_due' and entity_id = ${id}`,
  ).toEqual([{
    event_data: { delivery_id: id, amount: 2000, currency: "IQD", actor_id: own.warehouse.id },
  }]);
  await checkAll(own);
});
