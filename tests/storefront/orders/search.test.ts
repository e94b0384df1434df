/** The search of the administrators' list reads what matches, however many orders there are. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { newOrder, newProduct, newStore } from "../../support/storefront.ts";

const many = 20_000;
let tenant: Tenant;
/** The prefix of the store's order numbers. */
let code: string;
beforeAll(async () => {
  tenant = await newTenant();
  const store = await newStore(tenant);
  const { id } = await newOrder(tenant, store, await newProduct(tenant, store));
  [{ code }] = await sql`select code::text from storefront.markets where id = ${store.id}`;
  await sql.begin(async (tx) => {
    // Loading, not using: triggers and foreign keys are left out for the time of this transaction.
    await tx`set local session_replication_role = replica`;
    // Ids without digits: none of them contains a part of a number by chance.
    await tx`insert into storefront.storefront_orders (id, tenant_id, order_number, market_id, user_id, cart_id, payment_method,
        payment_method_type_id, delivery_service_id, currency, subtotal, total_price, total_items, shipping_address)
      select translate(gen_random_uuid()::text, '0123456789', 'abcdefabcd')::uuid, o.tenant_id, ${code} || '-' || app.padded(n, 6),
        o.market_id, o.user_id, gen_random_uuid(), o.payment_method, o.payment_method_type_id, o.delivery_service_id, o.currency, 1, 1, 1, '{}'
      from storefront.storefront_orders o, generate_series(1, ${many}::int) n where o.id = ${id}`;
    await tx`select private.tally_rebuild('storefront_orders')`;
  });
  await sql`analyze storefront.storefront_orders`;
});

const numbers = async (search: string) => {
  const { body } = await tenant.admin.get("/storefront/orders", { query: { search, limit: 100 } });
  return body.orders.map((order: { order_number: string }) => order.order_number).sort();
};

test("finds what contains the text, in a number or an id, in any case", async () => {
  for (const search of ["-012345", `${code}-012345`, `${code.slice(-1)}-012345`]) {
    expect(await numbers(search)).toEqual([`${code}-012345`]);
  }
  expect(await numbers(`${code.slice(-1)}-01234`))
    .toEqual(Array.from({ length: 10 }, (_, digit) => `${code}-01234${digit}`));
  expect(await numbers(`${Number(code.slice(-1)) + 1}-01234`)).toEqual([]);
  const [{ id, order_number }] = await sql`select id, order_number from storefront.storefront_orders
    where tenant_id = ${tenant.id} and order_number = ${`${code}-000777`}`;
  expect(await numbers(id.slice(3, 30).toUpperCase())).toEqual([order_number]);
  // The number and the id stand beside each other in the index, and are still two texts.
  expect(await numbers(`${order_number} ${id.slice(0, 8)}`)).toEqual([]);
  expect(await numbers("%")).toEqual([]);
  const stranger = await newTenant();
  const theirs = await newPerson(stranger.id, "staff", "tenant_admin");
  expect((await theirs.get("/storefront/orders", { query: { search: id } })).body.orders)
    .toEqual([]);
});

test.each(["code-012345", "012345", "-0199"])("%s is looked up in the index", async (asked) => {
  const search = asked.replace("code", code);
  const read = await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
    // A connection also counts what it read just before, until that is written down.
    const reads = async () =>
      (await tx`select seq_scan::int as scans, idx_tup_fetch::int as fetched from pg_stat_xact_user_tables
        where relid = 'storefront.storefront_orders'::regclass`)[0];
    const before = await reads();
    const [{ found }] =
      await tx`select count(*)::int as found from storefront.orders_matching(${search})`;
    const after = await reads();
    return { found, scans: after.scans - before.scans, fetched: after.fetched - before.fetched };
  });
  expect(read.found).toBeGreaterThan(0);
  expect(read.scans).toBe(0);
  // Nothing is read but rows that share all triples of its digits; how many do depends on the store's code.
  const digits = asked.split("-").at(-1)!;
  const triples = Array.from(digits.slice(2), (_, i) => `%${digits.slice(i, i + 3)}%`);
  const [{ sharing }] = await sql`select count(*)::int as sharing from storefront.storefront_orders
    where order_number || ' ' || id like all (${triples})`;
  expect(sharing).toBeLessThan(many / 10);
  expect(read.fetched).toBeLessThanOrEqual(sharing);
});
