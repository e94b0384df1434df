/** The price of orders from a scan, their payer, and their route. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newAddress, newBranch } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import { balanceOf, checkBooks, fundWallet, newService } from "../../support/money.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import {
  changeDestination,
  newDestination,
  requestTo,
  setDestination,
} from "../../support/set-destination.ts";

let tenant: Tenant;
let request: ReturnType<typeof requestTo>;

beforeAll(async () => {
  const made = await newDestination();
  tenant = made.tenant;
  request = requestTo(made);
});

describe("money", () => {
  test("a short wallet fails the items it cannot bear, keeps them received, and a retry finishes them", async () => {
    const made = await newDestination(2_000);
    const { tenant: poor, wallet: poorWallet } = made;
    const manifest = await newManifest(poor, { items: 3 });
    const body = requestTo(made)(manifest.itemIds);
    const first = await poor.dispatcher.post(setDestination, body);
    expect(first.body.data).toMatchObject({ created_count: 2, failed_count: 1 });
    expect(first.body.data.failed[0]).toMatchObject({
      item_id: manifest.itemIds[2],
      code: "insufficient_wallet_balance",
      current_status: "received",
    });
    const reserved =
      await sql`select delivery_code from delivery.delivery_code_reservations where manifest_item_id = ${
        manifest.itemIds[2]
      }`;
    expect(await balanceOf(poorWallet)).toBe(0);
    await fundWallet(poor, "institution", poor.institution.id, 1_000);
    const second = await poor.dispatcher.post(setDestination, body);
    expect(second.body.data).toMatchObject({ created_count: 3, failed_count: 0 });
    expect(second.body.data.created[2].delivery.delivery_code).toBe(
      Number(reserved[0].delivery_code),
    );
    expect(await checkBooks(poor)).toEqual([]);
  });

  test("the price starts where the setting says, the pick-up stays the processing point", async () => {
    const far = await newTenant();
    const [point, source, to] = await Promise.all([
      newAddress(far, { latitude: 33.3, longitude: 44.3 }),
      newAddress(far, { latitude: 36.2, longitude: 44.0 }),
      newAddress(far, { latitude: 33.3, longitude: 44.3 }),
    ]);
    const [row] =
      await sql`insert into delivery.transfer_processing_points (tenant_id, name, code, address_id)
      values (${far.id}, 'P', 'P', ${point}) returning id`;
    const farBranch = await newBranch(far, { address: source, point: row.id });
    const farService = await newService(far, { default_price: 0, price_per_km: 100, free_km: 2 });
    await fundWallet(far, "institution", far.institution.id, 1_000_000);
    const order = async () => {
      const manifest = await newManifest(far, { items: 1, branch: farBranch, point: row.id });
      const { body } = await far.dispatcher.post(setDestination, {
        item_ids: manifest.itemIds,
        destination_address_id: to,
        delivery_service_id: farService,
      });
      const [delivery] =
        await sql`select delivery_fee, pickup_address_id, distance_km from delivery.deliveries
        where id = ${body.data.created[0].delivery.id}`;
      return delivery;
    };
    expect(await order()).toMatchObject({
      delivery_fee: 0,
      pickup_address_id: point,
      distance_km: 0,
    });
    await saveSettings(far.id, "delivery.transfer_manifest", {
      delivery_fee_origin: "source_location",
    });
    const fromSource = await order();
    // 2.9 degrees of latitude and 0.3 of longitude: about 323.6 km by the haversine formula.
    expect(fromSource.distance_km).toBeCloseTo(323.6, 0);
    expect(fromSource.delivery_fee).toBe(Math.round((fromSource.distance_km - 2) * 100));
    expect(fromSource.pickup_address_id).toBe(point);
  });

  test("a way that nobody knows has no price where the service charges by distance, for an order and for its change", async () => {
    const made = await newDestination();
    const { tenant: who } = made;
    const manifest = await newManifest(who, { items: 2 });
    await sql`update delivery.addresses set latitude = 33.3, longitude = 44.3 where tenant_id = ${who.id}`;
    const nowhere = await newAddress(who);
    await sql`update delivery.addresses set latitude = null, longitude = null where id = ${nowhere}`;
    const far = await newService(who, { default_price: 500, price_per_km: 100 });
    const known = { destination_branch_id: made.branch, delivery_service_id: far };
    const unknown = { destination_address_id: nowhere, delivery_service_id: far };
    const item_ids = manifest.itemIds;
    const code = {
      code: "invalid_coordinates",
      error_message: "destination_address_id needs a latitude and a longitude.",
    };
    const before = await who.dispatcher.post(setDestination, { item_ids, ...unknown });
    expect(before.body.data.failed).toMatchObject(
      item_ids.map((item_id) => ({ item_id, ...code })),
    );
    const ordered = await who.dispatcher.post(setDestination, { item_ids, ...known });
    expect(ordered.body.data.created).toHaveLength(2);
    const changed = await who.dispatcher.post(changeDestination, { item_ids, ...unknown });
    expect(changed.body.data.failed).toMatchObject(
      item_ids.map((item_id) => ({ item_id, error_key: "invalid_coordinates" })),
    );
    expect(await checkBooks(who)).toEqual([]);
  });

  test("measured packages are priced by their units; one outside the service's range fails alone", async () => {
    await saveSettings(tenant.id, "general.unit_size", { unit_weight: 5, unit_length: 50 });
    const packed = (weight: number) => ({
      packageDetails: { items: [{ name: "Box", weight, length: 10, width: 10, height: 10 }] },
    });
    const manifest = await newManifest(tenant, { items: [packed(12), packed(600)] });
    const { body } = await tenant.dispatcher.post(setDestination, request(manifest.itemIds));
    expect(body.data.failed.map((item: { code: string }) => item.code)).toEqual([
      "can_not_use_this_delivery_for_this_unit_size",
    ]);
    const [delivery] =
      await sql`select delivery_fee, unit_size, unit_size_source from delivery.deliveries
      where manifest_item_id = ${manifest.itemIds[0]}`;
    expect(delivery).toMatchObject({
      delivery_fee: 3000,
      unit_size: 3,
      unit_size_source: "package_details",
    });
    const { id } = body.data.created[0].delivery;
    const read = await tenant.dispatcher.get(`/delivery/deliveries/${id}`);
    expect(read.body.delivery.items).toMatchObject([{ name: "Box", quantity: 1, weight: 12 }]);
  });
});

describe("staging", () => {
  test("with a hand-off warehouse an order is a parent with legs A and B that share snapshot and barcode", async () => {
    const staged = await newTenant();
    const [stagedService, stagedBranch, address] = [
      await newService(staged),
      await newBranch(staged),
      await newAddress(staged),
    ];
    await fundWallet(staged, "institution", staged.institution.id, 10_000);
    const [warehouse] =
      await sql`insert into warehousing.warehouses (tenant_id, name, code, address_id)
      values (${staged.id}, 'W', 'W', ${address}) returning id`;
    await saveSettings(staged.id, "general.warehouse", {
      handoff_required: true,
      default_warehouse_id: warehouse.id,
    });
    const manifest = await newManifest(staged, { items: 2 });
    const { body } = await staged.dispatcher.post(setDestination, {
      item_ids: manifest.itemIds,
      destination_branch_id: stagedBranch,
      delivery_service_id: stagedService,
    });
    const parentId = body.data.created[0].delivery.id;
    const read = await staged.dispatcher.get(`/delivery/deliveries/${parentId}`);
    expect(read.body.delivery).toMatchObject({
      staging_warehouse_id: warehouse.id,
      items: [{ name: `Parcel ${body.data.created[0].delivery.delivery_code}`, quantity: 1 }],
    });
    const [parent] = await sql`select * from delivery.deliveries where id = ${parentId}`;
    const legs =
      await sql`select * from delivery.deliveries where parent_id = ${parentId} order by sequence_plan`;
    expect(parent).toMatchObject({
      delivery_flow: "pnd_parent",
      manifest_item_id: manifest.itemIds[0],
      delivery_fee: 1000,
    });
    expect(legs).toMatchObject([
      {
        leg: "A",
        delivery_flow: "pnd_inbound",
        status: "pending",
        dropoff_warehouse_id: warehouse.id,
      },
      {
        leg: "B",
        delivery_flow: "pnd_outbound",
        status: "draft",
        pickup_warehouse_id: warehouse.id,
      },
    ]);
    for (const leg of legs) {
      expect(leg).toMatchObject({
        manifest_id: manifest.id,
        manifest_item_id: null,
        barcode: parent.barcode,
        source_snapshot: parent.source_snapshot,
        delivery_fee: 0,
      });
    }
    await expect(sql`update delivery.deliveries set source_snapshot = '{}' where id = ${parentId}`)
      .rejects.toThrow(/immutable/);
  });
});
