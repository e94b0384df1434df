/** The constraints of the order tables, which hold for every writer. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { newOrder, newProduct, newStore, type Store } from "../../support/storefront.ts";

let tenant: Tenant;
let store: Store;
let product: { id: string; variant: string };
let order: { id: string; item: string };
beforeAll(async () => {
  tenant = await newTenant();
  store = await newStore(tenant);
  product = await newProduct(tenant, store);
  order = await newOrder(tenant, store, product);
});

const change = (more: Record<string, unknown>) =>
  // Below the guard of moves: what is asked here is what the table itself refuses.
  sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`update storefront.storefront_orders set ${tx(more)} where id = ${order.id}`;
  });

/** With the keys of other tables looked up, and only the guard of moves out of the way. */
const pointed = (more: Record<string, unknown>) =>
  sql.begin(async (tx) => {
    await tx`alter table storefront.storefront_orders disable trigger guard`;
    await tx`update storefront.storefront_orders set ${tx(more)} where id = ${order.id}`;
    await tx`alter table storefront.storefront_orders enable trigger guard`;
  });

test.each([
  [{ total_price: 6001 }, "order_total_adds_up"],
  [{ discount_amount: 500 }, "order_total_adds_up"],
  [{ tax_amount: 1 }, "order_total_adds_up"],
  [{ subtotal: -1, total_price: 999 }, "subtotal_check"],
  [{ total_items: 0 }, "total_items_check"],
  [{ status: "open" }, "status_check"],
  [{ payment_status: "unpaid" }, "payment_status_check"],
  [{ status: "cancelled" }, "cancelled_says_when_and_why"],
  [{ cancel_reason: "other" }, "cancelled_says_when_and_why"],
  [{ payment_method: "barter" }, "payment_method_check"],
])("an order cannot be %j", async (more, constraint) => {
  await expect(change(more)).rejects.toThrow(constraint);
});

test("discount and tax count, and a cancelled order has its time and reason", async () => {
  await change({ tax_amount: 100, discount_amount: 600, total_price: 5500 });
  await change({ status: "cancelled", cancelled_at: new Date(), cancel_reason: "other" });
  await change({ status: "delivered", cancelled_at: null, cancel_reason: null });
});

test("a cart is ordered once, and an order number is unique", async () => {
  const columns = await sql`select string_agg(quote_ident(attname), ', ' order by attnum) as list
    from pg_attribute where attrelid = 'storefront.storefront_orders'::regclass and attnum > 0
      and not attisdropped and attgenerated = ''`;
  const copy = (over: string) =>
    sql.unsafe(
      `insert into storefront.storefront_orders (${columns[0].list}) select ${columns[0].list}
      from (select (jsonb_populate_record(o, $1::jsonb)).* from storefront.storefront_orders o where o.id = $2) c`,
      [JSON.parse(over), order.id],
    );
  const id = randomUUID();
  await expect(copy(JSON.stringify({ id, order_number: `1001-${id}` })))
    .rejects.toThrow("cart_already_ordered");
  const [cart] = await sql`insert into storefront.carts (tenant_id, market_id, customer_id, status)
    values (${tenant.id}, ${store.id}, ${tenant.customer.id}, 'converted') returning id`;
  await expect(copy(JSON.stringify({ id, cart_id: cart.id }))).rejects.toThrow(
    "order_number_taken",
  );
});

test("an order's foreign keys stay within its tenant", async () => {
  const other = await newTenant();
  const foreign = await newStore(other);
  const theirs = await newProduct(other, foreign);
  await expect(pointed({ market_id: foreign.id })).rejects.toThrow("foreign key");
  await expect(pointed({ user_id: other.customer.id })).rejects.toThrow("foreign key");
  await expect(sql`insert into storefront.storefront_order_items
    (tenant_id, order_id, variant_id, product_id, product_name, sku, quantity, unit_price, total)
    values (${tenant.id}, ${order.id}, ${theirs.variant}, ${product.id}, '{}', 'S', 1, 1, 1)`)
    .rejects.toThrow("foreign key");
});

test("items and history of an order are append-only", async () => {
  await expect(
    sql`update storefront.storefront_order_items set quantity = 2 where id = ${order.item}`,
  )
    .rejects.toThrow("never changed");
  await sql`insert into storefront.storefront_order_history (tenant_id, order_id, status)
    values (${tenant.id}, ${order.id}, 'delivered')`;
  await expect(sql`delete from storefront.storefront_order_history where order_id = ${order.id}`)
    .rejects.toThrow("never changed");
  await expect(sql`insert into storefront.storefront_order_items
    (tenant_id, order_id, variant_id, product_id, product_name, sku, quantity, unit_price, total)
    values (${tenant.id}, ${order.id}, ${product.variant}, ${product.id}, '{}', 'S', 2, 3, 7)`)
    .rejects.toThrow("order_item_total_adds_up");
});
