import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newManifest } from "../../support/manifests.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

const base = "/delivery/transfer-manifests";
let tenant: Tenant;

beforeAll(async () => {
  tenant = await newTenant();
});

async function countEvents(id: string, type: string): Promise<number> {
  const [{ n }] = await sql`select count(*)::int as n from delivery.transfer_manifest_events
    where manifest_id = ${id} and event_type = ${type}`;
  return n;
}

async function itemsOf(id: string) {
  return await sql`select status, received_at is not null as received, received_by
    from delivery.transfer_manifest_items where manifest_id = ${id} order by position`;
}

describe("starting to receive", () => {
  test("names the receiver and waits for arrival and proof", async () => {
    const missing = await newManifest(tenant, { arrived: false });
    const bare = await newManifest(tenant, { proof: false });
    const partly = await newManifest(tenant, { proof: { delivery: ["photo"] } });
    const cases = [
      [missing, "manifest_arrival_required"],
      [bare, "manifest_delivery_proof_required"],
      [partly, "manifest_delivery_proof_required"],
    ] as const;
    for (const [manifest, code] of cases) {
      const refused = await tenant.warehouse.post(`${base}/${manifest.id}/start-receiving`);
      expect(refused).toFailWith(409, code);
      expect(refused.body).toMatchObject({
        manifest_id: manifest.id,
        manifest_number: manifest.number,
        manifest_status: "awaiting_receipt",
      });
      expect(refused.body.message).toContain(manifest.number);
      if (manifest !== missing) {
        expect(refused.body.missing).toContain("signature");
        expect(refused.body.message).toMatch(/delivery proof: .*signature\.$/);
      }
      expect(await countEvents(manifest.id, "receiving_started")).toBe(0);
    }
    const ready = await newManifest(tenant);
    const started = await tenant.warehouse.post(`${base}/${ready.id}/start-receiving`);
    expect(started).toSucceed(200);
    expect(started.body.data).toMatchObject({
      status: "receiving",
      receiver_id: tenant.warehouse.id,
      received_count: 0,
    });
  });

  test("happens once: a second call is refused, keeps the receiver and adds no event", async () => {
    const manifest = await newManifest(tenant);
    const path = `${base}/${manifest.id}/start-receiving`;
    expect(await tenant.warehouse.post(path)).toSucceed();
    const again = await tenant.ops.post(path);
    expect(again).toFailWith(409, "invalid_status_transition");
    expect(again.body).toMatchObject({ from: "receiving", to: "receiving" });
    const [row] =
      await sql`select receiver_id from delivery.transfer_manifests where id = ${manifest.id}`;
    expect(row.receiver_id).toBe(tenant.warehouse.id);
    expect(await countEvents(manifest.id, "receiving_started")).toBe(1);
  });

  test("a retry with its Idempotency-Key hears the first answer again", async () => {
    const manifest = await newManifest(tenant);
    const headers = { "idempotency-key": randomUUID() };
    const path = `${base}/${manifest.id}/start-receiving`;
    const first = await tenant.warehouse.post(path, {}, { headers });
    const again = await tenant.warehouse.post(path, {}, { headers });
    expect(again.status).toBe(200);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
  });

  test("needs a person: an API key without one cannot receive", async () => {
    const key = "key-" + randomUUID();
    await sql`insert into tenancy.api_keys (tenant_id, name, key_hash, scopes, created_by, expires_at)
      values (${tenant.id}, 'robot', sha256(${key}::bytea), '{manage:operations:tenant}', ${tenant.admin.id},
        now() + interval '1 day')`;
    const robot = (path: string, body: unknown) =>
      nobody.post(path, body, { headers: { "x-api-key": key } });
    const waiting = await newManifest(tenant);
    expect(await robot(`${base}/${waiting.id}/start-receiving`, {})).toFailWith(403, "forbidden");
    const open = await newManifest(tenant, { status: "receiving" });
    expect(await robot(`${base}/${open.id}/receive-items`, { item_ids: open.itemIds }))
      .toFailWith(403, "forbidden");
    expect(await robot(`${base}/${open.id}/complete-receiving`, { missing: "exception" }))
      .toFailWith(403, "forbidden");
    expect(await countEvents(open.id, "item_received")).toBe(0);
    const road = await newManifest(tenant, { status: "picked_up" });
    expect(await robot(`${base}/${road.id}/depart`, {})).toSucceed();
  });

  test("takes everything at once only where the tenant receives in bulk", async () => {
    const own = await newTenant();
    const items = [{}, { exception: "damaged" }, { status: "void" as const }];
    const manifest = await newManifest(own, { items });
    const path = `${base}/${manifest.id}/start-receiving`;
    const mode = (receiving_mode: string) =>
      saveSettings(own.id, "delivery.transfer_manifest", { receiving_mode });
    expect(await own.ops.post(path, { receive_all: true }))
      .toFailWith(403, "receive_all_not_allowed");
    await mode("whatever");
    expect(await own.ops.post(path, { receive_all: true }))
      .toFailWith(403, "receive_all_not_allowed");
    await mode("manifest_bulk");
    const all = await own.ops.post(path, { receive_all: true });
    expect(all).toSucceed();
    expect(all.body.data).toMatchObject({ status: "receiving", received_count: 1 });
    expect((await itemsOf(manifest.id)).map((item) => item.status)).toEqual([
      "received",
      "in_transit",
      "void",
    ]);
    const selected = await newManifest(own);
    const some = await own.ops.post(`${base}/${selected.id}/start-receiving`);
    expect(some.body.data.received_count).toBe(0);
  });
});

describe("receiving items", () => {
  test("answers in the order sent, and a repeat changes nothing", async () => {
    const manifest = await newManifest(tenant, { status: "receiving", items: 4 });
    const path = `${base}/${manifest.id}/receive-items`;
    const sent = [manifest.itemIds[2], manifest.itemIds[0], manifest.itemIds[2]];
    const first = await tenant.warehouse.post(path, { item_ids: sent });
    expect(first).toSucceed(200);
    expect(first.body.data).toMatchObject({
      received_item_ids: [manifest.itemIds[2], manifest.itemIds[0]],
      already_received_item_ids: [],
      remaining_count: 2,
      manifest: { status: "receiving", received_count: 2 },
    });
    const second = await tenant.ops.post(path, {
      item_ids: [manifest.itemIds[3], manifest.itemIds[0]],
    });
    expect(second.body.data).toMatchObject({
      received_item_ids: [manifest.itemIds[3]],
      already_received_item_ids: [manifest.itemIds[0]],
      remaining_count: 1,
    });
    expect(await countEvents(manifest.id, "item_received")).toBe(3);
    expect((await itemsOf(manifest.id))[0].received_by).toBe(tenant.warehouse.id);
  });

  test("refuses the whole call for an item of another manifest, and for a void one", async () => {
    const manifest = await newManifest(tenant, {
      status: "receiving",
      items: [{}, { status: "void" }],
    });
    const strange = await newManifest(tenant, { status: "receiving" });
    const path = `${base}/${manifest.id}/receive-items`;
    for (
      const [id, status, code] of [
        [strange.itemIds[0], 404, "item_not_found"],
        [randomUUID(), 404, "item_not_found"],
        [manifest.itemIds[1], 409, "item_void"],
      ] as const
    ) {
      expect(await tenant.warehouse.post(path, { item_ids: [manifest.itemIds[0], id] }))
        .toFailWith(status, code);
    }
    expect((await itemsOf(manifest.id))[0].status).toBe("in_transit");
    expect(await countEvents(manifest.id, "item_received")).toBe(0);
  });

  test("marks the issued barcode as received", async () => {
    const manifest = await newManifest(tenant, { status: "receiving", items: 1 });
    await sql`with batch as (
        insert into delivery.transfer_barcode_batches (tenant_id, batch_number, quantity, service_indicator, issuer, first_serial)
        values (${tenant.id}, ${"B" + manifest.number}, 1, 'DM', 'IQ', 1) returning *)
      insert into delivery.transfer_barcodes (tenant_id, barcode, batch_id, position, status)
      select tenant_id, ${manifest.barcodes[0]}, id, 1, 'used' from batch`;
    await tenant.warehouse.post(`${base}/${manifest.id}/receive-items`, {
      item_ids: manifest.itemIds,
    });
    const [barcode] =
      await sql`select received_at from delivery.transfer_barcodes where barcode = ${
        manifest.barcodes[0]
      }`;
    expect(barcode.received_at).toBeInstanceOf(Date);
  });

  test("a parcel that turns up after receiving still comes in and is counted", async () => {
    const manifest = await newManifest(tenant, { status: "received_with_exceptions" });
    const late = await tenant.warehouse.post(`${base}/${manifest.id}/receive-items`, {
      item_ids: [manifest.itemIds[0]],
    });
    expect(late).toSucceed();
    expect(late.body.data.manifest).toMatchObject({
      status: "received_with_exceptions",
      received_count: 2,
    });
    const resolved = await tenant.ops.post(
      "/delivery/transfer-manifest-items/bulk/resolve-exceptions",
      { manifest_id: manifest.id, outcome: "reprocess" },
    );
    expect(resolved.body.data).toMatchObject({
      resolved: [{ item_id: manifest.itemIds[0], status: "received" }],
      manifests: [{ status: "received" }],
    });
  });
});

describe("completing the receipt", () => {
  test("everything seen: received, with when, by whom and how many", async () => {
    const manifest = await newManifest(tenant, { status: "receiving", items: 2 });
    await tenant.warehouse.post(`${base}/${manifest.id}/receive-items`, {
      item_ids: manifest.itemIds,
    });
    const done = await tenant.ops.post(`${base}/${manifest.id}/complete-receiving`);
    expect(done).toSucceed(200);
    expect(done.body.data).toMatchObject({
      status: "received",
      received_count: 2,
      received_by: tenant.ops.id,
    });
    expect(done.body.data.received_at).toEqual(expect.any(String));
    expect(await countEvents(manifest.id, "receiving_completed")).toBe(1);
  });

  test("something unseen: refused, unless the missing become exceptions", async () => {
    const manifest = await newManifest(tenant, {
      status: "receiving",
      items: [{ status: "received" }, {}, { exception: "damaged" }, {}],
    });
    const path = `${base}/${manifest.id}/complete-receiving`;
    const refused = await tenant.warehouse.post(path);
    expect(refused).toFailWith(409, "manifest_items_missing");
    expect(refused.body).toMatchObject({ remaining_count: 2, manifest_number: manifest.number });
    expect(await tenant.warehouse.post(path, { missing: "ignore" }))
      .toFailWith(400, "validation_failed");
    const done = await tenant.warehouse.post(path, { missing: "exception" });
    expect(done.body.data).toMatchObject({
      status: "received_with_exceptions",
      received_count: 1,
      open_exceptions_count: 3,
    });
    const open = await sql`select manifest_item_id, created_by, previous_item_status
      from delivery.transfer_manifest_exceptions
      where manifest_id = ${manifest.id} and reason = 'missing_on_receive' and status = 'open'`;
    expect(new Set(open.map((row) => row.manifest_item_id))).toEqual(
      new Set([manifest.itemIds[1], manifest.itemIds[3]]),
    );
    expect(open[0]).toMatchObject({
      created_by: tenant.warehouse.id,
      previous_item_status: "in_transit",
    });
    expect((await itemsOf(manifest.id)).map((item) => item.status)).toEqual([
      "received",
      "in_transit",
      "in_transit",
      "in_transit",
    ]);
    expect(await countEvents(manifest.id, "exception_opened")).toBe(2);
  });

  test("all that is unseen stands in the queue already: received with exceptions", async () => {
    const manifest = await newManifest(tenant, {
      status: "receiving",
      items: [{ status: "received" }, { exception: "damaged" }],
    });
    const done = await tenant.warehouse.post(`${base}/${manifest.id}/complete-receiving`);
    expect(done.body.data.status).toBe("received_with_exceptions");
  });
});
