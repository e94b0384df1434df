/** The fee of a parcel that comes back is refunded by the policy in force, once, also where a carrier brings it back. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { enable, external, givenToCarrier, report } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  deliveryIn,
  type Ground,
  move,
  newDelivery,
  statusOf,
} from "../../support/deliveries.ts";
import { returnOf } from "../../support/customer-returns.ts";
import "../../support/expect.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { newYard, whereIs, type Yard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { broughtInto, fromWarehouse, received, sentBackBy } from "../../support/send-back.ts";

const fee = 2_000;
let tenant: Tenant;
let yard: Yard;
let secret: string;
let wallet: string;
beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
  secret = (await enable(tenant)).secret;
  wallet = await fundWallet(tenant, "customer", tenant.customer.id, 100_000);
  await sql`update delivery.delivery_services set policy_mode = 'custom',
    policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_return": true}}'
    where id = ${(yard as Ground).service}`;
});
afterAll(() => checkAll(tenant));

/** Gives it to the carrier and books it; returns a function that sends its reports. */
async function given(id: string) {
  const tracking_number = await givenToCarrier(tenant, id);
  return async (status: string, event_id: string = randomUUID()) =>
    (await report(tenant, secret, { event_id, tracking_number, status })).body.outcome;
}

const refundsOf = (id: string) =>
  sql`select status, payment_method, amount::float8 as amount from money.payments
    where delivery_id = ${id} and type = 'REFUND'`;

/** In the warehouse, where a driver brought it; its sender paid the fee in cash. */
async function waiting(more: Record<string, unknown> = {}): Promise<string> {
  const { id } = await newDelivery(yard, { payer_type: "sender", cod_amount: 0, ...more });
  await received(yard, await broughtInto(yard, id, yard.warehouse));
  return id;
}

/** The receipt by which the first warehouse expects a parcel back from its carrier. */
async function expectedBack(id: string): Promise<string> {
  expect(await statusOf(id)).toBe("in_transit");
  const [receipt, ...more] = await sql`select id, warehouse_id from warehousing.receiving_orders
    where delivery_id = ${id} and status = 'pending'`;
  expect(more).toEqual([]);
  expect(receipt.warehouse_id).toBe(yard.warehouse);
  return receipt.id;
}

describe("a carrier that brings a parcel back to its sender", () => {
  test("ends it as a driver does: the fee that a wallet paid is back on it, once", async () => {
    const before = await balanceOf(wallet);
    const { id } = await newDelivery(yard, {
      ...external,
      payer_type: "sender",
      payment_method: "wallet",
      cod_amount: 0,
    });
    expect(await balanceOf(wallet) - before).toBe(-fee);
    const reports = await given(id);
    await reports("picked_up");
    const event = randomUUID();
    // Sent again while it is taken, and said once more beside it.
    const said = await Promise.all(
      [event, event, event, undefined, undefined].map((one) => reports("returned", one)),
    );
    expect(said).toContain("applied");
    expect(await statusOf(id)).toBe("returned");
    await reports("returned", event);
    expect(await refundsOf(id)).toHaveLength(1);
    expect(await balanceOf(wallet)).toBe(before);
  });

  test("from a warehouse, as operations say: the fee that was paid in cash is on the sender's wallet", async () => {
    const id = await waiting();
    expect(await (await given(id))("returned")).toBe("applied");
    const receipt = await expectedBack(id);
    const before = await balanceOf(wallet);
    expect(await move(tenant.ops, id, "return")).toSucceed(200);
    expect(await statusOf(id)).toBe("returned");
    expect(await balanceOf(wallet) - before).toBe(fee);
    const [{ status }] = await sql`select status from warehousing.receiving_orders
      where id = ${receipt}`;
    expect(status).toBe("cancelled");
  });

  test("a sender without a wallet gets it from a desk", async () => {
    const id = await waiting({ customer_id: null });
    expect(await (await given(id))("returned")).toBe("applied");
    expect(await move(tenant.ops, id, "return")).toSucceed(200);
    expect(await refundsOf(id)).toEqual([{
      status: "pending",
      payment_method: "cash",
      amount: fee,
    }]);
  });

  test("what its receiver was to pay was never paid, and nothing is given back", async () => {
    const { id } = await newDelivery(yard, { ...external, cod_amount: 7_000 });
    expect(await (await given(id))("returned")).toBe("applied");
    expect(await refundsOf(id)).toEqual([]);
  });
});

test("where the company's wallet is short the parcel ends all the same, and an event says what is owed", async () => {
  const poor = await newTenant();
  const ground = await newYard(poor);
  const carrier = await enable(poor);
  await sql`update delivery.delivery_services set policy_mode = 'custom',
    policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_return": true}}'
    where id = ${ground.service}`;
  const payer = await fundWallet(poor, "customer", poor.customer.id, fee);
  const { id } = await newDelivery(ground, {
    ...external,
    payer_type: "sender",
    payment_method: "wallet",
    cod_amount: 0,
  });
  const [till] = await sql`select id from money.accounts
    where tenant_id = ${poor.id} and kind = 'wallet' and owner_type = 'tenant'`;
  const spent = await poor.admin.post(`/delivery/wallets/${till.id}/adjust`, {
    amount: fee,
    direction: "debit",
    reason: "Spent",
  }, { headers: { "idempotency-key": randomUUID() } });
  expect(spent).toSucceed();
  const booked = await poor.ops.post(`/carriers/shipments/${id}`, { carrier_code: "simulated" });
  const { tracking_number } = booked.body.shipment;
  const told = await report(poor, carrier.secret, { tracking_number, status: "returned" });
  expect(told.body.outcome).toBe("applied");
  expect(await statusOf(id)).toBe("returned");
  expect(await balanceOf(payer)).toBe(0);
  expect(
    await sql`select event_data from integration.system_events
      where entity_id = ${id} and event_type = 'carrier_return.refund_due'`,
  ).toEqual([{
    event_data: { delivery_id: id, carrier_code: "simulated", amount: fee, currency: "IQD" },
  }]);
  await checkAll(poor);
});

test("a leg that it brings into a warehouse is received there, and the next one waits", async () => {
  const made = await newDelivery(yard, {
    staged: true,
    warehouse_id: yard.warehouse,
    payer_type: "receiver",
  });
  const [into, out] = made.legs.map(({ id }: { id: string }) => id);
  const reports = await given(into);
  expect(await reports("picked_up")).toBe("applied");
  expect(await statusOf(out)).not.toBe("pending");
  expect(await reports("delivered")).toBe("applied");
  const [receipt] = await sql`select id from warehousing.receiving_orders
    where delivery_id = ${into} and status = 'pending'`;
  if (receipt) await received(yard, receipt.id);
  expect(await statusOf(out)).toBe("pending");
  expect(await whereIs(made.id)).toMatchObject({ at: yard.warehouse });
});

test("a carrier that brings home what was sent back: the parcel is returned, and its fee given back", async () => {
  const id = await waiting();
  const back = await sentBackBy(yard, id, "operational-return");
  expect(await move(tenant.ops, back.id, "execute")).toSucceed(200);
  const reports = await given(back.id);
  const before = await balanceOf(wallet);
  await reports("picked_up");
  expect(await reports("delivered")).toBe("applied");
  expect(await statusOf(id)).toBe("returned");
  expect(await balanceOf(wallet) - before).toBe(fee);
  expect(await reports("delivered")).toBe("unchanged");
  expect(await refundsOf(id)).toHaveLength(1);
});

describe("a carrier that took from a warehouse what was on its way", () => {
  test("brings it back there: it waits again, its fee is kept, and it goes home from there", async () => {
    const id = await waiting();
    const reports = await given(id);
    expect(await reports("in_transit")).toBe("applied");
    const event = randomUUID();
    for (const _ of [1, 2]) await reports("returned", event);
    await received(yard, await expectedBack(id));
    expect(await whereIs(id)).toMatchObject({ status: "pending", at: yard.warehouse });
    expect(await refundsOf(id)).toEqual([]);
    const back = await sentBackBy(yard, id, "operational-return");
    expect(back.status).toBe("pending");
  });

  test("brings a customer's return back there, which waits for its next driver", async () => {
    await sql`update delivery.delivery_services set allow_returns = true where id = ${yard.service}`;
    const { id: parcel } = await deliveryIn(yard, "delivered");
    const made = await returnOf(yard, parcel, { payer_type: "receiver" });
    const receipt = await broughtInto(yard, made.body.id, yard.warehouse);
    await received(yard, receipt);
    const reports = await given(made.body.id);
    expect(await reports("returned")).toBe("applied");
    await received(yard, await expectedBack(made.body.id));
    expect(await whereIs(made.body.id)).toMatchObject({ status: "pending", at: yard.warehouse });
    expect(await returnOf(yard, parcel)).toFailWith(409, "return_already_exists");
  });
});

describe("a parcel that a warehouse was to receive from its carrier, and is on its way again,", () => {
  const receiptsOf = async (id: string) =>
    (await sql`select status from warehousing.receiving_orders where delivery_id = ${id}
      and source <> 'inbound' order by created_at, id`).map(({ status }) => status);

  /** Ordered from the first warehouse, with its carrier, and reported returned: it is expected there. */
  async function comingBack() {
    const { id } = await fromWarehouse(yard, { cod_amount: 0, payer_type: "receiver" });
    const reports = await given(id);
    expect(await reports("picked_up")).toBe("applied");
    expect(await reports("returned")).toBe("applied");
    expect(await statusOf(id)).toBe("in_transit");
    expect(await receiptsOf(id)).toEqual(["pending"]);
    return { id, reports };
  }

  test("is not expected once its receiver has it", async () => {
    const { id, reports } = await comingBack();
    expect(await reports("delivered")).toBe("applied");
    expect(await receiptsOf(id)).toEqual(["cancelled"]);
  });

  test("is not expected while its carrier tries again, and is when it comes back after all", async () => {
    const { id, reports } = await comingBack();
    expect(await reports("failed")).toBe("applied");
    expect(await reports("in_transit")).toBe("applied");
    expect(await receiptsOf(id)).toEqual(["cancelled"]);
    expect(await reports("returned")).toBe("applied");
    expect(await receiptsOf(id)).toEqual(["cancelled", "pending"]);
  });

  test("as a return that came back to the warehouse it left, is not expected there, and comes home", async () => {
    const id = await waiting();
    const back = await sentBackBy(yard, id, "operational-return");
    const reports = await given(back.id);
    expect(await reports("picked_up")).toBe("applied");
    expect(await reports("returned")).toBe("applied");
    expect(await receiptsOf(back.id)).toEqual(["pending"]);
    expect(await reports("in_transit")).toBe("applied");
    expect(await receiptsOf(back.id)).toEqual(["cancelled"]);
    expect(await reports("delivered")).toBe("applied");
    expect(await statusOf(id)).toBe("returned");
  });
});
