/** Changes of a market, and which of them wait for another approval. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { draft, marketPath as path, marketRow, review } from "../../support/market.ts";
import { newSystemAdmin, newTenant } from "../../support/people.ts";
import { expectGuarded, expectRefused } from "../../support/promises.ts";
import { eventsOf, newDirectoryCategory, newStoreOwner } from "../../support/storefront.ts";

let system: Person;
beforeAll(async () => {
  system = await newSystemAdmin();
});

describe("changing", () => {
  test("an approved market stays open and waits for another look", async () => {
    const { tenant, store } = await newStoreOwner({
      approved_at: new Date(),
      approved_by: system.id,
    });
    const answer = await tenant.admin.put(path, { tagline: { en: "New words" } });
    expect(answer).toSucceed(200);
    expect(answer.body.data.market).toMatchObject({
      status: "approved",
      is_live: true,
      needs_reapproval: true,
      approved_at: null,
      approved_by: null,
      tagline: { en: "New words" },
    });
    await tenant.admin.put(`${path}/publish`, { publish_status: "unpublished" });
    expect((await review(system, store.id, "approved")).body.data.market).toMatchObject({
      needs_reapproval: false,
      approved_by: system.id,
      publish_status: "unpublished",
    });
    await tenant.admin.put(path, { tagline: { en: "Bad words" } });
    expect((await review(system, store.id, "rejected")).body.data.market).toMatchObject({
      status: "rejected",
      needs_reapproval: false,
      is_live: false,
    });
  });

  test("nothing new asks for no new look", async () => {
    const { tenant, store } = await newStoreOwner();
    const before = await marketRow(store.id);
    for (
      const body of [{}, { tagline: { en: "All you need" } }, { settings: { currency: "IQD" } }]
    ) {
      expect(await tenant.admin.put(path, body)).toSucceed(200);
    }
    expect(await marketRow(store.id)).toEqual(before);
    expect(await eventsOf(tenant)).toEqual([]);
  });

  test("settings and theme merge key by key, the rest is replaced", async () => {
    const { tenant } = await newStoreOwner({
      ...draft,
      theme_settings: sql.json({ primary_color: "#111111", accent_color: "#222222" }),
    });
    const directory_category = await newDirectoryCategory();
    const answer = await tenant.admin.put(path, {
      settings: { auto_create_delivery: true },
      theme_settings: { accent_color: null, theme_style: "calm" },
      tagline: { ku: "هەموو شت" },
      banners: [{ url: "https://example.test/b.jpg", title: { en: "A" }, id: "mine" }],
      directory_category,
    });
    expect(answer.body.data.market).toMatchObject({
      status: "draft",
      directory_category,
      tagline: { ku: "هەموو شت" },
      settings: {
        auto_create_delivery: true,
        currency: "IQD",
        payment_methods: ["wallet", "cash_on_delivery"],
      },
      banners: [{ id: "mine" }],
    });
    expect(answer.body.data.market.theme_settings).toEqual({
      primary_color: "#111111",
      theme_style: "calm",
    });
    expect(answer.body.data.market.tagline).toEqual({ ku: "هەموو شت" });
    // A language more is ignored, and a text in none clears the line.
    const tagline = { en: "All", fr: "Tout" };
    expect((await tenant.admin.put(path, { tagline })).body)
      .toMatchObject({ data: { market: { tagline: { en: "All" } } }, ignored: ["tagline.fr"] });
    expect((await tenant.admin.put(path, { tagline: {} })).body.data.market.tagline).toEqual({});
  });

  test("store_name and status may only be sent back as they are", async () => {
    const { tenant, store } = await newStoreOwner();
    const same = { store_name: store.name, status: "approved" };
    expect(await tenant.admin.put(path, same)).toSucceed(200);
    const call = { method: "PUT", path } as const;
    await expectRefused(tenant.admin, call, [
      [{ store_name: "Other" }, "store_name", "market_field_fixed"],
      [{ store_name: store.name.toLowerCase() }, "store_name", "market_field_fixed"],
      [{ status: "draft" }, "status", "market_field_fixed"],
      [{ directory_category: "nonsense" }, "directory_category", "invalid_directory_category"],
      [{ tagline: { fr: "Bien" } }, "tagline"],
      [{ banners: [{ url: "https://a.test/b" }] }, "banners.0.title"],
      [{ banners: {} }, "banners"],
    ]);
    const { ops, staff, driver, institution, customer } = tenant;
    await expectGuarded({ ...call, body: { tagline: "X" } }, {
      denied: [ops, staff, driver, institution, customer],
    });
    expect(await (await newTenant()).admin.put(path, {})).toFailWith(404, "market_not_found");
  });

  test("the database enforces the name and the legal status changes for every writer", async () => {
    const { store } = await newStoreOwner(draft);
    const write = (change: Record<string, string>) =>
      sql`update storefront.markets set ${sql(change)} where id = ${store.id}`;
    await expect(write({ store_name: "Other" })).rejects.toThrow("market_field_fixed");
    await expect(write({ status: "approved" })).rejects.toThrow("invalid_status_transition");
    await expect(write({ publish_status: "published" })).rejects.toThrow(
      "published_means_approved",
    );
  });
});
