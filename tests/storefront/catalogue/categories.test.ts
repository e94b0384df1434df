/** Categories of a store's products. */
import { beforeAll, describe, expect, test } from "vitest";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectPaged,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";
import { newCategory, newProduct, newStore, type Store } from "../../support/storefront.ts";

const path = "/storefront/products";
let tenant: Tenant;
let other: Tenant;
let store: Store;
let foreign: Store;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  [store, foreign] = await Promise.all([newStore(tenant), newStore(other)]);
});

describe("categories", () => {
  const categories = "/storefront/categories";

  test("are added, read, changed and archived", async () => {
    const made = await tenant.admin.post(categories, { name: { ku: "چا" }, sort_order: 3 });
    expect(made).toSucceed(201);
    const { id } = made.body.data;
    expect(made.body.data).toMatchObject({
      market_id: store.id,
      name: { ku: "چا" },
      title: "چا",
      description: {},
      image_url: null,
      sort_order: 3,
      is_active: true,
      product_count: 0,
    });
    expect((await tenant.admin.get(`${categories}/${id}`)).body.data).toEqual(made.body.data);
    const changed = await tenant.admin.put(`${categories}/${id}`, {
      name: "Tea",
      is_active: false,
    });
    expect(changed.body.data).toMatchObject({
      name: { en: "Tea" },
      sort_order: 3,
      is_active: false,
    });
    const { id: product } = await newProduct(tenant, { ...store, category: id });
    expect(await tenant.admin.delete(`${categories}/${id}`)).toFailWith(409, "category_in_use");
    await tenant.admin.delete(`${path}/${product}`);
    expect((await tenant.admin.delete(`${categories}/${id}`)).body.data)
      .toEqual({ id, archived: true });
    expect(await tenant.admin.get(`${categories}/${id}`)).toFailWith(404, "category_not_found");
    expect(await tenant.admin.put(`${categories}/${id}`, { name: "X" }))
      .toFailWith(404, "category_not_found");
    expect(await tenant.admin.post(path, { name: "X", category_id: id }))
      .toFailWith(404, "category_not_found");
  });

  test("are not archived while a product goes into one", async () => {
    for (let round = 0; round < 4; round++) {
      const category = await newCategory(tenant, store.id);
      const [added, archived] = await Promise.all([
        tenant.admin.post(path, { name: "Race", category_id: category }),
        tenant.admin.delete(`${categories}/${category}`),
      ]);
      expect([added.status, archived.status].sort()).toSatisfy((both: number[]) =>
        `${both}` === "200,404" || `${both}` === "201,409"
      );
    }
  });

  test("refuse wrong input, wrong people and other tenants", async () => {
    const id = await newCategory(tenant, store.id);
    await expectRefused(tenant.admin, { method: "POST", path: categories }, [
      [{}, "name"],
      [{ name: {} }, "name"],
      [{ name: "A", description: { fr: "Bien" } }, "description"],
      [{ name: "A", image_url: "no" }, "image_url"],
      [{ name: "A", sort_order: 1.5 }, "sort_order"],
      [{ name: "A", is_active: "yes" }, "is_active"],
    ]);
    const one = `${categories}/{id}`;
    for (const method of ["GET", "PUT", "DELETE"] as const) {
      await expectNoSuch(
        tenant.admin,
        { method, path: one },
        "category_id",
        "category_not_found",
        foreign.category,
      );
      await expectGuarded({ method, path: `${categories}/${id}` }, {
        denied: [tenant.ops, tenant.driver, tenant.customer],
      });
    }
    await expectGuarded({ method: "POST", path: categories, body: { name: "A" } }, {
      denied: [tenant.ops, tenant.driver, tenant.customer],
    });
    await expectGuarded({ method: "GET", path: categories }, { denied: [tenant.customer] });
    const mine = await newTenant();
    const own = await newStore(mine);
    for (const name of ["A", "B", "C"]) await newCategory(mine, own.id, { en: name });
    await expectPaged(mine.admin, categories, "title");
    await expectReplayed(mine.admin, categories, { name: "D" }, { name: "E" });
  });
});
