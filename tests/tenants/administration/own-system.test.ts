/**
 * Tests that need a stack of their own: function processes that die in the middle of the wizard, and the
 * setting that asks every tenant for a subscription.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Stack } from "../../../supabase/local/stack.ts";
import type { Body } from "../../support/api.ts";
import { startOwnStack } from "../../support/own-stack.ts";
import { wizardBody } from "../../support/wizard.ts";

let stack: Stack;
let system: string;

beforeAll(async () => {
  stack = await startOwnStack({
    seed: true,
    watch: true,
    env: { BARID_STRICT: "1", BARID_LOG_LEVEL: "error" },
  });
  system = (await signIn("system@barid.test", "Barid-demo-1"))!;
}, 120_000);

afterAll(async () => {
  await stack?.stop();
});

interface Answer {
  status: number;
  body: Body;
}

async function signIn(email: string, password: string): Promise<string | undefined> {
  const response = await fetch(`${stack.url}/auth/v1/token?grant_type=password`, {
    method: "POST",
    headers: { apikey: stack.publishableKey, "content-type": "application/json" },
    body: JSON.stringify({ email, password }),
  });
  return (await response.json()).access_token;
}

/** A call to the functions; 0 when the connection breaks. */
async function call(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = { authorization: `Bearer ${system}` },
): Promise<Answer> {
  try {
    const response = await fetch(stack.apiUrl + path, {
      method,
      headers: { "content-type": "application/json", ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return { status: response.status, body: await response.json() };
  } catch (error) {
    return { status: 0, body: String(error) };
  }
}

const wizard = (body: Body, key: string) =>
  call("POST", "/tenants/wizard", body, {
    authorization: `Bearer ${system}`,
    "idempotency-key": key,
  });

/** Sends until a process answers again. */
async function untilAnswered(send: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 0;; attempt++) {
    const answer = await send();
    if ((answer.status !== 0 && answer.status < 500) || attempt === 60) return answer;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

async function until(what: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt++) {
    if (await what()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("it never came to that");
}

const left = async ({ tenant: { slug, contact_info: { email } } }: Body) => {
  const [count] = await stack.sql`select
    (select count(*)::int from tenancy.tenants where slug = ${slug}) as tenants,
    (select count(*)::int from auth.users where email = ${email}) as users,
    (select count(*)::int from tenancy.tenant_users u join tenancy.profiles p on p.id = u.user_id
      where p.email = ${email}) as members`;
  return count;
};
const running = async ({ tenant: { slug } }: Body) =>
  (await stack
    .sql`select from tenancy.wizard_runs r join tenancy.tenants t on t.id = r.new_tenant_id
    where t.slug = ${slug} and r.state = 'running'`).length === 1;

/** Kills the process while the wizard waits for a table that somebody else holds. */
async function killAt(table: string, body: Body, key: string, reached: () => Promise<boolean>) {
  const holder = await stack.sql.reserve();
  try {
    await holder`begin`;
    await holder.unsafe(`lock table ${table} in exclusive mode`);
    const broken = wizard(body, key);
    await until(reached);
    stack.killWorker(0);
    expect((await broken).status).toBe(0);
    // The statement of the dead process ends with it.
    await holder`select pg_terminate_backend(pid) from pg_stat_activity
      where usename = 'barid_api' and wait_event_type = 'Lock'`;
  } finally {
    await holder`rollback`;
    holder.release();
  }
}

describe("a function process that dies", () => {
  const waiting = () =>
    stack.sql`select from pg_locks l where not l.granted and l.locktype = 'relation'`.then((rows) =>
      rows.length > 0
    );

  test(
    "before Auth made the administrator: the same call goes on and ends with one of everything",
    async () => {
      const body = wizardBody();
      const key = crypto.randomUUID();
      await killAt("auth.users", body, key, async () => await running(body) && await waiting());
      const [{ new_tenant_id }] = await stack
        .sql`select new_tenant_id from tenancy.wizard_runs where key = ${key}`;
      const answer = await untilAnswered(() => wizard(body, key));
      expect(answer).toMatchObject({ status: 201, body: { tenant_id: new_tenant_id } });
      expect(answer.body.steps.find((s: Body) => s.step === "admin_user").status).toBe("done");
      expect(await left(body)).toEqual({ tenants: 1, users: 1, members: 1 });
      expect(await signIn(body.tenant.contact_info.email, "Furat-secret-1")).toBeDefined();
    },
    60_000,
  );

  test("after Auth made him: the same call lets him in, with the password given now", async () => {
    const body = wizardBody();
    const key = crypto.randomUUID();
    await killAt(
      "tenancy.tenant_users",
      body,
      key,
      async () => (await left(body)).users === 1 && await waiting(),
    );
    expect(await left(body)).toEqual({ tenants: 1, users: 1, members: 0 });
    const again = { ...body, admin_user: { create: true, password: "Another-secret-2" } };
    const answer = await untilAnswered(() => wizard(again, key));
    expect(answer.status).toBe(201);
    expect(answer.body.steps.find((s: Body) => s.step === "admin_user").status).toBe("done");
    expect(await left(body)).toEqual({ tenants: 1, users: 1, members: 1 });
    expect(await signIn(body.tenant.contact_info.email, "Another-secret-2")).toBeDefined();
    expect((await wizard(again, key)).body.tenant_id).toBe(answer.body.tenant_id);
  }, 180_000);

  test(
    "and nobody calls again: the job takes tenant and user back after a quarter of an hour",
    async () => {
      const body = wizardBody();
      const key = crypto.randomUUID();
      await killAt(
        "tenancy.tenant_users",
        body,
        key,
        async () => (await left(body)).users === 1 && await waiting(),
      );
      const jobs = () => call("POST", "/tenants/internal/jobs", {}, { apikey: stack.secretKey });
      expect((await untilAnswered(jobs)).status).toBe(200);
      expect(await left(body)).toEqual({ tenants: 1, users: 1, members: 0 });
      await stack
        .sql`update app.jobs set run_at = now() where kind = 'tenants.wizard_undo' and status = 'queued'`;
      expect((await jobs()).body.done).toBeGreaterThan(0);
      expect(await left(body)).toEqual({ tenants: 0, users: 0, members: 0 });
      // A client that returns after all starts again, under the same key.
      expect((await wizard(body, key)).status).toBe(201);
      expect(await left(body)).toEqual({ tenants: 1, users: 1, members: 1 });
    },
    60_000,
  );
});

test("tenants choose among the currencies that the system has enabled", async () => {
  const enable = (codes: string[] | null) =>
    call("PUT", "/system/settings", { settings: { "currencies.enabled": codes } });
  const body = (currency_code: string) =>
    wizardBody({ general_config: { currency: { currency_code } } });
  expect((await untilAnswered(() => enable(["IQD", "USD"]))).status).toBe(200);
  expect(await wizard(body("EUR"), crypto.randomUUID())).toMatchObject({
    status: 400,
    body: { code: "invalid_reference", field: "general_config.currency.currency_code" },
  });
  expect((await wizard(body("USD"), crypto.randomUUID())).status).toBe(201);
  await enable(null);
  expect((await wizard(body("EUR"), crypto.randomUUID())).status).toBe(201);
});

describe("while the system asks for subscriptions", () => {
  const setting = (enabled: boolean) =>
    call("PUT", "/system/settings", { settings: { "tenant_subscription.enabled": enabled } });
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
    const answer = await wizard(body, crypto.randomUUID());
    expect(answer.status).toBe(201);
    const id = answer.body.tenant_id as string;
    const token = await signIn(body.tenant.contact_info.email, "Furat-secret-1");
    return {
      id,
      body,
      steps: answer.body.steps as Body,
      admin: { authorization: `Bearer ${token}` },
    };
  };
  const tenant = async (id: string) => (await call("GET", `/tenants/${id}`)).body.tenant;
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
      expect(await wizard(body, crypto.randomUUID())).toMatchObject({
        status: 400,
        body: { code, field },
      });
      expect(await left(body)).toEqual({ tenants: 0, users: 0, members: 0 });
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
    expect((await call("GET", `/tenants/${id}`, undefined, admin)).body.code).toBe(
      "tenant_inactive",
    );
    const { body } = await call("POST", `/tenants/${id}/activate`, {});
    expect(body.tenant).toMatchObject({
      status: "active",
      subscription_status: "ACTIVE",
      effective_active: true,
    });
    expect([28, 29, 30, 31]).toContain(days(new Date().toISOString(), body.tenant.effective_until));
    const own = await call("GET", `/tenants/${id}/subscription`, undefined, admin);
    expect(own.body).toMatchObject({
      enabled: true,
      subscription: { type: "MONTHLY", status: "ACTIVE", amount: 250_000, note_public: "Thanks" },
    });
    expect(own.body.subscription).not.toHaveProperty("note_internal");
    const seen = await call("GET", `/tenants/${id}/subscription`);
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
      call("POST", path, body, { "x-api-key": "of-the-system" });
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
    await call("POST", `/tenants/${id}/subscription/cancel`, {});
    expect(await tenant(id)).toMatchObject({
      subscription_status: "CANCELLED",
      effective_active: false,
    });
  });

  test("a paid one begins where paid time ends, and cancelling keeps what is paid", async () => {
    const { id, admin } = await made(monthly);
    const waits = await call("POST", `/tenants/${id}/subscription`, { ...monthly, is_paid: false });
    expect(waits).toMatchObject({ status: 201, body: { subscription: { status: "PENDING" } } });
    expect((await tenant(id)).status).toBe("pending");
    await call("POST", `/tenants/${id}/subscription`, { type: "ANNUAL", amount: 2_000_000 });
    const first = await tenant(id);
    expect(first).toMatchObject({ status: "active", subscription_status: "ACTIVE" });
    await call("POST", `/tenants/${id}/subscription`, monthly);
    const second = await tenant(id);
    expect(days(first.effective_until, second.effective_until)).toBeGreaterThan(27);
    await call("POST", `/tenants/${id}/subscription/cancel`, {});
    expect((await tenant(id)).effective_until).toBe(first.effective_until);
    await call("POST", `/tenants/${id}/subscription/cancel`, {});
    expect(await tenant(id)).toMatchObject({
      subscription_status: "CANCELLED",
      effective_active: true,
      effective_until: first.effective_until,
    });
    expect(await call("POST", `/tenants/${id}/subscription/cancel`, {}))
      .toMatchObject({ status: 404, body: { code: "subscription_not_found" } });
    const states = await stack.sql`select status, count(*)::int as n from tenancy.subscriptions
      where tenant_id = ${id} group by 1`;
    expect(states).toEqual([{ status: "CANCELLED", n: 4 }]);
    expect((await call("POST", `/tenants/${id}/subscription`, monthly, admin)).status).toBe(403);
    expect((await call("POST", `/tenants/${id}/subscription/cancel`, {}, admin)).status).toBe(403);
    expect((await call("GET", `/tenants/${id}/subscription`, undefined, {})).status).toBe(401);
    await call("POST", `/tenants/${id}/archive`, {});
    expect(await call("POST", `/tenants/${id}/subscription`, monthly))
      .toMatchObject({ status: 409, body: { code: "invalid_status_transition" } });
  });

  test("of many given at once each is bought once, and none overlaps", async () => {
    const { id } = await made({ type: "ANNUAL", amount: 1 });
    const answers = await Promise.all(
      Array.from(
        { length: 5 },
        () => call("POST", `/tenants/${id}/subscription`, { ...monthly, amount: 7 }),
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
      expect(await call("POST", `/tenants/${id}/${path}`, monthly))
        .toMatchObject({ status: 403, body: { code: "tenant_subscription_disabled" } });
    }
    expect((await call("GET", `/tenants/${id}/subscription`)).body.enabled).toBe(false);
    await setting(true);
  });
});
