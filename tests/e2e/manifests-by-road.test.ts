/** Orders of manifest items, and their new destinations, are priced by road: each way is measured once, before the first of them. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Body } from "../support/api.ts";
import { sql } from "../support/db.ts";
import "../support/expect.ts";
import { newAddress } from "../support/make.ts";
import { newManifest } from "../support/manifests.ts";
import { fundWallet, newService } from "../support/money.ts";
import { moveToOwnStack } from "../support/move-to-own-stack.ts";
import { foundRoute, routingService } from "../support/outside/routing.ts";
import { type ServedHandlers, serveHandlers } from "../support/outside/serve.ts";
import { newTenant, saveSettings, type Tenant } from "../support/people.ts";
import { changeDestination, setDestination } from "../support/set-destination.ts";

const service = routingService();
let routing: ServedHandlers;
let leave = () => Promise.resolve();
let tenant: Tenant;
let road: string;

beforeAll(async () => {
  routing = await serveHandlers(service.handlers);
  ({ leave } = await moveToOwnStack({
    env: { BARID_STRICT: "1", BARID_LOG_LEVEL: "error", BARID_ROUTING_URL: routing.url },
  }));
  tenant = await newTenant();
  road = await newService(tenant, { price_per_km: 10 });
  await fundWallet(tenant, "institution", tenant.institution.id, 1_000_000);
}, 120_000);
afterAll(async () => {
  await leave();
  routing.close();
});
beforeEach(() => {
  service.asked.length = 0;
  service.answer = () => foundRoute(123_400, 600);
});

let further = 0;
const newPlace = () => {
  further += 0.01;
  return newAddress(tenant, { latitude: 34 + further, longitude: 43 });
};
const send = (path: string, item_ids: string[], more: Body) =>
  tenant.dispatcher.post(path, { item_ids, ...more });
const feesOf = async (item_ids: string[]): Promise<number[]> =>
  (await sql`select delivery_fee from delivery.deliveries where manifest_item_id = any (${item_ids})`)
    .map(({ delivery_fee }) => delivery_fee);
/** How often the ways to newPlace() were asked for; jobs measure others meanwhile. */
const asks = () => service.asked.filter((line) => /;43,34/.test(line)).length;

test.each([2, 25])(
  "%i orders of items cost the way by road, which is asked for once",
  async (items) => {
    const { itemIds } = await newManifest(tenant, { items });
    const destination_address_id = await newPlace();
    expect(
      await send(setDestination, itemIds, { destination_address_id, delivery_service_id: road }),
    )
      .toSucceed(200);
    expect(await feesOf(itemIds)).toEqual(itemIds.map(() => 1000 + 1234));
    expect(asks()).toBe(1);
  },
);

test("from the source of their manifest, where prices begin there", async () => {
  await saveSettings(tenant.id, "delivery.transfer_manifest", {
    delivery_fee_origin: "source_location",
  });
  const { id, itemIds } = await newManifest(tenant, { items: 1 });
  await sql`update delivery.transfer_manifests set source_snapshot = jsonb_set(source_snapshot, '{address}',
    '{"latitude": 32.5, "longitude": 43.5}') where id = ${id}`;
  const destination_address_id = await newPlace();
  await send(setDestination, itemIds, { destination_address_id, delivery_service_id: road });
  expect(service.asked.filter((line) => line.includes("/43.5,32.5;43,34"))).toHaveLength(1);
  expect(await feesOf(itemIds)).toEqual([2234]);
  await saveSettings(tenant.id, "delivery.transfer_manifest", {
    delivery_fee_origin: "processing_point",
  });
});

test("a new destination costs the way to there by road, with the service that they have", async () => {
  const { itemIds } = await newManifest(tenant, { items: 2 });
  const first = { destination_address_id: await newPlace(), delivery_service_id: road };
  await send(setDestination, itemIds, first);
  service.answer = () => foundRoute(50_000, 600);
  expect(await send(changeDestination, itemIds, { destination_address_id: await newPlace() }))
    .toSucceed(200);
  expect(await feesOf(itemIds)).toEqual([1500, 1500]);
  expect(asks()).toBe(2);
});

test("nobody is asked for the way of a service without a price per km", async () => {
  const { itemIds } = await newManifest(tenant, { items: 1 });
  const delivery_service_id = await newService(tenant);
  const destination_address_id = await newPlace();
  expect(await send(setDestination, itemIds, { destination_address_id, delivery_service_id }))
    .toSucceed(200);
  expect(asks()).toBe(0);
});
