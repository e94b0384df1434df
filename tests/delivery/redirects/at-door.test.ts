/** A driver without a network reports from a door at which they were before the parcel was redirected. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  bookOf,
  checkAll,
  deliveryIn,
  move,
  path,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { eventsOf, report, sound, undo } from "../../support/outcomes.ts";
import { adjust } from "../../support/wallets.ts";
import type { Person } from "../../support/api.ts";
import { newSystemAdmin, type Tenant } from "../../support/people.ts";
import {
  fee,
  newRoads,
  redirect,
  redirectNotices,
  type Roads,
  whereTo,
} from "../../support/redirects.ts";

let roads: Roads;
let tenant: Tenant;
beforeAll(async () => {
  roads = await newRoads();
  tenant = roads.tenant;
});
afterAll(() => checkAll(tenant));

const now = () => new Date().toISOString();
const cod = { cod_amount: 5000 };
const bySender = { payer_type: "sender" };
const byWallet = { payer_type: "sender", payment_method: "wallet" };
const shown = async (id: string) => (await tenant.ops.get(`${path}/${id}`)).body.delivery;
const held = () => bookOf(tenant, "driver_cash", tenant.driver.id);
const there = (id: string) => whereTo(tenant, id);
const redirected = async (id: string, by: Person = tenant.ops, to = roads.far, more = {}) =>
  expect(await redirect(by, id, to, more)).toSucceed(200);
const noticesOf = (id: string, by: Person = tenant.ops) => redirectNotices(by, id);
const somebody = { recipient: { name: "Somebody else", phone: "+9647701112233" } };

describe("at the door", () => {
  test.each([
    ["says the cash", { cash_collected: { cod: 5000, delivery_fee: fee.near } }],
    ["leaves it to the server", {}],
  ])("an app that %s: fee, place and recipient of then count, until an undo", async (_, cash) => {
    const { id } = await deliveryIn(roads, "in_transit", cod);
    const occurred_at = now();
    await redirected(id, tenant.ops, roads.far, somebody);
    const before = await held();
    const done = await report(tenant.driver, id, { result: "delivered", occurred_at, ...cash });
    expect(done).toSucceed(200);
    expect(done.body.data.cash.collected).toMatchObject({ cod: 5000, delivery_fee: fee.near });
    expect(await held()).toBe(before + 5000 + fee.near);
    const old = { dropoff_address_id: roads.to, delivery_fee: fee.near, name: "Recipient" };
    expect(await there(id)).toEqual(old);
    expect(await noticesOf(id)).toEqual([["redirect_late", fee.near]]);
    const events = await eventsOf(id, "delivery.redirected");
    expect(events.map((one) => [one.dropoff_address_id, one.price_difference]).sort())
      .toEqual([[roads.far, 1112], [roads.to, -1112]].sort());
    const [row] = await sql`select delivery_fee_amount, delivery_address from money.cod_collections
      where delivery_id = ${id} and reversed_at is null`;
    expect(row.delivery_fee_amount).toBe(fee.near);
    await sound(tenant);

    expect(await undo(tenant.driver, id)).toSucceed(200);
    expect(await held()).toBe(before);
    const newer = { dropoff_address_id: roads.far, delivery_fee: fee.far, name: "Somebody else" };
    expect(await there(id)).toEqual(newer);
    // Reported anew, it is a report of now.
    expect(await move(tenant.driver, id, "complete", { occurred_at: now() })).toSucceed(200);
    expect(await held()).toBe(before + 5000 + fee.far);
    expect(await there(id)).toEqual(newer);
    await sound(tenant);
  });

  test("a redirect by an administrator of the system, who is no member, is put back all the same", async () => {
    const { id } = await deliveryIn(roads, "in_transit", cod);
    const occurred_at = now();
    const system = await newSystemAdmin();
    const body = { dropoff_address_id: roads.far };
    const query = { tenant_id: tenant.id };
    expect(await system.post(`${path}/${id}/redirect`, body, { query })).toSucceed(200);
    expect(await report(tenant.driver, id, { result: "delivered", occurred_at })).toSucceed(200);
    expect(await there(id)).toMatchObject({ dropoff_address_id: roads.to, delivery_fee: fee.near });
    await sound(tenant);
  });

  test("complete does the same, between two redirects as well, and measures from that door", async () => {
    const { id } = await deliveryIn(roads, "in_transit", cod);
    await redirected(id);
    const occurred_at = now();
    await redirected(id, tenant.ops, roads.near);
    const at = { latitude: 33.41, longitude: 44.36 };
    const cash_collected = { cod: 5000, delivery_fee: fee.far };
    const done = await move(tenant.driver, id, "complete", { occurred_at, ...at, cash_collected });
    expect(done).toSucceed(200);
    expect(await there(id)).toMatchObject({
      dropoff_address_id: roads.far,
      delivery_fee: fee.far,
    });
    const [{ distance_m }] = await sql`select distance_m from delivery.delivery_status_history
      where delivery_id = ${id} and to_status = 'delivered'`;
    expect(distance_m).toBe(0);
  });

  test("what was redirected before, without a time, or was heard of, holds", async () => {
    const ids = [];
    for (const cash of [undefined, { cod: 5000, delivery_fee: fee.far }]) {
      const { id } = await deliveryIn(roads, "in_transit", cod);
      const occurred_at = now();
      await redirected(id);
      const timed = cash ? { occurred_at, cash_collected: cash } : {};
      expect(await move(tenant.driver, id, "complete", timed)).toSucceed(200);
      ids.push(id);
    }
    const { id: since } = await deliveryIn(roads, "in_transit", cod);
    await redirected(since);
    expect(await move(tenant.driver, since, "complete", { occurred_at: now() })).toSucceed(200);
    const { id: own } = await deliveryIn(roads, "in_transit", cod);
    const occurred_at = now();
    await redirected(own);
    expect(await move(tenant.ops, own, "complete", { occurred_at })).toSucceed(200);
    for (const id of [...ids, since, own]) {
      expect(await there(id)).toMatchObject({
        dropoff_address_id: roads.far,
        delivery_fee: fee.far,
      });
      expect(await noticesOf(id)).toEqual([]);
    }
  });

  test("cash that is neither fee is refused with what was due there, and nothing is kept", async () => {
    const { id } = await deliveryIn(roads, "in_transit", cod);
    const occurred_at = now();
    await redirected(id);
    const cash_collected = { cod: 5000, delivery_fee: 1 };
    const wrong = await move(tenant.driver, id, "complete", { occurred_at, cash_collected });
    expect(wrong).toFailWith(400, "cash_amount_mismatch");
    expect(wrong.body.due.delivery_fee).toBe(fee.near);
    expect(await statusOf(id)).toBe("in_transit");
    expect(await there(id)).toMatchObject({ delivery_fee: fee.far });
  });

  test("a fee from a wallet goes back to it, and is paid again by an undo, if it can be", async () => {
    const wallet = await fundWallet(tenant, "customer", tenant.customer.id, 50_000);
    const before = await balanceOf(wallet);
    const { id } = await deliveryIn(roads, "in_transit", { ...byWallet, ...cod });
    const occurred_at = now();
    await redirected(id);
    expect(await balanceOf(wallet)).toBe(before - fee.far);
    expect(await move(tenant.driver, id, "complete", { occurred_at })).toSucceed(200);
    expect(await balanceOf(wallet)).toBe(before - fee.near + 5000);
    expect(await there(id)).toMatchObject({
      dropoff_address_id: roads.to,
      delivery_fee: fee.near,
    });
    await sound(tenant);
    await fundWallet(tenant, "customer", tenant.customer.id, 5000 - (await balanceOf(wallet)));
    expect(await undo(tenant.driver, id)).toFailWith(400, "insufficient_wallet_balance");
    await fundWallet(tenant, "customer", tenant.customer.id, 40_000);
    expect(await undo(tenant.driver, id)).toSucceed(200);
    expect(await there(id)).toMatchObject({
      dropoff_address_id: roads.far,
      delivery_fee: fee.far,
    });
    await sound(tenant);
  });

  test("a fee that was taken stays, but for what a wallet bore of it since", async () => {
    const wallet = await fundWallet(tenant, "customer", tenant.customer.id, 50_000);
    const before = await balanceOf(wallet);
    for (const [charge, amount] of [["wallet", fee.far], [undefined, fee.near]]) {
      const { id } = await deliveryIn(roads, "in_transit", bySender);
      const occurred_at = now();
      await redirected(id, tenant.ops, roads.far, { charge });
      expect(await there(id)).toMatchObject({ delivery_fee: amount });
      expect(await move(tenant.driver, id, "complete", { occurred_at })).toSucceed(200);
      expect(await there(id)).toMatchObject({
        dropoff_address_id: roads.to,
        delivery_fee: fee.near,
      });
      expect(await balanceOf(wallet)).toBe(before);
      await sound(tenant);
    }
  });

  test("where the company's wallet is short, the fee stays as it was paid, and the report counts", async () => {
    await fundWallet(tenant, "customer", tenant.customer.id, 50_000);
    const { id } = await deliveryIn(roads, "in_transit", byWallet);
    const occurred_at = now();
    await redirected(id);
    const [{ id: till, balance }] = await sql`select id, balance from money.accounts
      where tenant_id = ${tenant.id} and kind = 'wallet' and owner_type = 'tenant'`;
    expect(await adjust(tenant.admin, till, balance, "debit")).toSucceed();
    expect(await move(tenant.driver, id, "complete", { occurred_at })).toSucceed(200);
    expect(await there(id)).toMatchObject({
      dropoff_address_id: roads.to,
      delivery_fee: fee.far,
    });
    const notices = (await tenant.admin.get("/tenants/me/notifications")).body.data;
    expect(notices[0]).toMatchObject({
      type: "redirect_fee_due",
      payload: { delivery_id: id, amount: 1112 },
    });
    await sound(tenant);
    expect(await undo(tenant.driver, id)).toSucceed(200);
    expect(await there(id)).toMatchObject({
      dropoff_address_id: roads.far,
      delivery_fee: fee.far,
    });
    expect(await adjust(tenant.admin, till, balance)).toSucceed();
    await sound(tenant);
  });

  test("the driver of a last leg delivered where it went then", async () => {
    const { parent, b } = await stagedInWarehouse(roads, cod);
    await takenOver(roads, b);
    const occurred_at = now();
    await redirected(parent.id);
    const done = await report(tenant.driver, b, { result: "delivered", occurred_at });
    expect(done.body.data.cash.collected.delivery_fee).toBe(fee.near);
    for (const id of [parent.id, b]) {
      expect((await shown(id)).dropoff_address_id).toBe(roads.to);
    }
    expect(await undo(tenant.driver, b)).toSucceed(200);
    for (const id of [parent.id, b]) {
      expect((await shown(id)).dropoff_address_id).toBe(roads.far);
    }
    await sound(tenant);
  });

  test("what is given in exchange is fetched at the door where it was given", async () => {
    const { id } = await deliveryIn(roads, "in_transit", cod);
    const occurred_at = now();
    await redirected(id);
    const taken_back = [{ name: "Shoe", quantity: 1 }];
    const done = await report(tenant.driver, id, { result: "exchanged", taken_back, occurred_at });
    expect(done).toSucceed(200);
    expect(done.body.data.returns[0].pickup_address_id).toBe(roads.to);
    expect(done.body.data.cash.collected.delivery_fee).toBe(fee.near);
    await sound(tenant);
  });

  test("sent twice at once it is put back once", async () => {
    const { id } = await deliveryIn(roads, "in_transit", cod);
    const occurred_at = now();
    await redirected(id);
    const before = await held();
    const answers = await Promise.all(
      [1, 2, 3].map(() => move(tenant.driver, id, "complete", { occurred_at })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect(await held()).toBe(before + 5000 + fee.near);
    const [{ n }] = await sql`select count(*)::int as n from delivery.redirects
      where delivery_id = ${id} and late_at = 'door'`;
    expect(n).toBe(1);
  });
});
