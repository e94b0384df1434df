/** The values that a change of a product's variants does not touch. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import "../../support/expect.ts";
import { newTenant } from "../../support/people.ts";
import { newStore } from "../../support/storefront.ts";
import { newShelf } from "../../support/warehouses.ts";

const path = "/storefront/products";

test("a new price leaves the rest of a variant as it was: its stock, its attributes, off sale", async () => {
  const tenant = await newTenant();
  await newStore(tenant);
  const shelf = await newShelf(tenant, 3);
  const kept = {
    compare_at_price: 9,
    inventory_item_id: shelf.item,
    attributes: { size: "L" },
    is_active: false,
  };
  const made = await tenant.admin.post(path, {
    name: "Shirt",
    variants: [{ sku: `S-${randomUUID()}`, price: 5, ...kept }],
  });
  const [{ id, sku: code }] = made.body.data.variants;
  const change = async (more: object) =>
    (await tenant.admin.put(`${path}/${made.body.data.id}`, {
      variants: [{ sku: code, price: 6, ...more }],
    })).body.data.variants;
  expect(await change({})).toEqual([{ id, sku: code, price: 6, ...kept }]);
  expect(await change({ id, compare_at_price: null, inventory_item_id: null, is_active: true }))
    .toEqual([
      {
        id,
        sku: code,
        price: 6,
        ...kept,
        compare_at_price: null,
        inventory_item_id: null,
        is_active: true,
      },
    ]);
});

/** A product with one variant of each SKU, and the request that replaces its variants. */
async function product(...skus: string[]) {
  const tenant = await newTenant();
  await newStore(tenant);
  const made = await tenant.admin.post(path, {
    name: "Shirt",
    variants: skus.map((sku, index) => ({ sku, price: index + 1 })),
  });
  expect(made).toSucceed(201);
  return {
    ids: made.body.data.variants.map(({ id }: { id: string }) => id) as string[],
    change: (variants: object[]) => tenant.admin.put(`${path}/${made.body.data.id}`, { variants }),
  };
}

test("a SKU that a variant gives up may be a new variant's, whichever is named first", async () => {
  for (const newFirst of [true, false]) {
    const { ids, change } = await product("S");
    const list = [{ sku: "S", price: 7 }, { id: ids[0], sku: "M", price: 8 }];
    const answer = await change(newFirst ? list : list.reverse());
    expect(answer).toSucceed(200);
    const kept = expect.arrayContaining([
      expect.objectContaining({ id: ids[0], sku: "M", price: 8 }),
      expect.objectContaining({ sku: "S", price: 7 }),
    ]);
    expect(answer.body.data.variants).toEqual(kept);
    expect(answer.body.data.variants).toHaveLength(2);
  }
});

test("variants exchange their SKUs, in pairs and in a row", async () => {
  const { ids: [a, b, c], change } = await product("A", "B", "C");
  const answer = await change([
    { id: a, sku: "B", price: 1 },
    { id: b, sku: "A", price: 2 },
    { id: c, sku: "D", price: 3 },
  ]);
  expect(answer).toSucceed(200);
  const skus = (body: { data: { variants: { id: string; sku: string }[] } }) =>
    body.data.variants.map(({ id, sku }) => [id, sku]);
  expect(skus(answer.body)).toEqual([[a, "B"], [b, "A"], [c, "D"]]);
  const moved = await change([
    { id: a, sku: "A", price: 1 },
    { id: b, sku: "D", price: 2 },
    { id: c, sku: "E", price: 3 },
  ]);
  expect(skus(moved.body)).toEqual([[a, "A"], [b, "D"], [c, "E"]]);
});

test("a variant is named once", async () => {
  const { ids: [id], change } = await product("S");
  const answer = await change([{ id, sku: "M", price: 1 }, { id, sku: "L", price: 2 }]);
  expect(answer).toFailWith(400, "validation_failed");
  expect(answer.body.field).toBe("variants.1.id");
});
