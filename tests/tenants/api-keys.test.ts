/** A company's programs get their own keys: made once, seen by administrators, ended at once. */
import { beforeAll, describe, expect, test } from "vitest";
import { nobody, withKey } from "../support/api.ts";
import { newCash, remit } from "../support/cod.ts";
import { sql } from "../support/db.ts";
import { newGround, order } from "../support/deliveries.ts";
import { newTenant, type Tenant } from "../support/people.ts";

const path = "/tenants/me/api-keys";
const scopes = ["view:tenant", "manage:operations:tenant"];
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

async function newKey(more: Record<string, unknown> = {}) {
  const answer = await tenant.admin.post(path, { name: "Shop", scopes, ...more });
  expect(answer).toSucceed(201);
  return answer.body as { api_key: { id: string } & Record<string, unknown>; key: string };
}

const addresses = "/delivery/addresses";

describe("a new key", () => {
  test("is shown once, and opens its company for what its scopes say", async () => {
    const { api_key, key } = await newKey({ name: "  Warehouse scanners " });
    expect(key).toMatch(/^barid_[\w-]{43}$/);
    expect(api_key).toEqual({
      id: expect.any(String),
      name: "Warehouse scanners",
      hint: key.slice(-4),
      scopes: [...scopes].sort(),
      status: "active",
      created_by: { id: tenant.admin.id, full_name: expect.any(String) },
      expires_at: null,
      revoked_at: null,
      last_used_at: null,
      created_at: expect.any(String),
    });
    expect(await withKey(key).get(addresses)).toSucceed(200);
    expect(await withKey(key).get(`${addresses}?tenant_id=${other.id}`)).toFailWith(
      403,
      "forbidden",
    );
    expect(await withKey(key).get(path)).toFailWith(403, "forbidden");
    const [kept] =
      await sql`select k::text as row from tenancy.api_keys k where id = ${api_key.id}`;
    expect(kept.row).not.toContain(key);
  });

  test("asked for again with its Idempotency-Key is the same, and stands nowhere to be read", async () => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const ask = () => tenant.admin.send("POST", path, { name: "Till", scopes }, { headers });
    const [first, again] = [await ask(), await ask()];
    expect(first).toSucceed(201);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.body).toEqual(first.body);
    expect(await withKey(again.body.key).get(addresses)).toSucceed(200);
    const [{ kept }] = await sql`select count(*)::int as kept from app.idempotency_keys k
      where k::text like ${`%${first.body.key}%`}`;
    expect(kept).toBe(0);
    const [{ audited }] = await sql`select count(*)::int as audited from app.audit_log a
      where a.entity = 'tenancy.api_keys' and a.entity_id = ${first.body.api_key.id} and not a.after ? 'key_hash'`;
    expect(audited).toBe(1);
  });

  test("says when it was last used, to the hour, whoever else holds its row", async () => {
    const { api_key, key } = await newKey({ name: "Scales" });
    const usedAt = async () => {
      const { body } = await tenant.admin.get(`${path}?status=active&limit=100`);
      return body.api_keys.find(({ id }: { id: string }) => id === api_key.id).last_used_at;
    };
    const used = (ago: string) =>
      sql`update tenancy.api_keys set last_used_at = now() - ${ago}::interval where id = ${api_key.id}`;
    // What is refused leaves nothing behind.
    expect(await withKey(key).get(path)).toFailWith(403, "forbidden");
    expect(await usedAt()).toBe(null);
    expect(await withKey(key).get(addresses)).toSucceed(200);
    const first = await usedAt();
    expect(Date.now() - Date.parse(first)).toBeLessThan(60_000);
    await used("59 minutes");
    const before = await usedAt();
    expect(await withKey(key).get(addresses)).toSucceed(200);
    expect(await usedAt()).toBe(before);
    await used("61 minutes");
    await sql.begin(async (tx) => {
      await tx`select from tenancy.api_keys where id = ${api_key.id} for update`;
      expect(await withKey(key).get(addresses)).toSucceed(200);
    });
    expect(Date.parse(await usedAt())).toBeLessThan(Date.parse(before));
    expect(await withKey(key).get(addresses)).toSucceed(200);
    expect(await usedAt() > before).toBe(true);
    const [{ audited }] = await sql`select count(*)::int as audited from app.audit_log
      where entity = 'tenancy.api_keys' and entity_id = ${api_key.id}`;
    expect(audited).toBe(1);
  });

  test("ends by itself when it was said so", async () => {
    const { api_key, key } = await newKey({ expires_at: "2099-01-01T00:00:00+03:00" });
    expect(api_key).toMatchObject({
      status: "active",
      expires_at: expect.stringMatching(/^2098-12-31T21:00/),
    });
    await sql`update tenancy.api_keys set expires_at = now() where id = ${api_key.id}`;
    expect(await withKey(key).get(addresses)).toFailWith(401, "unauthorized");
    const { body } = await tenant.admin.get(`${path}?status=expired`);
    expect(body.api_keys).toMatchObject([{ id: api_key.id, status: "expired" }]);
  });
});

describe("a key that may not be", () => {
  test.each([
    [{ name: " " }, "name"],
    [{ name: "x".repeat(101) }, "name"],
    [{ scopes: [] }, "scopes"],
    [{ scopes: ["manage:system"] }, "scopes.0"],
    [{ scopes: ["role:driver"] }, "scopes.0"],
    [{ expires_at: "soon" }, "expires_at"],
  ])("%j is refused", async (more, field) => {
    const answer = await tenant.admin.post(path, { name: "Shop", scopes, ...more });
    expect(answer).toFailWith(400, "validation_failed");
    expect(answer.body.field).toBe(field);
  });

  test("one that has ended before it began is refused", async () => {
    const ended = { name: "Shop", scopes, expires_at: "2020-01-01T00:00:00Z" };
    const answer = await tenant.admin.post(path, ended);
    expect(answer).toFailWith(400, "api_key_expiry_past");
    expect(answer.body).toMatchObject({
      field: "expires_at",
      message: "expires_at is not in the future.",
    });
  });

  test("a key makes no key that may do more than itself", async () => {
    const { key } = await newKey({ scopes: ["manage:tenant"] });
    const answer = await withKey(key).post(path, {
      name: "More",
      scopes: ["manage:tenant", "view:tenant"],
    });
    expect(answer).toFailWith(403, "api_key_scope_not_held");
    expect(answer.body).toMatchObject({ field: "scopes", scopes: ["view:tenant"] });
    const less = await withKey(key).post(path, { name: "Same", scopes: ["manage:tenant"] });
    expect(less).toSucceed(201);
    expect(less.body.api_key.created_by).toBeNull();
  });
});

describe("the list", () => {
  test("has the company's keys, newest first, by status and by name", async () => {
    const own = await newTenant();
    const names = ["b", "a", "c"];
    const made: string[] = [];
    for (const name of names) {
      const answer = await own.admin.post(path, { name, scopes });
      made.unshift(answer.body.api_key.id);
    }
    const all = await own.admin.get(path);
    expect(all.body.api_keys.map(({ id }: { id: string }) => id)).toEqual(made);
    expect(all.body.pagination).toEqual({ page: 1, limit: 20, total: 3, total_pages: 1 });
    expect(JSON.stringify(all.body)).not.toContain("hash");
    const sorted = await own.admin.get(`${path}?sort_by=name&sort_order=asc&limit=2`);
    expect(sorted.body.api_keys.map(({ name }: { name: string }) => name)).toEqual(["a", "b"]);
    await own.admin.delete(`${path}/${made[0]}`);
    const active = await own.admin.get(`${path}?status=active`);
    expect(active.body.pagination.total).toBe(2);
    expect(await own.admin.get(`${path}?status=lost`)).toFailWith(400, "validation_failed");
  });
});

describe("ending a key", () => {
  test("holds from the next call on, and keeps its time when it is said again", async () => {
    const { api_key, key } = await newKey();
    expect(await withKey(key).get(addresses)).toSucceed(200);
    const ended = await tenant.admin.delete(`${path}/${api_key.id}`);
    expect(ended).toSucceed(200);
    expect(ended.body.api_key).toMatchObject({
      id: api_key.id,
      status: "revoked",
      revoked_at: expect.any(String),
    });
    expect(await withKey(key).get(addresses)).toFailWith(401, "unauthorized");
    const again = await tenant.admin.delete(`${path}/${api_key.id}`);
    expect(again.body.api_key).toEqual(ended.body.api_key);
  });

  test("takes a key of the company", async () => {
    const foreign = (await other.admin.post(path, { name: "Theirs", scopes })).body;
    for (const id of [foreign.api_key.id, crypto.randomUUID()]) {
      expect(await tenant.admin.delete(`${path}/${id}`)).toFailWith(404, "api_key_not_found");
    }
    expect(await tenant.admin.delete(`${path}/none`)).toFailWith(400, "invalid_uuid");
    expect(await withKey(foreign.key).get(addresses)).toSucceed(200);
  });
});

test("only administrators of the company have anything to do with keys", async () => {
  const { api_key } = await newKey();
  const asked = (who: Tenant["admin"]) => [
    () => who.get(path),
    () => who.post(path, { name: "Mine", scopes: ["view:tenant"] }),
    () => who.delete(`${path}/${api_key.id}`),
  ];
  for (const who of [tenant.ops, tenant.dispatcher, tenant.driver, tenant.customer]) {
    for (const ask of asked(who)) expect(await ask()).toFailWith(403, "forbidden");
  }
  for (const ask of asked(nobody as Tenant["admin"])) {
    expect(await ask()).toFailWith(401, "unauthorized");
  }
});

test("a shop's program orders with its key and reads the cash; what a person answers for it may not do", async () => {
  const ground = await newGround(tenant);
  const { key } = await newKey({ scopes: ["manage:tenant", ...scopes] });
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
  expect(await shop.post(remit, all)).toFailWith(403, "forbidden");
  expect(await tenant.dispatcher.post(remit, all)).toSucceed(200);
  const [row] = (await shop.get("/delivery/cod-collections")).body.cod.collections;
  const settlement = `/delivery/cod-settlements/${row.settlement_payment_id}`;
  expect([200, 202]).toContain((await shop.get(`${settlement}/receipt`)).status);
});
