/** A redirect is priced as an order: the difference is the wallet's, the cash that is due, or nobody's; refunds give the net back. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { deliveryIn, move, moves, newDelivery, path } from "../../support/deliveries.ts";
import { checkDeliveries } from "../../support/delivery-invariants.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import type { Tenant } from "../../support/people.ts";
import { fee, newRoads, redirect, type Roads } from "../../support/redirects.ts";
import { soldInStore } from "../../support/sold.ts";
import { saveSettings } from "../../support/people.ts";

let roads: Roads;
let tenant: Tenant;
let wallet: string;

beforeAll(async () => {
  roads = await newRoads();
  tenant = roads.tenant;
  await saveSettings(tenant.id, "delivery.fulfillment_policy", {
    payment_policies: { refund_delivery_fee_on_cancel: true, refund_delivery_fee_on_return: true },
  });
});
beforeEach(async () => {
  wallet = await fundWallet(tenant, "customer", tenant.customer.id, 50_000);
});
afterAll(() => checkDeliveries(tenant));

const byWallet = { payer_type: "sender", payment_method: "wallet" };
const shown = async (id: string): Promise<Body> =>
  (await tenant.ops.get(`${path}/${id}`)).body.delivery;
const paid = async (id: string) =>
  (await sql`select type, amount, payment_method from money.payments
    where delivery_id = ${id} and status = 'SUCCESS' order by created_at, id`)
    .map(({ type, amount }) => [type, amount]);

describe("a fee from the wallet", () => {
  test("is dearer or cheaper in the same transaction; a cancellation gives back the net", async () => {
    const before = await balanceOf(wallet);
    const { id } = await newDelivery(roads, byWallet);
    expect(await balanceOf(wallet)).toBe(before - fee.near);
    const answer = await redirect(tenant.customer, id, roads.far);
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({
      price: {
        before: fee.near,
        after: fee.far,
        difference: 1112,
        currency: "IQD",
        charged: "wallet",
      },
      driver_unassigned: false,
      dry_run: false,
      delivery: { id, price: fee.far, delivery_fee: fee.far, dropoff_address_id: roads.far },
    });
    expect(await balanceOf(wallet)).toBe(before - fee.far);
    expect(await redirect(tenant.ops, id, roads.near)).toSucceed(200);
    expect(await balanceOf(wallet)).toBe(before - fee.near);
    expect(await redirect(tenant.ops, id, roads.far)).toSucceed(200);
    expect(await paid(id)).toEqual([
      ["DELIVERY_FEE", fee.near],
      ["DELIVERY_FEE_CHANGE", 1112],
      ["DELIVERY_FEE_CHANGE", -1112],
      ["DELIVERY_FEE_CHANGE", 1112],
    ]);
    const gone = await move(tenant.ops, id, "cancel", { reason: "no" });
    expect(gone.body).toMatchObject({ refunded: true, refund_due: null });
    expect(await balanceOf(wallet)).toBe(before);
    expect((await paid(id)).at(-1)).toEqual(["REFUND", fee.far]);
  });

  test("that became cheaper is given back as what is left, also on a return", async () => {
    const before = await balanceOf(wallet);
    const { id } = await newDelivery(roads, { ...byWallet, dropoff_address_id: roads.far });
    expect((await redirect(tenant.ops, id, roads.near)).body.data.price.difference).toBe(-1112);
    expect(await balanceOf(wallet)).toBe(before - fee.near);
    const sent = await deliveryIn(roads, "in_transit", {
      ...byWallet,
      dropoff_address_id: roads.far,
    });
    expect(await redirect(tenant.ops, sent.id, roads.near)).toSucceed(200);
    await moves(tenant.driver, sent.id, "return");
    expect(await move(tenant.ops, id, "cancel", { reason: "no" })).toSucceed(200);
    expect(await balanceOf(wallet)).toBe(before);
  });

  test("that the wallet does not hold changes nothing, as a dry run says before", async () => {
    const { id } = await newDelivery(roads, byWallet);
    const left = await balanceOf(wallet);
    await fundWallet(tenant, "customer", tenant.customer.id, 100 - left);
    const was = await shown(id);
    for (const dry_run of [true, false]) {
      const refused = await redirect(tenant.customer, id, roads.far, { dry_run });
      expect(refused).toFailWith(400, "insufficient_wallet_balance");
    }
    expect(await shown(id)).toEqual(was);
    expect(await balanceOf(wallet)).toBe(100);
    const free = await redirect(tenant.customer, id, roads.near);
    expect(free.body.data.price).toMatchObject({ difference: 0, charged: "none" });
  });

  test("is only told by a dry run, which writes no address", async () => {
    const { id } = await newDelivery(roads, byWallet);
    const was = await shown(id);
    const before = await balanceOf(wallet);
    const [{ n }] =
      await sql`select count(*)::int as n from delivery.addresses where tenant_id = ${tenant.id}`;
    const dropoff_address = { latitude: 33.41, longitude: 44.36, full_address: "Street 9" };
    const place = `${path}/${id}/redirect`;
    const told = await tenant.customer.post(place, { dropoff_address, dry_run: true });
    expect(told).toSucceed(200);
    expect(told.body.data).toMatchObject({
      dry_run: true,
      price: { after: fee.far, charged: "wallet" },
      delivery: { dropoff_address_id: was.dropoff_address_id },
    });
    expect(await shown(id)).toEqual(was);
    expect(await balanceOf(wallet)).toBe(before);
    const [after] =
      await sql`select count(*)::int as n from delivery.addresses where tenant_id = ${tenant.id}`;
    expect(after.n).toBe(n);
    const done = await tenant.customer.post(place, { dropoff_address });
    expect(done.body.data.delivery).toMatchObject({
      delivery_fee: fee.far,
      dropoff_zone_id: roads.farZone,
      dropoff_address: { full_address: "Street 9" },
    });
  });
});

describe("a fee in cash", () => {
  test("that was not taken is due as it is now", async () => {
    const { id } = await deliveryIn(roads, "in_transit", { cod_amount: 5000 });
    const answer = await redirect(tenant.ops, id, roads.far);
    expect(answer.body.data.price).toMatchObject({ difference: 1112, charged: "cash" });
    const due = { cod: 5000, delivery_fee: fee.far, currency: "IQD" };
    expect((await shown(id)).cash_due.delivery).toEqual(due);
    const { cash } = await moves(tenant.driver, id, "complete");
    expect(cash.collected).toEqual(due);
    const sender = await newDelivery(roads, { payer_type: "sender" });
    expect(await redirect(tenant.customer, sender.id, roads.far)).toSucceed(200);
    expect((await shown(sender.id)).cash_due.pickup.delivery_fee).toBe(fee.far);
  });

  test("that was taken stays; charged to a wallet it is paid there, and a return gives the net back", async () => {
    const before = await balanceOf(wallet);
    const { id } = await deliveryIn(roads, "in_transit", { payer_type: "sender" });
    const stays = await redirect(tenant.ops, id, roads.far);
    expect(stays.body.data.price).toMatchObject({
      after: fee.near,
      difference: 0,
      charged: "none",
    });
    expect(await redirect(tenant.ops, id, roads.near)).toSucceed(200);
    const charged = await redirect(tenant.ops, id, roads.far, { charge: "wallet" });
    expect(charged.body.data.price).toMatchObject({ difference: 1112, charged: "wallet" });
    expect(await balanceOf(wallet)).toBe(before - 1112);
    expect((await shown(id)).cash_due.pickup.delivery_fee).toBe(0);
    const back = await moves(tenant.driver, id, "return");
    expect(back).toMatchObject({ refunded: true, refund_due: null });
    expect(await balanceOf(wallet)).toBe(before + fee.near);
    const cheaper = await deliveryIn(roads, "in_transit", {
      payer_type: "sender",
      dropoff_address_id: roads.far,
    });
    const at = await balanceOf(wallet);
    expect(await redirect(tenant.ops, cheaper.id, roads.near, { charge: "wallet" })).toSucceed(200);
    expect(await balanceOf(wallet)).toBe(at + 1112);
    await moves(tenant.driver, cheaper.id, "return");
    expect(await balanceOf(wallet)).toBe(at + fee.far);
  });

  test("is charged to no wallet that is nobody's; nor may an owner ask for it", async () => {
    const { id } = await deliveryIn(roads, "in_transit", {
      payer_type: "sender",
      customer_id: undefined,
    });
    const refused = await redirect(tenant.ops, id, roads.far, { charge: "wallet" });
    expect(refused).toFailWith(400, "customer_required_for_wallet");
    expect(refused.body.field).toBe("charge");
    const own = await newDelivery(roads);
    expect(await redirect(tenant.customer, own.id, roads.far, { charge: "wallet" }))
      .toFailWith(403, "forbidden");
  });
});

test("the reconciliation names a change of a fee that the books do not have", async () => {
  const torn = await newRoads();
  const { tenant: company } = torn;
  await fundWallet(company, "customer", company.customer.id, 50_000);
  const { id } = await newDelivery(torn, byWallet);
  expect(await redirect(company.ops, id, torn.far)).toSucceed(200);
  const reconciled = async () => (await company.admin.get("/delivery/cod-reconciliation")).body;
  expect((await reconciled()).reconciled).toBe(true);
  const [{ id: payment }] = await sql`update money.payments set amount = amount + 1
    where delivery_id = ${id} and type = 'DELIVERY_FEE_CHANGE' returning id`;
  const body = await reconciled();
  expect(body.differences).toMatchObject([{ kind: "fee_change", rows: [payment] }]);
  expect(body.differences[0].expected - body.differences[0].found).toBe(1);
});

test("a store's order keeps the fee that was agreed", async () => {
  const { id } = await newDelivery(roads, byWallet);
  const unsold = await soldInStore(tenant, id);
  expect(await redirect(tenant.customer, id, roads.far)).toFailWith(403, "forbidden");
  const answer = await redirect(tenant.ops, id, roads.far);
  expect(answer.body.data).toMatchObject({
    price: { after: fee.near, difference: 0, charged: "none" },
    delivery: { dropoff_address_id: roads.far },
  });
  await unsold();
});
