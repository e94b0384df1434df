import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newBarcode, newManifest } from "../../support/manifests.ts";
import { fundWallet, newService } from "../../support/money.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

const queue = "/delivery/transfer-manifest-exceptions";
const resolve = "/delivery/transfer-manifest-items/bulk/resolve-exceptions";
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

async function manifestStatus(id: string): Promise<string> {
  const [row] = await sql`select status from delivery.transfer_manifests where id = ${id}`;
  return row.status;
}

async function itemStatus(id: string): Promise<string> {
  const [row] = await sql`select status from delivery.transfer_manifest_items where id = ${id}`;
  return row.status;
}

async function exceptionOf(itemId: string) {
  const [row] =
    await sql`select * from delivery.transfer_manifest_exceptions where manifest_item_id = ${itemId}`;
  return row;
}

describe("putting an item into the queue", () => {
  test("answers the whole exception, and a received manifest has exceptions from then on", async () => {
    const manifest = await newManifest(tenant, { status: "received" });
    const photo = `${tenant.id}/exceptions/box.jpg`;
    const answer = await tenant.warehouse.post(queue, {
      manifest_item_id: manifest.itemIds[0],
      reason: "damaged",
      notes: "Corner crushed",
      photo_urls: [photo],
    });
    expect(answer).toSucceed(201);
    expect(answer.body.data).toEqual({
      id: expect.any(String),
      manifest_item_id: manifest.itemIds[0],
      barcode_value: manifest.barcodes[0],
      item_status: "received",
      manifest_id: manifest.id,
      manifest_number: manifest.number,
      manifest_status: "received_with_exceptions",
      institution: {
        id: tenant.institution.id,
        full_name: expect.stringContaining("institution"),
        phone: expect.any(String),
      },
      reason: { value: "damaged", label: "Damaged" },
      notes: "Corner crushed",
      photo_urls: [photo],
      status: "open",
      created_by: { id: tenant.warehouse.id, full_name: expect.stringContaining("warehouse") },
      created_at: expect.any(String),
      resolved_at: null,
      resolution: null,
    });
    const events = await sql`select event_type, manifest_item_id, payload
      from delivery.transfer_manifest_events where manifest_id = ${manifest.id}`;
    expect(events).toMatchObject([{
      event_type: "exception_opened",
      manifest_item_id: manifest.itemIds[0],
      payload: { reason: "damaged", exception_id: answer.body.data.id },
    }]);
  });

  test("takes the scanned barcode too, spelled as scanners do", async () => {
    const manifest = await newManifest(tenant, { status: "receiving" });
    const answer = await tenant.dispatcher.post(queue, {
      barcode_value: ` ${manifest.barcodes[1].toLowerCase()} `,
      reason: "damaged",
    });
    expect(answer).toSucceed(201);
    expect(answer.body.data).toMatchObject({
      manifest_item_id: manifest.itemIds[1],
      manifest_status: "receiving",
    });
  });

  test("is done for the tenant's own reasons only", async () => {
    const [item] = (await newManifest(tenant, { status: "receiving" })).itemIds;
    for (const reason of ["lost", "Damaged", "missing_on_receive"]) {
      const refused = await tenant.warehouse.post(queue, { manifest_item_id: item, reason });
      expect(refused).toFailWith(400, "invalid_exception_reason");
      expect(refused.body.field).toBe("reason");
    }
    await saveSettings(other.id, "delivery.transfer_manifest", { reasons: "none" });
    const theirs = await newManifest(other, { status: "receiving" });
    expect(await other.ops.post(queue, { manifest_item_id: theirs.itemIds[0], reason: "damaged" }))
      .toFailWith(400, "invalid_exception_reason");
    expect(await exceptionOf(item)).toBeUndefined();
  });

  test("is refused for what is unknown, in the queue already, void, or ordered", async () => {
    const manifest = await newManifest(tenant, {
      status: "receiving",
      items: [{ exception: "damaged" }, { status: "void" }],
    });
    const foreign = await newManifest(other, { status: "receiving" });
    const ordered = await orderedItem();
    const cases: [Record<string, unknown>, number, string][] = [
      [{ manifest_item_id: manifest.itemIds[0] }, 409, "exception_already_open"],
      [{ manifest_item_id: manifest.itemIds[1] }, 409, "item_void"],
      [{ manifest_item_id: ordered }, 409, "item_already_has_order"],
      [{ manifest_item_id: foreign.itemIds[0] }, 404, "item_not_found"],
      [{ manifest_item_id: randomUUID() }, 404, "item_not_found"],
      [{ barcode_value: "DM0000000000IQ" }, 400, "invalid_barcode"],
      [
        {
          manifest_item_id: manifest.itemIds[0],
          photo_urls: [`${other.id}/a.jpg`],
        },
        400,
        "invalid_proof_url",
      ],
    ];
    for (const [which, status, code] of cases) {
      expect(await tenant.ops.post(queue, { ...which, reason: "damaged" }), code)
        .toFailWith(status, code);
    }
  });

  test("means the item that is not void when a barcode was used again", async () => {
    const barcode = newBarcode();
    const old = await newManifest(tenant, { status: "cancelled", items: [{ barcode }] });
    const now = await newManifest(tenant, { status: "receiving", items: [{ barcode }] });
    expect(old.itemIds).not.toEqual(now.itemIds);
    const answer = await tenant.ops.post(queue, { barcode_value: barcode, reason: "damaged" });
    expect(answer.body.data.manifest_item_id).toBe(now.itemIds[0]);
  });
});

/** An item that became an order on the bulk screen. */
async function orderedItem(): Promise<string> {
  await fundWallet(tenant, "institution", tenant.institution.id, 1_000_000);
  const manifest = await newManifest(tenant, { items: 1 });
  const answer = await tenant.dispatcher.post(
    "/delivery/transfer-manifest-items/bulk/set-destination",
    {
      item_ids: manifest.itemIds,
      destination_branch_id: manifest.branch,
      delivery_service_id: await newService(tenant),
    },
  );
  expect(answer.body.data.created_count).toBe(1);
  return manifest.itemIds[0];
}

describe("taking items out of the queue", () => {
  test("reprocess: received ones go on as received, others stay where they are", async () => {
    const manifest = await newManifest(tenant, {
      status: "received_with_exceptions",
      items: [
        { status: "received", exception: "damaged" },
        { status: "processing", exception: "damaged" },
        { status: "in_transit", exception: "missing_on_receive" },
      ],
    });
    const answer = await tenant.warehouse.post(resolve, {
      item_ids: manifest.itemIds,
      outcome: "reprocess",
      notes: "Repacked",
    });
    expect(answer).toSucceed(200);
    expect(answer.body.data).toEqual({
      resolved_count: 3,
      failed_count: 0,
      resolved: [
        { item_id: manifest.itemIds[0], outcome: "reprocess", status: "received" },
        { item_id: manifest.itemIds[1], outcome: "reprocess", status: "received" },
        { item_id: manifest.itemIds[2], outcome: "reprocess", status: "in_transit" },
      ].map((entry) => ({ exception_id: expect.any(String), ...entry })),
      failed: [],
      manifests: [
        {
          manifest_id: manifest.id,
          manifest_number: manifest.number,
          status: "receiving",
          remaining_count: 1,
          waiting_for: [{ item_id: manifest.itemIds[2], barcode_value: manifest.barcodes[2] }],
        },
      ],
    });
    expect(await exceptionOf(manifest.itemIds[0])).toMatchObject({
      status: "resolved",
      outcome: "reprocess",
      resolution_notes: "Repacked",
      resolved_by: tenant.warehouse.id,
    });
    const events = await sql`select event_type, payload from delivery.transfer_manifest_events
      where manifest_id = ${manifest.id} order by id`;
    expect(events.map((event) => event.event_type)).toEqual([
      "exception_resolved",
      "exception_resolved",
      "exception_resolved",
      "receiving_resumed",
    ]);
    expect(events[0].payload).toMatchObject({ outcome: "reprocess", reason: "damaged" });
  });

  test("void: the item is void, its barcode free, and the last one clears the manifest", async () => {
    const manifest = await newManifest(tenant, {
      status: "received_with_exceptions",
      items: [{ exception: "damaged" }, { exception: "damaged" }, {}],
    });
    const first = await tenant.ops.post(resolve, {
      item_ids: [manifest.itemIds[1]],
      outcome: "void",
    });
    expect(first.body.data).toMatchObject({
      resolved: [{ item_id: manifest.itemIds[1], outcome: "void", status: "void" }],
      manifests: [{ status: "received_with_exceptions" }],
    });
    const all = await tenant.ops.post(resolve, { manifest_id: manifest.id, outcome: "void" });
    expect(all.body.data).toMatchObject({
      resolved_count: 1,
      resolved: [{ item_id: manifest.itemIds[0] }],
      manifests: [{ status: "received" }],
    });
    expect(await itemStatus(manifest.itemIds[2])).toBe("received");
    const draft = await newManifest(tenant, { status: "draft", items: [] });
    expect(
      await tenant.ops.post(`/delivery/transfer-manifests/${draft.id}/items`, {
        items: [{ barcode_value: manifest.barcodes[1] }],
      }),
    ).toSucceed(201);
  });

  test("item and exception ids mix, over several manifests, in the order sent; wrong ones fail alone", async () => {
    const a = await newManifest(tenant, {
      status: "received_with_exceptions",
      items: [{ exception: "damaged" }, {}],
    });
    const b = await newManifest(tenant, { status: "receiving", items: [{ exception: "damaged" }] });
    const foreign = await newManifest(other, { status: "received_with_exceptions" });
    const unknown = randomUUID();
    const answer = await tenant.ops.in("ar").post(resolve, {
      item_ids: [
        unknown,
        (await exceptionOf(b.itemIds[0])).id,
        a.itemIds[1],
        a.itemIds[0],
        foreign.itemIds[0],
        (await exceptionOf(a.itemIds[0])).id,
        b.itemIds[0],
      ],
      outcome: "void",
    });
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({
      resolved_count: 2,
      failed_count: 3,
      resolved: [{ item_id: b.itemIds[0] }, { item_id: a.itemIds[0] }],
      failed: [
        { item_id: unknown, error_key: "item_not_found" },
        { item_id: a.itemIds[1], error_key: "exception_not_open" },
        { item_id: foreign.itemIds[0], error_key: "item_not_found" },
      ],
      manifests: [
        { manifest_id: b.id, status: "receiving" },
        { manifest_id: a.id, status: "received" },
      ],
    });
    for (const entry of answer.body.data.failed) expect(entry.error_message).toMatch(/[؀-ۿ]/);
    expect(await manifestStatus(foreign.id)).toBe("received_with_exceptions");
    expect((await exceptionOf(foreign.itemIds[0])).status).toBe("open");
  });

  test("never voids an item that has an order, but lets it out of the queue", async () => {
    const item = await orderedItem();
    // No call leads here: the order was made first, the exception slipped in.
    await sql`insert into delivery.transfer_manifest_exceptions (tenant_id, manifest_item_id, manifest_id, reason, previous_item_status)
      select tenant_id, id, manifest_id, 'damaged', status from delivery.transfer_manifest_items where id = ${item}`;
    const refused = await tenant.ops.post(resolve, { item_ids: [item], outcome: "void" });
    expect(refused.body.data).toMatchObject({
      resolved_count: 0,
      failed: [{ item_id: item, error_key: "item_already_has_order" }],
      manifests: [],
    });
    expect(await itemStatus(item)).toBe("order_created");
    const passed = await tenant.ops.post(resolve, { item_ids: [item], outcome: "reprocess" });
    expect(passed.body.data.resolved).toMatchObject([
      { item_id: item, outcome: "reprocess", status: "order_created" },
    ]);
    await expect(
      sql`update delivery.transfer_manifest_items set status = 'void' where id = ${item}`,
    ).rejects.toThrow("invalid_status_transition");
  });

  test("an empty queue resolves nothing; a foreign manifest is not found", async () => {
    const manifest = await newManifest(tenant, { status: "received" });
    const none = await tenant.ops.post(resolve, { manifest_id: manifest.id, outcome: "void" });
    expect(none.body.data).toEqual({
      resolved_count: 0,
      failed_count: 0,
      resolved: [],
      failed: [],
      manifests: [],
    });
    const foreign = await newManifest(other, { status: "received_with_exceptions" });
    expect(await tenant.ops.post(resolve, { manifest_id: foreign.id, outcome: "void" }))
      .toFailWith(404, "manifest_not_found");
    expect((await exceptionOf(foreign.itemIds[0])).status).toBe("open");
  });

  test("wants exactly one selector and a known outcome", async () => {
    const id = randomUUID();
    const cases: [unknown, string, string][] = [
      [{ outcome: "void" }, "validation_failed", "item_ids"],
      [{ item_ids: [id], manifest_id: id, outcome: "void" }, "validation_failed", "item_ids"],
      [{ item_ids: [], outcome: "void" }, "validation_failed", "item_ids"],
      [{ item_ids: ["x"], outcome: "void" }, "invalid_uuid", "item_ids.0"],
      [{ manifest_id: "x", outcome: "void" }, "invalid_uuid", "manifest_id"],
      [{ item_ids: [id], outcome: "lose" }, "validation_failed", "outcome"],
      [{ item_ids: [id] }, "validation_failed", "outcome"],
      [
        { item_ids: Array(501).fill(id), outcome: "void" },
        "validation_failed",
        "item_ids",
      ],
    ];
    for (const [body, code, field] of cases) {
      const refused = await tenant.ops.post(resolve, body);
      expect(refused, JSON.stringify(body).slice(0, 80)).toFailWith(400, code);
      expect(refused.body.field).toBe(field);
    }
  });
});

describe("the list of exceptions", () => {
  test("shows the open ones first asked, filters, searches and words its reasons", async () => {
    const own = await newTenant();
    const manifest = await newManifest(own, {
      status: "receiving",
      items: [
        { exception: "damaged" },
        { exception: "missing_on_receive" },
        { exception: "old_reason" },
      ],
    });
    await own.ops.post(resolve, {
      item_ids: [manifest.itemIds[0]],
      outcome: "void",
      notes: "Gone",
    });
    const get = (query: Record<string, string | number>, language: "en" | "ar" = "en") =>
      own.staff.in(language).get(queue, { query });
    const open = await get({ sort_by: "barcode_value", sort_order: "asc" });
    expect(open).toSucceed(200);
    expect(open.body.pagination).toEqual({ page: 1, limit: 20, total: 2, total_pages: 1 });
    const labels = Object.fromEntries(
      open.body.data.map((row: { reason: { value: string; label: string } }) => [
        row.reason.value,
        row.reason.label,
      ]),
    );
    expect(labels).toEqual({ missing_on_receive: "Missing at receipt", old_reason: "old_reason" });
    const done = await get({ status: "resolved" });
    expect(done.body.data).toMatchObject([{
      status: "resolved",
      item_status: "void",
      reason: { value: "damaged", label: "Damaged" },
      resolution: { outcome: "void", notes: "Gone", resolved_by: { id: own.ops.id } },
    }]);
    expect(done.body.data[0].resolved_at).toEqual(expect.any(String));
    const ids = async (query: Record<string, string | number>) =>
      (await get(query)).body.data.map((row: { manifest_item_id: string }) => row.manifest_item_id);
    expect(await ids({ reason: "old_reason" })).toEqual([manifest.itemIds[2]]);
    expect(await ids({ search: manifest.barcodes[1].slice(3, 11) })).toEqual([manifest.itemIds[1]]);
    expect(await ids({ search: "%" })).toEqual([]);
    expect(await ids({ manifest_id: randomUUID() })).toEqual([]);
    expect(await ids({ date_to: "2020-01-01" })).toEqual([]);
    expect((await ids({ date_from: "2020-01-01", limit: 1 })).length).toBe(1);
    const arabic = await get({ reason: "missing_on_receive" }, "ar");
    expect(arabic.body.data[0].reason.label).toMatch(/[؀-ۿ]/);
    expect(await get({ status: "closed" })).toFailWith(400, "validation_failed");
  });
});
