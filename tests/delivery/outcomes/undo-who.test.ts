/** Rights and periods for the undo of an outcome. */
import { beforeAll, expect, test } from "vitest";
import { type Person, withKey } from "../../support/api.ts";
import { newKey } from "../../support/api-keys.ts";
import { sql } from "../../support/db.ts";
import {
  deliveryIn,
  type Ground,
  moves,
  newDelivery,
  newGround,
  path,
  statusOf,
} from "../../support/deliveries.ts";
import { failed, onItsWay, report, undo } from "../../support/outcomes.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

const parcel = () => onItsWay(ground);
const age = (id: string, minutes: number) =>
  sql`update delivery.outcomes set created_at = created_at - make_interval(mins => ${minutes}) where delivery_id = ${id}`;

test("its driver for the minutes of the setting, operations for 72 hours", async () => {
  const id = await parcel();
  const until = async (by: Person, one: string) =>
    new Date((await report(by, one, failed)).body.data.undo_until).getTime() - Date.now();
  expect(Math.abs(await until(tenant.driver, id) - 10 * 60_000)).toBeLessThan(60_000);
  await age(id, 11);
  const late = await undo(tenant.driver, id);
  expect(late).toFailWith(409, "undo_period_over");
  expect(late.body.undo_until).toEqual(expect.any(String));
  expect(late.body.message).toMatch(/until (\d{4}-\d\d-\d\d )?\d\d:\d\d\.$/);
  expect(await undo(tenant.ops, id)).toSucceed(200);
  await saveSettings(tenant.id, "delivery.attempts", { undo_minutes: 30 });
  expect(Math.abs(await until(tenant.driver, id) - 30 * 60_000)).toBeLessThan(60_000);
  await saveSettings(tenant.id, "delivery.attempts", {});
  await age(id, 72 * 60 + 1);
  expect(await undo(tenant.ops, id)).toFailWith(409, "undo_period_over");
  const other = await parcel();
  expect(Math.abs(await until(tenant.ops, other) - 72 * 3_600_000)).toBeLessThan(60_000);
});

test("of a program's undo the driver is notified, of an outcome and of a pickup", async () => {
  const program = withKey((await newKey(tenant)).key);
  const noticed = async (type: string, id: string) =>
    (await tenant.driver.get("/tenants/me/notifications", { query: { type } })).body.data.filter(
      ({ payload }: { payload: { delivery_id: string } }) => payload.delivery_id === id,
    ).length;
  const id = await parcel();
  await moves(tenant.driver, id, "complete");
  expect(await undo(program, id)).toSucceed(200);
  expect(await noticed("outcome_undone", id)).toBe(1);
  const { id: fetched } = await deliveryIn(ground, "picked_up");
  expect(await program.post(`${path}/${fetched}/pickup/undo`, { reason: "Wrong parcel" }))
    .toSucceed(200);
  expect(await noticed("pickup_undone", fetched)).toBe(1);
});

test("another driver, an owner and nobody may not; a reason is needed", async () => {
  const id = await parcel();
  await moves(tenant.driver, id, "complete");
  const call = {
    method: "POST",
    path: `${path}/${id}/outcome/undo`,
    body: { reason: "Wrong" },
  } as const;
  await expectGuarded(call, { denied: [tenant.customer, tenant.institution] });
  expect([403, 404]).toContain((await undo(tenant.driver2, id)).status);
  await expectRefused(tenant.driver, call, [
    [{}, "reason"],
    [{ reason: "" }, "reason"],
    [{ reason: 7 }, "reason"],
  ]);
  const other = await newTenant();
  const theirs = await newDelivery(await newGround(other));
  await expectNoSuch(
    tenant.ops,
    { ...call, path: `${path}/{id}/outcome/undo` },
    "delivery_id",
    "delivery_not_found",
    theirs.id,
  );
  expect(await statusOf(id)).toBe("delivered");
});

test("what has no outcome cannot be undone, and an outcome is undone once", async () => {
  for (const status of ["pending", "in_transit", "cancelled"]) {
    const { id } = await deliveryIn(ground, status);
    expect(await undo(tenant.ops, id)).toFailWith(409, "no_outcome_to_undo");
  }
  const id = await parcel();
  expect(await undo(tenant.driver, id)).toFailWith(409, "no_outcome_to_undo");
  await moves(tenant.driver, id, "complete");
  expect(await undo(tenant.ops, id)).toSucceed(200);
  expect(await undo(tenant.ops, id)).toFailWith(409, "outcome_already_undone");
  expect(await undo(tenant.driver, id)).toFailWith(409, "outcome_already_undone");
});

test("what operations reported of a carrier's parcel they undo; not what it reported since", async () => {
  const id = await parcel();
  await sql`update delivery.deliveries set carrier_type = 'external' where id = ${id}`;
  const done = await report(tenant.ops, id, failed);
  expect(done).toSucceed(200);
  expect(done.body.data.undo_until).not.toBeNull();
  expect(await undo(tenant.ops, id)).toSucceed(200);
  expect(await report(tenant.ops, id, failed)).toSucceed(200);
  await sql`update delivery.deliveries set status = 'in_transit' where id = ${id}`;
  await sql`update delivery.deliveries set status = 'failed' where id = ${id}`;
  expect(await undo(tenant.ops, id)).toFailWith(409, "carrier_reports_outcome");
});

test("again with the same key it is one undo", async () => {
  const id = await parcel();
  await moves(tenant.driver, id, "complete");
  await expectReplayed(tenant.driver, `${path}/${id}/outcome/undo`, { reason: "Wrong" }, {
    reason: "Other",
  });
  expect(
    await sql`select from integration.system_events where entity_id = ${id}
    and event_type = 'delivery.outcome_undone'`,
  ).toHaveLength(1);
});
