/** The list of exceptions of manifests. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { newManifest } from "../../support/manifests.ts";
import { newTenant } from "../../support/people.ts";

const queue = "/delivery/transfer-manifest-exceptions";
const resolve = "/delivery/transfer-manifest-items/bulk/resolve-exceptions";

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
