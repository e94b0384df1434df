/** A company's key does what its scopes and its maker's rights allow, and nothing a person answers for. */
import { beforeAll, describe, expect, test } from "vitest";
import { type Body, signedIn, withKey } from "../../support/api.ts";
import { expires_at, newKey, path, scopes } from "../../support/api-keys.ts";
import { newCash, remit } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { newGround, order } from "../../support/deliveries.ts";
import { accept, account, invited } from "../../support/invitations.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
});

const addresses = "/delivery/addresses";

describe("a company's key, whatever its scopes", () => {
  const all = [
    "view:tenant",
    "manage:tenant",
    "manage:operations:tenant",
    "manage:module:warehouse",
  ];

  test("makes no keys, people or roles", async () => {
    const { api_key, key } = await newKey(tenant, { scopes: all });
    const program = withKey(key);
    const person = {
      email: `by-key-${tenant.id}@barid.test`,
      full_name: "By A Key",
      tenant_user_type: "staff",
      roles: ["tenant_admin"],
    };
    const users = `/tenants/${tenant.id}/users`;
    const calls = [
      () => program.post(path, { name: "Child", scopes: ["view:tenant"], expires_at }),
      () => program.post(`${path}/${api_key.id}/take-over`),
      () => program.post(users, person),
      () => program.post(`/tenants/${tenant.id}/members`, person),
      () => program.put(`${users}/${tenant.dispatcher.id}`, { roles: ["tenant_admin"] }),
      () => program.post(`${users}/${tenant.dispatcher.id}/deactivate`),
      () => program.post(`/tenants/${tenant.id}/invitations/${crypto.randomUUID()}/resend`),
    ];
    for (const call of calls) expect(await call()).toFailWith(403, "api_key_not_a_person");
    expect(await sql`select from tenancy.invitations where email = ${person.email}`).toHaveLength(
      0,
    );
    const [{ made }] = await sql`select count(*)::int as made from tenancy.api_keys
      where tenant_id = ${tenant.id} and name = 'Child'`;
    expect(made).toBe(0);
    const refused = await program.post(users, person, { query: { language: "ar" } });
    expect(refused.body.message).toMatch(/عمل شخص/);
  });

  test("makes no call whose purpose is money", async () => {
    const { key } = await newKey(tenant, { scopes: all });
    const id = crypto.randomUUID();
    const money = [
      "/delivery/cash-desks/transfers",
      `/delivery/cash-desks/transfers/${id}/reverse`,
      "/delivery/cod-collections/handover",
      `/delivery/cod-collections/handovers/${id}/count`,
      `/delivery/cod-collections/handovers/${id}/resolve`,
      `/delivery/cod-collections/handovers/${id}/cancel`,
      `/delivery/cod-settlements/${id}/reverse`,
      `/delivery/wallets/${id}/adjust`,
      `/delivery/wallets/${id}/adjustments/${id}/reverse`,
      `/delivery/wallets/${id}/top-ups`,
      `/storefront/orders/${id}/refund`,
      "/carriers/tenant/easypost/remittances",
      `/carriers/tenant/easypost/remittances/${id}/reverse`,
      `/payment/webhook-events/${id}/resolve`,
    ];
    for (const call of money) {
      expect(await withKey(key).post(call)).toFailWith(403, "api_key_not_a_person");
    }
    // These two name no codes.
    for (const call of ["remit", "settle-by-wallet"]) {
      const answer = await withKey(key).post(`/delivery/cod-collections/${call}`);
      expect(answer.status).toBe(403);
      expect(answer.body.message).toMatch(/A person does this/);
    }
  });

  test("is named by the audit row of what it does, and by its log line", async () => {
    const { api_key, key } = await newKey(tenant, { scopes: all });
    const made = await withKey(key).post("/delivery/zone-tags", { name: `tag-${api_key.id}` });
    expect(made).toSucceed(201);
    const request = made.headers.get("x-request-id");
    const [row] =
      await sql`select actor_id, actor_key_id from app.audit_log where request_id = ${request}
      and entity = 'delivery.zone_tags'`;
    expect(row).toEqual({ actor_id: null, actor_key_id: api_key.id });
  });

  test("stops when its maker's right ends, and does not outlive the person's account", async () => {
    const own = await newTenant();
    const maker = await newPerson(own.id, "staff", "tenant_admin");
    const { body } = await maker.post(path, { name: "Mine", scopes, expires_at });
    expect(await withKey(body.key).get(addresses)).toSucceed(200);
    await sql`update tenancy.tenant_users set is_active = false where user_id = ${maker.id}`;
    expect(await withKey(body.key).get(addresses)).toFailWith(401, "api_key_stopped");
    await sql`update tenancy.tenant_users set is_active = true where user_id = ${maker.id}`;
    expect(await withKey(body.key).get(addresses)).toSucceed(200);
    await sql`update tenancy.api_keys set created_by = null where id = ${body.api_key.id}`;
    expect(await withKey(body.key).get(addresses)).toFailWith(401, "api_key_stopped");
  });

  test("works no more when its maker, who left, comes back; one that was taken over does", async () => {
    const own = await newTenant();
    const { email, id, who } = await account();
    const administrates = { roles: ["tenant_admin"] };
    await accept(who, (await invited(own, email, administrates)).id);
    const maker = signedIn(id, own.id);
    const made = async (name: string) =>
      (await maker.post(path, { name, scopes, expires_at })).body as { key: string; api_key: Body };
    const [kept, lost] = [await made("Kept"), await made("Lost")];
    expect(await maker.post(`/tenants/${own.id}/leave`)).toSucceed(200);
    expect(await withKey(lost.key).get(addresses)).toFailWith(401, "api_key_stopped");
    expect(await own.admin.post(`${path}/${kept.api_key.id}/take-over`)).toSucceed(200);

    await accept(who, (await invited(own, email, administrates)).id);
    expect(await withKey(lost.key).get(addresses)).toFailWith(401, "api_key_revoked");
    expect(await withKey(kept.key).get(addresses)).toSucceed(200);
    const { data } = (await own.admin.get(path)).body;
    expect(data.map(({ name, status }: Body) => [name, status]).sort())
      .toEqual([["Kept", "active"], ["Lost", "revoked"]]);
    const again = await made("Again");
    expect(await withKey(again.key).get(addresses)).toSucceed(200);
  });
});

test("a shop's program orders with its key and reads the cash; what a person answers for it may not do", async () => {
  const ground = await newGround(tenant);
  const { key } = await newKey(tenant, { scopes: ["manage:tenant", ...scopes] });
  const shop = withKey(key);
  const listed = await shop.get("/delivery/services");
  expect(listed.body.deliveryServices.map((row: { id: string }) => row.id))
    .toContain(ground.service);
  const price = { delivery_service_id: ground.service, unit_size: 1 };
  expect(await shop.post("/delivery/price", price)).toSucceed(200);
  const ordered = await shop.post("/delivery/deliveries", order(ground));
  expect(ordered).toSucceed(201);
  const { id } = await newCash(tenant);
  const { body } = await shop.get("/delivery/cod-collections?status=collected");
  expect(body.cod.collections.map((row: { id: string }) => row.id)).toEqual([id]);
  expect(body.cod.summary.total_pending).toBe(1250);
  expect((await shop.get("/delivery/cod-summary")).body.summary.total_unremitted).toBe(1250);
  expect((await shop.get("/delivery/cod-reconciliation")).body.reconciled).toBe(true);
  const all = { scope: "all", driver_id: tenant.driver.id };
  expect((await shop.post(remit, all)).status).toBe(403);
  expect(await tenant.dispatcher.post(remit, all)).toSucceed(200);
  const [row] = (await shop.get("/delivery/cod-collections")).body.cod.collections;
  const settlement = `/delivery/cod-settlements/${row.settlement_payment_id}`;
  expect([200, 202]).toContain((await shop.get(`${settlement}/receipt`)).status);
});
