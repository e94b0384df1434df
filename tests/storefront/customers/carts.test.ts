import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";
import { newProduct, newStore, type Store } from "../../support/storefront.ts";

const path = "/storefront/carts";
let tenant: Tenant;
let other: Tenant;
let store: Store;
let foreign: Store;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  [store, foreign] = await Promise.all([newStore(tenant), newStore(other)]);
});

const newCustomer = () => newPerson(tenant.id, "customer", "customer");
const open = async (person: Person, market = store.id): Promise<string> =>
  (await person.post(path, { marketId: market })).body.data.id;
const add = (person: Person, cart: string, variantId: unknown, quantity: unknown = 1) =>
  person.post(`${path}/${cart}/items`, { variantId, quantity });

describe("opening a cart", () => {
  test("answers the one a customer has in the market, also of many calls at once", async () => {
    const customer = await newCustomer();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => customer.post(path, { marketId: store.id })),
    );
    for (const answer of answers) expect(answer).toSucceed(201);
    expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1);
    expect(answers[0].body.data).toEqual({
      id: expect.any(String),
      marketId: store.id,
      status: "active",
      currency: "IQD",
      items: [],
      totalItems: 0,
      subtotal: 0,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    await sql`update storefront.carts set status = 'converted' where customer_id = ${customer.id}`;
    expect(await open(customer)).not.toBe(answers[0].body.data.id);
  });

  test("needs a live market of the customer's tenant", async () => {
    const shut = await newTenant();
    const closed = await newStore(shut, { publish_status: "unpublished" });
    expect(await shut.customer.post(path, { marketId: closed.id }))
      .toFailWith(404, "market_not_found");
    const customer = await newCustomer();
    for (const marketId of [foreign.id, randomUUID()]) {
      expect(await customer.post(path, { marketId })).toFailWith(404, "market_not_found");
    }
    const call = { method: "POST", path, body: { marketId: store.id } } as const;
    await expectRefused(customer, call, [
      [{}, "marketId", "validation_failed"],
      [{ marketId: "x" }, "marketId", "invalid_uuid"],
    ]);
    await expectGuarded(call, { denied: [tenant.admin, tenant.driver, tenant.institution] });
    const [row] = await sql`select count(*)::int as n from storefront.carts
      where customer_id in (${customer.id}, ${shut.customer.id})`;
    expect(row.n).toBe(0);
  });
});

describe("what is in a cart", () => {
  test("adds up at the prices of now", async () => {
    const customer = await newCustomer();
    const cart = await open(customer);
    const tea = await newProduct(tenant, store, { name: { en: "Tea" }, price: 1000 });
    const coffee = await newProduct(tenant, store, { name: { en: "Coffee" }, price: 2500 });
    expect(await add(customer, cart, tea.variant, 2)).toSucceed(201);
    await add(customer, cart, coffee.variant);
    const { body } = await add(customer, cart, tea.variant, 3);
    expect(body.data).toMatchObject({ totalItems: 6, subtotal: 7500 });
    expect(body.data.items).toEqual([
      {
        id: expect.any(String),
        variantId: tea.variant,
        productId: tea.id,
        productName: { en: "Tea" },
        sku: tea.sku,
        image: "https://example.test/1.jpg",
        attributes: {},
        quantity: 5,
        unitPrice: 1000,
        total: 5000,
        available: true,
        availableQuantity: null,
      },
      expect.objectContaining({ variantId: coffee.variant, quantity: 1, total: 2500 }),
    ]);
    await sql`update storefront.product_variants set price = 1500 where id = ${tea.variant}`;
    await sql`update storefront.products set is_active = false where id = ${coffee.id}`;
    const now = (await customer.get(`${path}/${cart}`)).body.data;
    expect(now).toMatchObject({ totalItems: 6, subtotal: 7500 });
    expect(now.items.map((item: Body) => [item.unitPrice, item.total, item.available])).toEqual([
      [1500, 7500, true],
      [null, null, false],
    ]);
    // It is still known by its name, also once the product is deleted.
    const named = { productId: coffee.id, sku: coffee.sku, image: "https://example.test/1.jpg" };
    expect(now.items[1]).toMatchObject({ ...named, productName: { en: "Coffee" } });
    await sql`update storefront.products set archived_at = now() where id = ${coffee.id}`;
    const then = (await customer.get(`${path}/${cart}`)).body.data;
    expect(then.items[1]).toMatchObject({ ...named, productName: { en: "Coffee" } });
  });

  test("changes and goes", async () => {
    const customer = await newCustomer();
    const cart = await open(customer);
    const { variant } = await newProduct(tenant, store, { price: 1000 });
    const item = (await add(customer, cart, variant)).body.data.items[0].id;
    const one = `${path}/${cart}/items/${item}`;
    const changed = await customer.put(one, { quantity: 7 });
    expect(changed).toSucceed(200);
    expect(changed.body.data).toMatchObject({ totalItems: 7, subtotal: 7000 });
    await expectRefused(customer, { method: "PUT", path: one }, [
      [{}, "quantity"],
      [{ quantity: 0 }, "quantity"],
      [{ quantity: 1000 }, "quantity"],
      [{ quantity: 1.5 }, "quantity"],
      [{ quantity: "2" }, "quantity"],
    ]);
    expect((await customer.delete(one)).body.data).toMatchObject({ items: [], subtotal: 0 });
    expect(await customer.delete(one)).toFailWith(404, "cart_item_not_found");
    expect(await customer.put(one, { quantity: 1 })).toFailWith(404, "cart_item_not_found");
  });

  test("many additions at once are all counted", async () => {
    const customer = await newCustomer();
    const cart = await open(customer);
    const { variant } = await newProduct(tenant, store);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => add(customer, cart, variant, 2)),
    );
    for (const answer of answers) expect(answer).toSucceed(201);
    const [row] = await sql`select quantity from storefront.cart_items where cart_id = ${cart}`;
    expect(row.quantity).toBe(20);
    const body = { variantId: variant, quantity: 1 };
    await expectReplayed(customer, `${path}/${cart}/items`, body, { ...body, quantity: 2 });
    const [after] = await sql`select quantity from storefront.cart_items where cart_id = ${cart}`;
    expect(after.quantity).toBe(21);
  });

  test("has limits", async () => {
    const customer = await newCustomer();
    const cart = await open(customer);
    const { variant, id } = await newProduct(tenant, store);
    await add(customer, cart, variant, 999);
    const more = await add(customer, cart, variant);
    expect(more).toFailWith(400, "cart_quantity_exceeded");
    expect(more.body).toMatchObject({ field: "quantity", quantity_max: 999 });
    await sql`with made as (
        insert into storefront.product_variants (tenant_id, product_id, sku, price)
        select ${tenant.id}, ${id}, gen_random_uuid()::text, 1 from generate_series(1, 99) returning id)
      insert into storefront.cart_items (tenant_id, cart_id, variant_id, quantity)
      select ${tenant.id}, ${cart}, id, 1 from made`;
    const last = await newProduct(tenant, store);
    expect(await add(customer, cart, last.variant)).toFailWith(409, "cart_full");
    expect((await customer.in("ku").get(`${path}/${cart}`)).body.data.items).toHaveLength(100);
  });

  test("is only what the market sells", async () => {
    const customer = await newCustomer();
    const cart = await open(customer);
    const hidden = await newProduct(tenant, store, { is_active: false });
    const gone = await newProduct(tenant, store);
    await tenant.admin.delete(`/storefront/products/${gone.id}`);
    const off = await newProduct(tenant, store);
    await sql`update storefront.product_variants set is_active = false where id = ${off.variant}`;
    const theirs = await newProduct(other, foreign);
    for (const variant of [hidden, gone, off, theirs].map((p) => p.variant).concat(randomUUID())) {
      const answer = await add(customer, cart, variant);
      expect(answer).toFailWith(404, "variant_not_found");
      expect(answer.body.field).toBe("variantId");
    }
    await expectRefused(customer, { method: "POST", path: `${path}/${cart}/items` }, [
      [{}, "variantId", "validation_failed"],
      [{ variantId: off.variant }, "quantity"],
      [{ variantId: off.variant, quantity: -1 }, "quantity"],
    ]);
    const [row] =
      await sql`select count(*)::int as n from storefront.cart_items where cart_id = ${cart}`;
    expect(row.n).toBe(0);
  });

  test("stays as it was ordered, and is closed with the market", async () => {
    const mine = await newTenant();
    const own = await newStore(mine);
    const { variant } = await newProduct(mine, own);
    const cart = await open(mine.customer, own.id);
    const item = (await add(mine.customer, cart, variant)).body.data.items[0].id;
    await mine.admin.put("/storefront/market/publish", { publish_status: "unpublished" });
    expect(await add(mine.customer, cart, variant)).toFailWith(404, "market_not_found");
    await mine.admin.put("/storefront/market/publish", { publish_status: "published" });
    await sql`update storefront.carts set status = 'converted' where id = ${cart}`;
    const one = `${path}/${cart}/items/${item}`;
    for (
      const answer of [
        await add(mine.customer, cart, variant),
        await mine.customer.put(one, { quantity: 2 }),
        await mine.customer.delete(one),
      ]
    ) expect(answer).toFailWith(409, "cart_not_active");
    expect((await mine.customer.get(`${path}/${cart}`)).body.data.status).toBe("converted");
  });
});

test("a cart is its customer's alone", async () => {
  const [owner, neighbour] = await Promise.all([newCustomer(), newCustomer()]);
  const { variant } = await newProduct(tenant, store);
  const cart = await open(owner);
  const item = (await add(owner, cart, variant)).body.data.items[0].id;
  const theirs = await open(other.customer, foreign.id);
  const calls = [
    { method: "GET", path: `${path}/{id}` },
    { method: "POST", path: `${path}/{id}/items`, body: { variantId: variant, quantity: 1 } },
    { method: "PUT", path: `${path}/{id}/items/${item}`, body: { quantity: 3 } },
    { method: "DELETE", path: `${path}/{id}/items/${item}` },
  ] as const;
  for (const call of calls) {
    await expectNoSuch(owner, call, "cart_id", "cart_not_found", theirs);
    const real = { ...call, path: call.path.replace("{id}", cart) };
    expect(await neighbour.send(real.method, real.path, "body" in real ? real.body : undefined))
      .toFailWith(404, "cart_not_found");
    await expectGuarded(real, { denied: [tenant.admin, tenant.driver, tenant.institution] });
  }
  const own = await open(neighbour);
  expect(await neighbour.put(`${path}/${own}/items/${item}`, { quantity: 3 }))
    .toFailWith(404, "cart_item_not_found");
  const [row] = await sql`select quantity from storefront.cart_items where id = ${item}`;
  expect(row.quantity).toBe(1);
});
