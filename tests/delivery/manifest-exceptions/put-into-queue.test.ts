/** Items of manifests that are put into the exception queue. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { exceptionOf, newOrderedItem } from "../../support/manifest-exceptions.ts";
import { newBarcode, newManifest } from "../../support/manifests.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

const queue = "/delivery/transfer-manifest-exceptions";
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

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
    const ordered = await newOrderedItem(tenant);
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
