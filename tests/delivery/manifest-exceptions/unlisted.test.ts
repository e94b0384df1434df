/** A parcel that stands on no manifest: the scan screen opens an exception with its barcode alone. */
import { beforeAll, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newBarcode, newManifest } from "../../support/manifests.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const queue = "/delivery/transfer-manifest-exceptions";
const resolve = "/delivery/transfer-manifest-items/bulk/resolve-exceptions";
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

const open = (barcode_value: string, more = {}) =>
  tenant.warehouse.post(queue, { barcode_value, reason: "damaged", ...more });

const rowsOf = (barcode: string) =>
  sql`select * from delivery.transfer_manifest_exceptions where barcode_value = ${barcode}`;

test("opens with the barcode, as the list shows it; twice is refused, at once as well", async () => {
  const barcode = newBarcode();
  const answer = await open(` ${barcode.toLowerCase()} `, { notes: "On the ramp" });
  expect(answer).toSucceed(201);
  expect(answer.body.data).toEqual({
    id: expect.any(String),
    manifest_item_id: null,
    barcode_value: barcode,
    item_status: null,
    manifest_id: null,
    manifest_number: null,
    manifest_status: null,
    institution: null,
    reason: { value: "damaged", label: "Damaged" },
    notes: "On the ramp",
    photo_urls: [],
    status: "open",
    created_by: { id: tenant.warehouse.id, full_name: expect.any(String) },
    created_at: expect.any(String),
    resolved_at: null,
    resolution: null,
  });
  const listed = await tenant.ops.get(queue, { query: { search: barcode } });
  expect(listed.body.data).toEqual([answer.body.data]);
  expect(await open(barcode)).toFailWith(409, "exception_already_open");
  const contested = newBarcode();
  const both = await Promise.all([open(contested), open(contested)]);
  expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
  expect(await rowsOf(contested)).toHaveLength(1);
});

test("is answered alike when it is repeated under its key", async () => {
  const barcode = newBarcode();
  const headers = { "idempotency-key": `unlisted-${barcode}` };
  const first = await tenant.ops.post(queue, { barcode_value: barcode, reason: "damaged" }, {
    headers,
  });
  const again = await tenant.ops.post(queue, { barcode_value: barcode, reason: "damaged" }, {
    headers,
  });
  expect(first).toSucceed(201);
  expect(again.body).toEqual(first.body);
  expect(await rowsOf(barcode)).toHaveLength(1);
});

test("means another tenant's barcode as one that stands on no manifest, and a voided one", async () => {
  const theirs = await newManifest(other, { status: "receiving" });
  const answer = await open(theirs.barcodes[0]);
  expect(answer).toSucceed(201);
  expect(answer.body.data.manifest_item_id).toBeNull();
  const voided = await newManifest(tenant, { status: "receiving", items: [{ status: "void" }] });
  expect((await open(voided.barcodes[0])).body.data.manifest_item_id).toBeNull();
});

test("is closed by its id, either way, once, beside items, and by nobody else", async () => {
  const barcodes = [newBarcode(), newBarcode()];
  const ids: string[] = [];
  for (const barcode of barcodes) ids.push((await open(barcode)).body.data.id);
  const manifest = await newManifest(tenant, {
    status: "received_with_exceptions",
    items: [{ exception: "damaged" }],
  });
  expect((await other.ops.post(resolve, { item_ids: ids, outcome: "void" })).body.data)
    .toMatchObject({ resolved_count: 0, failed: [{ error_key: "item_not_found" }, {}] });
  const answer = await tenant.ops.post(resolve, {
    item_ids: [ids[0], manifest.itemIds[0], ids[0]],
    outcome: "reprocess",
    notes: "Belongs to the next van",
  });
  expect(answer).toSucceed(200);
  expect(answer.body.data).toMatchObject({
    resolved_count: 2,
    failed_count: 0,
    resolved: [
      { exception_id: ids[0], item_id: null, outcome: "reprocess", status: null },
      { item_id: manifest.itemIds[0], outcome: "reprocess", status: "received" },
    ],
    manifests: [{ manifest_id: manifest.id, status: "received" }],
  });
  const [row] = await rowsOf(barcodes[0]);
  expect(row).toMatchObject({
    status: "resolved",
    outcome: "reprocess",
    resolution_notes: "Belongs to the next van",
    resolved_by: tenant.ops.id,
  });
  const both = await Promise.all([
    tenant.ops.post(resolve, { item_ids: [ids[1]], outcome: "void" }),
    tenant.warehouse.post(resolve, { item_ids: [ids[1]], outcome: "void" }),
  ]);
  expect(both.map(({ body }) => body.data.resolved_count).sort()).toEqual([0, 1]);
  expect(both.flatMap(({ body }) => body.data.failed)).toMatchObject([
    { item_id: ids[1], error_key: "exception_not_open" },
  ]);
  // Closed, the barcode may enter the queue again.
  expect(await open(barcodes[1])).toSucceed(201);
});

test("refusals say where such a parcel goes", async () => {
  const manifest = await newManifest(tenant, { status: "receiving" });
  const added = await tenant.ops.post(`/delivery/transfer-manifests/${manifest.id}/items`, {
    items: [{ barcode_value: newBarcode() }],
  });
  expect(added).toFailWith(409, "manifest_action_not_allowed");
  expect(added.body.message).toContain("exception");
  const checked = await tenant.ops.post("/delivery/transfer-manifest-items/bulk/validate", {
    identifiers: [newBarcode()],
  });
  expect(JSON.stringify(checked.body)).toContain("open an exception with the barcode");
});

test("is for those who scan", async () => {
  const body = { barcode_value: newBarcode(), reason: "damaged" };
  expect(await nobody.post(queue, body)).toFailWith(401, "unauthorized");
  for (const person of [tenant.customer, tenant.institution, tenant.driver]) {
    expect(await person.post(queue, body)).toFailWith(403, "forbidden");
  }
  expect(await tenant.ops.post(queue, { ...body, barcode_value: "DM0000000000IQ" }))
    .toFailWith(400, "invalid_barcode");
  expect(await tenant.ops.post(queue, { ...body, reason: "lost" }))
    .toFailWith(400, "invalid_exception_reason");
  expect(await rowsOf(body.barcode_value)).toHaveLength(0);
});
