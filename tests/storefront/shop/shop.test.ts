import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { type Body, nobody, signedIn } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newEverything, tenantTables } from "../../support/everything.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  newCategory,
  newProduct,
  newStore,
  shopPath as at,
  type Store,
} from "../../support/storefront.ts";

let tenant: Tenant;
let store: Store;
beforeAll(async () => {
  tenant = await newTenant();
  store = await newStore(tenant, {
    admin_notes: "Secret",
    banners: sql.json([
      { id: "b", url: "https://a.test/b", title: { en: "B" }, is_active: true, sort_order: 2 },
      { id: "a", url: "https://a.test/a", title: { en: "A" }, is_active: true, sort_order: 1 },
      { id: "c", url: "https://a.test/c", title: { en: "C" }, is_active: false, sort_order: 0 },
    ]),
  });
});

describe("the open shop", () => {
  test("shows a live market to anybody, without what is its owner's business", async () => {
    const answer = await nobody.get(at(store.name.toLowerCase()));
    expect(answer).toSucceed(200);
    expect(answer.body.market).toEqual({
      id: store.id,
      code: expect.any(Number),
      store_name: store.name,
      directory_category: "general",
      tagline: { en: "All you need" },
      logo_url: null,
      theme_settings: {},
      banners: [expect.objectContaining({ id: "a" }), expect.objectContaining({ id: "b" })],
      settings: { currency: "IQD", payment_methods: ["cash_on_delivery", "wallet"] },
    });
    const shutOut = await nobody.get(at(store.name), { headers: { authorization: "Bearer x" } });
    expect(shutOut).toSucceed(200);
  });

  test.each([
    ["a draft", { status: "draft", publish_status: "unpublished" }, "active"],
    ["one that waits", { status: "pending_approval", publish_status: "unpublished" }, "active"],
    ["one that is not published", { publish_status: "unpublished" }, "active"],
    ["an inactive one", { status: "inactive", publish_status: "unpublished" }, "active"],
    ["one of a suspended tenant", {}, "suspended"],
    ["one of an archived tenant", {}, "archived"],
  ])("hides %s, at every address", async (_, market, status) => {
    const mine = await newTenant();
    const own = await newStore(mine, market);
    const { id } = await newProduct(mine, own);
    await sql`update tenancy.tenants set status = ${status} where id = ${mine.id}`;
    await sql`insert into storefront.custom_domains
      (tenant_id, market_id, custom_domain, status, dns_records, dns_verified_at)
      values (${mine.id}, ${own.id}, ${`${own.name.toLowerCase()}.com`}, 'active', '[]', now())`;
    for (const rest of ["", "/categories", "/products", `/products/${id}`]) {
      expect(await nobody.get(at(own.name, rest))).toFailWith(404, "market_not_found");
    }
    const domain = `${own.name.toLowerCase()}.com`;
    expect(await nobody.get("/storefront/public/markets", { query: { domain } }))
      .toFailWith(404, "market_not_found");
    const stranger = signedIn(tenant.customer.id, null);
    expect(await stranger.post(at(own.name, "/join"))).toFailWith(404, "market_not_found");
  });

  test("is found by its active domain and by no other", async () => {
    const domain = `d${randomUUID().slice(0, 8)}.example.com`;
    await sql`insert into storefront.custom_domains (tenant_id, market_id, custom_domain, dns_records)
      values (${tenant.id}, ${store.id}, ${domain}, '[]')`;
    const ask = (of: string) => nobody.get("/storefront/public/markets", { query: { domain: of } });
    expect(await ask(domain)).toFailWith(404, "market_not_found");
    await sql`update storefront.custom_domains set status = 'active', dns_verified_at = now()
      where custom_domain = ${domain}`;
    expect((await ask(`https://${domain.toUpperCase()}`)).body.market.id).toBe(store.id);
    for (const wrong of ["x", "%", `x.${domain}`, "127.0.0.1", "\u0000"]) {
      expect(await ask(wrong)).toFailWith(404, "market_not_found");
    }
    const missing = await nobody.get("/storefront/public/markets");
    expect(missing).toFailWith(400, "validation_failed");
    expect(missing.body.field).toBe("domain");
  });

  test("lists what is on sale: pages, search, category, price", async () => {
    const mine = await newTenant();
    const own = await newStore(mine);
    const drinks = await newCategory(mine, own.id, { en: "Drinks" });
    const tea = await newProduct(mine, own, {
      name: { en: "Tea", ar: "شاي" },
      price: 3000,
      category: drinks,
    });
    const cake = await newProduct(mine, own, { name: { en: "100% Cake" }, price: 1000 });
    const nuts = await newProduct(mine, own, { name: { en: "Nuts" }, price: 2000 });
    await newProduct(mine, own, { name: { en: "Hidden" }, is_active: false });
    const gone = await newProduct(mine, own, { name: { en: "Gone" } });
    await mine.admin.delete(`/storefront/products/${gone.id}`);
    const ask = async (query: Record<string, string | number>) => {
      const answer = await nobody.get(at(own.name, "/products"), { query });
      expect(answer).toSucceed(200);
      return answer.body;
    };
    const ids = async (query: Record<string, string | number>) =>
      (await ask(query)).data.map(({ id }: Body) => id);
    expect(await ids({})).toEqual([nuts.id, cake.id, tea.id]);
    expect((await ask({})).pagination).toEqual({ page: 1, limit: 20, total: 3, total_pages: 1 });
    expect(await ids({ limit: 2, page: 2 })).toEqual([tea.id]);
    expect((await ask({ limit: 500 })).pagination.limit).toBe(100);
    expect((await ask({ page: "999999999999999" })).data).toEqual([]);
    expect(await ids({ sort_by: "min_price", sort_order: "asc" }))
      .toEqual([cake.id, nuts.id, tea.id]);
    expect(await ids({ search: "شاي" })).toEqual([tea.id]);
    expect(await ids({ search: "0% c" })).toEqual([cake.id]);
    expect(await ids({ search: "١٠٠" })).toEqual([cake.id]);
    expect(await ids({ search: "_" })).toEqual([]);
    // The languages' own keys are no text of the product.
    expect(await ids({ search: "en" })).toEqual([]);
    expect(await ids({ category_id: drinks })).toEqual([tea.id]);
    expect(await ids({ category_id: store.category })).toEqual([]);
    const [product] = (await ask({ search: "tea" })).data;
    expect(product).toEqual({
      id: tea.id,
      market_id: own.id,
      category_id: drinks,
      name: { en: "Tea", ar: "شاي" },
      title: "Tea",
      images: ["https://example.test/1.jpg"],
      min_price: 3000,
      max_price: 3000,
      rating: { average: null, count: 0 },
      variants: [
        { id: tea.variant, sku: tea.sku, price: 3000, compare_at_price: null, attributes: {} },
      ],
      variant_count: 1,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const wrong = await nobody.get(at(own.name, "/products"), { query: { category_id: "x" } });
    expect(wrong).toFailWith(400, "invalid_uuid");
    const categories = (await nobody.in("ar").get(at(own.name, "/categories"))).body.data;
    expect(categories.map(({ title, product_count }: Body) => [title, product_count]).sort())
      .toEqual([["Drinks", 1], ["حلويات", 2]]);
    await sql`update storefront.product_categories set is_active = false where id = ${drinks}`;
    expect((await nobody.get(at(own.name, "/categories"))).body.data).toHaveLength(1);
  });

  test("gives a file of all products, however many a page has", async () => {
    const mine = await newTenant();
    const own = await newStore(mine);
    for (const en of ["Tea", "Cake", "Nuts"]) await newProduct(mine, own, { name: { en } });
    const query = { format: "csv", limit: 1, sort_by: "title", sort_order: "asc" };
    const { status, body } = await nobody.get(at(own.name, "/products"), { query });
    expect(status).toBe(200);
    const lines = new TextDecoder().decode(body).trim().split("\r\n");
    expect(lines.slice(1).map((line) => /Cake|Nuts|Tea/.exec(line)?.[0])).toEqual([
      "Cake",
      "Nuts",
      "Tea",
    ]);
  });

  test("shows one product, of this market and on sale", async () => {
    const product = await newProduct(tenant, store);
    const hidden = await newProduct(tenant, store, { is_active: false });
    await sql`insert into storefront.product_variants (tenant_id, product_id, sku, price, is_active)
      values (${tenant.id}, ${product.id}, ${randomUUID()}, 1, false)`;
    const answer = await nobody.get(at(store.name, `/products/${product.id}`));
    expect(answer.body.product).toMatchObject({ id: product.id, min_price: 5000, reviews: [] });
    expect(answer.body.product.variants).toHaveLength(1);
    const other = await newTenant();
    const theirs = await newProduct(other, await newStore(other));
    for (const id of [hidden.id, theirs.id, randomUUID()]) {
      expect(await nobody.get(at(store.name, `/products/${id}`)))
        .toFailWith(404, "product_not_found");
    }
    expect(await nobody.get(at(store.name, "/products/x"))).toFailWith(400, "invalid_uuid");
    const kurdish = await nobody.in("ku").get(at("no-such-store"));
    expect(kurdish.body.message).toBe("ئەم فرۆشگایە بوونی نییە.");
  });

  test("takes any text for a name", async () => {
    for (const name of ["%", "_", "\u0000", "' or 1=1 --", "متجر", "a".repeat(200)]) {
      expect((await nobody.get(at(name))).status).toBeOneOf([400, 404]);
    }
    expect(await nobody.get(at("a".repeat(201)))).toFailWith(400, "validation_failed");
  });
});

describe("row-level security behind the shop", () => {
  /** The rows that an anonymous caller reaches in the shop, without a core in between. */
  async function countAsPublic(name: string, statement: string): Promise<number> {
    return await sql.begin(async (tx) => {
      await tx`select set_config('app.grants', '{anyone}', true),
        set_config('role', 'barid_caller', true)`;
      await tx`select storefront.open_shop(${name})`;
      const [row] = await tx.unsafe(`select count(*)::int as n from ${statement}`);
      return row.n;
    });
  }

  test("shows what is on sale and no row of any other table", async () => {
    const full = await newEverything();
    const name = String(full.things.store_name);
    const { id } = full.tenant;
    await sql`update storefront.product_reviews set status = 'approved' where tenant_id = ${id}`;
    const open = [
      "markets",
      "product_categories",
      "product_reviews",
      "product_variants",
      "products",
    ]
      .map((table) => `storefront.${table}`);
    const found: string[] = [];
    for (const table of [...await tenantTables(), "tenancy.tenants", "tenancy.profiles"]) {
      const [{ may }] =
        await sql`select has_table_privilege('barid_caller', ${table}, 'select') as may`;
      if (may && await countAsPublic(name, table) > 0) found.push(table);
    }
    expect(found).toEqual(open);
    for (const table of open) {
      expect(await countAsPublic(name, `${table} t where t.tenant_id <> '${id}'`), table).toBe(0);
    }
    await sql`update storefront.product_reviews set status = 'rejected' where tenant_id = ${id}`;
    await sql`update storefront.product_variants set is_active = false where tenant_id = ${id}`;
    await sql`update storefront.product_categories set archived_at = now() where tenant_id = ${id}`;
    await sql`update storefront.products set is_active = false where tenant_id = ${id}`;
    for (const table of open.slice(1)) expect(await countAsPublic(name, table), table).toBe(0);
  });

  test("lets the public write nothing", async () => {
    const write = (statement: string) =>
      sql.begin(async (tx) => {
        await tx`select set_config('app.user_id', '', true),
          set_config('role', 'barid_caller', true)`;
        await tx`select storefront.open_shop(${store.name})`;
        return (await tx.unsafe(statement)).count;
      });
    await expect(write("update storefront.markets set tagline = '{}'")).rejects.toThrow(
      "row-level",
    );
    await expect(write("update storefront.products set is_active = false")).rejects.toThrow(
      "row-level",
    );
    await expect(write(
      `insert into storefront.product_categories (tenant_id, market_id, name) values ('${tenant.id}', '${store.id}', '{"en": "X"}')`,
    )).rejects.toThrow("row-level");
  });
});
