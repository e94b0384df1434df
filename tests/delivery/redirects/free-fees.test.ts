/** A sender's fee of nothing was due at the pickup as any other: what it would be elsewhere nobody owes in cash. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { enable, external } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  bookOf,
  checkAll,
  deliveryIn,
  handedTo,
  moves,
  newDelivery,
  path,
  stagedInWarehouse,
} from "../../support/deliveries.ts";
import { newAddress, newProcessingPoint } from "../../support/make.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { queuedOn } from "../../support/overlapping.ts";
import { newPackage } from "../../support/packages.ts";
import { saveSettings, type Tenant } from "../../support/people.ts";
import { expectReplayed } from "../../support/promises.ts";
import { fee, newRoads, redirect, type Roads } from "../../support/redirects.ts";
import { newHauling } from "../../support/waybills.ts";

let roads: Roads;
let tenant: Tenant;
let wallet: string;
/** The fee at `far`; at `near` there is none. */
const far = 1112;
const bySender = { payer_type: "sender" };

beforeAll(async () => {
  roads = await newRoads();
  tenant = roads.tenant;
  await sql`update delivery.delivery_services set default_price = 0 where id = ${roads.service}`;
  await saveSettings(tenant.id, "delivery.fulfillment_policy", {
    payment_policies: { refund_delivery_fee_on_return: true },
  });
});
beforeEach(async () => {
  wallet = await fundWallet(tenant, "customer", tenant.customer.id, 50_000);
});
afterAll(() => checkAll(tenant));

const shown = async (id: string): Promise<Body> =>
  (await tenant.ops.get(`${path}/${id}`)).body.delivery;
const held = () => bookOf(tenant, "driver_cash", tenant.driver.id);
const free = { before: 0, after: 0, difference: 0, currency: "IQD", charged: "none" };
const charged = { before: 0, after: far, difference: far, currency: "IQD", charged: "wallet" };

describe("a sender's fee of nothing", () => {
  test("becomes more before the pickup, and is taken there", async () => {
    const { id } = await newDelivery(roads, bySender);
    const answer = await redirect(tenant.customer, id, roads.far);
    expect(answer.body.data.price).toMatchObject({ after: far, charged: "cash" });
    expect((await shown(id)).cash_due.pickup.delivery_fee).toBe(far);
  });

  test.each(["picked_up", "in_transit", "failed"])(
    "stays nothing once it is picked up (%s), unless the office charges the wallet",
    async (status) => {
      const { id } = await deliveryIn(roads, status, bySender);
      const [before, cash] = [await balanceOf(wallet), await held()];
      for (const dry_run of [true, false]) {
        const answer = await redirect(tenant.ops, id, roads.far, { dry_run });
        expect(answer.body.data.price).toEqual(free);
      }
      expect(await redirect(tenant.ops, id, roads.near)).toSucceed(200);
      const answer = await redirect(tenant.ops, id, roads.far, { charge: "wallet" });
      expect(answer.body.data.price).toEqual(charged);
      expect(await balanceOf(wallet)).toBe(before - far);
      const due = (await shown(id)).cash_due;
      expect([due.pickup.delivery_fee, due.delivery.delivery_fee]).toEqual([0, 0]);
      if (status === "failed") await moves(tenant.ops, id, ["retry", { override_reason: "Again" }]);
      await moves(tenant.driver, id, "complete");
      expect(await held()).toBe(cash);
      expect(await balanceOf(wallet)).toBe(before - far);
    },
  );

  test("is not taken at the next pickup, where the wallet paid what it became", async () => {
    const { parent, b } = await stagedInWarehouse(roads, bySender);
    const [before, cash] = [await balanceOf(wallet), await held()];
    expect((await redirect(tenant.ops, b, roads.far)).body.data.price).toEqual(free);
    expect(await redirect(tenant.ops, b, roads.near)).toSucceed(200);
    const answer = await redirect(tenant.ops, b, roads.far, { charge: "wallet" });
    expect(answer.body.data.price).toEqual(charged);
    const handoff = await handedTo(roads, b);
    for (const id of [parent.id, b]) {
      expect((await shown(id)).cash_due.pickup.delivery_fee).toBe(0);
    }
    const taken = await tenant.driver.post(`/delivery/handoffs/${handoff}/pickup`);
    expect(taken).toSucceed(200);
    await moves(tenant.driver, b, "depart", "complete");
    expect([await balanceOf(wallet), await held()]).toEqual([before - far, cash]);
  });

  test("that the wallet paid is given back there when the parcel comes back", async () => {
    const before = await balanceOf(wallet);
    const { id } = await deliveryIn(roads, "in_transit", bySender);
    expect(await redirect(tenant.ops, id, roads.far, { charge: "wallet" })).toSucceed(200);
    const { refunded, refund_due } = await moves(tenant.driver, id, "return");
    expect({ refunded, refund_due }).toEqual({ refunded: true, refund_due: null });
    expect(await balanceOf(wallet)).toBe(before);
  });

  test("pays its driver a share of what it is", async () => {
    await saveSettings(tenant.id, "general.driver", {
      mode: "percentage",
      percentage: { percentage_of_delivery_fee: 50 },
    });
    const pay = async (more: Record<string, unknown>) => {
      const { id } = await deliveryIn(roads, "in_transit", bySender);
      expect(await redirect(tenant.ops, id, roads.far, more)).toSucceed(200);
      await moves(tenant.driver, id, "complete");
      return (await sql`select delivery_fee, amount from money.driver_pay
        where delivery_id = ${id}`).map((row) => ({ ...row }));
    };
    expect(await pay({})).toEqual([]);
    expect(await pay({ charge: "wallet" })).toEqual([{ delivery_fee: far, amount: far / 2 }]);
    await saveSettings(tenant.id, "general.driver", {});
  });

  test("whose change is sent twice with one key is charged once", async () => {
    const { id } = await deliveryIn(roads, "in_transit", bySender);
    const before = await balanceOf(wallet);
    const there = { dropoff_address_id: roads.far, charge: "wallet" };
    await expectReplayed(tenant.ops, `${path}/${id}/redirect`, there, {
      ...there,
      dropoff_address_id: roads.near,
    });
    expect(await balanceOf(wallet)).toBe(before - far);
  });

  test("and a redirect at one moment with the pickup: what it then is, is taken or not owed", async () => {
    for (const first of ["redirect", "pickup"] as const) {
      const { id } = await deliveryIn(roads, "accepted", bySender);
      const cash = await held();
      const calls = [
        () => redirect(tenant.ops, id, roads.far),
        () => tenant.driver.post(`${path}/${id}/pickup`, {}),
      ];
      if (first === "pickup") calls.reverse();
      for (const answer of await queuedOn(id, calls)) expect(answer).toSucceed(200);
      const now = first === "redirect" ? far : 0;
      expect((await shown(id)).delivery_fee).toBe(now);
      expect(await held()).toBe(cash + now);
    }
  });
});

test("a receiver's fee of nothing becomes what it is there, and is taken at the door", async () => {
  const { id } = await deliveryIn(roads, "in_transit");
  const answer = await redirect(tenant.ops, id, roads.far);
  expect(answer.body.data.price).toMatchObject({ after: far, charged: "cash" });
  const { cash } = await moves(tenant.driver, id, "complete");
  expect(cash.collected.delivery_fee).toBe(far);
});

test("a carrier is booked once the wallet paid what the fee became", async () => {
  await enable(tenant);
  const { id } = await newDelivery(roads, { ...external, ...bySender });
  await moves(tenant.ops, id, "depart");
  const answer = await redirect(tenant.ops, id, roads.far, { charge: "wallet" });
  expect(answer.body.data.price).toEqual(charged);
  await moves(tenant.ops, id, "fail", ["retry", { reassign: true, override_reason: "Again" }]);
  const booked = await tenant.ops.post(`/carriers/shipments/${id}`, { carrier_code: "simulated" });
  expect(booked).toSucceed(200);
  expect(booked.body.shipment.cash_due).toBe(0);
});

test("a fee that is to be taken at a pickup after a waybill is due there as it then is", async () => {
  const { tenant: hauler, yard, onTheRoad, step } = await newHauling();
  await sql`update delivery.delivery_services set price_per_km = 100 where id = ${yard.service}`;
  const place = await newAddress(hauler, { latitude: 33.41 });
  await newProcessingPoint(hauler, place);
  const { id } = await newPackage(yard, bySender);
  const waybill = await onTheRoad(id);
  const answer = await redirect(hauler.ops, id, place);
  expect(answer.body.data.price).toMatchObject({ after: fee.far, charged: "cash" });
  expect(await step(waybill, "receive")).toSucceed(200);
  await assign(hauler, id);
  const { cash } = await moves(hauler.driver, id, "pickup");
  expect(cash.collected.delivery_fee).toBe(fee.far);
  await checkAll(hauler);
});
