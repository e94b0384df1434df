/** Setting the destination of scanned items: one action receives them and makes their paid orders, for few and for many. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newManifest } from "../../support/manifests.ts";
import { balanceOf, checkBooks } from "../../support/money.ts";
import { type Tenant } from "../../support/people.ts";
import {
  eventsOf,
  newDestination,
  requestTo,
  setDestination,
  shuffled,
  statusOf,
} from "../../support/set-destination.ts";

let tenant: Tenant;
let wallet: string;
let request: ReturnType<typeof requestTo>;

beforeAll(async () => {
  const made = await newDestination();
  ({ tenant, wallet } = made);
  request = requestTo(made);
});

describe("one action receives and orders", () => {
  test("a complete awaiting manifest ends received, each item with one paid order", async () => {
    const before = await balanceOf(wallet);
    const manifest = await newManifest(tenant, { items: 3 });
    const ids = shuffled(manifest.itemIds);
    const answer = await tenant.dispatcher.post(setDestination, request(ids));
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
        waiting_for: [],
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
    const first = await tenant.dispatcher.post(setDestination, request(manifest.itemIds));
    const balance = await balanceOf(wallet);
    const second = await tenant.dispatcher.post(setDestination, request(manifest.itemIds));
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
    const { body } = await tenant.dispatcher.post(
      setDestination,
      request([b, a, b.toUpperCase(), a]),
    );
    expect(body.data.receipt.requested_count).toBe(2);
    expect(body.data.created.map((order: { item_id: string }) => order.item_id)).toEqual([b, a]);
  });

  test("an incomplete manifest keeps what was received, orders nothing, and says so with 200", async () => {
    const manifest = await newManifest(tenant, { items: 3 });
    const [a, b, c] = manifest.itemIds;
    const answer = await tenant.dispatcher.in("ar").post(setDestination, request([b, a]));
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
    const rest = await tenant.dispatcher.post(setDestination, request([c, b, a]));
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
      setDestination,
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
    const { body } = await tenant.dispatcher.in("ku").post(
      setDestination,
      request(manifest.itemIds),
    );
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
    const { body } = await tenant.dispatcher.post(setDestination, request([unknown, c, voided, a]));
    expect(body.data.created.map((order: { item_id: string }) => order.item_id)).toEqual([c, a]);
    expect(
      body.data.failed.map((item: { item_id: string; code: string }) => [item.item_id, item.code]),
    ).toEqual([
      [unknown, "item_not_found"],
      [voided, "item_void"],
    ]);
  });
});

describe("large requests", () => {
  test("60 shuffled items of two manifests are ordered in parts, in scan order, exactly once", async () => {
    const [first, second] = [
      await newManifest(tenant, { items: 40 }),
      await newManifest(tenant, { items: 20 }),
    ];
    const ids = shuffled([...first.itemIds, ...second.itemIds]);
    const answer = await tenant.dispatcher.post(setDestination, request(ids), {
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
    const replay = await tenant.dispatcher.post(setDestination, request(ids), {
      headers: { "idempotency-key": "large-1" },
    });
    expect(replay.headers.get("idempotency-replayed")).toBe("true");
    expect(replay.body.data).toEqual(answer.body.data);
    expect(
      await tenant.dispatcher.post(setDestination, request(ids.slice(1)), {
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
        () => tenant.dispatcher.post(setDestination, request(shuffled(manifest.itemIds))),
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
