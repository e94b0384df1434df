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
