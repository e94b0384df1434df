/** Gateways are set up by administrators; what is secret goes in and never comes out. */
import { beforeAll, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql, stack } from "../../support/db.ts";
import "../../support/expect.ts";
import { report, sign } from "../../support/payments.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const path = "/payment/gateways";
let tenant: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
});

test("every gateway there is, as it is set up", async () => {
  const { body } = await tenant.admin.get(path);
  expect(body.data).toEqual(["gatewayone", "razorpay"].map((gateway_code) => ({
    gateway_code,
    is_active: false,
    settings: {},
    secrets: {},
    has_previous_webhook_secret: false,
    previous_accounts: [],
    webhook_url: `${stack.url}/functions/v1/payment/webhooks/${gateway_code}`,
    updated_at: null,
  })));
});

test("a gateway is used once it has all it needs; its secrets are sealed and never shown", async () => {
  const put = (body: object) => tenant.admin.put(`${path}/razorpay`, body);
  const secrets = { webhook_secret: "very-secret-1", key_id: "very-secret-2" };
  const nothing = await put({ is_active: true });
  expect(nothing).toFailWith(400, "gateway_incomplete");
  expect(nothing.body).toMatchObject({
    field: "account_id",
    missing: ["account_id", "webhook_secret", "key_id", "key_secret"],
  });
  expect(nothing.body.message).toContain("account_id");
  expect(nothing.body.message).toContain("webhook_secret");
  expect(await put({ settings: { account_id: "acc_1" }, secrets })).toSucceed(200);
  const missing = await put({ is_active: true });
  expect(missing).toFailWith(400, "gateway_incomplete");
  expect(missing.body.field).toBe("key_secret");
  const answer = await put({ is_active: true, secrets: { key_secret: "very-secret-3" } });
  expect(answer.body.data).toMatchObject({
    is_active: true,
    settings: { account_id: "acc_1" },
    secrets: { webhook_secret: true, key_id: true, key_secret: true },
  });
  const told = JSON.stringify([answer.body, (await tenant.admin.get(path)).body]);
  expect(told).not.toContain("very-secret");
  expect(told).not.toContain("s1.");
  const [row] =
    await sql`select g::text as text from money.payment_gateways g where tenant_id = ${tenant.id}`;
  expect(row.text).not.toContain("very-secret");
  const log = await sql`select a::text as text from app.audit_log a
    where tenant_id = ${tenant.id} and entity = 'money.payment_gateways'`;
  expect(log.length).toBeGreaterThan(0);
  expect(log.map(({ text }) => text).join()).not.toMatch(/very-secret|s1\./);
});

test("a sealed secret opens nothing at another tenant", async () => {
  const [row] =
    await sql`select secrets from money.payment_gateways where tenant_id = ${tenant.id}`;
  const thief = await newTenant();
  await sql`insert into money.payment_gateways (tenant_id, gateway_code, is_active, settings, secrets)
    values (${thief.id}, 'razorpay', true, '{"account_id": "acc_thief"}', ${
    sql.json(row.secrets)
  })`;
  const body = JSON.stringify({ account_id: "acc_thief", event: "x", payload: {} });
  expect((await report(body, sign(body, "very-secret-1"))).status).toBe(401);
});

test.each([
  [{ settings: { account_id: "a b" } }, "settings.account_id"],
  [{ settings: { amount_exponent: 9 } }, "settings.amount_exponent"],
  [{ settings: { nothing: 1 } }, "settings.nothing"],
  [{ secrets: { other: "x" } }, "secrets.other"],
  [{ secrets: { webhook_secret: "" } }, "secrets.webhook_secret"],
  [{ is_active: "yes" }, "is_active"],
])("not %j", async (body, field) => {
  const answer = await tenant.admin.put(`${path}/razorpay`, body);
  expect(answer).toFailWith(400, "validation_failed");
  expect(answer.body.field).toBe(field);
});

test("for administrators alone, and gateways there are", async () => {
  expect(await tenant.admin.put(`${path}/nothing`, {})).toFailWith(404, "gateway_not_found");
  for (const person of [tenant.ops, tenant.customer, tenant.driver]) {
    expect(await person.get(path)).toFailWith(403, "forbidden");
    expect(await person.put(`${path}/razorpay`, {})).toFailWith(403, "forbidden");
  }
  expect(await nobody.get(path)).toFailWith(401, "unauthorized");
});
