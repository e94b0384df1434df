/** Function processes that die in the middle of the wizard, and currencies that the system enables: on a stack of its own. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Stack } from "../../../supabase/local/stack.ts";
import type { Body } from "../../support/api.ts";
import {
  killAt,
  startOwnSystem,
  type SystemCalls,
  untilAnswered,
} from "../../support/system-calls.ts";
import { wizardBody } from "../../support/wizard.ts";

let stack: Stack;
let system: SystemCalls;

beforeAll(async () => {
  ({ stack, system } = await startOwnSystem());
}, 120_000);

afterAll(async () => {
  await stack?.stop();
});

describe("a function process that dies", () => {
  const waiting = () =>
    stack.sql`select from pg_locks l where not l.granted and l.locktype = 'relation'`.then((rows) =>
      rows.length > 0
    );

  test(
    "before Auth made the administrator: the same call continues and ends with one of everything",
    async () => {
      const body = wizardBody();
      const key = crypto.randomUUID();
      await killAt(
        stack,
        system,
        "auth.users",
        body,
        key,
        async () => await system.running(body) && await waiting(),
      );
      const [{ new_tenant_id }] = await stack
        .sql`select new_tenant_id from tenancy.wizard_runs where key = ${key}`;
      const answer = await untilAnswered(() => system.wizard(body, key));
      expect(answer).toMatchObject({ status: 201, body: { tenant_id: new_tenant_id } });
      expect(answer.body.steps.find((s: Body) => s.step === "admin_user").status).toBe("done");
      expect(await system.left(body)).toEqual({ tenants: 1, users: 1, members: 1 });
      expect(await system.signIn(body.tenant.contact_info.email, "Furat-secret-1")).toBeDefined();
    },
    60_000,
  );

  test(
    "after Auth made the administrator: the same call lets them in, with the password given now",
    async () => {
      const body = wizardBody();
      const key = crypto.randomUUID();
      await killAt(
        stack,
        system,
        "tenancy.tenant_users",
        body,
        key,
        async () => (await system.left(body)).users === 1 && await waiting(),
      );
      expect(await system.left(body)).toEqual({ tenants: 1, users: 1, members: 0 });
      const again = { ...body, admin_user: { create: true, password: "Another-secret-2" } };
      const answer = await untilAnswered(() => system.wizard(again, key));
      expect(answer.status).toBe(201);
      expect(answer.body.steps.find((s: Body) => s.step === "admin_user").status).toBe("done");
      expect(await system.left(body)).toEqual({ tenants: 1, users: 1, members: 1 });
      expect(await system.signIn(body.tenant.contact_info.email, "Another-secret-2")).toBeDefined();
      expect((await system.wizard(again, key)).body.tenant_id).toBe(answer.body.tenant_id);
    },
    180_000,
  );

  test(
    "and nobody calls again: the job removes tenant and user after a quarter of an hour",
    async () => {
      const body = wizardBody();
      const key = crypto.randomUUID();
      await killAt(
        stack,
        system,
        "tenancy.tenant_users",
        body,
        key,
        async () => (await system.left(body)).users === 1 && await waiting(),
      );
      const jobs = () =>
        system.call("POST", "/tenants/internal/jobs", {}, { apikey: stack.secretKey });
      expect((await untilAnswered(jobs)).status).toBe(200);
      expect(await system.left(body)).toEqual({ tenants: 1, users: 1, members: 0 });
      await stack
        .sql`update app.jobs set run_at = now() where kind = 'tenants.wizard_undo' and status = 'queued'`;
      expect((await jobs()).body.done).toBeGreaterThan(0);
      expect(await system.left(body)).toEqual({ tenants: 0, users: 0, members: 0 });
      // A client that returns after all starts again, under the same key.
      expect((await system.wizard(body, key)).status).toBe(201);
      expect(await system.left(body)).toEqual({ tenants: 1, users: 1, members: 1 });
    },
    60_000,
  );
});

test("tenants choose among the currencies that the system has enabled", async () => {
  const enable = (codes: string[] | null) =>
    system.call("PUT", "/system/settings", { settings: { "currencies.enabled": codes } });
  const body = (currency_code: string) =>
    wizardBody({ general_config: { currency: { currency_code } } });
  expect((await untilAnswered(() => enable(["IQD", "USD"]))).status).toBe(200);
  expect(await system.wizard(body("EUR"))).toMatchObject({
    status: 400,
    body: { code: "invalid_reference", field: "general_config.currency.currency_code" },
  });
  expect((await system.wizard(body("USD"))).status).toBe(201);
  await enable(null);
  expect((await system.wizard(body("EUR"))).status).toBe(201);
});
