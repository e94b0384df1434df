/** Checkouts that are refused: wrong input, places, variants, ways to pay and people. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { newService } from "../../support/money.ts";
import {
  backRef,
  home,
  methods,
  newCart,
  newShop,
  orderOf,
  type Shop,
} from "../../support/orders.ts";
import { newCardShop } from "../../support/payments.ts";
import { newZone, square } from "../../support/zones.ts";

const path = "/storefront/orders/confirm";
let shop: Shop;
let other: Shop;
beforeAll(async () => {
  [shop, other] = await Promise.all([newCardShop(), newShop()]);
});

describe("a checkout is refused", () => {
  const wrong: [string, Record<string, unknown>, number, string, string?][] = [
    ["no cart", { cartId: undefined }, 400, "validation_failed", "cartId"],
    ["no id", { cartId: "x" }, 400, "invalid_uuid", "cartId"],
    ["no market", { marketId: undefined }, 400, "validation_failed", "marketId"],
    ["no service", { deliveryServiceId: undefined }, 400, "validation_failed", "deliveryServiceId"],
    [
      "no method",
      { paymentMethodTypeId: undefined },
      400,
      "validation_failed",
      "paymentMethodTypeId",
    ],
    ["no address", { address: undefined }, 400, "address_required", "addressId"],
    ["half a place", { address: { ...home, lat: 33 } }, 400, "validation_failed", "address.long"],
    [
      "an empty address",
      { address: { full_address: " " } },
      400,
      "validation_failed",
      "address.full_address",
    ],
    ["NUL", { customer_notes: "a\u0000b" }, 400, "validation_failed"],
    ["another cart", { cartId: randomUUID() }, 404, "cart_not_found", "cartId"],
    ["another market", { marketId: randomUUID() }, 404, "market_not_found", "marketId"],
    [
      "another service",
      { deliveryServiceId: randomUUID() },
      404,
      "service_not_found",
      "deliveryServiceId",
    ],
    [
      "another method",
      { paymentMethodTypeId: randomUUID() },
      404,
      "payment_method_not_found",
      "paymentMethodTypeId",
    ],
    [
      "a gateway without a way back",
      { paymentMethodTypeId: methods.gatewayone },
      400,
      "back_ref_required",
      "backRef",
    ],
    [
      "a gateway with an empty way back",
      { paymentMethodTypeId: methods.gatewayone, backRef: "" },
      400,
      "back_ref_required",
      "backRef",
    ],
  ];
  test.each(wrong)("%s", async (_name, change, status, code, field) => {
    const body = { ...orderOf(shop, await newCart(shop)), ...change };
    const answer = await shop.tenant.customer.post(path, body);
    expect(answer).toFailWith(status, code);
    if (field) expect(answer.body.field).toBe(field);
  });

  test.each([
    "https://evil.example/thanks",
    "https://shop.example.com.evil.example/",
    "https://shop.example.com@evil.example/",
    "https://evil.example#shop.example.com",
    "https://shop.example.com:8443/",
    "https://shop.example.com\\.evil.example/",
    "http://shop.example.com/",
    "//shop.example.com/",
    "javascript:alert(1)",
    "/thanks",
  ])("a way back to %s", async (target) => {
    const body = { ...orderOf(shop, await newCart(shop), "gatewayone"), backRef: target };
    const answer = await shop.tenant.customer.post(path, body);
    expect([400]).toContain(answer.status);
    expect(["back_ref_not_allowed", "validation_failed"]).toContain(answer.body.code);
    expect(answer.body.field).toBe("backRef");
  });

  test("but not with the store's own domain and back_ref", async () => {
    const host = `${randomUUID()}.example.com`;
    await sql`insert into storefront.custom_domains
      (tenant_id, market_id, custom_domain, status, dns_records, dns_verified_at)
      values (${shop.tenant.id}, ${shop.store.id}, ${host}, 'active', '[]', now())`;
    const { backRef: _one, ...rest } = orderOf(shop, await newCart(shop), "razorpay");
    const body = { ...rest, back_ref: `https://${host}/thanks` };
    expect(await shop.tenant.customer.post(path, body)).toSucceed(201);
    expect(backRef).toContain("https://");
  });

  test("for variants that are out of stock, not on sale, or unknown", async () => {
    const small = await newShop({ stock: 1 });
    const { customer } = small.tenant;
    const answer = await customer.post(path, orderOf(small, await newCart(small, 2)));
    expect(answer).toFailWith(409, "insufficient_stock");
    expect(answer.body).toEqual({
      success: false,
      code: "insufficient_stock",
      message: "There is not enough of Kleicha: 2 asked for, 1 available.",
      field: "cartId",
      item_id: small.shelf.item,
      variant_id: small.product.variant,
      item_name: "Kleicha",
      requested: 2,
      available: 1,
    });
    const kurdish = await customer.in("ku").post(path, orderOf(small, await newCart(small, 2)));
    expect(kurdish.body.message).toBe("Kleicha بەش ناکات: 2 داواکراوە و 1 بەردەستە.");
    const cart = await newCart(small);
    await sql`update storefront.product_variants set is_active = false where id = ${small.product.variant}`;
    const gone = await customer.post(path, orderOf(small, cart));
    expect(gone).toFailWith(409, "cart_item_unavailable");
    expect(gone.body).toMatchObject({
      variant_id: small.product.variant,
      product_name: "Kleicha",
      message: "Kleicha is no longer on sale. Please remove it from the cart.",
    });
    await sql`delete from storefront.cart_items where cart_id = ${cart}`;
    expect(await customer.post(path, orderOf(small, cart))).toFailWith(409, "cart_empty");
    await sql`update storefront.carts set status = 'abandoned' where id = ${cart}`;
    expect(await customer.post(path, orderOf(small, cart))).toFailWith(409, "cart_not_active");
  });

  test("for a method that the market does not accept, a gateway without configuration, an inactive service", async () => {
    const plain = await newShop();
    const { customer } = plain.tenant;
    expect(await customer.post(path, orderOf(plain, await newCart(plain), "razorpay")))
      .toFailWith(409, "gateway_not_configured");
    const off = await newService(plain.tenant, { active: false });
    expect(
      await customer.post(path, {
        ...orderOf(plain, await newCart(plain)),
        deliveryServiceId: off,
      }),
    ).toFailWith(400, "delivery_service_not_available");
    await sql`update storefront.markets set settings = '{"payment_methods": ["wallet"]}'
      where id = ${plain.store.id}`;
    expect(await customer.post(path, orderOf(plain, await newCart(plain))))
      .toFailWith(400, "invalid_payment_method");
  });

  test("for a service that does not reach the address, as one without coordinates in no zone", async () => {
    const near = await newShop();
    const zone = await newZone(near.tenant, square(44.4, 33.3, 0.05));
    const order = async (place: object) =>
      await near.tenant.customer.post(path, {
        ...orderOf(near, await newCart(near)),
        address: { ...home, ...place },
      });
    const limit = (zone_access_mode: string) =>
      near.tenant.ops.put(`/delivery/services/${near.service}`, {
        zone_access_mode,
        zone_ids: [zone],
      });
    expect(await limit("select_zones")).toSucceed(200);
    expect(await order({ lat: 33.3, long: 44.4 })).toSucceed(201);
    for (const place of [{ lat: 1, long: 1 }, {}]) {
      const answer = await order(place);
      expect(answer).toFailWith(400, "delivery_service_not_available");
      expect(answer.body.field).toBe("deliveryServiceId");
    }
    expect(await limit("exclude_zones")).toSucceed(200);
    expect(await order({})).toSucceed(201);
  });

  test("to staff, drivers, anonymous callers, and customers of another store", async () => {
    const body = orderOf(shop, await newCart(shop));
    for (const person of [shop.tenant.admin, shop.tenant.driver]) {
      expect(await person.post(path, body)).toFailWith(403, "forbidden");
    }
    expect(await nobody.post(path, body)).toFailWith(401, "unauthorized");
    expect(await other.tenant.customer.post(path, body)).toFailWith(404, "cart_not_found");
    const [row] = await sql`select status from storefront.carts where id = ${body
      .cartId as string}`;
    expect(row.status).toBe("active");
  });

  test("in Arabic and Kurdish as well", async () => {
    const body = orderOf(shop, randomUUID());
    const { customer } = shop.tenant;
    const texts = await Promise.all(
      (["en", "ar", "ku"] as const).map(async (language) =>
        (await customer.in(language).post(path, body)).body.message
      ),
    );
    expect(new Set(texts).size).toBe(3);
  });
});
