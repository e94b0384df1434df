/** The list of a store's products. */
import { beforeAll, describe, expect, test } from "vitest";
import { type Body, nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectPaged } from "../../support/promises.ts";
import { newCategory, newProduct, newStore, type Store } from "../../support/storefront.ts";

const path = "/storefront/products";
let other: Tenant;
let foreign: Store;
beforeAll(async () => {
  other = await newTenant();
  foreign = await newStore(other);
});

describe("the list", () => {
  test("pages, sorts and searches", async () => {
    const mine = await newTenant();
    const own = await newStore(mine);
    const drinks = await newCategory(mine, own.id, { en: "Drinks" });
    const tea = await newProduct(mine, own, { name: { en: "Tea", ar: "شاي" }, price: 1000 });
    const coffee = await newProduct(mine, own, {
      name: { en: "100% Coffee" },
      price: 3000,
      category: drinks,
    });
    const juice = await newProduct(mine, own, {
      name: { en: "Juice" },
      is_active: false,
      price: 2000,
    });
    const ids = async (query: Record<string, string | number | boolean>) =>
      (await mine.admin.get(path, { query })).body.data.map(({ id }: Body) => id);
    expect(await ids({ search: "شاي" })).toEqual([tea.id]);
    expect(await ids({ search: "0% c" })).toEqual([coffee.id]);
    expect(await ids({ category_id: drinks })).toEqual([coffee.id]);
    expect(await ids({ is_active: false })).toEqual([juice.id]);
    expect(await ids({ sku: tea.sku })).toEqual([tea.id]);
    expect(await ids({ min_price: 2000, max_price: 2500 })).toEqual([juice.id]);
    expect(await ids({ sort_by: "min_price", sort_order: "asc" })).toEqual([
      tea.id,
      juice.id,
      coffee.id,
    ]);
    expect(await ids({ category_id: foreign.category })).toEqual([]);
    await sql`update storefront.products set name = '{"en": "Coffee"}' where id = ${coffee.id}`;
    await expectPaged(mine.admin, path, "title");
    await expectGuarded({ method: "GET", path }, { denied: [mine.ops, mine.customer] });
  });

  test("shows the attributes of variants, null where they are long", async () => {
    const mine = await newTenant();
    const own = await newStore(mine);
    const { id, variant } = await newProduct(mine, own);
    const attributes = { size: "M", colour: "أزرق" };
    const shown = async () => {
      const lists = await Promise.all([
        mine.admin.get(path),
        nobody.get(`/storefront/public/markets/${own.name}/products`),
      ]);
      return lists.map(({ body }) => body.data[0].variants[0].attributes);
    };
    for (
      const [written, expected] of [
        [attributes, attributes],
        [{ text: "x".repeat(300) }, null],
      ] as const
    ) {
      await sql`update storefront.product_variants set attributes = ${
        sql.json(written)
      } where id = ${variant}`;
      expect(await shown()).toEqual([expected, expected]);
    }
    expect((await mine.admin.get(`${path}/${id}`)).body.data.variants[0].attributes)
      .toEqual({ text: "x".repeat(300) });
  });
});
