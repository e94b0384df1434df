/** Reasons of exceptions that a company words in several languages are read in the reader's. */
import { expect, test } from "vitest";
import { newManifest } from "../../support/manifests.ts";
import { newTenant } from "../../support/people.ts";

const queue = "/delivery/transfer-manifest-exceptions";

test("the created exception, the list and the CSV file say a reason in the reader's language", async () => {
  const tenant = await newTenant();
  const label = { en: "Wet", ar: "مبلل", ku: "تەڕ" };
  const reasons = [
    { value: "wet", label },
    { value: "torn", label: { ku: "دڕاو" } },
    { value: "lost", label: "Lost", description: null },
  ];
  const saved = await tenant.admin.put(`/tenants/${tenant.id}/settings`, {
    delivery: { transfer_manifest: { settings: { reasons } } },
  });
  expect(saved).toSucceed();
  expect(saved.body.delivery.transfer_manifest.settings.reasons[2]).toEqual({
    value: "lost",
    label: "Lost",
  });
  const manifest = await newManifest(tenant, { status: "receiving", items: 3 });
  const made = await Promise.all(
    ["wet", "torn", "lost"].map((reason, i) =>
      tenant.warehouse.in("ar").post(queue, { manifest_item_id: manifest.itemIds[i], reason })
    ),
  );
  expect(made.map(({ body }) => body.data.reason)).toEqual([
    { value: "wet", label: "مبلل" },
    { value: "torn", label: "دڕاو" },
    { value: "lost", label: "Lost" },
  ]);
  for (const language of ["en", "ar", "ku"] as const) {
    const list = await tenant.ops.in(language).get(queue, { query: { reason: "wet" } });
    expect(list.body.data.map((row: { reason: unknown }) => row.reason)).toEqual([
      { value: "wet", label: label[language] },
    ]);
    const file = await tenant.ops.in(language).get(queue, {
      query: { reason: "wet", format: "csv" },
    });
    const text = new TextDecoder().decode(file.body);
    expect(text).toContain(label[language]);
    expect(text).not.toContain(label[language === "en" ? "ar" : "en"]);
  }
});
