import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newAddress } from "../../support/make.ts";
import { newService } from "../../support/money.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch, expectRefused } from "../../support/promises.ts";
import {
  eventsOf,
  newDirectoryCategory,
  newOrder,
  newProduct,
  newStore,
} from "../../support/storefront.ts";

const path = "/storefront/market";
const create = `${path}/create`;
const name = () => `Shop_${randomUUID()}`;

let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

const stored = async (tenantId: string) =>
  (await sql`select * from storefront.markets where tenant_id = ${tenantId}`)[0];

describe("creating the market", () => {
  test("answers a draft with every field, its default categories and its event", async () => {
    const mine = await newTenant();
    const store_name = name();
    const directory_category = await newDirectoryCategory();
    const answer = await mine.admin.post(create, {
      store_name,
      directory_category: ` ${directory_category.toUpperCase()} `,
      tagline: { en: "Well dressed", ar: "أناقة" },
      settings: { auto_create_delivery: true, currency: "IQD", payment_methods: ["wallet"] },
      logo_url: "https://example.test/logo.png",
      theme_settings: { primary_color: "#112233", theme_style: "modern" },
      banners: [{ url: "https://example.test/b.jpg", title: { en: "Sale" }, link_url: "/sale" }],
    });
    expect(answer).toSucceed(201);
    const { market, message } = answer.body.data;
    expect(message).toBe(answer.body.message);
    expect(market).toMatchObject({
      tenant_id: mine.id,
      code: expect.any(Number),
      store_name,
      directory_category,
      status: "draft",
      publish_status: "unpublished",
      needs_reapproval: false,
      tagline: { en: "Well dressed", ar: "أناقة" },
      settings: { auto_create_delivery: true, currency: "IQD", payment_methods: ["wallet"] },
      theme_settings: { primary_color: "#112233", theme_style: "modern" },
      banners: [{
        id: expect.any(String),
        url: "https://example.test/b.jpg",
        title: { en: "Sale" },
        link_url: "/sale",
        is_active: true,
        sort_order: 0,
      }],
      approved_by: null,
      approved_at: null,
      admin_notes: null,
      created_by: mine.admin.id,
      is_live: false,
      is_active: true,
    });
    const categories = await mine.admin.get("/storefront/categories");
    expect(categories.body.data.map((one: { name: object }) => one.name)).toContainEqual({
      en: "General",
      ar: "عام",
      ku: "گشتی",
    });
    expect(await eventsOf(mine)).toEqual(["market.created"]);
    const [audit] = await sql`select actor_id from app.audit_log
      where entity = 'storefront.markets' and entity_id = ${market.id} and action = 'insert'`;
    expect(audit.actor_id).toBe(mine.admin.id);
  });

  test("needs nothing but a name; the category is general and the currency the tenant's", async () => {
    const mine = await newTenant({ settings: { "general.currency": { currency_code: "USD" } } });
    const answer = await mine.admin.post(create, { store_name: name() });
    expect(answer).toSucceed(201);
    expect(answer.body.data.market).toMatchObject({
      directory_category: "general",
      tagline: {},
      banners: [],
      settings: { auto_create_delivery: false, currency: "USD", payment_methods: [] },
    });
  });

  test("a tenant has one market, also of many calls at once", async () => {
    const mine = await newTenant();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => mine.admin.post(create, { store_name: name() })),
    );
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1);
    for (const answer of answers.filter((each) => each.status !== 201)) {
      expect(answer).toFailWith(409, "market_already_exists");
    }
  });

  test("a store name is taken once among all tenants, whatever its case, also at once", async () => {
    const store_name = name();
    const rivals = await Promise.all(Array.from({ length: 5 }, () => newTenant()));
    const answers = await Promise.all(
      rivals.map((rival, index) =>
        rival.admin.post(create, {
          store_name: index % 2 ? store_name.toUpperCase() : store_name,
        })
      ),
    );
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1);
    for (const answer of answers.filter((each) => each.status !== 201)) {
      expect(answer).toFailWith(400, "store_name_taken");
      expect(answer.body.field).toBe("store_name");
    }
  });

  test("wrong input is refused with the field's name and nothing is written", async () => {
    const mine = await newTenant();
    const wanted = (more: object) => ({ store_name: name(), ...more });
    const banner = { url: "https://example.test/b.jpg", title: { en: "Sale" } };
    await expectRefused(mine.admin, { method: "POST", path: create }, [
      [{}, "store_name"],
      [[], "body"],
      [{ store_name: 7 }, "store_name"],
      [{ store_name: "" }, "store_name", "invalid_store_name"],
      [{ store_name: "my shop" }, "store_name", "invalid_store_name"],
      [{ store_name: "متجر" }, "store_name", "invalid_store_name"],
      [{ store_name: "a.b" }, "store_name", "invalid_store_name"],
      [{ store_name: "x".repeat(65) }, "store_name", "invalid_store_name"],
      [{ store_name: "a\u0000" }, "store_name", "invalid_store_name"],
      [
        wanted({ directory_category: "nonsense" }),
        "directory_category",
        "invalid_directory_category",
      ],
      [wanted({ directory_category: "" }), "directory_category"],
      [wanted({ tagline: 7 }), "tagline"],
      [wanted({ tagline: { fr: "Bien" } }), "tagline"],
      [wanted({ banners: [{ ...banner, subtitle: { fr: "Bien" } }] }), "banners.0.subtitle"],
      [wanted({ logo_url: "javascript:alert(1)" }), "logo_url"],
      [wanted({ settings: [] }), "settings"],
      [wanted({ settings: { auto_create_delivery: "yes" } }), "settings.auto_create_delivery"],
      [wanted({ settings: { currency: "USD" } }), "settings.currency", "market_currency_differs"],
      [
        wanted({ settings: { payment_methods: ["barter"] } }),
        "settings.payment_methods",
        "invalid_payment_method",
      ],
      [wanted({ banners: [{ title: { en: "Sale" } }] }), "banners.0.url"],
      [wanted({ banners: [{ url: banner.url }] }), "banners.0.title"],
      [wanted({ banners: [{ ...banner, title: {} }] }), "banners.0.title"],
      [wanted({ banners: [banner, { ...banner, url: "no" }] }), "banners.1.url"],
      [wanted({ banners: [{ ...banner, link_url: "//evil.test" }] }), "banners.0.link_url"],
      [wanted({ banners: Array(21).fill(banner) }), "banners"],
    ]);
    expect((await mine.admin.post(create, wanted({ theme_settings: { a: "\u0000" } }))).status)
      .toBe(400);
    expect(await stored(mine.id)).toBeUndefined();
  });

  test("is for the tenant's administrators", async () => {
    const { ops, dispatcher, warehouse, staff, driver, institution, customer } = tenant;
    const denied = [ops, dispatcher, warehouse, staff, driver, institution, customer];
    await expectGuarded({ method: "POST", path: create, body: { store_name: name() } }, { denied });
    expect(await stored(tenant.id)).toBeUndefined();
    const abroad = await tenant.admin.post(create, { store_name: name() }, {
      query: { tenant_id: other.id },
    });
    expect(abroad).toFailWith(403, "forbidden");
  });

  test("an Idempotency-Key makes a repeat harmless, and messages speak the reader's language", async () => {
    const mine = await newTenant();
    const headers = { "idempotency-key": randomUUID() };
    const body = { store_name: name(), banners: [{ url: "https://a.test/b", title: { en: "A" } }] };
    const first = await mine.admin.in("ar").post(create, body, { headers });
    expect(first.body.data.message).toBe("تم إنشاء المتجر كمسودة. أرسله للموافقة كي يُفتح.");
    const again = await mine.admin.in("ar").post(create, body, { headers });
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    const clash = await mine.admin.post(create, { store_name: name() }, { headers });
    expect(clash).toFailWith(409, "idempotency_conflict");
    const kurdish = await mine.admin.in("ku").post(create, { store_name: name() });
    expect(kurdish.body.message).toBe("کۆمپانیاکەت پێشتر فرۆشگای هەیە.");
  });
});

describe("reading the market", () => {
  test("an empty one is ready in nothing", async () => {
    const mine = await newTenant();
    expect(await mine.admin.get(path)).toFailWith(404, "market_not_found");
    await sql`insert into storefront.markets (tenant_id, store_name) values (${mine.id}, ${name()})`;
    const { body } = await mine.admin.get(path);
    expect(Object.values(body.data.readiness)).toEqual(Array(7).fill(false));
    expect(body.data.summary).toEqual({
      total_products: 0,
      total_categories: 0,
      total_customers: 1,
      total_orders: 0,
    });
    expect(body.data.recent_activity).toEqual([]);
  });

  test("shows readiness, numbers and the last five things, in data and beside it", async () => {
    const mine = await newTenant();
    const store = await newStore(mine);
    await newService(mine);
    await sql`insert into warehousing.warehouses (tenant_id, name, code, address_id)
      values (${mine.id}, 'W', 'W1', ${await newAddress(mine)})`;
    const product = await newProduct(mine, store, { name: { en: "First", ar: "الأول" } });
    await newProduct(mine, store, { name: { en: "Hidden" }, is_active: false });
    const order = await newOrder(mine, store, product);
    for (let i = 0; i < 3; i++) await newProduct(mine, store, { name: { en: `Product ${i}` } });
    await sql`insert into storefront.product_reviews (tenant_id, product_id, user_id, order_item_id, rating)
      values (${mine.id}, ${product.id}, ${mine.customer.id}, ${order.item}, 4)`;
    const { body } = await mine.admin.in("ar").get(path);
    const { success: _s, message: _m, data, ...beside } = body;
    expect(beside).toEqual(data);
    expect(data.market).toMatchObject({ id: store.id, store_name: store.name, is_live: true });
    expect(data.readiness).toEqual({
      warehouse_created: true,
      store_live: true,
      payments_enabled: true,
      delivery_configured: true,
      products_added: true,
      categories_added: true,
      domain_connected: false,
    });
    expect(data.summary).toEqual({
      total_products: 4,
      total_categories: 1,
      total_customers: 1,
      total_orders: 1,
    });
    expect(data.recent_activity).toHaveLength(5);
    expect(data.recent_activity[0]).toMatchObject({
      type: "review",
      title: "الأول",
      subtitle: "4/5",
    });
    expect(data.recent_activity.map(({ type }: { type: string }) => type))
      .toEqual(["review", "product", "product", "product", "order"]);
    const times = data.recent_activity.map(({ timestamp }: { timestamp: string }) => timestamp);
    expect([...times].sort().reverse()).toEqual(times);
  });

  test("by id answers {success, market}, of one's own tenant only", async () => {
    const [mine, theirs] = await Promise.all([newTenant(), newTenant()]);
    const [store, foreign] = await Promise.all([newStore(mine), newStore(theirs)]);
    const answer = await mine.admin.get(`${path}/${store.id}`);
    expect(answer).toSucceed(200);
    expect(answer.body.market).toMatchObject({ id: store.id, store_name: store.name });
    await expectNoSuch(
      mine.admin,
      { method: "GET", path: `${path}/{id}` },
      "market_id",
      "market_not_found",
      foreign.id,
    );
    const { ops, staff, driver, institution, customer } = mine;
    const denied = [ops, staff, driver, institution, customer];
    await expectGuarded({ method: "GET", path: `${path}/${store.id}` }, { denied });
    await expectGuarded({ method: "GET", path }, { denied });
    const system = await newSystemAdmin();
    expect(await system.get(`${path}/${store.id}`)).toSucceed(200);
    const within = { query: { tenant_id: theirs.id } };
    expect(await system.get(`${path}/${store.id}`, within)).toFailWith(404, "market_not_found");
    expect((await system.get(path, within)).body.market.id).toBe(foreign.id);
    expect(await nobody.get(path)).toFailWith(401, "unauthorized");
  });
});

test("an empty address of the logo or of a banner's link is none", async () => {
  const tenant = await newTenant();
  await newStore(tenant, { logo_url: "https://example.test/logo.png" });
  const banner = { url: "https://example.test/b.jpg", title: { en: "Sale" }, link_url: "" };
  const { body } = await tenant.admin.put(path, { logo_url: "", banners: [banner] });
  expect(body.data.market.logo_url).toBeNull();
  expect(body.data.market.banners[0].link_url).toBeNull();
});
