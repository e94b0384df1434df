/** A merchant's program that only reads: it sees what the merchant sees and changes nothing. */
import { beforeAll, describe, expect, test } from "vitest";
import { type Person, withKey } from "../../support/api.ts";
import { expires_at, newKey, path } from "../../support/api-keys.ts";
import { sql } from "../../support/db.ts";
import { type Ground, newGround, order } from "../../support/deliveries.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";

const deliveries = "/delivery/deliveries";
const scopes = ["own:institution:view"];

let tenant: Tenant;
let other: Tenant;
let ground: Ground;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  ground = await newGround(tenant);
});

/** A key of the merchant's that only reads. */
async function viewKey(of: Person) {
  const answer = await of.post(path, { name: "Reports", scopes, expires_at });
  expect(answer).toSucceed(201);
  return { id: answer.body.api_key.id as string, program: withKey(answer.body.key) };
}
const merchantsOrder = () => {
  const { customer_id: _, ...rest } = order(ground);
  return rest;
};

describe("a merchant's key that only reads", () => {
  test("sees what the merchant sees, and nobody else's", async () => {
    const { program } = await viewKey(tenant.institution);
    const mine = await tenant.institution.post(deliveries, merchantsOrder());
    const theirs = await tenant.institution2.post(deliveries, merchantsOrder());
    const paths = [
      `${deliveries}?limit=100`,
      `${deliveries}/${mine.body.delivery.id}`,
      "/delivery/wallets/me",
      "/delivery/merchant-statements",
      "/webhooks/own/subscriptions",
    ];
    for (const one of paths) {
      const seen = await program.get(one);
      expect(seen, one).toSucceed();
      expect(seen.body, one).toEqual((await tenant.institution.get(one)).body);
    }
    const file = await program.get(deliveries, { query: { format: "csv" } });
    expect(new TextDecoder().decode(file.body)).toContain(mine.body.delivery.id);
    expect(await program.get(`${deliveries}/${theirs.body.delivery.id}`))
      .toFailWith(404, "delivery_not_found");
    expect(await program.get("/delivery/cash-desks")).toFailWith(403, "forbidden");
    expect(await program.get(`${deliveries}?tenant_id=${other.id}`)).toFailWith(403, "forbidden");
  });

  test("changes nothing, though its merchant may", async () => {
    const { id: key, program } = await viewKey(tenant.institution);
    const made = await tenant.institution.post(deliveries, merchantsOrder());
    const { id } = made.body.delivery;
    expect(await program.post(deliveries, merchantsOrder())).toFailWith(403, "forbidden");
    expect(await program.post(`${deliveries}/${id}/cancel`, { reason: "Sold out" }))
      .toFailWith(403, "forbidden");
    expect(await program.post(path, { name: "Child", scopes, expires_at }))
      .toFailWith(403, "api_key_not_a_person");
    expect(await program.delete(`${path}/${key}`)).toFailWith(403, "forbidden");
    const { body } = await tenant.institution.get(`${deliveries}/${id}`);
    expect(body.delivery.status).toBe("pending");
    expect(await sql`select from app.audit_log where actor_key_id = ${key}`).toEqual([]);
  });

  test("says of itself what it may do, and is listed and ended as the other", async () => {
    const { id, program } = await viewKey(tenant.institution);
    const { body } = await program.get("/tenants/me/api-key");
    const shown = { id, scopes, effective_scopes: scopes, status: "active" };
    expect(body.api_key).toMatchObject(shown);
    for (const who of [tenant.institution, tenant.admin, program]) {
      const { body } = await who.get(`${path}?limit=100`);
      expect(body.data.find((one: { id: string }) => one.id === id)).toMatchObject(shown);
    }
    for (const who of [tenant.institution2, other.admin]) {
      const { body } = await who.get(`${path}?limit=100`);
      expect(body.data.map((one: { id: string }) => one.id)).not.toContain(id);
      expect(await who.delete(`${path}/${id}`)).toFailWith(404, "api_key_not_found");
    }
    expect(await tenant.admin.post(`${path}/${id}/take-over`))
      .toFailWith(403, "api_key_scope_not_held");
    expect(await tenant.institution.delete(`${path}/${id}`)).toSucceed();
    expect(await program.get(deliveries)).toFailWith(401, "api_key_revoked");
  });

  test("stops with the membership", async () => {
    const merchant = await newPerson(tenant.id, "institution", "institution");
    const { program } = await viewKey(merchant);
    const out = await tenant.admin.post(`/tenants/${tenant.id}/users/${merchant.id}/deactivate`);
    expect(out.body.stopped_api_keys).toEqual([]);
    expect(await program.get(deliveries)).toFailWith(401, "api_key_stopped");
  });

  test("is a merchant's alone, stands alone, and counts among the ten", async () => {
    for (const who of [tenant.driver, tenant.customer, tenant.ops]) {
      expect(await who.post(path, { name: "Not mine", scopes, expires_at }))
        .toFailWith(403, "forbidden");
    }
    expect(await tenant.admin.post(path, { name: "Not mine", scopes, expires_at }))
      .toFailWith(403, "api_key_scope_not_held");
    const beside: [string[], string][] = [
      [[...scopes, "view:tenant"], "view:tenant"],
      [[...scopes, "own:institution"], "own:institution:view"],
    ];
    for (const [more, beyond] of beside) {
      const both = await tenant.institution.post(path, { name: "Both", scopes: more, expires_at });
      expect(both).toFailWith(403, "api_key_scope_not_held");
      expect(both.body).toMatchObject({ field: "scopes", scopes: [beyond] });
    }
    const merchant = await newPerson(tenant.id, "institution", "institution");
    const wanted = (scope: string) => ({ name: "Many", scopes: [scope], expires_at });
    for (let made = 0; made < 5; made++) {
      expect(await merchant.post(path, wanted("own:institution"))).toSucceed(201);
      expect(await merchant.post(path, wanted("own:institution:view"))).toSucceed(201);
    }
    expect(await merchant.post(path, wanted("own:institution:view")))
      .toFailWith(409, "api_key_limit_reached");
  });

  test("cannot be given another scope by a hand in the database", async () => {
    const company = await newKey(tenant);
    for (const scope of ["own:institution", "own:institution:view"]) {
      await expect(sql`update tenancy.api_keys set scopes = scopes || ${scope}::text
        where id = ${company.api_key.id}`).rejects.toThrow("own_scope_alone");
    }
  });
});
