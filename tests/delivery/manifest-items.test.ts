import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../support/api.ts";
import { newBarcode, newManifest } from "../support/manifests.ts";
import { newTenant, type Tenant } from "../support/people.ts";

const search = "/delivery/transfer-manifest-items/search";
const validate = "/delivery/transfer-manifest-items/bulk/validate";

let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

const idsOf = (body: { data: { manifest_item_id: string }[] }) =>
  body.data.map((row) => row.manifest_item_id);

describe("search", () => {
  test("rows carry what the scan screen shows, exactly", async () => {
    const manifest = await newManifest(tenant, { items: 1 });
    const answer = await tenant.dispatcher.get(search, { query: { q: manifest.itemIds[0] } });
    expect(answer).toSucceed(200);
    expect(answer.body.data).toEqual([{
      manifest_item_id: manifest.itemIds[0],
      barcode_value: manifest.barcodes[0],
      status: "in_transit",
      manifest_id: manifest.id,
      manifest_number: manifest.number,
      manifest_status: "awaiting_receipt",
      institution: {
        id: tenant.institution.id,
        full_name: expect.any(String),
        phone: expect.any(String),
      },
      source_branch: { id: manifest.branch, name: expect.any(String), code: expect.any(String) },
      destination_branch_id: null,
      destination_address_id: null,
      delivery_id: null,
      already_has_order: false,
    }]);
  });

  test("text matches anywhere in the barcode, whatever the case; wildcards are plain characters", async () => {
    const manifest = await newManifest(tenant, { items: 1 });
    const [barcode] = manifest.barcodes;
    for (const q of [barcode, barcode.toLowerCase(), barcode.slice(3, 12), ` ${barcode} `]) {
      expect(idsOf((await tenant.dispatcher.get(search, { query: { q } })).body)).toEqual(
        manifest.itemIds,
      );
    }
    for (const q of ["%", "_", barcode.slice(0, 5) + "%", "\\", "no-such-barcode"]) {
      expect((await tenant.dispatcher.get(search, { query: { q } })).body.data).toEqual([]);
    }
  });

  test("nothing typed lists the newest first, 20 unless asked, 1 to 100", async () => {
    const fresh = await newTenant();
    const manifest = await newManifest(fresh, { items: 30 });
    const last = await newManifest(fresh, { items: 1 });
    const twenty = await fresh.dispatcher.get(search);
    expect(twenty.body.data).toHaveLength(20);
    expect(idsOf(twenty.body)[0]).toBe(last.itemIds[0]);
    expect((await fresh.dispatcher.get(search, { query: { q: "", limit: 3 } })).body.data)
      .toHaveLength(3);
    expect((await fresh.dispatcher.get(search, { query: { limit: 0 } })).body.data).toHaveLength(1);
    expect((await fresh.dispatcher.get(search, { query: { limit: 1000 } })).body.data).toHaveLength(
      31,
    );
    expect(manifest.itemIds).toHaveLength(30);
  });

  test("only items that can still become orders are found", async () => {
    const fresh = await newTenant();
    const manifest = await newManifest(fresh, {
      status: "processing",
      items: [{ status: "received" }, { status: "scanned" }, { status: "processing" }, {
        status: "void",
      }, { status: "in_transit" }],
    });
    const found = idsOf((await fresh.dispatcher.get(search)).body);
    expect(new Set(found)).toEqual(new Set([manifest.itemIds[0], manifest.itemIds[4]]));
    for (const i of [1, 2, 3]) {
      expect((await fresh.dispatcher.get(search, { query: { q: manifest.itemIds[i] } })).body.data)
        .toEqual([]);
      expect((await fresh.dispatcher.get(search, { query: { q: manifest.barcodes[i] } })).body.data)
        .toEqual([]);
    }
  });

  test("another tenant's items are not found, by id, by barcode or in the list", async () => {
    const manifest = await newManifest(other, { items: 1 });
    for (const q of [manifest.itemIds[0], manifest.barcodes[0]]) {
      expect((await tenant.dispatcher.get(search, { query: { q } })).body.data).toEqual([]);
    }
    expect(await tenant.dispatcher.get(search, { query: { tenant_id: other.id } })).toFailWith(
      403,
      "forbidden",
    );
  });

  test("bad limits and texts are refused with the field, people without the right before that", async () => {
    for (const limit of ["x", "-1", "1.5"]) {
      const answer = await tenant.dispatcher.get(search, { query: { limit } });
      expect(answer).toFailWith(400, "validation_failed");
      expect(answer.body.field).toBe("limit");
    }
    expect(await tenant.dispatcher.get(search, { query: { q: "x".repeat(101) } })).toFailWith(
      400,
      "validation_failed",
    );
    expect(await tenant.dispatcher.get(search, { query: { q: "a\u0000b" } })).toFailWith(
      400,
      "validation_failed",
    );
    expect(await nobody.get(search, { query: { limit: "x" } })).toFailWith(401, "unauthorized");
    for (const person of [tenant.driver, tenant.institution, tenant.customer, tenant.staff]) {
      expect(await person.get(search, { query: { limit: "x" } })).toFailWith(403, "forbidden");
    }
    const off = await newTenant({ settings: { "delivery.transfer_manifest": { enabled: false } } });
    expect(await off.dispatcher.get(search, { query: { limit: "x" } })).toFailWith(
      403,
      "transfer_manifest_disabled",
    );
  });
});

describe("validate", () => {
  const check = async (identifiers: unknown[], person = tenant.dispatcher) => {
    const answer = await person.post(validate, { identifiers });
    expect(answer).toSucceed(200);
    return answer.body.data;
  };

  test("one result per entry, repeats too; the form of a value decides, not its type", async () => {
    const manifest = await newManifest(tenant, { items: 2 });
    const [id] = manifest.itemIds;
    const data = await check([
      { type: "barcode", value: id },
      { type: "uuid", value: manifest.barcodes[1] },
      { value: ` ${manifest.barcodes[1].toLowerCase()} ` },
      manifest.barcodes[1],
    ]);
    expect(data).toMatchObject({ total_valid: 4, total_failed: 0 });
    expect(data.results[0]).toEqual({
      input: id,
      valid: true,
      manifest_item_id: id,
      barcode_value: manifest.barcodes[0],
      manifest_id: manifest.id,
      manifest_number: manifest.number,
      manifest_status: "awaiting_receipt",
      current_status: "in_transit",
    });
    expect(data.results[2].input).toBe(` ${manifest.barcodes[1].toLowerCase()} `);
    expect(data.results.slice(1).map((row: { manifest_item_id: string }) => row.manifest_item_id))
      .toEqual(Array(3).fill(manifest.itemIds[1]));
  });

  test("a malformed or checksum-invalid barcode is told in the caller's language", async () => {
    const good = newBarcode();
    const wrongDigit = good.slice(0, 11) + ((Number(good[11]) + 1) % 10) + good.slice(12);
    const answer = await tenant.dispatcher.in("ar").post(validate, {
      identifiers: [wrongDigit, "hello", "", "x".repeat(36)],
    });
    expect(answer.body.data).toMatchObject({ total_valid: 0, total_failed: 4 });
    for (const row of answer.body.data.results) {
      expect(row).toEqual({
        input: expect.any(String),
        valid: false,
        error_key: "invalid_barcode",
        error_message: expect.stringMatching(/[\u0600-\u06ff]/),
      });
    }
  });

  test("unknown items and another tenant's are the same to the caller", async () => {
    const foreign = await newManifest(other, { items: 1 });
    const data = await check([randomUUID(), newBarcode(), foreign.itemIds[0], foreign.barcodes[0]]);
    for (const row of data.results) {
      expect(row).toEqual({
        input: expect.any(String),
        valid: false,
        error_key: "item_not_found",
        error_message: expect.any(String),
      });
    }
  });

  test.each(
    [
      ["draft", {}, "manifest_bulk_order_creation_not_allowed"],
      ["picked_up", {}, "manifest_bulk_order_creation_not_allowed"],
      ["in_transit", {}, "manifest_bulk_order_creation_not_allowed"],
      ["cancelled", { items: [{ status: "void" }] }, "manifest_bulk_order_creation_not_allowed"],
      ["awaiting_receipt", { arrived: false }, "manifest_arrival_required"],
      ["awaiting_receipt", { proof: false }, "manifest_delivery_proof_required"],
      ["receiving", { receiver: false }, "manifest_bulk_receipt_incomplete"],
      ["received", { receipt: false }, "manifest_bulk_receipt_incomplete"],
      ["received", { items: [{ status: "in_transit" }] }, "item_status_not_allowed"],
      ["awaiting_receipt", { items: [{ status: "void" }] }, "item_void"],
      ["awaiting_receipt", { items: [{ exception: "damaged" }] }, "item_has_open_exception"],
      ["processing", { items: [{ status: "scanned" }] }, "item_status_not_allowed"],
      ["awaiting_receipt", {}, null],
      ["receiving", {}, null],
      ["received", {}, null],
      ["processing", {}, null],
    ] as const,
  )("an item of a manifest in %s (%j): %s", async (status, options, key) => {
    const manifest = await newManifest(tenant, { status, items: 1, ...options } as never);
    const { results: [row] } = await check([manifest.itemIds[0]]);
    expect(row.valid).toBe(key === null);
    expect(row.error_key).toBe(key ?? undefined);
    expect(row).toMatchObject({
      manifest_number: manifest.number,
      manifest_status: status,
      manifest_item_id: manifest.itemIds[0],
    });
    if (key) expect(row.error_message.length).toBeGreaterThan(5);
    expect(row.allowed_manifest_statuses).toEqual(
      key === "manifest_bulk_order_creation_not_allowed"
        ? ["awaiting_receipt", "receiving", "received", "received_with_exceptions", "processing"]
        : undefined,
    );
  });

  test("a barcode that was voided and scanned again means its live item", async () => {
    const barcode = newBarcode();
    await newManifest(tenant, { items: [{ barcode, status: "void" }] });
    const live = await newManifest(tenant, { items: [{ barcode }] });
    await newManifest(tenant, { items: [{ barcode, status: "void" }] });
    expect((await check([barcode])).results[0]).toMatchObject({
      valid: true,
      manifest_item_id: live.itemIds[0],
    });
  });

  test("plain strings under barcodes are the same list; 500 entries pass, 501 do not, none is an error", async () => {
    const answer = await tenant.dispatcher.post(validate, {
      barcodes: Array(500).fill(newBarcode()),
    });
    expect(answer.body.data).toMatchObject({ total_failed: 500 });
    expect(await tenant.dispatcher.post(validate, { barcodes: Array(501).fill("x") })).toFailWith(
      400,
      "validation_failed",
    );
    for (
      const body of [
        {},
        { identifiers: [] },
        { identifiers: "x" },
        { identifiers: [{ value: 7 }] },
        [],
        "null",
      ]
    ) {
      expect(await tenant.dispatcher.post(validate, body)).toFailWith(400, "validation_failed");
    }
  });

  test("who may not, and with the gate off nobody, whatever is sent", async () => {
    expect(await nobody.post(validate, {})).toFailWith(401, "unauthorized");
    expect(await tenant.driver.post(validate, {})).toFailWith(403, "forbidden");
    const off = await newTenant({ settings: { "delivery.transfer_manifest": { enabled: false } } });
    expect(await off.dispatcher.in("ku").post(validate, {})).toFailWith(
      403,
      "transfer_manifest_disabled",
    );
  });
});
