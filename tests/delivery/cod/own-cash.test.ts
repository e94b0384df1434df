/** Drivers who are of the office by now have somebody else take and count the cash that they collected. */
import { beforeEach, expect, test } from "vitest";
import { remit } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { type Ground, newGround } from "../../support/deliveries.ts";
import { cash, eventsOf, onItsWay, report, sound } from "../../support/outcomes.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

const handovers = "/delivery/cod-collections/handovers";
let tenant: Tenant;
let ground: Ground;
beforeEach(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  const id = await onItsWay(ground);
  expect(await report(tenant.driver, id, { result: "delivered", cash_collected: cash }))
    .toSucceed(200);
});

/** The driver becomes a dispatcher, with the cash in hand. */
async function promoted(): Promise<void> {
  const mine = { tenant_id: tenant.id, user_id: tenant.driver.id };
  await sql`update tenancy.tenant_users set tenant_user_type = 'staff'
    where tenant_id = ${mine.tenant_id} and user_id = ${mine.user_id}`;
  await sql`insert into tenancy.tenant_user_roles ${sql({ ...mine, role_key: "dispatcher" })}`;
}
const declared = async () => {
  const answer = await tenant.driver.post("/delivery/cod-collections/handover", { amount: 7_000 });
  expect(answer).toSucceed(201);
  return answer.body.data.id as string;
};
const count = (by: Tenant["driver"], id: string, counted_amount = 7_000) =>
  by.post(`${handovers}/${id}/count`, { counted_amount });

test("they neither count it nor resolve what is missing; a colleague does", async () => {
  const id = await declared();
  await promoted();
  expect(await count(tenant.driver, id)).toFailWith(403, "own_cash");
  expect(await count(tenant.dispatcher, id, 6_000)).toSucceed(200);
  const resolve = { resolution: "written_off" };
  expect(await tenant.driver.post(`${handovers}/${id}/resolve`, resolve))
    .toFailWith(403, "own_cash");
  expect(await tenant.dispatcher.post(`${handovers}/${id}/resolve`, resolve)).toSucceed(200);
  expect(await eventsOf(id, "cash_handover.resolved")).toMatchObject([{
    resolution: "written_off",
    declared_amount: 7_000,
    counted_amount: 6_000,
    actor_id: tenant.dispatcher.id,
  }]);
  const all = { scope: "all", driver_id: tenant.driver.id };
  expect(await tenant.dispatcher.post(remit, all)).toSucceed(200);
  await sound(tenant);
});

test("declared and counted in one step it is refused as a whole", async () => {
  await promoted();
  const both = { driver_id: tenant.driver.id, amount: 7_000, counted_amount: 7_000 };
  const answer = await tenant.driver.post("/delivery/cod-collections/handover", both);
  expect(answer).toFailWith(403, "own_cash");
  expect(await sql`select from money.cash_handovers where tenant_id = ${tenant.id}`).toEqual([]);
});

test("where a remitting driver has to name a receiver they name somebody else", async () => {
  await promoted();
  await saveSettings(tenant.id, "delivery.cod", { driver_self_remit: "require_receiver" });
  const all = { scope: "all", driver_id: tenant.driver.id };
  for (const receiver of [{}, { remitted_to_user_id: tenant.driver.id }]) {
    const refused = await tenant.driver.post(remit, { ...all, ...receiver });
    expect(refused).toFailWith(400, "receiver_required");
    expect(refused.body.field).toBe("remitted_to_user_id");
  }
  const named = { ...all, remitted_to_user_id: tenant.dispatcher.id };
  expect(await tenant.driver.post(remit, named)).toSucceed(200);
  await sound(tenant);
});

test("by remitting it they have not counted it: what they declared is cancelled, as a driver's is", async () => {
  const id = await declared();
  await promoted();
  const all = { scope: "all", driver_id: tenant.driver.id };
  const named = { ...all, remitted_to_user_id: tenant.dispatcher.id };
  expect(await tenant.driver.post(remit, named)).toSucceed(200);
  const [row] = await sql`select status, counted_by from money.cash_handovers where id = ${id}`;
  expect(row).toEqual({ status: "cancelled", counted_by: null });
  expect(await eventsOf(id, "cash_handover.counted")).toEqual([]);
  await sound(tenant);
});
