/** The changes that a driver's app receives, through the real client. */
import { createClient } from "@supabase/supabase-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import ws from "ws";
import { equip, newDeliveries, newDelivery } from "../../support/assignments.ts";
import { sql, stack } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { until } from "../../local/support.ts";

const table = { schema: "public", table: "delivery_realtime_assignments" };
let tenant: Tenant;
let token: string;

function app(bearer: string) {
  return createClient(stack.url, stack.publishableKey, {
    auth: { persistSession: false, autoRefreshToken: false },
    realtime: { transport: ws as unknown as typeof WebSocket },
    global: { headers: { authorization: `Bearer ${bearer}` } },
  });
}
let listener: ReturnType<typeof app>;

/** Listens with a token; resolves once changes flow. */
async function listen(to: ReturnType<typeof app>, bearer: string) {
  const heard: Record<string, unknown>[] = [];
  to.realtime.setAuth(bearer);
  await new Promise<void>((resolve, reject) => {
    to.channel("assignments")
      .on("system", {}, (payload) => payload.status === "ok" && resolve())
      .on("postgres_changes", { event: "*", ...table }, (change) => {
        heard.push({ [change.eventType]: change.new });
      })
      .subscribe((_status, error) => error && reject(error));
  });
  return heard;
}

beforeAll(async () => {
  tenant = await newTenant();
  await equip(tenant, tenant.driver.id);
  await equip(tenant, tenant.driver2.id);
  token = await stack.jwtSign({
    sub: tenant.driver.id,
    app_metadata: { tenant_id: tenant.id },
  });
  listener = app(token);
});
afterAll(() => listener.removeAllChannels());

test("a driver receives only their own assignments as they come and change, one row for a bulk", async () => {
  const heard = await listen(listener, token);
  const path = "/delivery/assignments";
  await tenant.ops.post(path, {
    delivery_id: await newDelivery(tenant),
    driver_id: tenant.driver2.id,
  });
  const one = await tenant.ops.post(path, {
    delivery_id: await newDelivery(tenant),
    driver_id: tenant.driver.id,
  });
  // The stand-in shows a row as it is when it is told.
  await until(() => heard.length >= 1);
  await tenant.driver.put(`${path}/${one.body.id}`, { status: "accepted" });
  await until(() => heard.length >= 2);
  const many = await tenant.ops.post(`${path}/bulk`, {
    delivery_ids: await newDeliveries(tenant, 3),
    driver_id: tenant.driver.id,
  });
  await until(() => heard.length >= 3);
  expect(heard).toMatchObject([
    { INSERT: { assignment_id: one.body.id, requires_driver_response: true, is_bulk: false } },
    { UPDATE: { assignment_status: "accepted", requires_driver_response: false } },
    {
      INSERT: {
        bulk_assignment_id: many.body.bulk_assignment_id,
        is_bulk: true,
        assignment_count: 3,
        total_units: 3,
      },
    },
  ]);
});

describe("a driver whose token still holds hears no more of assignments:", () => {
  const active = (own: Tenant, is_active: boolean) =>
    own.admin.put(`/tenants/${own.id}/users/${own.driver.id}`, { is_active });
  const status = (own: Tenant, word: string) =>
    sql`update tenancy.tenants set status = ${word} where id = ${own.id}`;

  test.each(
    [
      ["who is shut out", (own: Tenant) => active(own, false), (own: Tenant) => active(own, true)],
      [
        "whose company is shut",
        (own: Tenant) => status(own, "suspended"),
        (own: Tenant) => status(own, "active"),
      ],
    ] as const,
  )("%s", async (_how, shut, reopen) => {
    const own = await newTenant();
    await equip(own, own.driver.id);
    const bearer = await stack.jwtSign({
      sub: own.driver.id,
      app_metadata: { tenant_id: own.id },
    });
    const listening = app(bearer);
    const heard = await listen(listening, bearer);
    const { body } = await own.ops.post("/delivery/assignments", {
      delivery_id: await newDelivery(own),
      driver_id: own.driver.id,
    });
    await until(() => heard.length === 1);
    const change = (total_units: number) =>
      sql`update public.delivery_realtime_assignments set total_units = ${total_units}
        where assignment_id = ${body.id}`;
    await shut(own);
    await change(7);
    // The change before would have been heard by then.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(heard).toHaveLength(1);
    await reopen(own);
    await change(8);
    await until(() => heard.length === 2);
    expect(heard[1]).toMatchObject({ UPDATE: { total_units: 8 } });
    await listening.removeAllChannels();
  });
});
