/** Customers who join a shop. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody, signedIn } from "../../support/api.ts";
import { claimsOf, refresh, signIn, signUp } from "../../support/auth.ts";
import { sql, stack } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { eventsOf, newStore, shopPath as at, type Store } from "../../support/storefront.ts";

let tenant: Tenant;
let store: Store;
beforeAll(async () => {
  tenant = await newTenant();
  store = await newStore(tenant);
});

describe("joining", () => {
  test("makes whoever signed up a customer whose next token shops", async () => {
    const email = `buyer-${randomUUID()}@barid.test`;
    const id = await signUp(email, "long enough", { full_name: "Buyer" });
    const session = (await signIn(email, "long enough"))!;
    const person = signedIn(id, null);
    const body = { marketId: store.id };
    expect(await person.post("/storefront/carts", body)).toFailWith(400, "tenant_id_required");
    const join = () => person.in("ar").post(at(store.name, "/join"));
    const answers = await Promise.all(Array.from({ length: 6 }, join));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(answers[0].body.message).toBe("أهلاً بك. يمكنك التسوق هنا الآن.");
    const joined = answers.find(({ status }) => status === 201)!;
    expect(joined.body.data).toEqual({
      tenant_id: tenant.id,
      market_id: store.id,
      tenant_user_type: "customer",
      joined: true,
    });
    const claims = claimsOf(await refresh(session)).app_metadata;
    expect(claims).toMatchObject({ tenant_id: tenant.id, roles: ["customer"] });
    expect(await signedIn(id, tenant.id).post("/storefront/carts", body)).toSucceed(201);
    const wallets =
      await sql`select currency, owner_type from money.accounts where owner_user_id = ${id}`;
    expect(wallets).toEqual([{ currency: "IQD", owner_type: "customer" }]);
    expect((await eventsOf(tenant)).filter((type) => type === "customer.joined")).toHaveLength(1);
    const [audit] = await sql`select tenant_id from app.audit_log
      where entity = 'tenancy.tenant_users' and actor_id = ${id}`;
    expect(audit.tenant_id).toBe(tenant.id);
  });

  test("changes nothing for who is a member already, and lets nobody back in who was shut out", async () => {
    for (const [person, type] of [[tenant.admin, "staff"], [tenant.driver, "driver"]] as const) {
      const answer = await person.post(at(store.name, "/join"));
      expect(answer).toSucceed(200);
      expect(answer.body.data).toMatchObject({ tenant_user_type: type, joined: false });
      const roles =
        await sql`select role_key from tenancy.tenant_user_roles where user_id = ${person.id}`;
      expect(roles).toHaveLength(1);
    }
    const mine = await newTenant();
    const own = await newStore(mine);
    await sql`update tenancy.tenant_users set is_active = false where user_id = ${mine.customer.id}`;
    expect(await signedIn(mine.customer.id, null).post(at(own.name, "/join")))
      .toFailWith(403, "forbidden");
    // Leaving lifts nothing; the company does, by an invitation.
    const shut = signedIn(mine.customer.id, null);
    expect(await shut.post(`/tenants/${mine.id}/leave`)).toSucceed(200);
    expect(await shut.post(at(own.name, "/join"))).toFailWith(403, "forbidden");
    expect(await nobody.post(at(own.name, "/join"))).toFailWith(401, "unauthorized");
    const system = { headers: { apikey: stack.secretKey } };
    expect(await nobody.post(at(own.name, "/join"), {}, system)).toFailWith(403, "forbidden");
  });

  test("makes who was something else before a customer like any other", async () => {
    const mine = await newTenant();
    const own = await newStore(mine);
    await sql`update tenancy.tenant_users set is_business = true, employee_id = 'E-12'
      where tenant_id = ${mine.id} and user_id = ${mine.dispatcher.id}`;
    expect(await mine.dispatcher.post(`/tenants/${mine.id}/leave`)).toSucceed(200);
    expect(await signedIn(mine.dispatcher.id, null).post(at(own.name, "/join"))).toSucceed(201);
    const { data } = (await mine.admin.get(`/tenants/${mine.id}/users`, {
      query: { tenant_user_type: "customer" },
    })).body;
    expect(data.find(({ id }: { id: string }) => id === mine.dispatcher.id)).toMatchObject({
      roles: ["customer"],
      is_business: false,
      employee_id: null,
    });
  });

  test("one person shops in two companies, and a key makes a repeat harmless", async () => {
    const mine = await newTenant();
    const own = await newStore(mine);
    const options = { headers: { "idempotency-key": randomUUID() } };
    const first = await tenant.customer.post(at(own.name, "/join"), {}, options);
    expect(first).toSucceed(201);
    const again = await tenant.customer.post(at(own.name, "/join"), {}, options);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await tenant.customer.post(at(store.name, "/join"), {}, options))
      .toFailWith(409, "idempotency_conflict");
    const abroad = { query: { tenant_id: mine.id } };
    expect(await tenant.customer.post("/storefront/carts", { marketId: own.id }, abroad))
      .toSucceed(201);
  });
});
