import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newDelivery, newGround } from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";
import { newProduct, newStore, type Store } from "../../support/storefront.ts";

const path = "/storefront/products";
let tenant: Tenant;
let other: Tenant;
let store: Store;
let foreign: Store;
let foreignProduct: string;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  [store, foreign] = await Promise.all([newStore(tenant), newStore(other)]);
  foreignProduct = (await newProduct(other, foreign)).id;
});

const sku = () => `S-${randomUUID()}`;
const variantsOf = async (id: string) =>
  await sql`select * from storefront.product_variants where product_id = ${id} order by position, created_at`;

describe("adding a product", () => {
  test("answers it with its variants and prices", async () => {
    const skus = [sku(), sku()];
    const [{ id: item }] = await sql`insert into warehousing.inventory_items (tenant_id, name, sku)
      values (${tenant.id}, 'Box', ${sku()}) returning id`;
    const answer = await tenant.admin.post(path, {
      name: { en: "Kleicha", ar: "كليجة" },
      description: "With dates",
      category_id: store.category,
      images: ["https://example.test/1.jpg"],
      variants: [
        { sku: skus[0], price: 5000, compare_at_price: 6000, attributes: { size: "1 kg" } },
        { sku: skus[1], price: 9000, inventory_item_id: item },
      ],
    });
    expect(answer).toSucceed(201);
    expect(answer.body.data).toMatchObject({
      market_id: store.id,
      category_id: store.category,
      name: { en: "Kleicha", ar: "كليجة" },
      title: "Kleicha",
      description: { en: "With dates" },
      images: ["https://example.test/1.jpg"],
      is_active: true,
      min_price: 5000,
      max_price: 9000,
      rating: { average: null, count: 0 },
      variants: [
        {
          id: expect.any(String),
          sku: skus[0],
          price: 5000,
          compare_at_price: 6000,
          inventory_item_id: null,
          attributes: { size: "1 kg" },
          is_active: true,
        },
        { sku: skus[1], price: 9000, compare_at_price: null, inventory_item_id: item },
      ],
    });
    const arabic = await tenant.admin.in("ar").get(`${path}/${answer.body.data.id}`);
    expect(arabic.body.data.title).toBe("كليجة");
  });

  test("a plain text is an English name", async () => {
    const answer = await tenant.admin.post(path, { name: "  Tea  " });
    expect(answer.body.data).toMatchObject({ name: { en: "Tea" }, variants: [], min_price: null });
  });

  test("prices have the decimals of the tenant's currency", async () => {
    const variants = (price: number, compare_at_price?: number) => ({
      name: "Tea",
      variants: [{ sku: sku(), price: 1 }, { sku: sku(), price, compare_at_price }],
    });
    const dinars = await tenant.admin.post(path, variants(5000.5));
    expect(dinars).toFailWith(400, "too_many_decimals");
    expect(dinars.body).toMatchObject({ field: "variants.1.price", decimals: 0 });
    expect(dinars.body.message).toBe("An amount in IQD may have at most 0 decimals.");
    const compared = await tenant.admin.post(path, variants(1, 1.25));
    expect(compared.body.field).toBe("variants.1.compare_at_price");
    const dollars = await newTenant({ settings: { "general.currency": { currency_code: "USD" } } });
    await newStore(dollars);
    expect((await dollars.admin.post(path, variants(4.99))).body.data.max_price).toBe(4.99);
    expect(await dollars.admin.post(path, variants(4.999))).toFailWith(400, "too_many_decimals");
  });

  test("an SKU is taken once a tenant, also of many at once", async () => {
    const body = { name: "Tea", variants: [{ sku: sku(), price: 1 }] };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => tenant.admin.post(path, body)),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(answer).toFailWith(409, "sku_already_exists");
      expect(answer.body.field).toMatch(/^variants(\.0\.sku)?$/);
    }
    expect(await other.admin.post(path, body)).toSucceed(201);
  });

  test("wrong input, another tenant's category and wrong people add nothing", async () => {
    const count = async () =>
      (await sql`select count(*)::int as n from storefront.products where tenant_id = ${tenant.id}`)[
        0
      ].n;
    const before = await count();
    const call = { method: "POST", path } as const;
    const variant = { sku: "A", price: 1 };
    await expectRefused(tenant.admin, call, [
      [{}, "name"],
      [{ name: "" }, "name"],
      [{ name: {} }, "name"],
      [{ name: { en: "" } }, "name"],
      [{ name: 7 }, "name"],
      [{ name: "Tea", description: { fr: "Bon" } }, "description"],
      [{ name: "Tea", category_id: "x" }, "category_id", "invalid_uuid"],
      [{ name: "Tea", images: ["javascript:alert(1)"] }, "images.0"],
      [{ name: "Tea", images: Array(21).fill("https://a.test/b") }, "images"],
      [{ name: "Tea", variants: {} }, "variants"],
      [{ name: "Tea", variants: [{ price: 1 }] }, "variants.0.sku"],
      [{ name: "Tea", variants: [{ sku: "A" }] }, "variants.0.price"],
      [{ name: "Tea", variants: [{ sku: "A", price: -1 }] }, "variants.0.price"],
      [{ name: "Tea", variants: [{ sku: "A", price: "1" }] }, "variants.0.price"],
      [{ name: "Tea", variants: [variant, variant] }, "variants.1.sku"],
      [
        { name: "Tea", variants: [{ ...variant, inventory_item_id: "x" }] },
        "variants.0.inventory_item_id",
        "invalid_uuid",
      ],
    ]);
    expect((await tenant.admin.post(path, { name: "a\u0000" })).status).toBe(400);
    for (const category_id of [foreign.category, randomUUID()]) {
      const answer = await tenant.admin.post(path, { name: "Tea", category_id });
      expect(answer).toFailWith(404, "category_not_found");
      expect(answer.body.field).toBe("category_id");
    }
    const [theirs] = await sql`insert into warehousing.inventory_items (tenant_id, name, sku)
      values (${other.id}, 'Box', ${sku()}) returning id`;
    // The item of a parcel in the warehouse is none of the goods.
    const parcel = await newDelivery(await newGround(tenant));
    const [lying] =
      await sql`insert into warehousing.inventory_items (tenant_id, name, sku, parcel_delivery_id)
      values (${tenant.id}, 'Parcel', ${sku()}, ${parcel.id}) returning id`;
    for (const inventory_item_id of [theirs.id, lying.id, randomUUID()]) {
      const variants = [variant, { sku: "B", price: 1, inventory_item_id }];
      const answer = await tenant.admin.post(path, { name: "Tea", variants });
      expect(answer).toFailWith(404, "inventory_item_not_found");
      expect(answer.body.field).toBe("variants.1.inventory_item_id");
    }
    const { ops, staff, driver, institution, customer } = tenant;
    const denied = [ops, staff, driver, institution, customer];
    await expectGuarded({ ...call, body: { name: "Tea" } }, { denied });
    expect(await count()).toBe(before);
    const bare = await newTenant();
    expect(await bare.admin.post(path, { name: "Tea" })).toFailWith(404, "market_not_found");
  });

  test("an Idempotency-Key makes a repeat harmless", async () => {
    await expectReplayed(tenant.admin, path, { name: "Once" }, { name: "Other" });
    const [row] = await sql`select count(*)::int as n from storefront.products
      where tenant_id = ${tenant.id} and name ->> 'en' = 'Once'`;
    expect(row.n).toBe(1);
  });
});

describe("changing a product", () => {
  test("variants are the list that is sent: known again by id or SKU, the rest archived", async () => {
    const [a, b, c, d] = [sku(), sku(), sku(), sku()];
    const made = await tenant.admin.post(path, {
      name: "Tea",
      variants: [{ sku: a, price: 1 }, { sku: b, price: 2 }, { sku: c, price: 3 }],
    });
    const { id, variants } = made.body.data;
    const answer = await tenant.admin.put(`${path}/${id}`, {
      variants: [
        { sku: c, price: 30 },
        { id: variants[0].id, sku: d, price: 10, is_active: false },
        { sku: b + "2", price: 20 },
      ],
    });
    expect(answer).toSucceed(200);
    expect(answer.body.data.variants.map((v: Body) => [v.id, v.sku, v.price, v.is_active])).toEqual(
      [
        [variants[2].id, c, 30, true],
        [variants[0].id, d, 10, false],
        [expect.any(String), b + "2", 20, true],
      ],
    );
    expect(answer.body.data.min_price).toBe(20);
    const archived = (await variantsOf(id)).filter((row) => row.archived_at);
    expect(archived.map((row) => row.sku)).toEqual([b]);
    // Its SKU is free again.
    const reuse = { name: "Other", variants: [{ sku: b, price: 1 }] };
    expect(await tenant.admin.post(path, reuse)).toSucceed(201);
    const lost = await tenant.admin.put(`${path}/${id}`, {
      variants: [{ id: variants[1].id, sku: sku(), price: 1 }],
    });
    expect(lost).toFailWith(404, "variant_not_found");
    expect(lost.body.field).toBe("variants.0.id");
    const taken = await tenant.admin.put(`${path}/${id}`, {
      variants: [{ sku: sku(), price: 1 }, { sku: b, price: 1 }],
    });
    expect(taken).toFailWith(409, "sku_already_exists");
    expect(taken.body).toMatchObject({ field: "variants.1.sku", sku: b });
    expect((await tenant.admin.get(`${path}/${id}`)).body.data.variants).toHaveLength(3);
  });

  test("only what is sent changes, and null takes it out of its category", async () => {
    const { id, variant } = await newProduct(tenant, store);
    const renamed = await tenant.admin.put(`${path}/${id}`, { name: "New" });
    expect(renamed.body.data).toMatchObject({
      name: { en: "New" },
      category_id: store.category,
      variants: [{ id: variant }],
      images: ["https://example.test/1.jpg"],
    });
    const out = await tenant.admin.put(`${path}/${id}`, { category_id: null, is_active: false });
    expect(out.body.data).toMatchObject({ category_id: null, is_active: false });
  });

  test("is refused for what is not there, and to whom it is not for", async () => {
    const { id } = await newProduct(tenant, store);
    const call = { method: "PUT", path: `${path}/${id}`, body: { name: "X" } } as const;
    await expectNoSuch(
      tenant.admin,
      { ...call, path: `${path}/{id}` },
      "product_id",
      "product_not_found",
      foreignProduct,
    );
    await expectNoSuch(
      tenant.admin,
      { method: "GET", path: `${path}/{id}` },
      "product_id",
      "product_not_found",
      foreignProduct,
    );
    await expectNoSuch(
      tenant.admin,
      { method: "DELETE", path: `${path}/{id}` },
      "product_id",
      "product_not_found",
      foreignProduct,
    );
    for (const method of ["GET", "PUT", "DELETE"] as const) {
      await expectGuarded({ ...call, method }, { denied: [tenant.ops, tenant.customer] });
    }
    const lost = await tenant.admin.put(call.path, { category_id: foreign.category });
    expect(lost).toFailWith(404, "category_not_found");
    const [row] = await sql`select name from storefront.products where id = ${id}`;
    expect(row.name).toEqual({ en: "Kleicha" });
  });

  test("an archived product is gone from the catalogue and stays for its orders", async () => {
    const { id, sku: taken } = await newProduct(tenant, store);
    const answer = await tenant.admin.delete(`${path}/${id}`);
    expect(answer.body.data).toEqual({ id, archived: true });
    expect(await tenant.admin.get(`${path}/${id}`)).toFailWith(404, "product_not_found");
    expect(await tenant.admin.delete(`${path}/${id}`)).toFailWith(404, "product_not_found");
    expect(await variantsOf(id)).toHaveLength(1);
    const reuse = { name: "Next", variants: [{ sku: taken, price: 1 }] };
    expect(await tenant.admin.post(path, reuse)).toSucceed(201);
  });
});
