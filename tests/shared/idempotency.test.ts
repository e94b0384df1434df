/** Idempotency-Key: one key, one caller, one operation, one input, one effect. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../support/api.ts";
import { sql } from "../support/db.ts";
import { newAddress, newBranch } from "../support/make.ts";
import { newManifest } from "../support/manifests.ts";
import { balanceOf, checkBooks, fundWallet, newService } from "../support/money.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../support/people.ts";

let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

const keyed = (key: string) => ({ headers: { "idempotency-key": key } });
const tag = (name: string) => ({ name: `${name} ${randomUUID()}` });
const tagsOf = async (tenantId: string, name: string) =>
  (await sql`select count(*)::int as n from delivery.zone_tags where tenant_id = ${tenantId} and name = ${name}`)[
    0
  ].n;

describe("whose key it is", () => {
  test("equal keys of two tenants, of two people and of two operations never meet", async () => {
    const key = randomUUID();
    const body = tag("Same");
    const first = await tenant.admin.post("/delivery/zone-tags", body, keyed(key));
    expect(first).toSucceed(201);
    const elsewhere = await other.admin.post("/delivery/zone-tags", body, keyed(key));
    expect(elsewhere).toSucceed(201);
    expect(elsewhere.body.data.id).not.toBe(first.body.data.id);
    expect(elsewhere.headers.get("idempotency-replayed")).toBeNull();
    // Another person of the same tenant is told about the name, not given the first one's answer.
    expect(await tenant.ops.post("/delivery/zone-tags", body, keyed(key)))
      .toFailWith(409, "zone_tag_name_exists");
    const address = await tenant.admin.post(
      "/delivery/addresses",
      { full_address: "Street" },
      keyed(key),
    );
    expect(address).toSucceed(201);
    expect(address.headers.get("idempotency-replayed")).toBeNull();
  });

  test("nor do equal keys of two API keys", async () => {
    const body = tag("By a machine");
    const key = randomUUID();
    const secrets = [randomUUID(), randomUUID()];
    for (const secret of secrets) {
      await sql`insert into tenancy.api_keys (tenant_id, name, key_hash, scopes, created_by, expires_at)
        values (${tenant.id}, 'Machine', sha256(${secret}::bytea), '{manage:operations:tenant}',
          ${tenant.admin.id}, now() + interval '1 day')`;
    }
    const [one, two] = await Promise.all(
      secrets.map((secret) =>
        nobody.post("/delivery/zone-tags", body, {
          headers: { "idempotency-key": key, "x-api-key": secret },
          query: { tenant_id: tenant.id },
        })
      ),
    );
    expect([one.status, two.status].sort()).toEqual([201, 409]);
  });

  test("the thing a path names is part of the input", async () => {
    const key = randomUUID();
    const [one, two] = [await newAddress(tenant), await newAddress(tenant)];
    expect(await tenant.admin.patch(`/delivery/addresses/${one}`, { city: "A" }, keyed(key)))
      .toSucceed();
    expect(await tenant.admin.patch(`/delivery/addresses/${two}`, { city: "A" }, keyed(key)))
      .toFailWith(409, "idempotency_conflict");
  });
});

describe("what counts as the same input", () => {
  test("a null that empties a field is not a field left out", async () => {
    const id = await newAddress(tenant);
    const key = randomUUID();
    const path = `/delivery/addresses/${id}`;
    expect(await tenant.admin.patch(path, { country: "IQ" }, keyed(key))).toSucceed();
    expect(await tenant.admin.patch(path, { country: "IQ", city: null }, keyed(key)))
      .toFailWith(409, "idempotency_conflict");
  });

  test("the order of keys and white space are nothing", async () => {
    const key = randomUUID();
    const [name, id] = [`Place ${randomUUID()}`, await newAddress(tenant)];
    const send = (body: string) =>
      tenant.admin.send("PATCH", `/delivery/addresses/${id}`, body, keyed(key));
    const first = await send(`{"full_address":"${name}","city":"Erbil"}`);
    const again = await send(`{ "city" : "Erbil", "full_address": "${name}" }`);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
  });
});

describe("at the same moment", () => {
  test("twenty equal requests write once and all get the one answer", async () => {
    const body = tag("Once");
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => tenant.admin.post("/delivery/zone-tags", body, keyed(key))),
    );
    for (const answer of answers) expect(answer).toSucceed(201);
    expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1);
    expect(answers.filter(({ headers }) => !headers.get("idempotency-replayed"))).toHaveLength(1);
    expect(await tagsOf(tenant.id, body.name)).toBe(1);
  });

  test("of different requests under one key exactly one is done", async () => {
    const key = randomUUID();
    const bodies = Array.from({ length: 20 }, (_, i) => tag(`Race ${i}`));
    const answers = await Promise.all(
      bodies.map((body) => tenant.admin.post("/delivery/zone-tags", body, keyed(key))),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(answer).toFailWith(409, "idempotency_conflict");
    }
    const written = await Promise.all(bodies.map(({ name }) => tagsOf(tenant.id, name)));
    expect(written.reduce((sum, n) => sum + n)).toBe(1);
  });
});

test("a refusal is not remembered: the same key may be used for the corrected request", async () => {
  const key = randomUUID();
  const body = tag("Taken");
  expect(await tenant.admin.post("/delivery/zone-tags", body)).toSucceed(201);
  expect(await tenant.admin.post("/delivery/zone-tags", body, keyed(key))).toFailWith(
    409,
    "zone_tag_name_exists",
  );
  const corrected = tag("Free");
  const answer = await tenant.admin.post("/delivery/zone-tags", corrected, keyed(key));
  expect(answer).toSucceed(201);
  expect(answer.headers.get("idempotency-replayed")).toBeNull();
});

describe("a call of several transactions", () => {
  test("of two that both come to the end the first answer stands for both", async () => {
    const answers = await sql.begin(async (tx) => {
      await tx`select private.idempotency_claim('test', 'both', '{}', 'idempotency_conflict')`;
      const [first] =
        await tx`select private.idempotency_store('test', 'both', '{"n": 1}') as answer`;
      const [second] =
        await tx`select private.idempotency_store('test', 'both', '{"n": 2}') as answer`;
      await tx`select private.idempotency_forget('test', 'both')`;
      const [kept] =
        await tx`select private.idempotency_claim('test', 'both', '{}', 'idempotency_conflict') as answer`;
      await tx`delete from app.idempotency_keys where operation = 'test'`;
      return [first, second, kept].map(({ answer }) => answer);
    });
    expect(answers).toEqual([{ n: 1 }, { n: 1 }, { n: 1 }]);
  });

  const path = "/delivery/transfer-manifest-items/bulk/set-destination";

  test("twenty equal ones at once make each order once and all give the one answer", async () => {
    const [branch, service] = [await newBranch(tenant), await newService(tenant)];
    const wallet = await fundWallet(tenant, "institution", tenant.institution.id, 100_000);
    const { itemIds } = await newManifest(tenant, { items: 45 });
    // Money for 30 of 45, so that the answers have failures to agree on as well.
    const before = await balanceOf(wallet);
    await fundWallet(tenant, "institution", tenant.institution.id, 30_000 - before);
    const body = { item_ids: itemIds, destination_branch_id: branch, delivery_service_id: service };
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => tenant.dispatcher.post(path, body, keyed(key))),
    );
    for (const answer of answers) expect(answer).toSucceed(200);
    expect(answers[0].body.data.created_count).toBe(30);
    for (const answer of answers) expect(answer.body).toEqual(answers[0].body);
    const [{ orders }] = await sql`select count(*)::int as orders from delivery.deliveries
      where tenant_id = ${tenant.id} and manifest_item_id = any (${itemIds})`;
    expect(orders).toBe(30);
    expect(await balanceOf(wallet)).toBe(0);
    expect(await checkBooks(tenant)).toEqual([]);

    // Money comes in; the key still stands for what was answered.
    await fundWallet(tenant, "institution", tenant.institution.id, 100_000);
    const again = await tenant.dispatcher.post(path, body, keyed(key));
    expect(again.body).toEqual(answers[0].body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await tenant.dispatcher.post(path, { ...body, item_ids: itemIds.slice(1) }, keyed(key)))
      .toFailWith(409, "idempotency_conflict");
  }, 180_000);

  test("ten equal ones at once add one person, and a caller who is refused may try again", async () => {
    const email = `${randomUUID()}@barid.test`;
    const body = { email, full_name: "Twice", tenant_user_type: "customer" };
    const key = randomUUID();
    const path = `/tenants/${tenant.id}/members`;
    const system = await newSystemAdmin();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => system.post(path, body, keyed(key))),
    );
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(answer.status).toBe(409);
      expect(["user_being_added", "account_exists"]).toContain(answer.body.code);
    }
    const last = await system.post(path, body, keyed(key));
    expect(last).toSucceed(201);
    for (const answer of answers.filter(({ status }) => status === 201)) {
      expect(answer.body).toEqual(last.body);
    }
    const [{ members, users, waiting }] = await sql`select
      (select count(*)::int from tenancy.tenant_users u join tenancy.profiles p on p.id = u.user_id
        where u.tenant_id = ${tenant.id} and p.email = ${email}) as members,
      (select count(*)::int from auth.users where email = ${email}) as users,
      (select count(*)::int from app.jobs j join auth.users u on u.id::text = j.entity_key
        where u.email = ${email} and j.status in ('queued', 'running')) as waiting`;
    expect({ members, users, waiting }).toEqual({ members: 1, users: 1, waiting: 0 });
  });
});
