/** COD is held until its cash is in, and its owner spends what is available. */
import { expect, test } from "vitest";
import { carried, newSide, payCarried } from "../../support/carriers.ts";
import { remit, selected, settle } from "../../support/cod.ts";
import {
  daysLater,
  delivered,
  newHolder,
  setPayouts,
  sound,
  standing,
  stepsOf,
  walletOf,
} from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import { assign, moves, order, path } from "../../support/deliveries.ts";
import { fundWallet } from "../../support/money.ts";
import { newShop, placeOrder, walletOf as shopWallet } from "../../support/orders.ts";
import { newPerson, newTenant } from "../../support/people.ts";
import { adjust, key } from "../../support/wallets.ts";

const reverse = (ground: Awaited<ReturnType<typeof newHolder>>, settlement: string) =>
  ground.tenant.admin.post(
    `/delivery/cod-settlements/${settlement}/reverse`,
    { reason: "Typed twice" },
    key(),
  );

test("released row by row as the driver remits, and seen by the owner and the office", async () => {
  const ground = await newHolder();
  const { tenant } = ground;
  const [first, second] = await delivered(ground, [7_000, 3_000]);
  expect(await standing(tenant.customer)).toEqual([10_000, 10_000, 0]);
  const { id } = await walletOf(tenant.customer);
  const listed = await tenant.ops.get("/delivery/wallets", {
    query: { owner_id: tenant.customer.id },
  });
  expect(listed.body.data).toMatchObject([{ id, held_balance: 10_000, available_balance: 0 }]);
  const own = await tenant.customer.get(`/delivery/wallets/${id}/transactions`);
  expect(own.body.wallet).toMatchObject({ balance: 10_000, held_balance: 10_000 });

  expect(await tenant.dispatcher.post(remit, selected(first!))).toSucceed(200);
  expect(await standing(tenant.customer)).toEqual([10_000, 3_000, 7_000]);
  expect(await stepsOf(first!)).toEqual([7_000, -7_000]);
  expect(await stepsOf(second!)).toEqual([3_000]);
  const { body } = await tenant.admin.get("/delivery/cod-reconciliation");
  expect(body).toMatchObject({
    reconciled: true,
    held: [{
      wallet_id: id,
      user_id: tenant.customer.id,
      user_name: expect.any(String),
      currency: "IQD",
      in_hand: 3_000,
      with_carriers: 0,
      held: 3_000,
      waiting: 0,
    }],
  });
  await sound(tenant);
});

test("what is held pays no order and is not taken out by hand; what is in is", async () => {
  const ground = await newHolder();
  const { tenant } = ground;
  const [row] = await delivered(ground, [7_000]);
  const { id } = await walletOf(tenant.customer);
  await fundWallet(tenant, "customer", tenant.customer.id, 500);
  const mine = () =>
    tenant.customer.post(path, {
      ...order(ground),
      payer_type: "sender",
      payment_method: "wallet",
    });
  const poor = await mine();
  expect(poor).toFailWith(400, "insufficient_wallet_balance");
  expect(poor.body).toMatchObject({
    message: "Of the 7500 IQD in the wallet 500 IQD can be spent now, and 2000 IQD are needed.",
    balance: 7_500,
    available: 500,
    required: 2_000,
    currency: "IQD",
  });
  expect(await adjust(tenant.admin, id, 501, "debit")).toFailWith(
    400,
    "insufficient_wallet_balance",
  );
  expect(await adjust(tenant.admin, id, 500, "debit")).toSucceed(200);
  expect(await standing(tenant.customer)).toEqual([7_000, 7_000, 0]);

  expect(await tenant.dispatcher.post(remit, selected(row!))).toSucceed(200);
  expect(await mine()).toSucceed(201);
  expect(await adjust(tenant.admin, id, 5_001, "debit")).toFailWith(
    400,
    "insufficient_wallet_balance",
  );
  expect(await adjust(tenant.admin, id, 5_000, "debit")).toSucceed(200);
  await sound(tenant);
});

test("an adjustment that was put in comes out again only of what is available", async () => {
  const ground = await newHolder();
  const { tenant } = ground;
  await delivered(ground, [7_000]);
  const { id } = await walletOf(tenant.customer);
  const { body } = await adjust(tenant.admin, id, 1_000);
  expect(await adjust(tenant.admin, id, 600, "debit")).toSucceed(200);
  const answer = await tenant.admin.post(
    `/delivery/wallets/${id}/adjustments/${body.payment_id}/reverse`,
    { reason: "Wrong wallet" },
    key(),
  );
  expect(answer).toFailWith(400, "insufficient_wallet_balance");
  expect(answer.body).toMatchObject({ available: 400, required: 1_000 });
  await sound(tenant);
});

test("settling from the driver's wallet releases as well, and a reversal holds again", async () => {
  const ground = await newHolder();
  const { tenant } = ground;
  await fundWallet(tenant, "driver", tenant.driver.id, 50_000);
  const [row] = await delivered(ground, [7_000]);
  const settled = await tenant.driver.post(settle, selected(row!));
  expect(settled).toSucceed(200);
  expect(await standing(tenant.customer)).toEqual([7_000, 0, 7_000]);
  // Spent meanwhile: what is available is negative until the cash is in again.
  const { id } = await walletOf(tenant.customer);
  expect(await adjust(tenant.admin, id, 4_000, "debit")).toSucceed(200);
  expect(await reverse(ground, settled.body.data.settlement_payment_id)).toSucceed(200);
  expect(await standing(tenant.customer)).toEqual([3_000, 7_000, -4_000]);
  expect(await adjust(tenant.admin, id, 1, "debit")).toFailWith(400, "insufficient_wallet_balance");
  await sound(tenant);
  expect(await tenant.dispatcher.post(remit, selected(row!))).toSucceed(200);
  expect(await standing(tenant.customer)).toEqual([3_000, 0, 3_000]);
  expect(await stepsOf(row!)).toEqual([7_000, -7_000, 7_000, -7_000]);
  await sound(tenant);
});

test("a carrier's cash is held until the carrier pays, and again when that is reversed", async () => {
  const side = await newSide();
  const { tenant } = side;
  await setPayouts(tenant, { release: "on_remit" });
  const [first] = await carried(side, 7_000, 4_000);
  expect(await standing(tenant.customer)).toEqual([11_000, 11_000, 0]);
  const paid = await payCarried(tenant.admin, 9_000, {
    carrier_collection_ids: [first!.collection],
  });
  expect(paid).toSucceed(201);
  expect(await standing(tenant.customer)).toEqual([11_000, 4_000, 7_000]);
  const { body } = await tenant.admin.get("/delivery/cod-reconciliation");
  expect(body.held).toMatchObject([{ in_hand: 0, with_carriers: 4_000, held: 4_000 }]);
  const [{ id }] =
    await sql`select id from money.carrier_remittances where tenant_id = ${tenant.id}`;
  expect(
    await tenant.admin.post(`/carriers/tenant/simulated/remittances/${id}/reverse`, {
      reason: "Typed twice",
    }, key()),
  ).toSucceed(200);
  expect(await standing(tenant.customer)).toEqual([11_000, 11_000, 0]);
  await sound(tenant);
});

test("not before its day: what is in waits, and becomes available without anybody doing anything", async () => {
  const ground = await newHolder({ release: "on_remit", hold_days: 2 });
  const { tenant } = ground;
  const [row] = await delivered(ground, [7_000]);
  const answer = await tenant.dispatcher.post(remit, selected(row!));
  expect(answer).toSucceed(200);
  expect(await standing(tenant.customer)).toEqual([7_000, 7_000, 0]);
  const { body } = await tenant.admin.get("/delivery/cod-reconciliation");
  expect(body).toMatchObject({ reconciled: true, held: [{ in_hand: 0, held: 0, waiting: 7_000 }] });
  await daysLater(tenant, 1);
  expect(await standing(tenant.customer)).toEqual([7_000, 7_000, 0]);
  await daysLater(tenant, 1);
  expect(await standing(tenant.customer)).toEqual([7_000, 0, 7_000]);
  await sound(tenant);
});

test("the day begins where the company is", async () => {
  const ground = await newHolder({ release: "on_remit", hold_days: 1 });
  const { tenant } = ground;
  await sql`insert into tenancy.tenant_settings (tenant_id, module, group_key, settings)
    values (${tenant.id}, 'general', 'timezone', ${sql.json({ name: "Asia/Baghdad" })})`;
  const [row] = await delivered(ground, [7_000]);
  expect(
    await sql`select due_at = (((created_at at time zone 'Asia/Baghdad')::date + 1)::timestamp at time zone 'Asia/Baghdad') as right
      from money.wallet_holds where reference_id = ${row!}`,
  ).toEqual([{ right: true }]);
});

test("released for a later day, held again and released again: held once", async () => {
  const ground = await newHolder({ release: "on_remit", hold_days: 2 });
  const { tenant } = ground;
  const [row] = await delivered(ground, [7_000]);
  const answer = await tenant.dispatcher.post(remit, selected(row!));
  expect(await reverse(ground, answer.body.data.settlement_payment_id)).toSucceed(200);
  expect(await standing(tenant.customer)).toEqual([7_000, 7_000, 0]);
  await sound(tenant);
  await daysLater(tenant, 2);
  expect(await standing(tenant.customer)).toEqual([7_000, 7_000, 0]);
  expect(await tenant.dispatcher.post(remit, selected(row!))).toSucceed(200);
  expect(await standing(tenant.customer)).toEqual([7_000, 0, 7_000]);
  await sound(tenant);
});

test("released on delivery, it waits for its day and for no cash", async () => {
  const ground = await newHolder({ release: "on_delivery", hold_days: 1 });
  const { tenant } = ground;
  const [row] = await delivered(ground, [7_000]);
  expect(await standing(tenant.customer)).toEqual([7_000, 7_000, 0]);
  await sound(tenant);
  await daysLater(tenant, 1);
  expect(await standing(tenant.customer)).toEqual([7_000, 0, 7_000]);
  expect(await tenant.dispatcher.post(remit, selected(row!))).toSucceed(200);
  expect(await stepsOf(row!)).toEqual([7_000, -7_000]);
  await sound(tenant);
});

test("nothing is held unless the company says so, nor what was collected before it did", async () => {
  const ground = await newHolder({});
  const { tenant } = ground;
  const [before] = await delivered(ground, [7_000]);
  expect(await standing(tenant.customer)).toEqual([7_000, 0, 7_000]);
  await setPayouts(tenant, { release: "on_remit" });
  expect(await standing(tenant.customer)).toEqual([7_000, 0, 7_000]);
  const [held] = await delivered(ground, [1_000]);
  // A hold stays when the company changes its mind, until its cash is in.
  await setPayouts(tenant, { release: "on_delivery" });
  await delivered(ground, [500]);
  expect(await standing(tenant.customer)).toEqual([8_500, 1_000, 7_500]);
  expect(await tenant.dispatcher.post(remit, selected(before!, held!))).toSucceed(200);
  expect(await stepsOf(before!)).toEqual([]);
  expect(await standing(tenant.customer)).toEqual([8_500, 0, 8_500]);
  await sound(tenant);
});

test("of a store's order nothing is held: it is the shop's own money", async () => {
  const shop = await newShop({ settings: { "delivery.payouts": { release: "on_remit" } } });
  const { tenant } = shop;
  const placed = await placeOrder(shop, "cash");
  expect(await tenant.admin.put(`/storefront/orders/${placed.id}/approve`, {})).toSucceed(200);
  const [{ id }] = await sql`select id from delivery.deliveries where tenant_id = ${tenant.id}`;
  const [van] = await sql`insert into delivery.vehicles (tenant_id, name, unit_capacity)
    values (${tenant.id}, 'Van', 1000) returning id`;
  await sql`insert into delivery.drivers (tenant_id, user_id, vehicle_id, all_zones)
    values (${tenant.id}, ${tenant.driver.id}, ${van.id}, true)`;
  await assign(tenant, id);
  await moves(tenant.driver, id, "pickup", "complete");
  expect(await shopWallet(tenant, null)).toBeGreaterThan(0);
  expect(await sql`select from money.wallet_holds where tenant_id = ${tenant.id}`).toHaveLength(0);
  await sound(tenant);
});

test("a wallet of another company, and a stranger's, holds nothing that a caller could see", async () => {
  const ground = await newHolder();
  const { tenant } = ground;
  await delivered(ground, [7_000]);
  const { id } = await walletOf(tenant.customer);
  const other = await newTenant();
  const stranger = await newPerson(tenant.id, "customer", "customer");
  for (const person of [other.admin, other.customer, stranger]) {
    expect(await person.get(`/delivery/wallets/${id}/transactions`)).toFailWith(
      404,
      "wallet_not_found",
    );
  }
});
