/** While the system asks every tenant for a subscription: on a stack of its own, since the setting is the whole system's. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Stack } from "../../../supabase/local/stack.ts";
import type { Body } from "../../support/api.ts";
import { startOwnSystem, type SystemCalls, untilAnswered } from "../../support/system-calls.ts";
import { wizardBody } from "../../support/wizard.ts";

let stack: Stack;
let system: SystemCalls;

beforeAll(async () => {
  ({ stack, system } = await startOwnSystem());
}, 120_000);

afterAll(async () => {
  await stack?.stop();
});

describe("while the system asks for subscriptions", () => {
  const setting = (enabled: boolean) =>
    system.call("PUT", "/system/settings", {
      settings: { "tenant_subscription.enabled": enabled },
    });
  beforeAll(async () => {
    expect((await untilAnswered(() => setting(true))).status).toBe(200);
  });
  afterAll(() => setting(false));

  const monthly = {
    type: "MONTHLY",
    amount: 250_000,
    note_public: "Thanks",
    note_internal: "Late payer",
  };
  const made = async (subscription: unknown) => {
    const body = wizardBody({ subscription });
    const answer = await system.wizard(body);
    expect(answer.status).toBe(201);
    const id = answer.body.tenant_id as string;
    const token = await system.signIn(body.tenant.contact_info.email, "Furat-secret-1");
    return {
      id,
      body,
      steps: answer.body.steps as Body,
      admin: { authorization: `Bearer ${token}` },
    };
  };
  const tenant = async (id: string) => (await system.call("GET", `/tenants/${id}`)).body.tenant;
  const days = (from: string, to: string) =>
    Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000);

  test("the wizard needs one, and says what is wrong with it", async () => {
    for (
      const [subscription, code, field] of [
        [undefined, "subscription_required", "subscription"],
        [{ type: "DAILY", amount: 1 }, "validation_failed", "subscription.type"],
        [{ type: "MONTHLY" }, "validation_failed", "subscription.amount"],
        [{ type: "MONTHLY", amount: -1 }, "validation_failed", "subscription.amount"],
      ]
    ) {
      const body = wizardBody({ subscription });
      expect(await system.wizard(body)).toMatchObject({
        status: 400,
        body: { code, field },
      });
      expect(await system.left(body)).toEqual({ tenants: 0, users: 0, members: 0 });
    }
  });

  test("a tenant with one to pay is pending and shut; its activation begins the month", async () => {
    const { id, steps, admin } = await made(monthly);
    expect(steps.slice(-3).map((s: Body) => s.status)).toEqual(["done", "done", "pending"]);
    expect(await tenant(id)).toMatchObject({
      status: "pending",
      subscription_status: "PENDING",
      effective_active: false,
    });
    expect((await system.call("GET", `/tenants/${id}`, undefined, admin)).body.code).toBe(
      "tenant_inactive",
    );
    const why = await system.call("GET", "/tenants/me", undefined, admin);
    expect(why.body.memberships).toMatchObject([
      { tenant_id: id, status: "pending", subscription_status: "PENDING", effective_active: false },
    ]);
    const { body } = await system.call("POST", `/tenants/${id}/activate`, {});
    expect(body.tenant).toMatchObject({
      status: "active",
      subscription_status: "ACTIVE",
      effective_active: true,
    });
    expect([28, 29, 30, 31]).toContain(days(new Date().toISOString(), body.tenant.effective_until));
    const own = await system.call("GET", `/tenants/${id}/subscription`, undefined, admin);
    expect(own.body).toMatchObject({
      enabled: true,
      subscription: { type: "MONTHLY", status: "ACTIVE", amount: 250_000, note_public: "Thanks" },
    });
    expect(own.body.subscription).not.toHaveProperty("note_internal");
    // Nor from the log, also where a line of before has it.
    await stack.sql`insert into app.audit_log (tenant_id, entity, entity_id, action, after)
      values (${id}, 'tenancy.subscriptions', 'before', 'insert', '{"note_internal": "Late payer"}')`;
    const log = await system.call(
      "GET",
      "/tenants/me/audit?entity_type=tenancy.subscriptions&limit=100",
      undefined,
      admin,
    );
    expect(log.body.data.map(({ action }: Body) => action)).toContain("insert");
    expect(JSON.stringify(log.body)).toContain("250000");
    expect(JSON.stringify(log.body)).not.toMatch(/note_internal|Late payer/);
    const seen = await system.call("GET", `/tenants/${id}/subscription`);
    expect(seen.body.subscription.note_internal).toBe("Late payer");
    const events = await stack
      .sql`select event_type from integration.system_events where tenant_id = ${id} order by position`;
    expect(events.map((event) => event.event_type))
      .toEqual(["tenant.created", "tenant.subscription_started", "tenant.activated"]);
  });

  test("an API key of the system does what its administrators do", async () => {
    const { id } = await made(monthly);
    await stack.sql`insert into tenancy.api_keys (name, key_hash, scopes, is_system_capable)
      values ('Key', sha256('of-the-system'), '{manage:system}', true)`;
    const keyed = (path: string, body: Body) =>
      system.call("POST", path, body, { "x-api-key": "of-the-system" });
    expect((await keyed(`/tenants/${id}/subscription`, monthly)).body.subscription)
      .toMatchObject({ status: "ACTIVE", created_by: null, note_internal: "Late payer" });
    expect((await keyed(`/tenants/${id}/subscription/cancel`, {})).status).toBe(200);
    expect((await keyed(`/tenants/${id}/suspend`, {})).body.tenant.status).toBe("suspended");
    expect((await keyed(`/tenants/${id}/activate`, {})).body.tenant.status).toBe("active");
  });

  test("an unlimited one opens the tenant at once", async () => {
    const { id, steps } = await made({ type: "UNLIMITED", amount: 0 });
    expect(steps.at(-1)).toEqual({ step: "activation", status: "done" });
    expect(await tenant(id)).toMatchObject({
      status: "active",
      subscription_status: "UNLIMITED",
      effective_active: true,
      effective_until: null,
    });
    await system.call("POST", `/tenants/${id}/subscription/cancel`, {});
    expect(await tenant(id)).toMatchObject({
      subscription_status: "CANCELLED",
      effective_active: false,
    });
  });

  test("a paid one begins where paid time ends, and cancelling keeps what is paid", async () => {
    const { id, admin } = await made(monthly);
    const waits = await system.call("POST", `/tenants/${id}/subscription`, {
      ...monthly,
      is_paid: false,
    });
    expect(waits).toMatchObject({ status: 201, body: { subscription: { status: "PENDING" } } });
    expect((await tenant(id)).status).toBe("pending");
    await system.call("POST", `/tenants/${id}/subscription`, { type: "ANNUAL", amount: 2_000_000 });
    const first = await tenant(id);
    expect(first).toMatchObject({ status: "active", subscription_status: "ACTIVE" });
    await system.call("POST", `/tenants/${id}/subscription`, monthly);
    const second = await tenant(id);
    expect(days(first.effective_until, second.effective_until)).toBeGreaterThan(27);
    await system.call("POST", `/tenants/${id}/subscription`, monthly);
    for (const paid of [second, first]) {
      await system.call("POST", `/tenants/${id}/subscription/cancel`, {});
      expect((await tenant(id)).effective_until).toBe(paid.effective_until);
    }
    await system.call("POST", `/tenants/${id}/subscription/cancel`, {});
    expect(await tenant(id)).toMatchObject({
      subscription_status: "CANCELLED",
      effective_active: true,
      effective_until: first.effective_until,
    });
    expect(await system.call("POST", `/tenants/${id}/subscription/cancel`, {}))
      .toMatchObject({ status: 404, body: { code: "subscription_not_found" } });
    const states = await stack.sql`select status, count(*)::int as n from tenancy.subscriptions
      where tenant_id = ${id} group by 1`;
    expect(states).toEqual([{ status: "CANCELLED", n: 5 }]);
    expect((await system.call("POST", `/tenants/${id}/subscription`, monthly, admin)).status).toBe(
      403,
    );
    expect((await system.call("POST", `/tenants/${id}/subscription/cancel`, {}, admin)).status)
      .toBe(403);
    expect((await system.call("GET", `/tenants/${id}/subscription`, undefined, {})).status).toBe(
      401,
    );
    await system.call("POST", `/tenants/${id}/archive`, {});
    expect(await system.call("POST", `/tenants/${id}/subscription`, monthly))
      .toMatchObject({ status: 409, body: { code: "invalid_status_transition" } });
  });

  test("months that follow one another end on the day that the first began on, where a month has it", async () => {
    const { id } = await made({ type: "UNLIMITED", amount: 0 });
    await stack
      .sql`update tenancy.subscriptions set type = 'MONTHLY', starts_at = '2097-01-31T08:00Z',
      ends_at = '2097-02-28T08:00Z' where tenant_id = ${id}`;
    await stack
      .sql`update tenancy.tenants set effective_until = '2097-02-28T08:00Z' where id = ${id}`;
    const ends = async (type: string) => {
      await system.call("POST", `/tenants/${id}/subscription`, { type, amount: 1 });
      return new Date((await tenant(id)).effective_until).toISOString().slice(0, 10);
    };
    expect(await ends("MONTHLY")).toBe("2097-03-31");
    expect(await ends("MONTHLY")).toBe("2097-04-30");
    // Cancelled before its turn, it is no part of what follows.
    await system.call("POST", `/tenants/${id}/subscription/cancel`, {});
    expect(await ends("MONTHLY")).toBe("2097-04-30");
    expect(await ends("ANNUAL")).toBe("2098-04-30");
    expect(await ends("MONTHLY")).toBe("2098-05-31");
  });

  test("of many given at once each is bought once, and none overlaps", async () => {
    const { id } = await made({ type: "ANNUAL", amount: 1 });
    const answers = await Promise.all(
      Array.from(
        { length: 5 },
        () => system.call("POST", `/tenants/${id}/subscription`, { ...monthly, amount: 7 }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(201));
    const rows = await stack.sql`select s.id from tenancy.subscriptions s
      join tenancy.subscriptions o on o.tenant_id = s.tenant_id and o.id <> s.id and o.status = 'ACTIVE'
        and tstzrange(o.starts_at, o.ends_at) && tstzrange(s.starts_at, s.ends_at)
      where s.tenant_id = ${id} and s.status = 'ACTIVE'`;
    expect(rows).toEqual([]);
    const [{ n }] = await stack.sql`select count(*)::int as n from tenancy.subscriptions
      where tenant_id = ${id} and status = 'ACTIVE'`;
    expect(n).toBe(5);
  });

  test("turned off again, nothing of it can be changed, and nobody is shut out for it", async () => {
    const { id } = await made(monthly);
    await setting(false);
    expect((await tenant(id)).effective_active).toBe(true);
    for (const path of ["subscription", "subscription/cancel"]) {
      expect(await system.call("POST", `/tenants/${id}/${path}`, monthly))
        .toMatchObject({ status: 403, body: { code: "tenant_subscription_disabled" } });
    }
    expect((await system.call("GET", `/tenants/${id}/subscription`)).body.enabled).toBe(false);
    await setting(true);
  });
});
