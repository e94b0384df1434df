/** Carts that became no order end; what was ordered, and what is being ordered, stays. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newCart, newShop, orderOf, type Shop } from "../../support/orders.ts";
import { newPerson } from "../../support/people.ts";

const path = "/storefront/carts";
let shop: Shop;
beforeAll(async () => {
  shop = await newShop();
});

/** Lets days pass over a cart that nobody changes: the trigger that says when it was changed is not asked. */
const untouchedFor = (cart: string, days: number) =>
  sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`update storefront.carts set updated_at = now() - ${days} * interval '1 day' where id = ${cart}`;
  });
const purge = () => sql`select storefront.carts_purge()`;
const idsOf = async (cart: string) =>
  (await sql`select id from storefront.carts where id = ${cart}
    union all select id from storefront.cart_items where cart_id = ${cart}`).map(({ id }) => id);

test("a cart goes 180 days after its last change, with its items, and its customer gets another", async () => {
  const customer = await newPerson(shop.tenant.id, "customer", "customer");
  const cart = await newCart(shop, 2, customer.id);
  await untouchedFor(cart, 179);
  await purge();
  expect((await customer.get(`${path}/${cart}`)).body.data.totalItems).toBe(2);
  const rows = await idsOf(cart);
  expect(rows).toHaveLength(2);
  await untouchedFor(cart, 181);
  await purge();
  expect(await idsOf(cart)).toEqual([]);
  const gone = [404, "cart_not_found"] as const;
  expect(await customer.get(`${path}/${cart}`)).toFailWith(...gone);
  expect(
    await customer.post(`${path}/${cart}/items`, { variantId: shop.product.variant, quantity: 1 }),
  )
    .toFailWith(...gone);
  const ordered = { ...orderOf(shop, cart) };
  expect(await customer.post("/storefront/orders/confirm", ordered)).toFailWith(...gone);
  const another = await customer.post(path, { marketId: shop.store.id });
  expect(another).toSucceed(201);
  expect(another.body.data).toMatchObject({ status: "active", items: [] });
  // The log says who added and changed; that the rows ended it does not say.
  const logged = await sql`select distinct action from app.audit_log
    where entity_id = any (${rows}::text[])`;
  expect(logged.map(({ action }) => action)).not.toContain("delete");
});

test("a change begins the time anew", async () => {
  const customer = await newPerson(shop.tenant.id, "customer", "customer");
  const cart = await newCart(shop, 1, customer.id);
  await untouchedFor(cart, 200);
  expect(
    await customer.post(`${path}/${cart}/items`, { variantId: shop.product.variant, quantity: 1 }),
  )
    .toSucceed(201);
  await purge();
  expect((await customer.get(`${path}/${cart}`)).body.data.totalItems).toBe(2);
});

test("a cart that was ordered stays, and answers with its order", async () => {
  const customer = await newPerson(shop.tenant.id, "customer", "customer");
  const cart = await newCart(shop, 1, customer.id);
  const order = await customer.post("/storefront/orders/confirm", orderOf(shop, cart));
  expect(order).toSucceed(201);
  await untouchedFor(cart, 400);
  await purge();
  const again = await customer.post("/storefront/orders/confirm", orderOf(shop, cart));
  expect(again).toSucceed(200);
  expect(again.body.order.id).toBe(order.body.order.id);
  expect(await idsOf(cart)).toHaveLength(2);
});

test("a cart that is being ordered is left alone", async () => {
  const customer = await newPerson(shop.tenant.id, "customer", "customer");
  const cart = await newCart(shop, 1, customer.id);
  await untouchedFor(cart, 200);
  await sql.begin(async (tx) => {
    await tx`select from storefront.carts where id = ${cart} for no key update`;
    await purge();
  });
  expect(await idsOf(cart)).toHaveLength(2);
});

test("an item that a customer takes out stands in the log", async () => {
  const customer = await newPerson(shop.tenant.id, "customer", "customer");
  const cart = await newCart(shop, 1, customer.id);
  const [item] = (await customer.get(`${path}/${cart}`)).body.data.items;
  expect(await customer.delete(`${path}/${cart}/items/${item.id}`)).toSucceed(200);
  const [last] = await sql`select action, actor_id from app.audit_log
    where entity_id = ${item.id} order by id desc limit 1`;
  expect(last).toEqual({ action: "delete", actor_id: customer.id });
});
