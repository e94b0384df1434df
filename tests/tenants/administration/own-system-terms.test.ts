/** Terms of a subscription that follow one another, on a stack of its own, since the setting is the whole system's. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Stack } from "../../../supabase/local/stack.ts";
import { startOwnSystem, type SystemCalls, untilAnswered } from "../../support/system-calls.ts";
import { wizardBody } from "../../support/wizard.ts";

let stack: Stack;
let system: SystemCalls;

beforeAll(async () => {
  ({ stack, system } = await startOwnSystem());
  const setting = { settings: { "tenant_subscription.enabled": true } };
  expect((await untilAnswered(() => system.call("PUT", "/system/settings", setting))).status).toBe(
    200,
  );
}, 120_000);

afterAll(async () => {
  await stack?.stop();
});

/** A tenant with one of that kind, which holds already where it has no end. */
async function made(type: string): Promise<string> {
  const body = wizardBody({ subscription: { type, amount: 1 } });
  const answer = await system.wizard(body);
  expect(answer.status).toBe(201);
  return answer.body.tenant_id;
}

const give = (id: string, type: string, more: object = {}) =>
  system.call("POST", `/tenants/${id}/subscription`, { type, amount: 1, ...more });
const cancel = (id: string) => system.call("POST", `/tenants/${id}/subscription/cancel`, {});
const read = (id: string) => system.call("GET", `/tenants/${id}/subscription`);
const tenant = async (id: string) => (await system.call("GET", `/tenants/${id}`)).body.tenant;

/** Puts all terms of a tenant, and its end, so many months earlier. */
async function monthsLater(id: string, months: number) {
  await stack
    .sql`update tenancy.subscriptions set starts_at = starts_at - make_interval(months => ${months}),
    ends_at = ends_at - make_interval(months => ${months}), created_at = created_at - make_interval(months => ${months}) where tenant_id = ${id}`;
  await stack
    .sql`update tenancy.tenants set effective_until = effective_until - make_interval(months => ${months}) where id = ${id}`;
}

test("a renewal that is cancelled is cancelled, whatever ended before it", async () => {
  const id = await made("MONTHLY");
  await give(id, "MONTHLY");
  await monthsLater(id, 2);
  expect(await tenant(id)).toMatchObject({ effective_active: false });
  const renewed = (await give(id, "ANNUAL")).body.subscription;
  expect(await tenant(id)).toMatchObject({ subscription_status: "ACTIVE", effective_active: true });
  const cancelled = await cancel(id);
  expect(cancelled.body.subscription).toMatchObject({ id: renewed.id, status: "CANCELLED" });
  expect(await tenant(id)).toMatchObject({
    subscription_status: "CANCELLED",
    effective_active: true,
  });
  expect((await read(id)).body.subscription.id).toBe(renewed.id);
  expect((await cancel(id)).body.code).toBe("subscription_not_found");
});

test("paid time that one without an end came into follows it", async () => {
  const id = await made("MONTHLY");
  await give(id, "MONTHLY");
  const paid = (await tenant(id)).effective_until;
  await give(id, "UNLIMITED");
  expect(await tenant(id)).toMatchObject({ subscription_status: "UNLIMITED" });
  await give(id, "MONTHLY");
  expect((await read(id)).body.subscription.starts_at).toBe(paid);
  expect(await tenant(id)).toMatchObject({ subscription_status: "ACTIVE", effective_active: true });
  await cancel(id);
  expect((await tenant(id)).effective_until).toBe(paid);
});

test("of two without an end the first ends when the second begins, so a cancellation ends it", async () => {
  const id = await made("UNLIMITED");
  await give(id, "UNLIMITED", { note_public: "As agreed" });
  const active = await stack.sql`select note_public from tenancy.subscriptions
    where tenant_id = ${id} and status = 'ACTIVE'`;
  expect(active).toEqual([{ note_public: "As agreed" }]);
  await cancel(id);
  expect(await tenant(id)).toMatchObject({
    subscription_status: "CANCELLED",
    effective_active: false,
  });
});

test("one that waits and is cancelled is not the last there was of those that began", async () => {
  const id = await made("MONTHLY");
  const began = (await give(id, "MONTHLY")).body.subscription.id;
  await monthsLater(id, 2);
  await give(id, "MONTHLY", { is_paid: false });
  expect(await tenant(id)).toMatchObject({ subscription_status: "PENDING" });
  expect((await cancel(id)).body.subscription).toMatchObject({ id: began, status: "ACTIVE" });
  expect(await tenant(id)).toMatchObject({
    subscription_status: "ACTIVE",
    effective_active: false,
  });
});
