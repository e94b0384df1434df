/** A merchant's own program: it orders and reads in the merchant's name, sees what the merchant sees, and can do no more. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody, type Person, withKey } from "../../support/api.ts";
import { expires_at, newKey, path } from "../../support/api-keys.ts";
import { signIn, signInByMail } from "../../support/auth.ts";
import { sql } from "../../support/db.ts";
import { type Ground, newGround, order } from "../../support/deliveries.ts";
import { csvText } from "../../support/files.ts";
import { address, as } from "../../support/invitations.ts";
import { newPerson, newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";
import { subscribeMerchant } from "../../support/webhooks.ts";

const deliveries = "/delivery/deliveries";

let tenant: Tenant;
let other: Tenant;
let ground: Ground;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  ground = await newGround(tenant);
});

/** A key of the merchant's own. */
async function ownKey(of: Person, more: Record<string, unknown> = {}) {
  const answer = await of.post(path, {
    name: "Shop",
    scopes: ["own:institution"],
    expires_at,
    ...more,
  });
  expect(answer).toSucceed(201);
  return { ...answer.body, program: withKey(answer.body.key) } as {
    api_key: { id: string };
    key: string;
    program: Person;
  };
}
const keysOf = async (person: Person): Promise<string[]> =>
  (await person.get(`${path}?limit=100`)).body.data.map(({ id }: { id: string }) => id);
const merchantsOrder = (more = {}) => {
  const { customer_id: _, ...rest } = order(ground, more);
  return rest;
};

describe("a merchant's own key", () => {
  test("orders in the merchant's name, and every change names the key", async () => {
    const { api_key, program } = await ownKey(tenant.institution);
    const made = await program.post(deliveries, merchantsOrder({ external_reference_id: "W-77" }));
    expect(made).toSucceed(201);
    const { id } = made.body.delivery;
    const [row] = await sql`select institution_user_id from delivery.deliveries where id = ${id}`;
    expect(row.institution_user_id).toBe(tenant.institution.id);
    const read = await tenant.institution.get(`${deliveries}/${id}`);
    expect(read.body).toMatchObject({ delivery: { external_reference_id: "W-77" } });
    const [audited] = await sql`select actor_id, actor_key_id from app.audit_log
      where entity = 'delivery.deliveries' and entity_id = ${id} and action = 'insert'`;
    expect(audited).toEqual({ actor_id: tenant.institution.id, actor_key_id: api_key.id });
    expect(await program.post(`${deliveries}/${id}/cancel`, { reason: "Sold out" })).toSucceed();
  });

  test("sees what the merchant sees: nobody else's parcels, and nothing of the office's", async () => {
    const { program } = await ownKey(tenant.institution);
    const mine = await program.post(deliveries, merchantsOrder());
    const theirs = await tenant.institution2.post(deliveries, merchantsOrder());
    const seen = await program.get(`${deliveries}?limit=100`);
    const ids = seen.body.data.map((row: { id: string }) => row.id);
    expect(ids).toContain(mine.body.delivery.id);
    expect(seen.body).toEqual((await tenant.institution.get(`${deliveries}?limit=100`)).body);
    expect(await program.get(`${deliveries}/${theirs.body.delivery.id}`))
      .toFailWith(404, "delivery_not_found");
    expect(await program.get("/delivery/cash-desks")).toFailWith(403, "forbidden");
    expect(await program.get(`/tenants/${tenant.id}/users`)).toFailWith(403, "forbidden");
    const wallet = await program.get("/delivery/wallets/me");
    expect(wallet.body).toEqual((await tenant.institution.get("/delivery/wallets/me")).body);
  });

  test("sends files, reads statements and prices", async () => {
    const { program } = await ownKey(tenant.institution);
    const file = await program.send(
      "POST",
      "/delivery/addresses/import",
      csvText([{ full_address: "Shelf 3" }]),
      { headers: { "content-type": "text/csv" } },
    );
    expect(file).toSucceed(201);
    const [row] = await sql`select owner_user_id from delivery.addresses
      where id = ${file.body.ids[0]}`;
    expect(row.owner_user_id).toBe(tenant.institution.id);
    expect(await program.get("/delivery/merchant-statements")).toSucceed();
    expect(await program.get("/delivery/services")).toSucceed();
  });

  test("subscribes to the merchant's own webhooks, and to none of the company's", async () => {
    const merchant = await newPerson(tenant.id, "institution", "institution");
    const { program } = await ownKey(merchant);
    const { id } = await subscribeMerchant(program, "http://127.0.0.1:9/hook");
    const [row] = await sql`select owner_user_id from integration.webhook_subscriptions
      where id = ${id}`;
    expect(row.owner_user_id).toBe(merchant.id);
    expect(await program.get("/webhooks/subscriptions")).toFailWith(403, "forbidden");
  });

  test("does nothing that a person answers for", async () => {
    const { program } = await ownKey(tenant.institution);
    const id = randomUUID();
    for (
      const [call, body] of [
        [path, { name: "Child", scopes: ["own:institution"], expires_at }],
        [`/delivery/wallets/${id}/top-ups`, {}],
        [`/delivery/merchant-statements/${id}/confirm`, {}],
        [`/tenants/${tenant.id}/switch`, {}],
      ] as const
    ) {
      expect(await program.post(call, body), call).toFailWith(403, "api_key_not_a_person");
    }
  });

  test("is nobody outside its company: not the person, whose other companies it learns nothing of", async () => {
    const { program, api_key } = await ownKey(tenant.institution);
    expect(await program.get("/tenants/me")).toFailWith(403, "forbidden");
    expect((await program.get("/tenants/me/invitations")).body.data ?? []).toEqual([]);
    const [notice] = await sql`insert into tenancy.notifications (user_id, type, payload)
      values (${tenant.institution.id}, 'tenant_invitation', ${
      sql.json({ invitation_id: randomUUID(), tenant: "another" })
    }) returning id`;
    const notices = "/tenants/me/notifications";
    const readBy = async (who: Person) => JSON.stringify((await who.get(notices)).body);
    expect(await readBy(tenant.institution)).toContain(notice.id);
    expect(await readBy(program)).not.toContain(notice.id);
    expect(await program.post(`${notices}/read`, {})).toSucceed(200);
    const [{ read_at }] =
      await sql`select read_at from tenancy.notifications where id = ${notice.id}`;
    expect(read_at).toBeNull();
    expect(await program.post(`/tenants/${tenant.id}/leave`)).toFailWith(403, "forbidden");
    expect(await program.get(`${deliveries}?tenant_id=${other.id}`)).toFailWith(403, "forbidden");
    expect((await program.get("/tenants/me/api-key")).body).toMatchObject({
      api_key: { id: api_key.id, scopes: ["own:institution"], status: "active" },
      tenant: { id: tenant.id },
    });
  });

  test("keeps what it did under its own Idempotency-Keys, apart from the merchant's and another key's", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const [first, second] = [await ownKey(tenant.institution), await ownKey(tenant.institution)];
    const send = (who: Person) => who.send("POST", deliveries, merchantsOrder(), { headers });
    const made = [];
    for (const who of [first.program, first.program, second.program, tenant.institution]) {
      made.push((await send(who)).body.delivery.id);
    }
    expect(made[1]).toBe(made[0]);
    expect(new Set(made).size).toBe(3);
  });
});

describe("who has a merchant's key", () => {
  test("is the merchant, who sees and ends own keys alone, and the administrators see and end all", async () => {
    const mine = await ownKey(tenant.institution);
    const theirs = await ownKey(tenant.institution2);
    const company = await newKey(tenant);
    expect(await keysOf(tenant.institution)).toContain(mine.api_key.id);
    for (const id of [theirs.api_key.id, company.api_key.id]) {
      expect(await keysOf(tenant.institution)).not.toContain(id);
      expect(await tenant.institution.delete(`${path}/${id}`)).toFailWith(404, "api_key_not_found");
    }
    expect(await keysOf(mine.program)).not.toContain(theirs.api_key.id);
    expect(await other.admin.delete(`${path}/${mine.api_key.id}`))
      .toFailWith(404, "api_key_not_found");
    expect(await keysOf(tenant.admin)).toEqual(
      expect.arrayContaining([mine.api_key.id, theirs.api_key.id]),
    );
    expect(await tenant.institution.delete(`${path}/${mine.api_key.id}`)).toSucceed();
    expect(await mine.program.get(deliveries)).toFailWith(401, "api_key_revoked");
    expect(await tenant.admin.delete(`${path}/${theirs.api_key.id}`)).toSucceed();
    expect(await theirs.program.get(deliveries)).toFailWith(401, "api_key_revoked");
  });

  test("is nobody of the office, nor a driver or a customer", async () => {
    const wanted = { name: "Not mine", scopes: ["own:institution"], expires_at };
    expect(await tenant.admin.post(path, wanted)).toFailWith(403, "api_key_scope_not_held");
    for (const who of [tenant.driver, tenant.customer, tenant.ops, tenant.dispatcher]) {
      expect(await who.post(path, wanted)).toFailWith(403, "forbidden");
      expect(await who.get(path)).toFailWith(403, "forbidden");
    }
    expect(await nobody.post(path, wanted)).toFailWith(401, "unauthorized");
    const { api_key } = await ownKey(tenant.institution);
    expect(await tenant.admin.post(`${path}/${api_key.id}/take-over`))
      .toFailWith(403, "api_key_scope_not_held");
    expect(await tenant.institution.post(`${path}/${api_key.id}/take-over`))
      .toFailWith(403, "forbidden");
  });

  test("cannot give it more than is the merchant's", async () => {
    for (const scopes of [["view:tenant"], ["own:institution", "view:tenant"]]) {
      const answer = await tenant.institution.post(path, { name: "More", scopes, expires_at });
      expect(answer).toFailWith(403, "api_key_scope_not_held");
      expect(answer.body).toMatchObject({ field: "scopes", scopes: ["view:tenant"] });
    }
  });

  test("has ten at most that have not ended, however many are made at once", async () => {
    const merchant = await newPerson(tenant.id, "institution", "institution");
    const wanted = { name: "Many", scopes: ["own:institution"], expires_at };
    const answers = await Promise.all(
      Array.from({ length: 13 }, () => merchant.post(path, wanted)),
    );
    const made = answers.filter(({ status }) => status === 201);
    expect(made.length).toBe(10);
    for (const answer of answers.filter((one) => one.status !== 201)) {
      expect(answer).toFailWith(409, "api_key_limit_reached");
      expect(answer.body.max).toBe(10);
    }
    expect(await merchant.delete(`${path}/${made[0]!.body.api_key.id}`)).toSucceed();
    expect(await merchant.post(path, wanted)).toSucceed(201);
  });
});

describe("a merchant's key ends", () => {
  test("with the membership, and another membership does not bring it back", async () => {
    const merchant = await newPerson(tenant.id, "institution", "institution");
    const { program } = await ownKey(merchant);
    expect(await program.get(deliveries)).toSucceed();
    const out = await tenant.admin.post(`/tenants/${tenant.id}/users/${merchant.id}/deactivate`);
    expect(out).toSucceed();
    // The office has nothing to take over.
    expect(out.body.stopped_api_keys).toEqual([]);
    expect(await program.get(deliveries)).toFailWith(401, "api_key_stopped");
    await sql`update tenancy.tenant_users set left_at = now(), is_active = false
      where tenant_id = ${tenant.id} and user_id = ${merchant.id}`;
    await sql`update tenancy.tenant_users set left_at = null, is_active = true
      where tenant_id = ${tenant.id} and user_id = ${merchant.id}`;
    expect(await program.get(deliveries)).toFailWith(401, "api_key_revoked");
  });

  test("when the account is confirmed by its owner: who made the account could have made the key", async () => {
    const system = await newSystemAdmin();
    const email = address();
    const made = await system.post(`/tenants/${tenant.id}/members`, {
      email,
      password: "what the company chose",
      full_name: "A merchant",
      phone: "+9647700000098",
      tenant_user_type: "institution",
      roles: ["institution"],
    });
    expect(made).toSucceed(201);
    const first = as((await signIn(email, "what the company chose"))!);
    const before = [
      await ownKey(first),
      await ownKey(first, { scopes: ["own:institution:view"] }),
    ];
    const owner = as(await signInByMail(email));
    expect(await owner.post("/tenants/me/confirm", { password: "known to the merchant" }))
      .toSucceed();
    for (const { program } of before) {
      expect(await program.get(deliveries)).toFailWith(401, "api_key_revoked");
    }
    const after = await ownKey(as((await signIn(email, "known to the merchant"))!));
    expect(await after.program.get(deliveries)).toSucceed();
  });
});
