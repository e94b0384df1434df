/** Orders whose items have prices. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkAll, type Ground, newGround, order, path } from "../../support/deliveries.ts";
import { items, itemsOf, priced, unpriced } from "../../support/kept-parts.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

describe("ordering with prices", () => {
  const ordered = (more: object) =>
    tenant.ops.post(path, {
      customer_id: tenant.customer.id,
      delivery_service_id: ground.service,
      pickup_address_id: ground.from,
      dropoff_address_id: ground.to,
      payer_type: "receiver",
      payment_method: "cash",
      unit_size: 2,
      ...priced,
      ...more,
    });

  test("shows them beside the items, and as null where there are none", async () => {
    const answer = await ordered({});
    expect(answer).toSucceed(201);
    expect(
      (await itemsOf(tenant, answer.body.id)).map(({ name, unit_price }) => [name, unit_price]),
    )
      .toEqual([["Shirt", 8000], ["Cap", 4000]]);
    const bare = await ordered(unpriced);
    expect((await itemsOf(tenant, bare.body.id)).map(({ unit_price }) => unit_price)).toEqual([
      null,
      null,
    ]);
  });

  test("they stand on all items and add up to the COD", async () => {
    for (
      const wrong of [
        { cod_amount: 19_000 },
        { package: { items: [items[0], { name: "Cap" }] } },
        { cod_amount: 0 },
      ]
    ) {
      const answer = await ordered(wrong);
      expect(answer).toFailWith(400, "item_prices_not_cod");
      expect(answer.body).toMatchObject({ field: "package" });
    }
    const legacy = await ordered({ package: undefined, package_details: { items: [items[0]] } });
    expect(legacy).toFailWith(400, "item_prices_not_cod");
    expect(legacy.body).toMatchObject({
      field: "package_details",
      cod_amount: 20_000,
      items_total: 16_000,
    });
    for (const unit_price of [-1, "much", 0.5, 1e15]) {
      const answer = await ordered({ package: { items: [{ name: "Cap", unit_price }] } });
      expect(answer, String(unit_price)).toFailWith(400, "invalid_package");
      expect(answer.body).toMatchObject({ field: "package", item: 1, name: "unit_price" });
    }
  });

  test("names that a package does not have are kept in package_details and told as ignored, with their place", async () => {
    const box = { items: [{ name: "Cap", price: 4_000, sku: "C-1" }], fragile: true };
    for (const name of ["package", "package_details"]) {
      const answer = await ordered({ cod_amount: 0, package: undefined, [name]: box });
      expect(answer).toSucceed(201);
      expect(answer.body.ignored.toSorted()).toEqual(
        ["fragile", "items.0.price", "items.0.sku"].map((path) => `${name}.${path}`),
      );
      const { body } = await tenant.ops.get(`${path}/${answer.body.id}`);
      expect(body.delivery.package_details).toEqual(box);
    }
    const known = { name: "Cap", quantity: 1, weight: 1, length: 1, width: 1, height: 1 };
    const answer = await ordered({
      cod_amount: 5,
      package: { items: [{ ...known, unit_price: 5 }] },
    });
    expect(answer).toSucceed(201);
    expect(answer.body).not.toHaveProperty("ignored");
  });

  test("one that a client added up is the price that it means", async () => {
    const dollars = await newTenant({ settings: { "general.currency": { currency_code: "USD" } } });
    const there = await newGround(dollars);
    const answer = await dollars.ops.post(
      path,
      order(there, {
        cod_amount: 3.3,
        package: { items: [{ name: "Cap", unit_price: 1.1 + 1.1 + 1.1 }] },
      }),
    );
    expect(answer).toSucceed(201);
    expect(await itemsOf(dollars, answer.body.id)).toMatchObject([{ unit_price: 3.3 }]);
    await checkAll(dollars);
  });

  test("a draft is checked as it changes", async () => {
    const { body: { id } } = await ordered({ status: "draft" });
    const change = (body: object) => tenant.ops.patch(`${path}/${id}`, body);
    expect(await change({ cod_amount: 16_000 })).toFailWith(400, "item_prices_not_cod");
    expect(await change({ cod_amount: 16_000, package: { items: [items[0]] } })).toSucceed(200);
    expect((await itemsOf(tenant, id)).map(({ unit_price }) => unit_price)).toEqual([8000]);
  });
});
