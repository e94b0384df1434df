/** Checking a scanned batch: each value by itself, whatever the others are. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { newBarcode, newManifest } from "../../support/manifests.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const validate = "/delivery/transfer-manifest-items/bulk/validate";

let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

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

test("a malformed or checksum-invalid barcode is reported in the caller's language", async () => {
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
  if (key === "manifest_delivery_proof_required") {
    expect(row.missing).toContain("signature");
    expect(row.error_message).toMatch(/delivery proof: .*signature\.$/);
  }
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

test("an invalid value is reported, and the others are checked all the same", async () => {
  const manifest = await newManifest(tenant, { items: 1 });
  const [id] = manifest.itemIds;
  const odd = [
    "x".repeat(201),
    { value: "9".repeat(5_000) },
    { type: "barcode", value: 7 },
    { value: null },
    { type: "barcode" },
    [id],
    7,
    null,
    true,
  ];
  const data = await check([{ type: { a: [1] }, value: id }, ...odd, {
    type: "t".repeat(80),
    value: manifest.barcodes[0],
  }, { type: 7, value: id }]);
  expect(data).toMatchObject({ total_valid: 3, total_failed: odd.length });
  expect(data.results.slice(1, -2).map((row: { error_key: string }) => row.error_key)).toEqual(
    odd.map(() => "invalid_barcode"),
  );
  expect(data.results.map((row: { input: string }) => row.input)).toEqual([
    id,
    odd[0],
    "9".repeat(5_000),
    "7",
    "null",
    "",
    JSON.stringify([id]),
    "7",
    "null",
    "true",
    manifest.barcodes[0],
    id,
  ]);
});

test("plain strings under barcodes are the same list; 500 entries pass, 501 do not, an empty list has no results", async () => {
  const answer = await tenant.dispatcher.post(validate, {
    barcodes: Array(500).fill(newBarcode()),
  });
  expect(answer.body.data).toMatchObject({ total_failed: 500 });
  expect(await tenant.dispatcher.post(validate, { barcodes: Array(501).fill("x") })).toFailWith(
    400,
    "validation_failed",
  );
  for (const body of [{ identifiers: [] }, { barcodes: [] }]) {
    const none = await tenant.dispatcher.post(validate, body);
    expect(none).toSucceed(200);
    expect(none.body.data).toEqual({ results: [], total_valid: 0, total_failed: 0 });
  }
  for (
    const body of [
      {},
      { identifiers: "x" },
      { barcodes: {} },
      [],
      "null",
    ]
  ) {
    expect(await tenant.dispatcher.post(validate, body)).toFailWith(400, "validation_failed");
  }
});

test("refuses callers without access, and everybody while the gate is off, before the input", async () => {
  expect(await nobody.post(validate, {})).toFailWith(401, "unauthorized");
  expect(await tenant.driver.post(validate, {})).toFailWith(403, "forbidden");
  const off = await newTenant({ settings: { "delivery.transfer_manifest": { enabled: false } } });
  expect(await off.dispatcher.in("ku").post(validate, {})).toFailWith(
    403,
    "transfer_manifest_disabled",
  );
});
