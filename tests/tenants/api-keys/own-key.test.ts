/** A program asks about its own key; one whose key has ended hears why, and nobody else does. */
import { beforeAll, describe, expect, test } from "vitest";
import { nobody, signedIn, withKey } from "../../support/api.ts";
import { expires_at, inDays, newKey, path } from "../../support/api-keys.ts";
import { sql } from "../../support/db.ts";
import { newPerson, newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

const own = "/tenants/me/api-key";
const addresses = "/delivery/addresses";

describe("the key of a call", () => {
  test("says what it may do, until when, and in which company, as the list of keys has it", async () => {
    const { api_key, key } = await newKey(tenant, { name: "Scales", scopes: ["view:tenant"] });
    expect(await withKey(key).get(`/tenants/${tenant.id}`)).toSucceed(200);
    const answer = await withKey(key).get(own);
    expect(answer).toSucceed(200);
    const { data } = (await tenant.admin.get(`${path}?status=active&limit=100`)).body;
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      api_key: data.find(({ id }: { id: string }) => id === api_key.id),
      tenant: {
        id: tenant.id,
        slug: `t-${tenant.id}`,
        name: { en: "Tenant" },
        status: "active",
        effective_active: true,
        effective_until: null,
      },
    });
    expect(answer.body.api_key).toMatchObject({
      name: "Scales",
      scopes: ["view:tenant"],
      effective_scopes: ["view:tenant"],
      status: "active",
    });
    expect(Date.parse(answer.body.api_key.expires_at)).toBe(Date.parse(expires_at));
    expect(JSON.stringify(answer.body)).not.toContain(key);
  });

  test("is its own, whichever company or key the call names", async () => {
    const { api_key, key } = await newKey(tenant);
    const theirs = await newKey(other);
    const answer = await withKey(key).get(
      `${own}?tenant_id=${other.id}&id=${theirs.api_key.id}`,
    );
    expect(answer.body).toMatchObject({ api_key: { id: api_key.id }, tenant: { id: tenant.id } });
  });

  test("shows the scopes that its person still has", async () => {
    const maker = await newPerson(tenant.id, "staff", "tenant_admin");
    const { body } = await maker.post(path, {
      name: "Less",
      scopes: ["view:tenant", "manage:tenant"],
      expires_at,
    });
    await sql`update tenancy.tenant_user_roles set role_key = 'dispatcher' where user_id = ${maker.id}`;
    expect((await withKey(body.key).get(own)).body.api_key).toMatchObject({
      scopes: ["manage:tenant", "view:tenant"],
      effective_scopes: ["view:tenant"],
      status: "active",
      created_by: { id: maker.id },
    });
  });

  test("says that the company is shut, while other calls are refused", async () => {
    const shut = await newTenant();
    const { key } = await newKey(shut);
    await sql`update tenancy.tenants set status = 'suspended' where id = ${shut.id}`;
    expect(await withKey(key).get(addresses)).toFailWith(403, "tenant_inactive");
    expect((await withKey(key).get(own)).body.tenant).toMatchObject({
      id: shut.id,
      status: "suspended",
      effective_active: false,
    });
  });

  test("of the system has no company, and no end unless it was given one", async () => {
    const key = `system-${crypto.randomUUID()}`;
    await sql`insert into tenancy.api_keys (name, key_hash, scopes, is_system_capable)
      values ('Billing', sha256(${key}), '{view:tenant}', true)`;
    const answer = await withKey(key).get(own);
    expect(answer).toSucceed(200);
    expect(answer.body).toMatchObject({
      api_key: {
        name: "Billing",
        hint: null,
        scopes: ["view:tenant"],
        effective_scopes: ["view:tenant"],
        status: "active",
        created_by: null,
        expires_at: null,
      },
      tenant: null,
    });
  });

  test("is none of a person, whose profile `GET /tenants/me` has, nor of nobody", async () => {
    const system = await newSystemAdmin();
    for (const person of [tenant.admin, tenant.driver, signedIn(tenant.admin.id, null), system]) {
      expect(await person.get(own)).toFailWith(403, "forbidden");
    }
    expect(await nobody.get(own)).toFailWith(401, "unauthorized");
    const { key } = await newKey(tenant);
    expect(await withKey(key).get("/tenants/me")).toFailWith(403, "forbidden");
  });
});

describe("a key that has ended says so", () => {
  const ended = async (change: (id: string) => Promise<unknown>) => {
    const { api_key, key } = await newKey(tenant);
    expect(await withKey(key).get(own)).toSucceed(200);
    await change(api_key.id);
    return key;
  };
  const expire = (id: string) =>
    sql`update tenancy.api_keys set expires_at = now() - interval '1 second' where id = ${id}`;
  const revoke = (id: string) => tenant.admin.delete(`${path}/${id}`);
  const stop = (id: string) =>
    sql`update tenancy.api_keys set created_by = ${tenant.driver.id} where id = ${id}`;

  test.each(
    [
      ["api_key_expired", expire, /has expired/, /انتهت مدة/, /تەواو بووە/],
      ["api_key_revoked", revoke, /was revoked/, /أُلغي/, /هەڵوەشێنرایەوە/],
      ["api_key_stopped", stop, /has stopped/, /توقّف/, /وەستاوە/],
    ] as const,
  )("%s, on every call, in three languages", async (code, change, en, ar, ku) => {
    const key = await ended(change);
    for (const call of [own, addresses, path, `/tenants/${tenant.id}`]) {
      expect(await withKey(key).get(call)).toFailWith(401, code);
    }
    expect(await withKey(key).post("/delivery/zone-tags", { name: "x" })).toFailWith(401, code);
    for (const [language, text] of Object.entries({ en, ar, ku })) {
      const { body } = await withKey(key).get(`${addresses}?language=${language}`);
      expect(body.message).toMatch(text);
    }
  });

  test("revoked before it expired it is revoked, and in another company's call nothing else", async () => {
    const key = await ended(async (id) => (await revoke(id), await expire(id)));
    expect(await withKey(key).get(addresses)).toFailWith(401, "api_key_revoked");
    expect(await withKey(key).get(`${addresses}?tenant_id=${other.id}`))
      .toFailWith(401, "api_key_revoked");
  });

  test("to who has it alone: any other text is no key", async () => {
    const key = await ended(revoke);
    const others = [key.slice(0, -1), `${key}x`, key.toLowerCase(), key.slice(-4), "x"];
    for (const wrong of others) {
      expect(await withKey(wrong).get(addresses)).toFailWith(401, "unauthorized");
    }
  });

  test("under a code that functions of before do not know, who answer as they did", async () => {
    const key = await ended(revoke);
    const [{ answer }] =
      await sql`select private.check(jsonb_build_object('tenant_mode', 'required',
      'api_key_hash', encode(sha256(${key}), 'hex')), '{"access": ["anyone"]}') as answer`;
    expect(answer.refused.message).toBe("unauthorized");
    expect(JSON.parse(answer.refused.detail)).toMatchObject({ newer_code: "api_key_revoked" });
  });
});

test("a key that ends soon tells when, so that its program can warn", async () => {
  const { key } = await newKey(tenant, { expires_at: inDays(3) });
  const { body } = await withKey(key).get(own);
  expect(Date.parse(body.api_key.expires_at) - Date.now()).toBeLessThan(4 * 86_400_000);
});
