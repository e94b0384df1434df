/** A redirect to the address that a parcel goes to already is free only while that address is where it was. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { addAddress } from "../../support/addresses.ts";
import { newDelivery, path } from "../../support/deliveries.ts";
import { checkDeliveries } from "../../support/delivery-invariants.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import type { Tenant } from "../../support/people.ts";
import { fee, newRoads, redirect, type Roads } from "../../support/redirects.ts";

let roads: Roads;
let tenant: Tenant;
let wallet: string;
beforeAll(async () => {
  roads = await newRoads();
  tenant = roads.tenant;
});
beforeEach(async () => {
  wallet = await fundWallet(tenant, "customer", tenant.customer.id, 50_000);
});
afterAll(() => checkDeliveries(tenant));

const byWallet = { payer_type: "sender", payment_method: "wallet" };
const correct = async (by: Person, address: string, change: Body) =>
  expect(await by.patch(`/delivery/addresses/${address}`, change)).toSucceed(200);

/** A parcel of the customer's that goes to an address of theirs nearby, paid by their wallet. */
async function toOwnAddress(more: Body = {}) {
  const address = await addAddress(tenant.customer);
  const { id } = await newDelivery(roads, { ...byWallet, ...more, dropoff_address_id: address });
  return { id, address };
}

describe("a redirect to the address that the parcel goes to", () => {
  test.each([true, false])(
    "costs the new way once the address has moved (dry run: %s)",
    async (dry_run) => {
      const { id, address } = await toOwnAddress();
      const before = await balanceOf(wallet);
      await correct(tenant.customer, address, { latitude: 33.41, longitude: 44.36 });
      const answer = await redirect(tenant.customer, id, address, { dry_run });
      expect(answer).toSucceed(200);
      expect(answer.body.data.price).toMatchObject({
        before: fee.near,
        after: fee.far,
        difference: fee.far - fee.near,
        charged: "wallet",
      });
      expect(await balanceOf(wallet)).toBe(dry_run ? before : before - (fee.far - fee.near));
      if (dry_run) return;
      const { delivery } = (await tenant.ops.get(`${path}/${id}`)).body;
      expect(delivery).toMatchObject({
        delivery_fee: fee.far,
        dropoff_address: { latitude: 33.41 },
        dropoff_zone_id: roads.farZone,
      });
      // It goes there by now.
      const again = await redirect(tenant.customer, id, address);
      expect(again.body.data.price).toMatchObject({ difference: 0, charged: "none" });
    },
  );

  test("is cheaper where the address has come nearer", async () => {
    const { id, address } = await toOwnAddress();
    await correct(tenant.customer, address, { latitude: 33.41, longitude: 44.36 });
    expect(await redirect(tenant.customer, id, address)).toSucceed(200);
    const before = await balanceOf(wallet);
    await correct(tenant.customer, address, { latitude: 33.31, longitude: 44.36 });
    expect(await redirect(tenant.customer, id, address)).toSucceed(200);
    expect(await balanceOf(wallet)).toBe(before + fee.far - fee.near);
  });

  test("is due in cash, where the fee is", async () => {
    const { id, address } = await toOwnAddress({ payer_type: "receiver", payment_method: "cash" });
    await correct(tenant.customer, address, { latitude: 33.41, longitude: 44.36 });
    const answer = await redirect(tenant.customer, id, address);
    expect(answer.body.data.price).toMatchObject({ after: fee.far, charged: "cash" });
  });

  test("stays free while the place is the same, whatever else of the address was corrected", async () => {
    const { id, address } = await toOwnAddress();
    const before = await balanceOf(wallet);
    await correct(tenant.customer, address, { full_address: "House 15", city: "Karrada" });
    const answer = await redirect(tenant.customer, id, address);
    expect(answer.body.data.price).toMatchObject({ difference: 0, charged: "none" });
    expect(answer.body.data.delivery.dropoff_address.full_address).toBe("House 15");
    expect(await balanceOf(wallet)).toBe(before);
  });
});
