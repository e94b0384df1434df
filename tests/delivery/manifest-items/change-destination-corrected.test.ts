/** An address that was corrected after orders were made to it: a change of their destination brings them there, a repeated creation does not. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newAddress } from "../../support/make.ts";
import { balanceOf, checkBooks, newService } from "../../support/money.ts";
import type { Tenant } from "../../support/people.ts";
import {
  changeDestination,
  type Destination,
  newDestination,
  ordered,
  setDestination,
} from "../../support/set-destination.ts";

/** A degree of latitude is 111.2 km: from the warehouse to there, at 100 a km. */
const farther = 1112;
let made: Destination;
let tenant: Tenant;
beforeAll(async () => {
  made = await newDestination();
  tenant = made.tenant;
  made.service = await newService(tenant, { price_per_km: 100 });
});

const placeOf = async (id: string) =>
  (await sql`select delivery_fee, dropoff_address_id, (dropoff_snapshot ->> 'latitude')::float8 as latitude
    from delivery.deliveries where id = ${id}`)[0];
const changesOf = async (item: string) =>
  (await sql`select from delivery.transfer_manifest_events
    where manifest_item_id = ${item} and event_type = 'destination_changed'`).length;
const correct = async (address: string, change: Record<string, unknown>) =>
  expect(await tenant.ops.patch(`/delivery/addresses/${address}`, change)).toSucceed(200);
const branchAddress = async () =>
  (await sql`select address_id from delivery.institution_branches where id = ${made.branch}`)[0]
    .address_id as string;

/** An order to an address, and the calls that make it again and change where it goes. */
async function orderTo(address: string) {
  const { itemIds: [item], orders: [order] } = await ordered(made, 1);
  const to = { item_ids: [item], destination_address_id: address };
  const change = (more: Record<string, unknown> = {}) =>
    tenant.dispatcher.post(changeDestination, { ...to, ...more });
  expect(await change()).toSucceed(200);
  const again = () =>
    tenant.dispatcher.post(setDestination, { ...to, delivery_service_id: made.service });
  return { item, order, change, again };
}

test("the change is priced and written, once, and a dry run says the same", async () => {
  const address = await newAddress(tenant);
  const { item, order, change } = await orderTo(address);
  const { delivery_fee: fee } = await placeOf(order.id);
  const before = [await balanceOf(made.wallet), await changesOf(item)] as const;
  await correct(address, { latitude: 33.41, longitude: 44.36 });
  expect((await change({ dry_run: true })).body.data.changed[0].price_difference).toBe(farther);
  expect((await change()).body.data).toMatchObject({
    changed_count: 1,
    changed: [{ item_id: item, price_difference: farther }],
  });
  expect(await placeOf(order.id)).toEqual({
    delivery_fee: fee + farther,
    dropoff_address_id: address,
    latitude: 33.41,
  });
  expect(await balanceOf(made.wallet)).toBe(before[0] - farther);
  expect((await change()).body.data.changed[0].price_difference).toBe(0);
  expect(await changesOf(item)).toBe(before[1] + 1);
  expect(await checkBooks(tenant)).toEqual([]);
});

test("of a branch whose address was corrected too", async () => {
  const { itemIds, orders: [order] } = await ordered(made, 1);
  await correct(await branchAddress(), { latitude: 33.41, longitude: 44.36 });
  const answer = await tenant.dispatcher.post(changeDestination, {
    item_ids: itemIds,
    destination_branch_id: made.branch,
  });
  expect(answer.body.data.changed[0].price_difference).toBe(farther);
  expect((await placeOf(order.id)).latitude).toBe(33.41);
  await correct(await branchAddress(), { latitude: 33.31, longitude: 44.36 });
});

test("what is corrected in words alone changes nothing", async () => {
  const address = await newAddress(tenant);
  const { item, change } = await orderTo(address);
  const before = await changesOf(item);
  await correct(address, { full_address: "House 15" });
  expect((await change()).body.data.changed[0].price_difference).toBe(0);
  expect(await changesOf(item)).toBe(before);
});

test("a repeated creation names the order that was made there before, which keeps its place", async () => {
  const address = await newAddress(tenant);
  const { order, again } = await orderTo(address);
  await correct(address, { latitude: 33.41, longitude: 44.36 });
  const answer = await again();
  expect(answer).toSucceed(200);
  expect(answer.body.data).toMatchObject({
    created_count: 1,
    failed_count: 0,
    created: [{ delivery: { id: order.id } }],
  });
  expect((await placeOf(order.id)).latitude).toBe(33.31);
});
