/** Wrong input to the calls of manifests: each refusal names its field. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { newManifest } from "../../support/manifests.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const base = "/delivery/transfer-manifests";
let tenant: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
});

describe("wrong input names its field", () => {
  const guid = randomUUID();
  const whole = { institution_user_id: guid, source_branch_id: guid, creation_source: "form" };
  const item = { barcode_value: "DM0000000014IQ" };
  const cases: [string, unknown, string, string?][] = [
    ["", {}, "institution_user_id", "validation_failed"],
    ["", { ...whole, institution_user_id: "1" }, "institution_user_id", "invalid_uuid"],
    ["", { ...whole, creation_source: "guess" }, "creation_source"],
    ["", { ...whole, notes: "x".repeat(2001) }, "notes"],
    ["", { ...whole, items: "all" }, "items"],
    ["", { ...whole, items: [{}] }, "items.0.barcode_value"],
    [
      "",
      { ...whole, destination_branch_id: guid, destination_address_id: guid },
      "destination_address_id",
    ],
    ["/items", { items: [] }, "items"],
    ["/items", { items: Array(501).fill(item) }, "items"],
    ["/items", { items: [{ ...item, metadata: [] }] }, "items.0.metadata"],
    ...[-1, "-1", "2 kg", true, "1000001"].map((weight): [string, unknown, string] => [
      "/items",
      { items: [{ ...item, package_details: { items: [{ weight }] } }] },
      "items.0.package_details.items.0.weight",
    ]),
    [
      "/items",
      { items: [{ ...item, package_details: { items: [{ quantity: "1.5" }] } }] },
      "items.0.package_details.items.0.quantity",
    ],
    ["/items", { items: [{ barcode_value: "x".repeat(65) }] }, "items.0.barcode_value"],
    ["/pickup", { latitude: 91, longitude: 0 }, "latitude"],
    ["/pickup", { latitude: 33 }, "longitude"],
    ["/pickup", { proof: { photo_urls: "a" } }, "proof.photo_urls"],
    [
      "/pickup",
      { proof: { photo_urls: Array(11).fill("https://a.b/c") } },
      "proof.photo_urls",
    ],
    ["/arrive", { proof: { signed_by: "x".repeat(201) } }, "proof.signed_by"],
    ["/proofs", { stage: "delivery" }, "photo_urls"],
    ["/proofs", { stage: "later", photo_urls: ["https://a.b/c"] }, "stage"],
    [
      "/proof-uploads",
      { stage: "pickup", kind: "photo", content_type: "text/html" },
      "content_type",
    ],
    ["/start-receiving", { receive_all: "yes" }, "receive_all"],
    ["/receive-items", {}, "item_ids"],
    ["/receive-items", { item_ids: [] }, "item_ids"],
    ["/receive-items", { item_ids: ["x"] }, "item_ids.0", "invalid_uuid"],
    ["/complete-receiving", { missing: "forget" }, "missing"],
    ["/cancel", {}, "reason"],
    ["/cancel", { reason: "   " }, "reason"],
    ["/cancel", { reason: "x".repeat(501) }, "reason"],
  ];
  test.each(cases)("%s %j", async (suffix, body, field, code = "validation_failed") => {
    const manifest = suffix ? `/${(await newManifest(tenant, { status: "draft" })).id}` : "";
    const answer = await tenant.ops.post(base + manifest + suffix, body);
    expect(answer).toFailWith(400, code);
    expect(answer.body.field).toBe(field);
  });

  test("a NUL in a text is refused, not stored and no fault of ours", async () => {
    const { id } = await newManifest(tenant, { status: "draft" });
    const answers = [
      await tenant.ops.post(`${base}/${id}/cancel`, { reason: "a\0b" }),
      await tenant.ops.post(`${base}/${id}/items`, { items: [{ barcode_value: "DM00\0" }] }),
      await tenant.ops.get(base, { query: { search: "a\0" } }),
    ];
    for (const answer of answers) {
      expect(answer.status, JSON.stringify(answer.body)).toBe(400);
      expect(answer.body.success).toBe(false);
    }
  });
});
