import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newPerson, newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch, expectPaged, expectRefused } from "../../support/promises.ts";
import { newOrder, newProduct, newStore, type Store } from "../../support/storefront.ts";

let tenant: Tenant;
let store: Store;
let foreignProduct: string;
let foreignReview: string;

const written = async (of: Tenant, product: string, item: string, user: string, rating = 4) => {
  const [row] =
    await sql`insert into storefront.product_reviews (tenant_id, product_id, user_id, order_item_id, rating)
    values (${of.id}, ${product}, ${user}, ${item}, ${rating}) returning id`;
  return row.id as string;
};

beforeAll(async () => {
  tenant = await newTenant();
  store = await newStore(tenant);
  const other = await newTenant();
  const foreign = await newStore(other);
  const product = await newProduct(other, foreign);
  const { item } = await newOrder(other, foreign, product);
  foreignProduct = product.id;
  foreignReview = await written(other, product.id, item, other.customer.id);
});

const at = (product: string) => `/storefront/products/${product}/reviews`;

describe("writing a review", () => {
  test("is for who received the product, once for each purchase", async () => {
    const product = await newProduct(tenant, store);
    const early = await tenant.customer.post(at(product.id), { rating: 5 });
    expect(early).toFailWith(403, "review_requires_purchase");
    await newOrder(tenant, store, product, { status: "shipped" });
    expect(await tenant.customer.post(at(product.id), { rating: 5 }))
      .toFailWith(403, "review_requires_purchase");
    await newOrder(tenant, store, product);
    const answer = await tenant.customer.post(at(product.id), { rating: 5, comment: " Good " });
    expect(answer).toSucceed(201);
    expect(answer.body.data).toEqual({
      id: expect.any(String),
      product_id: product.id,
      rating: 5,
      comment: "Good",
      status: "pending",
      reviewed_by: null,
      reviewed_at: null,
      created_at: expect.any(String),
    });
    const again = await tenant.customer.in("ar").post(at(product.id), { rating: 1 });
    expect(again).toFailWith(409, "product_already_reviewed");
    expect(again.body.message).toBe("لقد قيّمت هذه المشتريات من قبل.");
    await newOrder(tenant, store, product, { status: "completed" });
    expect(await tenant.customer.post(at(product.id), { rating: 1 })).toSucceed(201);
  });

  test("of many at once one counts", async () => {
    const product = await newProduct(tenant, store);
    await newOrder(tenant, store, product);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => tenant.customer.post(at(product.id), { rating: 3 })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(7);
  });

  test.each([
    [{ enabled: true, auto_approve_ratings: [4, 5] }, 5, "approved"],
    [{ enabled: true, auto_approve_ratings: [4, 5] }, 3, "pending"],
    [{ enabled: false, auto_approve_ratings: [5] }, 5, "pending"],
    [{ enabled: true }, 5, "pending"],
    [{}, 5, "pending"],
  ])("with %j a rating of %i is %s", async (review_auto_approval, rating, status) => {
    const mine = await newTenant();
    const own = await newStore(mine);
    await saveSettings(mine.id, "general.storefront", { review_auto_approval });
    const product = await newProduct(mine, own);
    await newOrder(mine, own, product);
    const answer = await mine.customer.post(at(product.id), { rating });
    expect(answer.body.data.status).toBe(status);
    const shop = await nobody.get(`/storefront/public/markets/${own.name}/products/${product.id}`);
    expect(shop.body.product.reviews).toHaveLength(status === "approved" ? 1 : 0);
  });

  test("refuses wrong input, wrong people and other tenants", async () => {
    const product = await newProduct(tenant, store);
    await newOrder(tenant, store, product);
    const call = { method: "POST", path: at(product.id), body: { rating: 5 } } as const;
    await expectRefused(tenant.customer, call, [
      [{}, "rating"],
      [{ rating: 0 }, "rating"],
      [{ rating: 6 }, "rating"],
      [{ rating: 4.5 }, "rating"],
      [{ rating: "5" }, "rating"],
      [{ rating: 5, comment: 7 }, "comment"],
      [{ rating: 5, comment: "x".repeat(2001) }, "comment"],
    ]);
    await expectGuarded(call, { denied: [tenant.admin, tenant.driver, tenant.institution] });
    await expectNoSuch(
      tenant.customer,
      { ...call, path: at("{id}") },
      "product_id",
      "product_not_found",
      foreignProduct,
    );
    const neighbour = await newPerson(tenant.id, "customer", "customer");
    expect(await neighbour.post(call.path, call.body)).toFailWith(403, "review_requires_purchase");
  });
});

describe("judging reviews", () => {
  test("an approved one is everybody's, a rejected one nobody's, and it may be decided anew", async () => {
    const product = await newProduct(tenant, store);
    const { item } = await newOrder(tenant, store, product);
    const id = await written(tenant, product.id, item, tenant.customer.id, 2);
    const shown = async () =>
      (await nobody.get(`/storefront/public/markets/${store.name}/products/${product.id}`)).body
        .product;
    expect((await shown()).reviews).toEqual([]);
    const decide = (decision: string) =>
      tenant.admin.put(`/storefront/reviews/${id}`, { decision });
    const answer = await decide("approved");
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({
      id,
      status: "approved",
      reviewed_by: tenant.admin.id,
    });
    expect((await shown()).reviews).toEqual([
      { id, rating: 2, comment: null, created_at: expect.any(String) },
    ]);
    expect((await shown()).rating).toEqual({ average: 2, count: 1 });
    expect((await decide("rejected")).body.data.status).toBe("rejected");
    expect((await shown()).rating).toEqual({ average: null, count: 0 });
    const call = { method: "PUT", path: `/storefront/reviews/${id}` } as const;
    await expectRefused(tenant.admin, call, [[{}, "decision"], [
      { decision: "pending" },
      "decision",
    ]]);
    await expectGuarded({ ...call, body: { decision: "approved" } }, {
      denied: [tenant.ops, tenant.driver, tenant.customer],
    });
    await expectNoSuch(
      tenant.admin,
      { ...call, path: "/storefront/reviews/{id}", body: { decision: "approved" } },
      "review_id",
      "review_not_found",
      foreignReview,
    );
  });

  test("are listed with product and customer", async () => {
    const mine = await newTenant();
    const own = await newStore(mine);
    const product = await newProduct(mine, own);
    for (const rating of [1, 3, 5]) {
      const { item } = await newOrder(mine, own, product);
      await written(mine, product.id, item, mine.customer.id, rating);
    }
    const list = async (query: Record<string, string | number>) =>
      (await mine.admin.get("/storefront/reviews", { query })).body.data;
    const [one] = await list({ rating: 3 });
    expect(one).toMatchObject({
      rating: 3,
      status: "pending",
      product: { id: product.id, name: { en: "Kleicha" } },
      customer: { id: mine.customer.id, full_name: expect.stringMatching(/^customer/) },
    });
    expect(await list({ status: "approved" })).toEqual([]);
    expect(await list({ product_id: product.id })).toHaveLength(3);
    expect(await list({ product_id: randomUUID() })).toEqual([]);
    await expectPaged(mine.admin, "/storefront/reviews", "rating");
    await expectGuarded({ method: "GET", path: "/storefront/reviews" }, {
      denied: [mine.ops, mine.customer],
    });
  });
});
