/** The changes that a driver's app receives, through the real client. */
import { createClient } from "@supabase/supabase-js";
import { afterAll, beforeAll, expect, test } from "vitest";
import ws from "ws";
import { equip, newDeliveries, newDelivery } from "../../support/assignments.ts";
import { stack } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { until } from "../../local/support.ts";

const table = { schema: "public", table: "delivery_realtime_assignments" };
let tenant: Tenant;
let token: string;

function app(key = stack.publishableKey) {
  return createClient(stack.url, key, {
    auth: { persistSession: false, autoRefreshToken: false },
    realtime: { transport: ws as unknown as typeof WebSocket },
    global: { headers: { authorization: `Bearer ${token}` } },
  });
}
let listener: ReturnType<typeof app>;

beforeAll(async () => {
  tenant = await newTenant();
  await equip(tenant, tenant.driver.id);
  await equip(tenant, tenant.driver2.id);
  token = await stack.jwtSign({
    sub: tenant.driver.id,
    app_metadata: { tenant_id: tenant.id },
  });
  listener = app();
});
afterAll(() => listener.removeAllChannels());

test("a driver receives only their own assignments as they come and change, one row for a bulk", async () => {
  const heard: Record<string, unknown>[] = [];
  listener.realtime.setAuth(token);
  await new Promise<void>((resolve, reject) => {
    listener.channel("assignments")
      .on("system", {}, (payload) => payload.status === "ok" && resolve())
      .on("postgres_changes", { event: "*", ...table }, (change) => {
        heard.push({ [change.eventType]: change.new });
      })
      .subscribe((_status, error) => error && reject(error));
  });
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
