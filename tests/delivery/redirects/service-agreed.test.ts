/** The service of an order was agreed: whatever became of it since, the parcel can be sent elsewhere, at its prices of now. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { returnOf } from "../../support/customer-returns.ts";
import { sql } from "../../support/db.ts";
import { deliveryIn, newDelivery, path, stagedInWarehouse } from "../../support/deliveries.ts";
import { checkDeliveries } from "../../support/delivery-invariants.ts";
import { newAddress } from "../../support/make.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import type { Tenant } from "../../support/people.ts";
import { confine, fee, free, newRoads, redirect, type Roads } from "../../support/redirects.ts";
import { soldInStore } from "../../support/sold.ts";

let roads: Roads;
let tenant: Tenant;
let wallet: string;
beforeAll(async () => {
  roads = await newRoads();
  tenant = roads.tenant;
});
beforeEach(async () => {
  await now(usual);
  wallet = await fundWallet(tenant, "customer", tenant.customer.id, 50_000);
});
afterAll(() => checkDeliveries(tenant));

const usual = {
  active: true,
  deleted_at: null,
  access_mode: "all_users",
  zone_access_mode: "all_zones",
  unit_min: 1,
  unit_max: 100,
  allow_returns: true,
  default_price: 1000,
};
const byWallet = { payer_type: "sender", payment_method: "wallet" };
const now = (change: Body) =>
  sql`update delivery.delivery_services set ${sql(change)} where id = ${roads.service}`;
const feeOf = async (id: string): Promise<number> =>
  (await tenant.ops.get(`${path}/${id}`)).body.delivery.delivery_fee;

const fates: [string, Body][] = [
  ["switched off", { active: false }],
  ["deleted", { active: false, deleted_at: new Date() }],
  ["deleted, and its zones with it", {
    active: false,
    deleted_at: new Date(),
    zone_access_mode: "select_zones",
  }],
  ["closed to its customer", { access_mode: "select_users" }],
  ["for larger parcels only", { unit_min: 20 }],
  ["for smaller parcels only", { unit_max: 1.5 }],
  ["not for returns any more", { allow_returns: false }],
];

describe.each(fates)("a parcel whose service is %s", (_fate, change) => {
  test("is sent elsewhere by its owner and the office, as a dry run says", async () => {
    for (const by of [tenant.customer, tenant.ops]) {
      const { id } = await newDelivery(roads, byWallet);
      await now(change);
      const before = await balanceOf(wallet);
      const asked = await redirect(by, id, roads.far, { dry_run: true });
      expect(asked).toSucceed(200);
      expect(await balanceOf(wallet)).toBe(before);
      const done = await redirect(by, id, roads.far);
      expect(done).toSucceed(200);
      expect(done.body.data.price).toEqual(asked.body.data.price);
      expect(done.body.data.price).toMatchObject({ after: fee.far, charged: "wallet" });
      expect(await balanceOf(wallet)).toBe(before - (fee.far - fee.near));
      const dropoff_address = { latitude: 33.31, longitude: 44.36, full_address: "Street 9" };
      const place = `${path}/${id}/redirect`;
      for (const dry_run of [true, false]) {
        const back = await by.post(place, { dropoff_address, dry_run });
        expect(back.body.data.price).toMatchObject({ after: fee.near, charged: "wallet" });
      }
      await now(usual);
    }
  });

  test("is sent elsewhere also staged, sent back, or with its fee taken", async () => {
    const parcels = {
      staged: (await stagedInWarehouse(roads)).b,
      taken: (await deliveryIn(roads, "in_transit", { payer_type: "sender" })).id,
      back: (await returnOf(roads, (await deliveryIn(roads, "delivered")).id)).body.id,
    };
    await now(change);
    for (const [kind, id] of Object.entries(parcels)) {
      const answer = await redirect(tenant.ops, id, roads.far);
      expect(answer, kind).toSucceed(200);
      const difference = kind === "taken" ? 0 : fee.far - fee.near;
      expect(answer.body.data.price.difference, kind).toBe(difference);
    }
    const charged = await redirect(tenant.ops, parcels.taken, roads.near, { charge: "wallet" });
    expect(charged).toSucceed(200);
  });
});

test("a store's order is sent elsewhere at the fee that was agreed, whatever its service is", async () => {
  const { id } = await newDelivery(roads, byWallet);
  const unsold = await soldInStore(tenant, id);
  for (const [index, [fate, change]] of fates.entries()) {
    await now({ ...change, default_price: 9000 });
    const answer = await redirect(tenant.ops, id, index % 2 ? roads.near : roads.far);
    expect(answer, fate).toSucceed(200);
    expect(answer.body.data.price, fate).toMatchObject({ after: fee.near, charged: "none" });
    await now(usual);
  }
  await unsold();
});

test("the prices are those of the service now, also where it is gone", async () => {
  const { id } = await newDelivery(roads, byWallet);
  await now({ default_price: 1500, active: false, deleted_at: new Date() });
  const answer = await redirect(tenant.customer, id, roads.near);
  expect(answer.body.data.price).toMatchObject({ before: fee.near, after: 3000 });
  expect(await feeOf(id)).toBe(3000);
});

test("its zones are asked while they are known, and those of drivers always", async () => {
  const { id } = await newDelivery(roads, byWallet);
  await now({ active: false, zone_access_mode: "select_zones" });
  for (const more of [{ dry_run: true }, {}]) {
    const refused = await redirect(tenant.ops, id, roads.far, more);
    expect(refused).toFailWith(400, "delivery_service_not_available");
    expect(refused.body.field).toBe("dropoff_address_id");
  }
  await now({ deleted_at: new Date() });
  expect(await redirect(tenant.ops, id, roads.far)).toSucceed(200);
  await now(usual);
  const { id: onRoad } = await deliveryIn(roads, "in_transit");
  await now({ active: false, deleted_at: new Date() });
  await confine(tenant.driver);
  expect(await redirect(tenant.ops, onRoad, roads.far))
    .toFailWith(409, "redirect_needs_other_driver");
  await free(tenant.driver);
});

test("where it goes already another receiver is named, and nothing else is asked", async () => {
  const { id } = await newDelivery(roads, byWallet);
  const unknown = await newAddress(tenant, { latitude: null, longitude: null });
  await sql`update delivery.deliveries set dropoff_address_id = ${unknown},
    dropoff_snapshot = dropoff_snapshot || '{"latitude": null, "longitude": null}' where id = ${id}`;
  await now({ ...fates[2][1], deleted_at: null, default_price: 9000 });
  const recipient = { name: "Zara", phone: "+9647701234599" };
  for (const dry_run of [true, false]) {
    const answer = await redirect(tenant.ops, id, unknown, { recipient, dry_run });
    expect(answer).toSucceed(200);
    expect(answer.body.data.price).toMatchObject({ difference: 0, charged: "none" });
  }
  const { delivery } = (await tenant.ops.get(`${path}/${id}`)).body;
  expect(delivery).toMatchObject({ recipient, delivery_fee: fee.near });
});
