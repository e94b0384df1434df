/** The administrators' list of orders on 10,000 and on 1,000,000, and how many of it eight clients get a second. */
import { randomUUID } from "node:crypto";
import { compareRows, get, p95s } from "./ask.ts";
import { type Bench, startBench } from "./bench-stack.ts";
import { fillTables } from "./fill.ts";
import { load } from "./load.ts";
import type { Report } from "./report.ts";

const small = 10_000;
const large = 1_000_000;
const clients = 8;
const seconds = 5;

export async function benchOrders(report: Report): Promise<void> {
  const bench = await startBench();
  try {
    const token = await openShop(bench, bench.tenantId);
    const asker = { stack: bench.stack, token };
    const [{ code }] = await bench.stack.sql`select code from storefront.markets
      where tenant_id = ${bench.tenantId}`;
    const measure = () =>
      p95s({
        "list of 20 with totals": () => get(asker, newest),
        "found by number": (i) => get(asker, `${newest}&search=${code}-00${1_000 + i}`),
        "of a status": () => get(asker, `${newest}&status=shipped`),
      });
    await fillOrders(bench, 0, small);
    const few = await measure();
    await fillOrders(bench, small, large);
    compareRows(report, { few, many: await measure(), rows: [small, large], of: "orders" });
    const { perSecond, p95, notOk } = await load(
      `${bench.stack.apiUrl}${newest}`,
      { authorization: `Bearer ${token}` },
      clients,
      seconds,
    );
    if (notOk) throw new Error(`${notOk} answers were refusals`);
    report.note(
      `list of 20 of 1,000,000 orders, ${clients} clients: ${Math.round(perSecond)} a second, p95 ${
        p95.toFixed(1)
      } ms`,
    );
  } finally {
    await bench.stop();
  }
}

const newest = "/storefront/orders?limit=20";

/** One order of a live market that all others are copied from, and the token of an administrator. */
export async function openShop({ stack }: Bench, tenantId: string): Promise<string> {
  const { sql } = stack;
  const [id, buyer] = [randomUUID(), randomUUID()];
  for (
    const [user, type, role] of [[id, "staff", "tenant_admin"], [buyer, "customer", "customer"]]
  ) {
    await sql`insert into auth.users (id, email) values (${user!}, ${user + "@demo.test"})`;
    await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
      values (${tenantId}, ${user!}, ${type!})`;
    await sql`insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
      values (${tenantId}, ${user!}, ${role!})`;
  }
  const [market] = await sql`insert into storefront.markets
    (tenant_id, store_name, status, publish_status) values (${tenantId}, 'bench', 'approved', 'published')
    on conflict on constraint market_already_exists do update set updated_at = now() returning id`;
  const [cart] = await sql`insert into storefront.carts (tenant_id, market_id, customer_id, status)
    values (${tenantId}, ${market!.id}, ${buyer}, 'converted') returning id`;
  await sql`insert into storefront.storefront_orders (tenant_id, order_number, market_id, user_id, cart_id, payment_method,
      payment_method_type_id, delivery_service_id, currency, subtotal, total_price, total_items, shipping_address, city)
    select ${tenantId}, 'BENCH', ${market!.id}, ${buyer}, ${
    cart!.id
  }, 'cash_on_delivery', '5a1e0000-0000-4000-8000-000000000001',
      s.id, 'IQD', 5000, 5000, 1, '{}', 'Baghdad' from delivery.delivery_services s where s.tenant_id = ${tenantId} limit 1`;
  return await stack.jwtSign({ sub: id, app_metadata: { tenant_id: tenantId } });
}

/** Orders of a live market, newest first. */
export async function fillOrders(bench: Bench, from: number, to: number): Promise<void> {
  console.log(`       loading orders ${from} to ${to} ...`);
  const tables = ["storefront.storefront_orders"];
  await fillTables(
    bench,
    { tables, tallies: ["storefront_orders"] },
    (tx, tenantId) =>
      tx`insert into storefront.storefront_orders (tenant_id, order_number, market_id, user_id, cart_id, status, payment_method,
        payment_method_type_id, delivery_service_id, currency, subtotal, total_price, total_items, shipping_address, city,
        delivered_at, created_at)
      select o.tenant_id, m.code || '-' || app.padded(n, 6), o.market_id, o.user_id, gen_random_uuid(),
        (array['pending', 'confirmed', 'shipped', 'delivered', 'completed'])[1 + n % 5], o.payment_method, o.payment_method_type_id,
        o.delivery_service_id, o.currency, 1000 + n % 9000, 1000 + n % 9000, 1 + n % 9, o.shipping_address, o.city,
        case when n % 5 > 2 then now() - n * interval '1 minute' end, now() - n * interval '1 minute'
      from storefront.storefront_orders o
      join storefront.markets m on m.tenant_id = o.tenant_id and m.id = o.market_id
      cross join generate_series(${from + 1}::int, ${to}::int) n
      where o.tenant_id = ${tenantId} and o.order_number = 'BENCH'`,
  );
}
