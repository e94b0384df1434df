/** Anybody may register; nobody is a customer, or anything else, before joining a store. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { withToken } from "../../support/api.ts";
import { claimsOf, followMail, refresh, type Session } from "../../support/auth.ts";
import { sql, stack } from "../../support/db.ts";
import "../../support/expect.ts";
import { newCart, newShop, orderOf } from "../../support/orders.ts";

async function register(data: Record<string, unknown> = {}): Promise<Session> {
  const email = `${randomUUID()}@example.test`;
  const response = await fetch(`${stack.url}/auth/v1/signup`, {
    method: "POST",
    headers: { apikey: stack.publishableKey, "content-type": "application/json" },
    body: JSON.stringify({ email, password: "long enough", data }),
  });
  expect(response.status).toBe(200);
  return await followMail(email);
}

test("a fresh user is in no tenant, whatever they say about themselves", async () => {
  const shop = await newShop();
  const session = await register({
    full_name: "Buyer",
    tenant_id: shop.tenant.id,
    roles: ["tenant_admin", "system_admin"],
    app_metadata: { tenant_id: shop.tenant.id },
  });
  expect(claimsOf(session).app_metadata).toMatchObject({ roles: [] });
  expect(claimsOf(session).app_metadata.tenant_id).toBeUndefined();
  const { id } = session.user;
  expect(await sql`select id from tenancy.tenant_users where user_id = ${id}`).toEqual([]);
  expect(await sql`select user_id from tenancy.system_users where user_id = ${id}`).toEqual([]);
  const person = withToken(session.access_token);
  for (const path of ["/storefront/my/orders", "/storefront/orders", "/delivery/wallets/me"]) {
    expect(await person.get(path)).toFailWith(400, "tenant_id_required");
    const query = { tenant_id: shop.tenant.id };
    expect(await person.get(path, { query })).toFailWith(403, "forbidden");
  }
  expect(await person.get("/tenants")).toFailWith(403, "forbidden");
});

test("they join a store, fill a cart and order", async () => {
  const shop = await newShop();
  const session = await register();
  const joined = await withToken(session.access_token)
    .post(`/storefront/public/markets/${shop.store.name}/join`);
  expect(joined).toSucceed(201);
  const renewed = await refresh(session);
  expect(claimsOf(renewed).app_metadata).toMatchObject({
    tenant_id: shop.tenant.id,
    roles: ["customer"],
  });
  const buyer = withToken(renewed.access_token);
  const cart = await newCart(shop, 1, session.user.id);
  const answer = await buyer.post("/storefront/orders/confirm", orderOf(shop, cart));
  expect(answer).toSucceed(201);
  expect((await buyer.get("/storefront/my/orders")).body.data).toHaveLength(1);
  expect(await buyer.get("/storefront/orders")).toFailWith(403, "forbidden");
});
