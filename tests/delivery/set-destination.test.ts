import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../support/api.ts";
import { sql } from "../support/db.ts";
import { newAddress, newBranch } from "../support/make.ts";
import { newManifest } from "../support/manifests.ts";
import { balanceOf, checkBooks, fundWallet, newService } from "../support/money.ts";
import { newTenant, saveSettings, type Tenant } from "../support/people.ts";

const path = "/delivery/transfer-manifest-items/bulk/set-destination";

let tenant: Tenant;
let service: string;
let branch: string;
let wallet: string;

beforeAll(async () => {
  tenant = await newTenant();
  service = await newService(tenant);
  branch = await newBranch(tenant);
  wallet = await fundWallet(tenant, "institution", tenant.institution.id, 1_000_000);
});

const request = (item_ids: string[], more: Record<string, unknown> = {}) => ({
  item_ids,
  destination_branch_id: branch,
  delivery_service_id: service,
  ...more,
});

const shuffled = <T>(list: T[]) =>
  list.map((value) => ({ value, at: Math.random() })).sort((a, b) => a.at - b.at).map(({ value }) =>
    value
  );

async function statusOf(manifestId: string): Promise<string> {
  const [row] = await sql`select status from delivery.transfer_manifests where id = ${manifestId}`;
  return row.status;
}

async function eventsOf(manifestId: string): Promise<Record<string, number>> {
  const rows =
    await sql`select event_type, count(*)::int as n from delivery.transfer_manifest_events
    where manifest_id = ${manifestId} group by 1`;
  return Object.fromEntries(rows.map((row) => [row.event_type, row.n]));
}

describe("one action receives and orders", () => {
  test("a complete awaiting manifest ends received, each item with one paid order", async () => {
    const before = await balanceOf(wallet);
    const manifest = await newManifest(tenant, { items: 3 });
    const ids = shuffled(manifest.itemIds);
    const answer = await tenant.dispatcher.post(path, request(ids));
    expect(answer).toSucceed(200);
    const { data } = answer.body;
    expect(data).toMatchObject({ created_count: 3, failed_count: 0, failed: [] });
    expect(data.created.map((order: { item_id: string }) => order.item_id)).toEqual(ids);
    const codes = data.created.map((order: { delivery: { delivery_code: number } }) =>
      order.delivery.delivery_code
    );
    expect(codes).toEqual([...codes].sort((a, b) => a - b));
    expect(data.created[0].delivery).toEqual({
      id: expect.any(String),
      delivery_code: codes[0],
      status: "pending",
    });
    expect(data.receipt).toEqual({
      requested_count: 3,
      received_count: 3,
      received_item_ids: ids,
      ready_item_ids: ids,
      manifests: [{
        manifest_id: manifest.id,
        manifest_number: manifest.number,
        status: "received",
        remaining_count: 0,
        ready: true,
        item_ids: ids,
      }],
    });
    expect(await eventsOf(manifest.id)).toEqual({
      receiving_started: 1,
      receiving_completed: 1,
      item_received: 3,
      order_created: 3,
    });
    const rows = await sql`select d.*, i.status as item_status from delivery.deliveries d
      join delivery.transfer_manifest_items i on i.id = d.manifest_item_id where d.manifest_id = ${manifest.id}`;
    expect(rows).toHaveLength(3);
    for (const row of rows) {
      expect(row).toMatchObject({
        item_status: "order_created",
        payer_type: "sender",
        payment_method: "wallet",
        cod_amount: 0,
        delivery_fee: 1000,
        unit_size: 1,
        unit_size_source: "service_min",
        snapshot_version: "manifest_origin_v1",
        label_assignment: "manifest_shipment_label",
        institution_user_id: tenant.institution.id,
        delivery_flow: "standard",
      });
      expect(row.source_snapshot).toMatchObject({
        snapshot_version: "manifest_origin_v1",
        source: { institution: { id: tenant.institution.id } },
      });
    }
    const payments =
      await sql`select status, type, amount from money.payments where delivery_id = any(${
        rows.map((r) => r.id)
      })`;
    expect(payments).toHaveLength(3);
    expect(payments[0]).toMatchObject({ status: "SUCCESS", type: "DELIVERY_FEE", amount: 1000 });
    expect(await balanceOf(wallet)).toBe(before - 3000);
    expect(await checkBooks(tenant)).toEqual([]);
  });

  test("repeating the call creates nothing twice and answers the same orders and receipt", async () => {
    const manifest = await newManifest(tenant, { items: 2 });
    const first = await tenant.dispatcher.post(path, request(manifest.itemIds));
    const balance = await balanceOf(wallet);
    const second = await tenant.dispatcher.post(path, request(manifest.itemIds));
    expect(second).toSucceed(200);
    expect(second.body.data).toEqual(first.body.data);
    expect(await balanceOf(wallet)).toBe(balance);
    expect(await eventsOf(manifest.id)).toMatchObject({
      receiving_started: 1,
      receiving_completed: 1,
      item_received: 2,
    });
  });

  test("duplicates collapse to their first place", async () => {
    const manifest = await newManifest(tenant, { items: 2 });
    const [a, b] = manifest.itemIds;
    const { body } = await tenant.dispatcher.post(path, request([b, a, b.toUpperCase(), a]));
    expect(body.data.receipt.requested_count).toBe(2);
    expect(body.data.created.map((order: { item_id: string }) => order.item_id)).toEqual([b, a]);
  });

  test("an incomplete manifest keeps what was received, orders nothing, and says so with 200", async () => {
    const manifest = await newManifest(tenant, { items: 3 });
    const [a, b, c] = manifest.itemIds;
    const answer = await tenant.dispatcher.in("ar").post(path, request([b, a]));
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ success: false, code: "manifest_receiving_incomplete" });
    expect(answer.body.message).toMatch(/[\u0600-\u06ff]/);
    expect(answer.body.data).toMatchObject({
      created: [],
      failed: [],
      created_count: 0,
      failed_count: 0,
    });
    expect(answer.body.data.receipt).toMatchObject({
      received_item_ids: [b, a],
      ready_item_ids: [],
      manifests: [{ status: "receiving", remaining_count: 1, ready: false }],
    });
    expect(await statusOf(manifest.id)).toBe("receiving");
    const rest = await tenant.dispatcher.post(path, request([c, b, a]));
    expect(rest.body.data.created_count).toBe(3);
    expect(await eventsOf(manifest.id)).toMatchObject({
      receiving_started: 1,
      receiving_completed: 1,
      item_received: 3,
    });
  });

  test("one complete and one incomplete manifest: success with the code, orders of the complete one", async () => {
    const [done, half] = [
      await newManifest(tenant, { items: 1 }),
      await newManifest(tenant, { items: 2 }),
    ];
    const { status, body } = await tenant.dispatcher.post(
      path,
      request([half.itemIds[0], done.itemIds[0]]),
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: true, code: "manifest_receiving_incomplete" });
    expect(body.data.created.map((order: { item_id: string }) => order.item_id)).toEqual([
      done.itemIds[0],
    ]);
    expect(body.data.receipt.manifests.map((m: { manifest_id: string }) => m.manifest_id)).toEqual([
      half.id,
      done.id,
    ]);
  });

  test("an item with an open exception counts as accounted for and fails alone", async () => {
    const manifest = await newManifest(tenant, { items: [{ exception: "damaged" }, {}] });
    const { body } = await tenant.dispatcher.in("ku").post(path, request(manifest.itemIds));
    expect(body.data.created_count).toBe(1);
    expect(body.data.failed).toEqual([{
      item_id: manifest.itemIds[0],
      barcode_value: manifest.barcodes[0],
      manifest_id: manifest.id,
      manifest_number: manifest.number,
      manifest_status: "received_with_exceptions",
      current_status: "in_transit",
      error_key: "item_has_open_exception",
      error_message: expect.stringMatching(/[\u0600-\u06ff]/),
      code: "item_has_open_exception",
    }]);
  });

  test("voided and unknown items fail alone, in order, between those that pass", async () => {
    const manifest = await newManifest(tenant, { items: [{}, { status: "void" }, {}] });
    const unknown = randomUUID();
    const [a, voided, c] = manifest.itemIds;
    const { body } = await tenant.dispatcher.post(path, request([unknown, c, voided, a]));
    expect(body.data.created.map((order: { item_id: string }) => order.item_id)).toEqual([c, a]);
    expect(
      body.data.failed.map((item: { item_id: string; code: string }) => [item.item_id, item.code]),
    ).toEqual([
      [unknown, "item_not_found"],
      [voided, "item_void"],
    ]);
  });
});

describe("a manifest that may not be used refuses the whole request before any write", () => {
  test.each(["draft", "picked_up", "in_transit", "completed", "cancelled"] as const)(
    "%s",
    async (status) => {
      const items = status === "completed" || status === "cancelled"
        ? [{ status: "void" as const }]
        : 1;
      const bad = await newManifest(tenant, { status, items });
      const good = await newManifest(tenant, { items: 1 });
      const answer = await tenant.dispatcher.post(path, request([good.itemIds[0], bad.itemIds[0]]));
      expect(answer).toFailWith(409, "manifest_bulk_order_creation_not_allowed");
      expect(answer.body).toMatchObject({
        manifest_id: bad.id,
        manifest_number: bad.number,
        manifest_status: status,
      });
      expect(answer.body.message).toContain(bad.number);
      expect(await statusOf(bad.id)).toBe(status);
      expect(await statusOf(good.id)).toBe("awaiting_receipt");
      expect(await eventsOf(good.id)).toEqual({});
    },
  );

  test("no arrival", async () => {
    const manifest = await newManifest(tenant, { arrived: false });
    expect(await tenant.dispatcher.post(path, request(manifest.itemIds))).toFailWith(
      409,
      "manifest_arrival_required",
    );
    expect(await statusOf(manifest.id)).toBe("awaiting_receipt");
  });

  test.each([[[]], [["photo"]], [["signature"]]] as const)(
    "delivery proof %j is not enough",
    async (delivery) => {
      const manifest = await newManifest(tenant, {
        proof: { pickup: ["photo"], delivery: [...delivery] },
      });
      expect(await tenant.dispatcher.post(path, request(manifest.itemIds))).toFailWith(
        409,
        "manifest_delivery_proof_required",
      );
    },
  );

  test("a received manifest without receipt fields", async () => {
    const manifest = await newManifest(tenant, { status: "received", receipt: false });
    expect(await tenant.dispatcher.post(path, request(manifest.itemIds))).toFailWith(
      409,
      "manifest_bulk_receipt_incomplete",
    );
  });

  test.each(["received", "received_with_exceptions", "processing"] as const)(
    "but %s with received items is a safe retry: status unchanged, no receiving events",
    async (status) => {
      const manifest = await newManifest(tenant, { status, items: [{ status: "received" }] });
      expect(
        (await tenant.dispatcher.post(path, request(manifest.itemIds))).body.data.created_count,
      ).toBe(1);
      expect(await statusOf(manifest.id)).toBe(status);
      expect(await eventsOf(manifest.id)).toEqual({ order_created: 1 });
    },
  );
});

describe("money", () => {
  test("a short wallet fails the items it cannot bear, keeps them received, and a retry finishes them", async () => {
    const poor = await newTenant();
    const [poorService, poorBranch] = [await newService(poor), await newBranch(poor)];
    const poorWallet = await fundWallet(poor, "institution", poor.institution.id, 2_000);
    const manifest = await newManifest(poor, { items: 3 });
    const body = {
      item_ids: manifest.itemIds,
      destination_branch_id: poorBranch,
      delivery_service_id: poorService,
    };
    const first = await poor.dispatcher.post(path, body);
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
    const second = await poor.dispatcher.post(path, body);
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
      const { body } = await far.dispatcher.post(path, {
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

  test("measured packages are priced by their units; one outside the service's range fails alone", async () => {
    await saveSettings(tenant.id, "general.unit_size", { unit_weight: 5, unit_length: 50 });
    const packed = (weight: number) => ({
      packageDetails: { items: [{ weight, length: 10, width: 10, height: 10 }] },
    });
    const manifest = await newManifest(tenant, { items: [packed(12), packed(600)] });
    const { body } = await tenant.dispatcher.post(path, request(manifest.itemIds));
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
    const { body } = await staged.dispatcher.post(path, {
      item_ids: manifest.itemIds,
      destination_branch_id: stagedBranch,
      delivery_service_id: stagedService,
    });
    const parentId = body.data.created[0].delivery.id;
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

describe("large requests", () => {
  test("60 shuffled items of two manifests are ordered in parts, in scan order, exactly once", async () => {
    const [first, second] = [
      await newManifest(tenant, { items: 40 }),
      await newManifest(tenant, { items: 20 }),
    ];
    const ids = shuffled([...first.itemIds, ...second.itemIds]);
    const answer = await tenant.dispatcher.post(path, request(ids), {
      headers: { "idempotency-key": "large-1" },
    });
    expect(answer).toSucceed(200);
    const { created, failed } = answer.body.data;
    expect(failed).toEqual([]);
    expect(created.map((order: { item_id: string }) => order.item_id)).toEqual(ids);
    const codes = created.map((order: { delivery: { delivery_code: number } }) =>
      order.delivery.delivery_code
    );
    expect(codes).toEqual(codes.map((_: number, i: number) => codes[0] + i));
    const replay = await tenant.dispatcher.post(path, request(ids), {
      headers: { "idempotency-key": "large-1" },
    });
    expect(replay.headers.get("idempotency-replayed")).toBe("true");
    expect(replay.body.data).toEqual(answer.body.data);
    expect(
      await tenant.dispatcher.post(path, request(ids.slice(1)), {
        headers: { "idempotency-key": "large-1" },
      }),
    )
      .toFailWith(409, "idempotency_conflict");
    expect(await checkBooks(tenant)).toEqual([]);
  });

  test("racing calls over the same items give each item one order", async () => {
    const manifest = await newManifest(tenant, { items: 30 });
    const before = await balanceOf(wallet);
    const answers = await Promise.all(
      Array.from(
        { length: 6 },
        () => tenant.dispatcher.post(path, request(shuffled(manifest.itemIds))),
      ),
    );
    for (const answer of answers) expect(answer).toSucceed(200);
    for (const answer of answers) expect(answer.body.data.created_count).toBe(30);
    const [count] =
      await sql`select count(*)::int as deliveries, count(distinct delivery_code)::int as codes
      from delivery.deliveries where manifest_id = ${manifest.id}`;
    expect(count).toEqual({ deliveries: 30, codes: 30 });
    expect(await balanceOf(wallet)).toBe(before - 30_000);
    expect(await checkBooks(tenant)).toEqual([]);
  });
});

describe("who and what is refused", () => {
  test("no token, wrong people, gate off before validation", async () => {
    expect(await nobody.post(path, {})).toFailWith(401, "unauthorized");
    for (const person of [tenant.driver, tenant.institution, tenant.customer, tenant.staff]) {
      expect(await person.post(path, { nonsense: true })).toFailWith(403, "forbidden");
    }
    const off = await newTenant({ settings: { "delivery.transfer_manifest": { enabled: false } } });
    expect(await off.dispatcher.post(path, { nonsense: true })).toFailWith(
      403,
      "transfer_manifest_disabled",
    );
  });

  test.each<[string, Record<string, unknown>, number, string, string]>([
    ["no items", { item_ids: [] }, 400, "validation_failed", "item_ids"],
    ["items missing", { item_ids: undefined }, 400, "validation_failed", "item_ids"],
    ["one malformed id", { item_ids: [randomUUID(), "x"] }, 400, "invalid_uuid", "item_ids.1"],
    [
      "two destinations",
      { destination_address_id: randomUUID() },
      400,
      "one_destination_required",
      "destination_branch_id",
    ],
    [
      "no destination",
      { destination_branch_id: undefined },
      400,
      "one_destination_required",
      "destination_branch_id",
    ],
    [
      "no service and no default",
      { delivery_service_id: undefined },
      400,
      "delivery_service_id_required",
      "delivery_service_id",
    ],
    [
      "unknown service",
      { delivery_service_id: randomUUID() },
      404,
      "service_not_found",
      "delivery_service_id",
    ],
    [
      "unknown branch",
      { destination_branch_id: randomUUID() },
      404,
      "branch_not_found",
      "destination_branch_id",
    ],
  ])("%s", async (_, change, status, code, field) => {
    const manifest = await newManifest(tenant, { items: 1 });
    const answer = await tenant.dispatcher.post(path, request(manifest.itemIds, change));
    expect(answer).toFailWith(status, code);
    expect(answer.body.field).toBe(field);
    expect(await statusOf(manifest.id)).toBe("awaiting_receipt");
  });

  test("another tenant's items, branch, address and service are as unknown as any", async () => {
    const other = await newTenant();
    const foreign = await newManifest(other, { items: 1 });
    const mine = await newManifest(tenant, { items: 1 });
    const { body } = await tenant.dispatcher.post(
      path,
      request([foreign.itemIds[0], mine.itemIds[0]]),
    );
    expect(body.data.failed).toMatchObject([{
      item_id: foreign.itemIds[0],
      code: "item_not_found",
      manifest_id: null,
    }]);
    expect(await statusOf(foreign.id)).toBe("awaiting_receipt");
    const [theirBranch, theirAddress, theirService] = [
      await newBranch(other),
      await newAddress(other),
      await newService(other),
    ];
    const next = await newManifest(tenant, { items: 1 });
    for (
      const [change, code] of [
        [{ destination_branch_id: theirBranch }, "branch_not_found"],
        [
          { destination_branch_id: null, destination_address_id: theirAddress },
          "address_not_found",
        ],
        [{ delivery_service_id: theirService }, "service_not_found"],
      ] as const
    ) {
      expect(await tenant.dispatcher.post(path, request(next.itemIds, change))).toFailWith(
        404,
        code,
      );
    }
    expect(
      await tenant.dispatcher.post(path, request(next.itemIds), { query: { tenant_id: other.id } }),
    ).toFailWith(403, "forbidden");
  });

  test("a part is made for the system alone", async () => {
    const part = "/delivery/internal/manifest-order-parts";
    expect(await nobody.post(part, {})).toFailWith(401, "unauthorized");
    expect(await tenant.admin.post(part, {})).toFailWith(403, "forbidden");
  });
});
