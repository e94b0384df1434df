/** The file of a shop with more products than one step of a file reads. */
import { beforeAll, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newTenant } from "../../support/people.ts";
import { newProduct, newStore, shopPath, type Store } from "../../support/storefront.ts";

const many = 2_003;
let store: Store;
beforeAll(async () => {
  const tenant = await newTenant();
  store = await newStore(tenant);
  // One moment for all, two prices and three without one: what orders them does not tell them apart.
  await sql`insert into storefront.products (tenant_id, market_id, name, images, created_at)
    select ${tenant.id}, ${store.id}, jsonb_build_object('en', 'Tea'), '[]', '2026-05-01Z'
    from generate_series(2, ${many})`;
  await sql`insert into storefront.product_variants (tenant_id, product_id, sku, price)
    select p.tenant_id, p.id, p.id::text, 1000 + 500 * (row_number() over (order by p.id) % 2)
    from storefront.products p where p.market_id = ${store.id} order by p.id offset 3`;
  await newProduct(tenant, store, { price: 9000 });
});

test.each([
  [{}],
  [{ sort_order: "asc" }],
  [{ sort_by: "title" }],
  [{ sort_by: "min_price", sort_order: "asc" }],
  [{ sort_by: "min_price", sort_order: "desc" }],
])("has each product once, in the order %j", async (order) => {
  const query = { format: "csv", ...order };
  const answer = await nobody.get(shopPath(store.name, "/products"), { query });
  expect(answer.status).toBe(200);
  const [head, ...lines] = new TextDecoder().decode(answer.body).trimEnd().split("\r\n");
  const columns = head.replace("\ufeff", "").split(",");
  const id = columns.indexOf("id");
  expect(columns).not.toContain("keyset_id");
  expect(new Set(lines.map((line) => line.split(",")[id])).size).toBe(many);
  expect(lines).toHaveLength(many);
});

test("continues behind the product read last, whatever was archived meanwhile", async () => {
  const tenant = await newTenant();
  const own = await newStore(tenant);
  const made = [];
  for (const en of ["Tea", "Cake", "Nuts", "Rice"]) {
    made.push((await newProduct(tenant, own, { name: { en } })).id);
  }
  const step = async (after: { at: string; id: string } | null) => {
    const [{ read }] = await sql`select storefront.shop_products(${
      sql.json({ store_name: own.name, limit: 2, after })
    }) as read`;
    return read.rows as { id: string; keyset_position: string; keyset_id: string }[];
  };
  const first = await step(null);
  expect(first.map(({ id }) => id)).toEqual([made[3], made[2]]);
  await sql`update storefront.products set archived_at = now() where id = ${made[3]}`;
  const last = first[1];
  const second = await step({ at: last.keyset_position, id: last.keyset_id });
  expect(second.map(({ id }) => id)).toEqual([made[1], made[0]]);
});
