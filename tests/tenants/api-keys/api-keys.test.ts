/** A company's programs get their own keys: made once, seen by administrators, ended at once. */
import { beforeAll, describe, expect, test } from "vitest";
import { nobody, withKey } from "../../support/api.ts";
import { expires_at, inDays, newKey, path, scopes } from "../../support/api-keys.ts";
import { sql } from "../../support/db.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

const addresses = "/delivery/addresses";

describe("a new key", () => {
  test("is shown once, and opens its company for what its scopes say", async () => {
    const { api_key, key } = await newKey(tenant, { name: "  Warehouse scanners " });
    expect(key).toMatch(/^barid_[\w-]{43}$/);
    expect(api_key).toEqual({
      id: expect.any(String),
      name: "Warehouse scanners",
      hint: key.slice(-4),
      scopes: [...scopes].sort(),
      effective_scopes: [...scopes].sort(),
      status: "active",
      created_by: { id: tenant.admin.id, full_name: expect.any(String) },
      expires_at: expect.stringMatching(expires_at.slice(0, 19)),
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
    const ask = () =>
      tenant.admin.send("POST", path, { name: "Till", scopes, expires_at }, { headers });
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
    const { api_key, key } = await newKey(tenant, { name: "Scales" });
    const usedAt = async () => {
      const { body } = await tenant.admin.get(`${path}?status=active&limit=100`);
      return body.data.find(({ id }: { id: string }) => id === api_key.id).last_used_at;
    };
    const used = (ago: string) =>
      sql`update tenancy.api_keys set last_used_at = now() - ${ago}::interval where id = ${api_key.id}`;
    // A refused call leaves nothing behind.
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
    const { api_key, key } = await newKey(tenant, { expires_at: inDays(364) });
    expect(api_key).toMatchObject({ status: "active" });
    await sql`update tenancy.api_keys set expires_at = now() where id = ${api_key.id}`;
    expect(await withKey(key).get(addresses)).toFailWith(401, "api_key_expired");
    const { body } = await tenant.admin.get(`${path}?status=expired`);
    expect(body.data).toMatchObject([{ id: api_key.id, status: "expired" }]);
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
    [{ expires_at: undefined }, "expires_at"],
    [{ expires_at: null }, "expires_at"],
  ])("%j is refused", async (more, field) => {
    const answer = await tenant.admin.post(path, { name: "Shop", scopes, expires_at, ...more });
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

  test("one that ends in more than a year is refused", async () => {
    const answer = await tenant.admin.post(path, { name: "Shop", scopes, expires_at: inDays(367) });
    expect(answer).toFailWith(400, "api_key_expiry_too_far");
    expect(answer.body.field).toBe("expires_at");
  });

  test("a person makes no key that may do more than they may", async () => {
    const beyond = ["manage:module:warehouse"];
    const call = sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${tenant.id}, true), set_config('app.user_id', ${tenant.admin.id}, true),
        set_config('app.grants', '{permission:manage:tenant}', true), set_config('role', 'barid_caller', true)`;
      await tx`select tenancy.api_key_create(${
        sql.json({ name: "More", scopes: beyond, expires_at, made: { id: crypto.randomUUID() } })
      })`;
    });
    await expect(call).rejects.toThrow("api_key_scope_not_held");
  });
});

describe("taking a key over", () => {
  const over = (who: Tenant["admin"], id: string) => who.post(`${path}/${id}/take-over`);

  test("moves it to the caller, in the log too; again changes nothing", async () => {
    const own = await newTenant();
    const maker = await newPerson(own.id, "staff", "tenant_admin");
    const { api_key } = (await maker.post(path, { name: "Mine", scopes, expires_at })).body;
    const taken = await over(own.admin, api_key.id);
    expect(taken).toSucceed(200);
    expect(taken.body.api_key).toMatchObject({ id: api_key.id, created_by: { id: own.admin.id } });
    const [row] = await sql`select actor_id, before, after from app.audit_log
      where entity = 'tenancy.api_keys' and entity_id = ${api_key.id} and action = 'update'`;
    expect(row).toEqual({
      actor_id: own.admin.id,
      before: { created_by: maker.id },
      after: { created_by: own.admin.id },
    });
    expect((await over(own.admin, api_key.id)).body).toEqual(taken.body);
  });

  test("takes a key of the company that has not ended", async () => {
    const { api_key } = await newKey(tenant);
    expect(await over(other.admin, api_key.id)).toFailWith(404, "api_key_not_found");
    expect(await over(tenant.admin, crypto.randomUUID())).toFailWith(404, "api_key_not_found");
    expect(await over(tenant.admin, "none")).toFailWith(400, "invalid_uuid");
    expect(await over(tenant.ops, api_key.id)).toFailWith(403, "forbidden");
    expect(await over(nobody as Tenant["admin"], api_key.id)).toFailWith(401, "unauthorized");
    await tenant.admin.delete(`${path}/${api_key.id}`);
    expect(await over(tenant.admin, api_key.id)).toFailWith(409, "api_key_ended");
  });
});

test("fourteen days before a key ends its company and the person who answers for it hear of it, once", async () => {
  const own = await newTenant();
  const key = async (name: string, days: number) =>
    (await own.admin.post(path, { name, scopes, expires_at: inDays(days) })).body.api_key;
  const soon = await key("Soon", 13);
  await key("Later", 15);
  const ended = await key("Ended", 13);
  await own.admin.delete(`${path}/${ended.id}`);
  await sql`select tenancy.api_keys_warn()`;
  await sql`select tenancy.api_keys_warn()`;
  const events = await sql`select event_data from integration.system_events
    where tenant_id = ${own.id} and event_type = 'api_key.expiring'`;
  expect(events).toEqual([{
    event_data: {
      api_key_id: soon.id,
      name: "Soon",
      hint: soon.hint,
      expires_at: expect.any(String),
      created_by: own.admin.id,
    },
  }]);
  const { body } = await own.admin.get("/tenants/me/notifications?type=api_key_expiring");
  expect(body.data).toMatchObject([{ payload: { api_key_id: soon.id, name: "Soon" } }]);
  expect(body.data[0].message).toMatch(
    new RegExp(`^The API key Soon \\(…${soon.hint}\\) ends on \\d{4}-\\d\\d-\\d\\d\\.`),
  );
});

describe("the list", () => {
  test("has the company's keys, newest first, by status and by name", async () => {
    const own = await newTenant();
    const names = ["b", "a", "c"];
    const made: string[] = [];
    for (const name of names) {
      const answer = await own.admin.post(path, { name, scopes, expires_at });
      made.unshift(answer.body.api_key.id);
    }
    const all = await own.admin.get(path);
    expect(all.body.data.map(({ id }: { id: string }) => id)).toEqual(made);
    expect(all.body.pagination).toEqual({ page: 1, limit: 20, total: 3, total_pages: 1 });
    expect(JSON.stringify(all.body)).not.toContain("hash");
    const sorted = await own.admin.get(`${path}?sort_by=name&sort_order=asc&limit=2`);
    expect(sorted.body.data.map(({ name }: { name: string }) => name)).toEqual(["a", "b"]);
    await own.admin.delete(`${path}/${made[0]}`);
    const active = await own.admin.get(`${path}?status=active`);
    expect(active.body.pagination.total).toBe(2);
    expect(await own.admin.get(`${path}?status=lost`)).toFailWith(400, "validation_failed");
  });
});

describe("ending a key", () => {
  test("holds from the next call on, and keeps its time when it is said again", async () => {
    const { api_key, key } = await newKey(tenant);
    expect(await withKey(key).get(addresses)).toSucceed(200);
    const ended = await tenant.admin.delete(`${path}/${api_key.id}`);
    expect(ended).toSucceed(200);
    expect(ended.body.api_key).toMatchObject({
      id: api_key.id,
      status: "revoked",
      revoked_at: expect.any(String),
    });
    expect(await withKey(key).get(addresses)).toFailWith(401, "api_key_revoked");
    const again = await tenant.admin.delete(`${path}/${api_key.id}`);
    expect(again.body.api_key).toEqual(ended.body.api_key);
  });

  test("takes a key of the company", async () => {
    const foreign = (await other.admin.post(path, { name: "Theirs", scopes, expires_at })).body;
    for (const id of [foreign.api_key.id, crypto.randomUUID()]) {
      expect(await tenant.admin.delete(`${path}/${id}`)).toFailWith(404, "api_key_not_found");
    }
    expect(await tenant.admin.delete(`${path}/none`)).toFailWith(400, "invalid_uuid");
    expect(await withKey(foreign.key).get(addresses)).toSucceed(200);
  });
});

test("only administrators of the company have anything to do with keys", async () => {
  const { api_key } = await newKey(tenant);
  const asked = (who: Tenant["admin"]) => [
    () => who.get(path),
    () => who.post(path, { name: "Mine", scopes: ["view:tenant"], expires_at }),
    () => who.delete(`${path}/${api_key.id}`),
  ];
  for (const who of [tenant.ops, tenant.dispatcher, tenant.driver, tenant.customer]) {
    for (const ask of asked(who)) expect(await ask()).toFailWith(403, "forbidden");
  }
  for (const ask of asked(nobody as Tenant["admin"])) {
    expect(await ask()).toFailWith(401, "unauthorized");
  }
});
