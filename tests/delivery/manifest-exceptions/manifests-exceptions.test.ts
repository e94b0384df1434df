import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { exceptionOf, newOrderedItem } from "../../support/manifest-exceptions.ts";
import { newManifest } from "../../support/manifests.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

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

describe("taking items out of the queue", () => {
  test("reprocess takes received ones out as received, and leaves others where they are", async () => {
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

  test("void frees the barcode of the item, and the last one clears the manifest", async () => {
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
    const item = await newOrderedItem(tenant);
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
