import { describe, expect, test } from "vitest";
import { newDriver } from "../../support/assignments.ts";
import {
  answers,
  driverOf,
  newSearching,
  onDuty,
  ordered,
  runSearches,
  searchOf,
  timePasses,
} from "../../support/auto-assignment.ts";
import { sql } from "../../support/db.ts";
import { moves, newDelivery, newWarehouse, path, statusOf } from "../../support/deliveries.ts";
import { jobsDone } from "../../support/jobs.ts";
import { newAddress } from "../../support/make.ts";
import { saveSettings } from "../../support/people.ts";

const off = {
  status: "off",
  attempts: 0,
  next_attempt_at: null,
  passed_over: { offline: 0, capacity: 0, zone: 0, away: 0, declined: 0 },
};
const searchRows = async (delivery: string) =>
  (await sql`select from delivery.driver_searches where delivery_id = ${delivery}`).length;
const minutesUntil = (instant: string) =>
  Math.round((new Date(instant).getTime() - Date.now()) / 60_000);

describe("what is searched for", () => {
  test("nothing while the setting is off, which is how it begins", async () => {
    const ground = await newSearching({ enabled: false });
    await newDriver(ground.tenant);
    const made = await ordered(ground);
    expect(await driverOf(made.id)).toBeNull();
    expect(await searchRows(made.id)).toBe(0);
    expect(await searchOf(ground.tenant, made.id)).toEqual(off);
    expect(
      await sql`select from app.jobs where tenant_id = ${ground.tenant.id}
      and kind = 'delivery.auto_assignment'`,
    ).toEqual([]);
  });

  test("an order finds a driver right after it was made, who is asked as by hand", async () => {
    const ground = await newSearching();
    const driver = await newDriver(ground.tenant);
    const made = await newDelivery(ground);
    await jobsDone(ground.tenant.id);
    expect(await driverOf(made.id)).toBe(driver.id);
    expect(await statusOf(made.id)).toBe("assigned");
    const search = await searchOf(ground.tenant, made.id);
    expect(search).toMatchObject({ status: "offered", attempts: 1 });
    expect(minutesUntil(search.next_attempt_at)).toBe(5);
    const [notification] = await sql`select type, payload from tenancy.notifications
      where user_id = ${driver.id} and type = 'assignment_created'`;
    expect(notification.payload).toMatchObject({ requires_driver_response: true });
    const [event] = await sql`select event_data from integration.system_events
      where tenant_id = ${ground.tenant.id} and event_type = 'assignment.created'`;
    expect(event.event_data).toMatchObject({
      driver_id: driver.id,
      delivery_ids: [made.id],
      status: "pending",
      actor_id: null,
    });
    await answers(ground.tenant, driver, made.id, "accepted");
    expect(await searchOf(ground.tenant, made.id)).toMatchObject({
      status: "assigned",
      next_attempt_at: null,
    });
  });

  test("where drivers need not answer, the first one asked has it", async () => {
    const ground = await newSearching();
    await saveSettings(ground.tenant.id, "general.driver", {
      require_accept_or_reject_for_assignments: false,
    });
    await newDriver(ground.tenant);
    const made = await ordered(ground);
    expect(await searchOf(ground.tenant, made.id)).toMatchObject({
      status: "assigned",
      attempts: 1,
      next_attempt_at: null,
    });
  });

  test("drafts when they are ordered; nothing staged, and nothing that another carrier brings", async () => {
    const ground = await newSearching();
    const driver = await newDriver(ground.tenant);
    const { warehouse } = await newWarehouse(ground.tenant, await newAddress(ground.tenant));
    const draft = await ordered(ground, { status: "draft" });
    expect(await searchRows(draft.id)).toBe(0);
    await moves(ground.tenant.ops, draft.id, "submit");
    await jobsDone(ground.tenant.id);
    expect(await driverOf(draft.id)).toBe(driver.id);
    const staged = await ordered(ground, { staged: true, warehouse_id: warehouse });
    const external = await ordered(ground, { carrier_type: "external", carrier_code: "easypost" });
    for (const id of [staged.id, staged.legs[0].id, external.id]) {
      expect(await searchRows(id)).toBe(0);
    }
  });

  test("what goes to another carrier, or is cancelled, is searched for no longer", async () => {
    const ground = await newSearching();
    const [given, cancelled] = [await ordered(ground), await ordered(ground)];
    expect(await searchOf(ground.tenant, given.id)).toMatchObject({ status: "searching" });
    expect(
      await ground.tenant.ops.patch(`/delivery/deliveries/${given.id}/carrier`, {
        carrier_type: "external",
        carrier_code: "easypost",
      }),
    ).toSucceed(200);
    await moves(ground.tenant.ops, cancelled.id, ["cancel", { reason: "no" }]);
    for (const { id } of [given, cancelled]) {
      expect(await searchOf(ground.tenant, id)).toMatchObject({
        status: "off",
        next_attempt_at: null,
      });
    }
  });
});

describe("an offer", () => {
  test("that is rejected goes to the next driver, never back to one who said no", async () => {
    const ground = await newSearching();
    const drivers = [await newDriver(ground.tenant), await newDriver(ground.tenant)];
    const made = await ordered(ground);
    const asked = await driverOf(made.id);
    const one = drivers.find(({ id }) => id === asked)!;
    const other = drivers.find(({ id }) => id !== asked)!;
    await answers(ground.tenant, one, made.id, "rejected");
    expect(await driverOf(made.id)).toBe(other.id);
    expect(await searchOf(ground.tenant, made.id)).toMatchObject({
      status: "offered",
      attempts: 2,
      passed_over: { declined: 1 },
    });
    await answers(ground.tenant, other, made.id, "rejected");
    expect(await driverOf(made.id)).toBeNull();
    expect(await searchOf(ground.tenant, made.id)).toMatchObject({
      status: "failed",
      attempts: 3,
      next_attempt_at: null,
      passed_over: { declined: 2 },
    });
    expect(await statusOf(made.id)).toBe("pending");
  });

  test("that nobody answers in time is withdrawn, with a notification, and made to the next", async () => {
    const ground = await newSearching({ retry_after_minutes: 7 });
    const [one, two] = [await onDuty(ground.tenant), await newDriver(ground.tenant)];
    const made = await ordered(ground);
    const silent = await driverOf(made.id);
    await sql`select delivery.searches_sweep()`;
    await jobsDone(ground.tenant.id);
    expect(await driverOf(made.id)).toBe(silent);
    expect(minutesUntil((await searchOf(ground.tenant, made.id)).next_attempt_at)).toBe(7);

    await timePasses(ground.tenant);
    expect(await driverOf(made.id)).toBe([one, two].find(({ id }) => id !== silent)!.id);
    const [row] = await sql`select status, response_reason from delivery.assignments
      where delivery_id = ${made.id} and driver_id = ${silent}`;
    expect(row).toMatchObject({ status: "returned", response_reason: "unanswered" });
    expect(
      (await sql`select from tenancy.notifications where user_id = ${silent}
      and type = 'assignment_returned'`).length,
    ).toBe(1);
    const loads = await sql`select live_stops, capacity_used from delivery.drivers
      where user_id = ${silent}`;
    expect(loads[0]).toMatchObject({ live_stops: 0, capacity_used: 0 });
  });

  test("accepted at the last moment is not withdrawn", async () => {
    const ground = await newSearching();
    const driver = await newDriver(ground.tenant);
    const made = await ordered(ground);
    await sql`update delivery.driver_searches set next_attempt_at = now() - interval '1 second'
      where delivery_id = ${made.id}`;
    await answers(ground.tenant, driver, made.id, "accepted");
    await sql`select delivery.search_step(${ground.tenant.id}, ${made.id})`;
    expect(await driverOf(made.id)).toBe(driver.id);
    expect(await searchOf(ground.tenant, made.id)).toMatchObject({ status: "assigned" });
  });
});

describe("when nobody may be asked", () => {
  test("it is tried again later, and finds who came meanwhile", async () => {
    const ground = await newSearching();
    const made = await ordered(ground);
    const search = await searchOf(ground.tenant, made.id);
    expect(search).toMatchObject({ status: "searching", attempts: 1 });
    expect(minutesUntil(search.next_attempt_at)).toBe(5);
    const driver = await newDriver(ground.tenant);
    await timePasses(ground.tenant);
    expect(await driverOf(made.id)).toBe(driver.id);
    expect(await searchOf(ground.tenant, made.id)).toMatchObject({
      status: "offered",
      attempts: 2,
    });
  });

  test("a delivery with an open exception waits, and its driver is found when that is resolved", async () => {
    const ground = await newSearching({ max_retry_attempts: 2 });
    const { tenant } = ground;
    const made = await ordered(ground);
    const opened = await tenant.ops.post(`${path}/${made.id}/exceptions`, { type: "damaged" });
    expect(opened).toSucceed(201);
    const driver = await newDriver(tenant);
    for (let time = 0; time < 3; time++) await timePasses(tenant);
    expect(await searchOf(tenant, made.id)).toMatchObject({ status: "searching", attempts: 1 });
    expect(await driverOf(made.id)).toBeNull();
    const resolve = `/delivery/delivery-exceptions/${opened.body.exception.id}/resolve`;
    expect(await tenant.ops.post(resolve, { resolution: "Packed anew" })).toSucceed();
    await jobsDone(tenant.id);
    expect(await driverOf(made.id)).toBe(driver.id);
    expect(await searchOf(tenant, made.id)).toMatchObject({ status: "offered", attempts: 2 });
  });

  test("it has failed after the last attempt: an event, and a notification where it is wanted", async () => {
    const ground = await newSearching({ max_retry_attempts: 2, notify_admin_on_failure: true });
    const { tenant } = ground;
    await newDriver(tenant, { capacity: 1 });
    const made = await ordered(ground);
    await timePasses(tenant);
    await timePasses(tenant);
    expect(await searchOf(tenant, made.id)).toEqual({
      status: "failed",
      attempts: 2,
      next_attempt_at: null,
      passed_over: { offline: 0, capacity: 1, zone: 0, away: 0, declined: 0 },
    });
    const events = await sql`select entity_id, event_data from integration.system_events
      where tenant_id = ${tenant.id} and event_type = 'delivery.auto_assignment_failed'`;
    expect(events).toMatchObject([{
      entity_id: made.id,
      event_data: {
        delivery_id: made.id,
        delivery_code: made.delivery_code,
        attempts: 2,
        passed_over: { capacity: 1 },
      },
    }]);
    const notified = await sql`select user_id from tenancy.notifications
      where tenant_id = ${tenant.id} and type = 'auto_assignment_failed'`;
    expect(notified.map(({ user_id }) => user_id).sort()).toEqual(
      [tenant.admin.id, tenant.ops.id, tenant.dispatcher.id].sort(),
    );
    const [notification] = (await tenant.dispatcher.get("/tenants/me/notifications")).body.data;
    expect(notification.message).toContain(String(made.delivery_code));
  });

  test("and nobody is notified where it is not wanted", async () => {
    const ground = await newSearching({ max_retry_attempts: 1 });
    const made = await ordered(ground);
    expect(await searchOf(ground.tenant, made.id)).toMatchObject({ status: "failed", attempts: 1 });
    expect(
      await sql`select from tenancy.notifications where tenant_id = ${ground.tenant.id}
      and type = 'auto_assignment_failed'`,
    ).toEqual([]);
  });
});

describe("of a company that may not be used", () => {
  test("searches wait as they are, and continue when it may be: nobody is passed over meanwhile", async () => {
    const ground = await newSearching({ retry_after_minutes: 5, max_retry_attempts: 1 });
    const driver = await newDriver(ground.tenant);
    const { id } = await ordered(ground);
    expect(await driverOf(id)).toBe(driver.id);
    await sql`update tenancy.tenants set status = 'suspended' where id = ${ground.tenant.id}`;
    await sql`update delivery.driver_searches set next_attempt_at = now() - interval '1 day' where delivery_id = ${id}`;
    expect((await sql`select delivery.searches_due(${ground.tenant.id}) as due`)[0].due).toEqual(
      [],
    );
    // Of the sweep only its own job counts here; it is not run, so that nothing else steps in.
    const swept = async () => {
      await sql`delete from app.jobs where tenant_id = ${ground.tenant.id}`;
      await sql`select delivery.searches_sweep()`;
      return (await sql`delete from app.jobs where tenant_id = ${ground.tenant.id} returning kind`)
        .map(({ kind }) => kind);
    };
    expect(await swept()).toEqual([]);
    await sql`update tenancy.tenants set status = 'active' where id = ${ground.tenant.id}`;
    await runSearches(ground.tenant);
    expect(await driverOf(id)).toBe(driver.id);
    const search = await searchOf(ground.tenant, id);
    expect(search).toMatchObject({ status: "offered", attempts: 1 });
    expect(minutesUntil(search.next_attempt_at)).toBe(5);
    await answers(ground.tenant, driver, id, "accepted");
  });
});
