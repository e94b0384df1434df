/** The locks of an order's approval, and the warehouse of its delivery. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import {
  checkAll,
  home,
  newCart,
  newShop,
  orderOf,
  placeOrder,
  type Shop,
  standing,
} from "../../support/orders.ts";
import { newBin, newWarehouse, stockIn, unitsOf } from "../../support/warehouses.ts";

const approve = ({ tenant }: Shop, id: string) =>
  tenant.admin.put(`/storefront/orders/${id}/approve`);

/** Stock of the shop's product in one more warehouse, received after what there is. */
async function moreIn(shop: Shop, quantity: number): Promise<string> {
  const warehouse = await newWarehouse(shop.tenant);
  const bin = await newBin(shop.tenant, warehouse);
  await stockIn(shop.tenant, {
    item_id: shop.shelf.item,
    warehouse_id: warehouse,
    bin_id: bin,
    quantity,
  });
  return warehouse;
}

/** The warehouse whose address a delivery is picked up at, and those that hold its goods. */
async function leavesFrom(order: string) {
  const [row] = await sql`select
      (select w.id from delivery.deliveries d
        join warehousing.warehouses w on w.address_id = d.pickup_address_id where d.order_id = ${order}) as pickup,
      (select d.pickup_snapshot ->> 'id' = d.pickup_address_id::text from delivery.deliveries d
        where d.order_id = ${order}) as described,
      (select array_agg(distinct s.warehouse_id::text) from warehousing.stock s
        where s.reserved_for_id = ${order} and s.quantity > 0) as goods`;
  return row;
}

test("a delivery leaves from the warehouse of the reserved goods, not from the fullest one", async () => {
  const shop = await newShop({ stock: 1 });
  const elsewhere = await moreIn(shop, 5);
  const oldest = (await placeOrder(shop)).id;
  expect(await approve(shop, oldest)).toSucceed(200);
  expect(await leavesFrom(oldest))
    .toEqual({ pickup: shop.shelf.warehouse, described: true, goods: [shop.shelf.warehouse] });
  const next = (await placeOrder(shop)).id;
  expect(await approve(shop, next)).toSucceed(200);
  expect(await leavesFrom(next)).toEqual({
    pickup: elsewhere,
    described: true,
    goods: [elsewhere],
  });
  const addresses = await sql`select count(*)::int as count from delivery.addresses
    where tenant_id = ${shop.tenant.id} and owner_user_id = ${shop.tenant.customer.id}`;
  expect(addresses[0].count).toBe(2);
  await checkAll(shop.tenant);
});

test("goods in an inactive warehouse are delivered from there", async () => {
  const shop = await newShop({ stock: 2 });
  const { id } = await placeOrder(shop);
  await sql`update warehousing.warehouses set status = 'maintenance' where tenant_id = ${shop.tenant.id}`;
  expect(await approve(shop, id)).toSucceed(200);
  expect((await leavesFrom(id)).pickup).toBe(shop.shelf.warehouse);
});

test("an order beyond the stock is refused at once, also while another transaction holds the stock, and nothing is created", async () => {
  const shop = await newShop({ stock: 2 });
  const { id } = await placeOrder(shop, "cash", 2);
  const first = (await placeOrder(shop)).id;
  expect(await approve(shop, first)).toSucceed(200);
  const rows = () =>
    sql`select (select count(*) from delivery.addresses where tenant_id = ${shop.tenant.id}) as addresses,
      (select json_object_agg(counter, value order by counter) from app.counters where tenant_id = ${shop.tenant.id}) as numbers`;
  const before = await rows();
  // As long as the lock is held, whoever waits for it gets no answer.
  await sql.begin(async (tx) => {
    await tx`select id from warehousing.stock where item_id = ${shop.shelf.item} for update`;
    const answer = await approve(shop, id);
    expect(answer).toFailWith(409, "insufficient_stock");
    expect(answer.body).toMatchObject({
      field: "order_id",
      item_id: shop.shelf.item,
      variant_id: shop.product.variant,
      requested: 2,
      available: 1,
    });
  });
  expect(await rows()).toEqual(before);
  expect(await standing(id)).toMatchObject({ status: "pending", reserved: 0 });
  expect(await unitsOf(shop.shelf.item)).toEqual({ available: 1, reserved: 1 });
});

test("its parcel is from the store to whom the address names, or to the customer where it names nobody", async () => {
  const shop = await newShop();
  const { customer, admin } = shop.tenant;
  await sql`update tenancy.tenants set contact_info = '{"phone": "+9647700000099"}'
    where id = ${shop.tenant.id}`;
  const [{ store }] = await sql`select name ->> 'en' as store from tenancy.tenants
    where id = ${shop.tenant.id}`;
  const receiverOf = async (contact: Record<string, unknown>) => {
    const order = await customer.post("/storefront/orders/confirm", {
      ...orderOf(shop, await newCart(shop)),
      address: { ...home, contact_info: { ...home.contact_info, ...contact } },
    });
    expect(order).toSucceed(201);
    expect(await approve(shop, order.body.order.id)).toSucceed(200);
    const shown = await admin.get("/delivery/deliveries", {
      query: { limit: 1, fields: "sender,recipient" },
    });
    const { sender, recipient } = shown.body.data[0];
    expect(sender).toEqual({ name: store, phone: "+9647700000099" });
    return recipient.name;
  };
  const [{ full_name }] = await sql`select full_name from tenancy.profiles
    where id = ${customer.id}`;
  expect(await receiverOf({ name: "  Sara, her sister " })).toBe("Sara, her sister");
  for (const contact of [{}, { name: null }, { name: " " }]) {
    expect(await receiverOf(contact)).toBe(full_name);
  }
  const refused = await customer.post("/storefront/orders/confirm", {
    ...orderOf(shop, await newCart(shop)),
    address: { ...home, contact_info: { name: "x".repeat(201) } },
  });
  expect(refused).toFailWith(400, "validation_failed");
  expect(refused.body.field).toBe("address.contact_info.name");
});
