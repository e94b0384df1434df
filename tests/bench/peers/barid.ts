/** The store of the demo tenant. */
import { randomUUID } from "node:crypto";
import type { Bench } from "../bench-stack.ts";
import { buyers, clients, demand, products, scarce, send, type Shop } from "./shop.ts";

const store = "suq-dijla";
const cashOnDelivery = "5a1e0000-0000-4000-8000-000000000001";
const fields = "id,name,description,images,variants";

export async function openBarid(bench: Bench): Promise<Shop> {
  const { stack, tenantId } = bench;
  const base = `${stack.apiUrl}/storefront`;
  const { market, variants, service } = await fill(bench);
  const people = await Promise.all(
    (await customers(bench, clients + buyers)).map(async (sub) => ({
      authorization: `Bearer ${await stack.jwtSign({
        sub,
        app_metadata: { tenant_id: tenantId },
      })}`,
    })),
  );
  const cartOf = async (person: number, variantId: string) => {
    const { data } = await demand(`${base}/carts`, { marketId: market }, people[person]!);
    await demand(`${base}/carts/${data.id}/items`, { variantId, quantity: 1 }, people[person]!);
    return data.id as string;
  };
  const confirm = (person: number, cartId: string) =>
    demand(`${base}/orders/confirm`, {
      cartId,
      marketId: market,
      deliveryServiceId: service,
      paymentMethodTypeId: cashOnDelivery,
      address: {
        full_address: "Street 1",
        city: "Baghdad",
        country: "IQ",
        contact_info: { phone: "+9647701234567" },
      },
      save_to_address_book: false,
    }, people[person]!);
  const [office] = await stack.sql`select u.user_id from tenancy.tenant_users u
    join tenancy.profiles p on p.id = u.user_id where p.email = 'admin@demo.test' and u.tenant_id = ${tenantId}`;
  const admin = {
    authorization: `Bearer ${await stack.jwtSign({
      sub: office!.user_id,
      app_metadata: { tenant_id: tenantId },
    })}`,
  };
  /** The approval sets the goods aside, as Medusa does when a cart is completed, and orders the delivery. */
  const approve = async (order: string) => {
    const { status, body } = await send(`${base}/orders/${order}/approve`, {}, admin, "PUT");
    if (status < 300 || body.code === "insufficient_stock") return status < 300;
    throw new Error(`${status}: ${JSON.stringify(body)}`);
  };
  /** Orders a cart, and whether it could be approved. */
  const buy = async (person: number, cart: string) =>
    await approve((await confirm(person, cart)).order.id);
  let placed = 0;
  return {
    name: "Barid",
    list: {
      url: `${base}/public/markets/${store}/products?limit=20&fields=${fields}`,
      headers: {},
    },
    requestsPerOrder: 4,
    async order(client) {
      const cart = await cartOf(client, variants[placed++ % (products - 1)]!);
      if (!await buy(client, cart)) throw new Error("an order was refused");
    },
    async prepare(buyer) {
      const person = clients + buyer;
      const cart = await cartOf(person, variants.at(-1)!);
      return () => buy(person, cart);
    },
    stop: () => Promise.resolve(),
  };
}

/** Products in place of those of the demo, each with goods in its warehouse; the scarce one is the last. */
async function fill({ stack: { sql }, tenantId }: Bench) {
  return await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenantId}, true), set_config('app.sees_tenant', 'on', true)`;
    const [place] = await tx`select b.warehouse_id, b.id as bin_id from warehousing.bins b
      join warehousing.warehouses w on w.id = b.warehouse_id
      where b.tenant_id = ${tenantId} and b.capacity is null order by w.code desc, b.code limit 1`;
    const [market] = await tx`select id from storefront.markets where tenant_id = ${tenantId}`;
    const [service] = await tx`select id from delivery.delivery_services
      where tenant_id = ${tenantId} and active order by default_price limit 1`;
    await tx`update storefront.products set is_active = false where tenant_id = ${tenantId}`;
    const variants: string[] = [];
    for (let i = 0; i < products; i++) {
      const [item] =
        await tx`insert into warehousing.inventory_items (tenant_id, name, sku, unit_size)
        values (${tenantId}, ${"Product " + i}, ${"BENCH-" + i}, 1) returning id`;
      const [product] =
        await tx`insert into storefront.products (tenant_id, market_id, name, description)
        values (${tenantId}, ${market!.id}, ${tx.json({ en: `Product ${i}` })}, ${
          tx.json({ en: "One of many" })
        }) returning id`;
      const [variant] =
        await tx`insert into storefront.product_variants (tenant_id, product_id, sku, price, inventory_item_id)
        values (${tenantId}, ${product!.id}, ${"BENCH-" + i}, 5000, ${item!.id}) returning id`;
      variants.push(variant!.id);
      const quantity = i === products - 1 ? scarce : 1_000_000;
      await tx`select warehousing.stock_receive(${
        tx.json([{ item_id: item!.id, ...place, quantity }])
      }, 'initial_stock')`;
    }
    return { market: market!.id as string, service: service!.id as string, variants };
  });
}

async function customers({ stack: { sql }, tenantId }: Bench, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  await sql`insert into auth.users (id, email) select i, i || '@bench.test' from unnest(${ids}::uuid[]) i`;
  await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
    select ${tenantId}, i, 'customer' from unnest(${ids}::uuid[]) i`;
  await sql`insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
    select ${tenantId}, i, 'customer' from unnest(${ids}::uuid[]) i`;
  return ids;
}
