/** A `delivered` that a carrier reported wrongly is undone: the parcel is on its way, and nobody owes its cash. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  bookedCash,
  carried,
  collectionsOf,
  external,
  givenToCarrier,
  newSide,
  owedBy,
  payCarried as pay,
  report,
  type Side,
  tell,
} from "../../support/carriers.ts";
import { daysLater, setPayouts, sound, standing } from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import { checkAll, move, newDelivery, path, statusOf } from "../../support/deliveries.ts";
import { balanceOf, fundWallet, paymentsOf } from "../../support/money.ts";
import { newShop, placeOrder, standing as orderOf } from "../../support/orders.ts";
import { undo } from "../../support/outcomes.ts";
import type { Tenant } from "../../support/people.ts";
import { breachesIn } from "../../support/reconciled.ts";
import { enable } from "../../support/carriers.ts";

const list = "/carriers/tenant/simulated/collections";
const proof = "/delivery/cod-reconciliation";
let side: Side;
let tenant: Tenant;
let wallet: string;
beforeAll(async () => {
  side = await newSide();
  ({ tenant } = side);
  wallet = await fundWallet(tenant, "customer", tenant.customer.id, 100_000);
});
afterAll(async () => {
  await checkAll(tenant);
  expect(await breachesIn(tenant)).toEqual([]);
  expect((await tenant.admin.get(proof)).body.differences).toEqual([]);
});
const statusesOf = async (id: string) => (await collectionsOf(id)).map(({ status }) => status);

test("the parcel is on its way again, and its cash is on nobody's account", async () => {
  const [owner, owed] = [await balanceOf(wallet), await owedBy(tenant)];
  const parcel = await bookedCash(side.ground);
  for (const status of ["picked_up", "delivered"]) await tell(side, parcel, status);
  const [{ now: before }] = await sql`select clock_timestamp() as now`;
  const undone = await undo(tenant.ops, parcel.id);
  expect(undone).toSucceed(200);
  expect(undone.body.data).toMatchObject({
    delivery: { status: "picked_up", delivered_at: null },
    cash: { cod: 7_000, delivery_fee: 2_000, currency: "IQD" },
  });
  expect([await balanceOf(wallet), await owedBy(tenant)]).toEqual([owner, owed]);
  expect((await paymentsOf(parcel.id)).map(({ status }) => status))
    .toEqual(["CANCELLED", "CANCELLED"]);
  // It is in no list and no sum, but where reversed rows are asked for, and still counts as of a moment before.
  const query = { delivery_id: parcel.id };
  expect((await tenant.staff.get(list, { query })).body)
    .toMatchObject({ data: [], pagination: { total: 0 }, summary: { owed: [] } });
  const { data } = (await tenant.staff.get(list, { query: { ...query, reversed: true } })).body;
  expect(data).toMatchObject([{ status: "reversed", reversed_at: expect.any(String) }]);
  const [now, then] = [
    await tenant.admin.get(proof),
    await tenant.admin.get(proof, { query: { as_of: before.toISOString() } }),
  ];
  for (const { body } of [now, then]) expect(body.reconciled).toBe(true);
  expect(then.body.carriers[0].owed - now.body.carriers[0].owed).toBe(9_000);
});

test("then its carrier reports on, and delivered once more it owes the cash once", async () => {
  const owed = await owedBy(tenant);
  const [parcel] = await carried(side, 7_000);
  expect(await undo(tenant.ops, parcel.id)).toSucceed(200);
  expect(await statusOf(parcel.id)).toBe("in_transit");
  expect((await tell(side, parcel, "failed")).body.outcome).toBe("applied");
  expect((await tell(side, parcel, "delivered")).body.outcome).toBe("applied");
  expect((await statusesOf(parcel.id)).sort()).toEqual(["owed", "reversed"]);
  expect(await owedBy(tenant) - owed).toBe(9_000);
});

test("or brings it back, and owes nothing", async () => {
  const owed = await owedBy(tenant);
  const [parcel] = await carried(side, 7_000);
  expect(await undo(tenant.ops, parcel.id)).toSucceed(200);
  expect((await tell(side, parcel, "returned")).body.outcome).toBe("applied");
  expect(await undo(tenant.ops, parcel.id)).toFailWith(409, "carrier_reports_outcome");
  expect(await owedBy(tenant)).toBe(owed);
});

test("a delivery that operations completed by hand is undone alike, with and without a booking", async () => {
  const owed = await owedBy(tenant);
  const parcel = await bookedCash(side.ground);
  await tell(side, parcel, "in_transit");
  const other = await newDelivery(side.ground, { ...external, cod_amount: 7_000 });
  await move(tenant.ops, other.id, "depart");
  for (const { id } of [parcel, other]) {
    const cash_collected = { cod: 7_000, delivery_fee: 2_000 };
    expect(await move(tenant.ops, id, "complete", { cash_collected })).toSucceed(200);
    expect(await undo(tenant.ops, id)).toSucceed(200);
    expect(await statusOf(id)).toBe("in_transit");
    expect(await move(tenant.ops, id, "complete", { cash_collected })).toSucceed(200);
  }
  expect(await owedBy(tenant) - owed).toBe(18_000);
});

describe("it is refused", () => {
  test("while the carrier's payment of it stands, or its write-off", async () => {
    const [paid, lost] = await carried(side, 1_000, 2_000);
    const payment = await pay(tenant.admin, 3_000, { delivery_ids: [paid.id] });
    const writeOff = { kind: "write_off", notes: "Bankrupt", delivery_ids: [lost.id] };
    const borne = await pay(tenant.admin, 4_000, writeOff);
    for (const [{ id }, entered] of [[paid, payment], [lost, borne]] as const) {
      expect(entered).toSucceed(201);
      expect(await undo(tenant.ops, id)).toFailWith(409, "outcome_is_settled");
      const reversed = await tenant.admin.post(
        `/carriers/tenant/simulated/remittances/${entered.body.remittance.id}/reverse`,
        { reason: "Never delivered" },
      );
      expect(reversed).toSucceed(200);
      expect(await undo(tenant.ops, id)).toSucceed(200);
    }
  });

  test("when the owner has spent the COD", async () => {
    const mine = await newSide();
    await fundWallet(mine.tenant, "customer", mine.tenant.customer.id, 0);
    const [parcel] = await carried(mine, 7_000);
    await newDelivery(mine.ground, { payer_type: "sender", payment_method: "wallet" });
    expect(await undo(mine.tenant.ops, parcel.id)).toFailWith(400, "insufficient_wallet_balance");
    expect(await statusOf(parcel.id)).toBe("delivered");
    await checkAll(mine.tenant);
  });

  test("after 72 hours, to drivers, and of a parcel that its carrier brought before outcomes were kept", async () => {
    const [parcel] = await carried(side, 1_000);
    expect((await undo(tenant.driver, parcel.id)).status).toBe(404);
    await sql`update delivery.outcomes set created_at = created_at - interval '73 hours' where delivery_id = ${parcel.id}`;
    expect(await undo(tenant.ops, parcel.id)).toFailWith(409, "undo_period_over");
    await sql`delete from delivery.outcomes where delivery_id = ${parcel.id}`;
    const refused = await undo(tenant.ops, parcel.id);
    expect(refused).toFailWith(409, "no_outcome_to_undo");
    expect(refused.body.status).toBe("delivered");
  });
});

describe.each([
  { release: "on_remit" },
  { release: "on_bank" },
  { release: "on_delivery", hold_days: 3 },
])("under %o", (rule) => {
  test("nothing of it is held after the undo, and the next delivery holds again", async () => {
    const mine = await newSide();
    await setPayouts(mine.tenant, rule);
    const [parcel] = await carried(mine, 7_000);
    const { customer } = mine.tenant;
    expect(await standing(customer)).toEqual([7_000, 7_000, 0]);
    expect(await undo(mine.tenant.ops, parcel.id)).toSucceed(200);
    expect(await standing(customer)).toEqual([0, 0, 0]);
    await sound(mine.tenant);
    await daysLater(mine.tenant, 5);
    expect(await standing(customer)).toEqual([0, 0, 0]);
    expect((await tell(mine, parcel, "delivered")).body.outcome).toBe("applied");
    expect(await standing(customer)).toEqual([7_000, 7_000, 0]);
    await sound(mine.tenant);
  });
});

test("a store's order is shipped again and paid by the next delivery", async () => {
  const shop = await newShop();
  const { secret } = await enable(shop.tenant);
  const { id: order } = await placeOrder(shop);
  expect(await shop.tenant.admin.put(`/storefront/orders/${order}/approve`)).toSucceed(200);
  const [{ id }] = await sql`select id from delivery.deliveries where order_id = ${order}`;
  const tracking_number = await givenToCarrier(shop.tenant, id);
  const deliver = () => report(shop.tenant, secret, { tracking_number, status: "delivered" });
  expect((await deliver()).body.outcome).toBe("applied");
  const { paid } = await orderOf(order);
  expect(await undo(shop.tenant.ops, id)).toSucceed(200);
  expect(await orderOf(order)).toMatchObject({ status: "shipped", payment_status: "pending" });
  expect(await owedBy(shop.tenant)).toBe(0);
  expect((await deliver()).body.outcome).toBe("applied");
  expect(await orderOf(order)).toMatchObject({ status: "delivered", payment_status: "paid", paid });
  await checkAll(shop.tenant);
});

test("an undo, payments and the next report at one moment leave the cash owed, paid or reversed, and once", async () => {
  for (let round = 0; round < 5; round++) {
    const [parcel] = await carried(side, 1_000);
    const answers = await Promise.all([
      undo(tenant.ops, parcel.id),
      pay(tenant.admin, 3_000, { delivery_ids: [parcel.id] }),
      undo(tenant.ops, parcel.id),
      tell(side, parcel, "delivered"),
    ]);
    expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
    const rows = await statusesOf(parcel.id);
    const delivered = (await tenant.ops.get(`${path}/${parcel.id}`)).body.delivery.status ===
      "delivered";
    expect(rows.filter((status) => status !== "reversed")).toHaveLength(delivered ? 1 : 0);
  }
});
