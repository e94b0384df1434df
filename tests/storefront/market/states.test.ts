import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { draft, marketPath as path, marketRow, review } from "../../support/market.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch, expectRefused } from "../../support/promises.ts";
import { eventsOf, newStoreOwner } from "../../support/storefront.ts";

let system: Person;
beforeAll(async () => {
  system = await newSystemAdmin();
});

const submit = (tenant: Tenant, body: object = {}) =>
  tenant.admin.post(`${path}/submit-for-approval`, body);

describe("submitting", () => {
  test("a complete draft waits for approval, and the administrators are notified", async () => {
    const { tenant, store } = await newStoreOwner(draft);
    const answer = await submit(tenant, { notes: "Please" });
    expect(answer).toSucceed(200);
    expect(answer.body.data.market).toMatchObject({ id: store.id, status: "pending_approval" });
    expect(answer.body.data.message).toBe("The market was submitted for approval.");
    const notices = await sql`select user_id, tenant_id from tenancy.notifications
      where type = 'market_submitted' and payload ->> 'market_id' = ${store.id}`;
    expect(notices).toContainEqual({ user_id: system.id, tenant_id: null });
    expect(notices).toContainEqual({ user_id: tenant.admin.id, tenant_id: tenant.id });
    expect(notices.some(({ user_id }) => user_id === tenant.ops.id)).toBe(false);
    expect(await eventsOf(tenant)).toEqual(["market.submitted"]);
  });

  test.each(["pending_approval", "approved", "rejected", "inactive"])(
    "is refused when the market is %s",
    async (status) => {
      const { tenant, store } = await newStoreOwner({ status, publish_status: "unpublished" });
      const answer = await submit(tenant);
      expect(answer).toFailWith(409, "invalid_status_transition");
      expect(answer.body).toMatchObject({ from: status, to: "pending_approval" });
      expect((await marketRow(store.id)).status).toBe(status);
    },
  );

  test("needs a tagline and a category that is not archived", async () => {
    const bare = await newStoreOwner({ ...draft, tagline: sql.json({ en: "" }) });
    const answer = await submit(bare.tenant);
    expect(answer).toFailWith(400, "market_information_incomplete");
    expect(answer.body.field).toBe("tagline");
    const { tenant, store } = await newStoreOwner(draft);
    await sql`update storefront.product_categories set archived_at = now() where id = ${store.category}`;
    expect(await submit(tenant)).toFailWith(400, "market_category_required");
    expect((await marketRow(store.id)).status).toBe("draft");
    expect(await submit(await newTenant())).toFailWith(404, "market_not_found");
  });

  test("of many at once one counts, and only administrators submit", async () => {
    const { tenant, store } = await newStoreOwner(draft);
    const { ops, staff, driver, institution, customer } = tenant;
    await expectGuarded({ method: "POST", path: `${path}/submit-for-approval` }, {
      denied: [ops, staff, driver, institution, customer],
    });
    const answers = await Promise.all(Array.from({ length: 8 }, () => submit(tenant)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(7);
    const [row] = await sql`select count(*)::int as n from tenancy.notifications
      where user_id = ${system.id} and payload ->> 'market_id' = ${store.id}`;
    expect(row.n).toBe(1);
    await expectRefused(tenant.admin, { method: "POST", path: `${path}/submit-for-approval` }, [
      [{ notes: 7 }, "notes"],
      [{ notes: "x".repeat(2001) }, "notes"],
    ]);
  });
});

describe("reviewing", () => {
  test("an approval opens the shop, and the tenant hears of it", async () => {
    const { tenant, store } = await newStoreOwner({ ...draft, status: "pending_approval" });
    const answer = await review(system, store.id, "approved", { admin_notes: "Fine" });
    expect(answer).toSucceed(200);
    expect(answer.body.data.market).toMatchObject({
      status: "approved",
      publish_status: "published",
      is_live: true,
      approved_by: system.id,
      approved_at: expect.any(String),
      admin_notes: "Fine",
    });
    expect(await eventsOf(tenant)).toEqual(["market.approved", "market.published"]);
    const notices = await sql`select user_id from tenancy.notifications
      where tenant_id = ${tenant.id} and type = 'market_approved'`;
    expect(notices.map(({ user_id }) => user_id)).toEqual([tenant.admin.id]);
    const [audit] = await sql`select tenant_id, actor_id from app.audit_log
      where entity = 'storefront.markets' and entity_id = ${store.id} order by id desc limit 1`;
    expect(audit).toEqual({ tenant_id: tenant.id, actor_id: system.id });
    expect(await review(system, store.id, "rejected")).toFailWith(409, "invalid_status_transition");
  });

  test("a rejected market is a draft again once it is changed", async () => {
    const { tenant, store } = await newStoreOwner({ ...draft, status: "pending_approval" });
    expect((await review(system, store.id, "rejected", { admin_notes: "Logo" })).body.data.market)
      .toMatchObject({
        status: "rejected",
        is_live: false,
        approved_at: null,
        admin_notes: "Logo",
      });
    const answer = await tenant.admin.put(path, { logo_url: "https://example.test/new.png" });
    expect(answer.body.data.market.status).toBe("draft");
    expect(await submit(tenant)).toSucceed(200);
  });

  test("is for administrators of the system, of whom one decides", async () => {
    const { tenant, store } = await newStoreOwner({ ...draft, status: "pending_approval" });
    const call = {
      method: "PUT",
      path: `${path}/${store.id}/review`,
      body: { decision: "approved" },
    } as const;
    await expectGuarded(call, { denied: [tenant.admin, tenant.ops, tenant.customer] });
    await expectNoSuch(
      system,
      { ...call, path: `${path}/{id}/review` },
      "market_id",
      "market_not_found",
      tenant.id,
    );
    await expectRefused(system, call, [
      [{}, "decision"],
      [{ decision: "maybe" }, "decision"],
      [{ decision: "approved", admin_notes: 7 }, "admin_notes"],
    ]);
    const answers = await Promise.all(
      Array.from(
        { length: 8 },
        (_, i) => review(system, store.id, i % 2 ? "approved" : "rejected"),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    // Approved, it is opened as well.
    expect((await eventsOf(tenant)).filter((type) => type !== "market.published")).toHaveLength(1);
  });

  test("the same review under one key is one review", async () => {
    const { tenant, store } = await newStoreOwner({ ...draft, status: "pending_approval" });
    const options = { headers: { "idempotency-key": randomUUID() } };
    const send = (decision: string) =>
      system.put(`${path}/${store.id}/review`, { decision }, options);
    const first = await send("approved");
    expect(first).toSucceed(200);
    const again = await send("approved");
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await send("rejected")).toFailWith(409, "idempotency_conflict");
    expect(await eventsOf(tenant)).toEqual(["market.approved", "market.published"]);
  });

  test("the queue lists what waits, of all tenants", async () => {
    const waiting = await newStoreOwner({ ...draft, status: "pending_approval" });
    const changed = await newStoreOwner({ needs_reapproval: true });
    const list = async (query: Record<string, string>) => {
      const answer = await system.get("/storefront/markets", { query: { limit: 100, ...query } });
      expect(answer).toSucceed(200);
      return answer.body.data.map(({ id }: { id: string }) => id) as string[];
    };
    expect(await list({ status: "pending_approval" })).toContain(waiting.store.id);
    expect(await list({ status: "pending_approval" })).not.toContain(changed.store.id);
    expect(await list({ needs_reapproval: "true" })).toContain(changed.store.id);
    expect(await list({ needs_reapproval: "true" })).not.toContain(waiting.store.id);
    expect(await list({ search: waiting.store.name })).toEqual([waiting.store.id]);
    expect(await list({ search: "%" })).toEqual([]);
    const one = await system.get("/storefront/markets", { query: { search: waiting.store.name } });
    expect(one.body.pagination).toEqual({ page: 1, limit: 20, total: 1, total_pages: 1 });
    expect(one.body.data[0].tenant).toMatchObject({
      id: waiting.tenant.id,
      name: { en: "Tenant" },
    });
    await expectGuarded({ method: "GET", path: "/storefront/markets" }, {
      denied: [waiting.tenant.admin, waiting.tenant.customer],
    });
    const wrong = await system.get("/storefront/markets", { query: { status: "open" } });
    expect(wrong).toFailWith(400, "validation_failed");
    expect(wrong.body.field).toBe("status");
  });
});

describe("publishing and taking out of use", () => {
  test("only an approved market opens and closes", async () => {
    const { tenant, store } = await newStoreOwner();
    const publish = (publish_status: string) =>
      tenant.admin.put(`${path}/publish`, { publish_status });
    const closed = await publish("unpublished");
    expect(closed.body.data).toMatchObject({
      market: { publish_status: "unpublished", is_live: false, status: "approved" },
      message: "The store is closed.",
    });
    expect(await publish("unpublished")).toSucceed(200);
    expect((await publish("published")).body.data.market.is_live).toBe(true);
    expect(await eventsOf(tenant)).toEqual(["market.unpublished", "market.published"]);
    const waiting = await newStoreOwner({ ...draft, status: "pending_approval" });
    const answer = await waiting.tenant.admin.put(`${path}/publish`, {
      publish_status: "published",
    });
    expect(answer).toFailWith(409, "market_not_approved");
    const call = { method: "PUT", path: `${path}/publish` } as const;
    await expectRefused(tenant.admin, call, [[{}, "publish_status"], [
      { publish_status: "open" },
      "publish_status",
    ]]);
    await expectGuarded({ ...call, body: { publish_status: "published" } }, {
      denied: [tenant.ops, tenant.customer],
    });
    expect((await marketRow(store.id)).is_live).toBe(true);
  });

  test("an inactive market is closed, and a draft once it is changed", async () => {
    const { tenant, store } = await newStoreOwner({ needs_reapproval: true });
    const call = { method: "PUT", path: `${path}/deactivate` } as const;
    await expectGuarded(call, { denied: [tenant.ops, tenant.customer] });
    for (let times = 0; times < 2; times++) {
      expect((await tenant.admin.put(call.path)).body.data.market).toMatchObject({
        status: "inactive",
        is_active: false,
        is_live: false,
      });
    }
    expect(await eventsOf(tenant)).toEqual(["market.deactivated", "market.unpublished"]);
    expect(await review(system, store.id, "approved")).toFailWith(409, "invalid_status_transition");
    expect((await tenant.admin.put(path, { tagline: "Again" })).body.data.market)
      .toMatchObject({ status: "draft", is_active: true, tagline: { en: "Again" } });
  });
});
