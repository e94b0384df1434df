/** Parcels that their receivers postpone: with their driver or in a warehouse until the morning of their day. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auto, onDuty, searchOf } from "../../support/auto-assignment.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  type Ground,
  handedTo,
  move,
  newGround,
  path,
  stagedInWarehouse,
  statusOf,
} from "../../support/deliveries.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { expectRefused } from "../../support/promises.ts";
import {
  broughtIn,
  dayIn,
  eventsOf,
  label,
  nothing,
  onItsWay,
  report,
} from "../../support/outcomes.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

const postponed = (days = 3) => ({
  result: "postponed",
  reason_code: "postponed",
  postponed_to: dayIn(days),
});
const resume = () => sql`select delivery.postponed_resume()`;
const notify = () => sql`select delivery.postponed_notify()`;
/** Brings the day of a postponed family to today or earlier, as if the days had passed. */
const daysPass = async (...ids: string[]) => {
  await sql`update delivery.deliveries set postponed_to = current_date - 1
    where id = any (${ids}) and postponed_to is not null`;
  await resume();
};
const nightPasses = async (id: string) => {
  await sql`update delivery.deliveries set overnight_notice_at = now() - interval '1 minute'
    where id = ${id} and overnight_notice_at is not null`;
  await notify();
};
const noticesOf = (id: string) =>
  sql`select user_id, payload from tenancy.notifications
    where type = 'delivery_postponed_in_van' and payload ->> 'delivery_id' = ${id}`;
const dayOf = async (id: string) =>
  (await sql`select postponed_to::text as day from delivery.deliveries where id = ${id}`)[0].day;

describe("a postponed parcel", () => {
  test("fails without an attempt, names its day, and stays in its driver's lists and load", async () => {
    const id = await onItsWay(ground);
    const body = { ...postponed(), note: "At her sister's wedding" };
    const answer = await report(tenant.driver, id, body);
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({
      delivery: {
        status: "failed",
        status_reason: "postponed",
        status_notes: body.note,
        postponed_to: body.postponed_to,
        attempts_used: 0,
        assignment: { status: "accepted" },
      },
      returns: [],
      cash: { due: nothing, collected: nothing },
    });
    expect(await eventsOf(id, "delivery.postponed")).toEqual([
      expect.objectContaining({
        delivery_id: id,
        postponed_to: body.postponed_to,
        reason_code: "postponed",
        actor_id: tenant.driver.id,
      }),
    ]);
    expect(await eventsOf(id)).toEqual([expect.objectContaining({ result: "postponed" })]);
    const sequence = `/delivery/assignments/driver/${tenant.driver.id}/sequence`;
    const { body: { assignments } } = await tenant.driver.get(
      `/delivery/assignments/${tenant.driver.id}/sequence`,
    );
    const mine = assignments.find(({ delivery_id }: { delivery_id: string }) => delivery_id === id);
    expect(mine.delivery.postponed_to).toBe(body.postponed_to);
    const suggested = await tenant.driver.post(`${sequence}/suggest`, {});
    expect(suggested).toSucceed(200);
    expect(JSON.stringify(suggested.body)).not.toContain(mine.id);
    const duty = "/delivery/drivers/me/duty";
    expect(await tenant.driver.post(duty, { on_duty: false })).toFailWith(
      409,
      "driver_has_parcels",
    );
    expect(await report(tenant.driver, id, postponed())).toFailWith(409, "delivery_status_changed");
  });

  test("is on its way again on the morning of its day, without retry and attempt", async () => {
    const id = await onItsWay(ground, "picked_up");
    expect(await report(tenant.ops, id, postponed(1))).toSucceed(200);
    await resume();
    expect(await statusOf(id)).toBe("failed");
    await daysPass(id);
    const { delivery } = (await tenant.ops.get(`${path}/${id}`)).body;
    expect(delivery).toMatchObject({
      status: "in_transit",
      status_reason: null,
      postponed_to: null,
      attempts_used: 0,
      assignment: { status: "accepted" },
    });
    expect(delivery.history.at(-1)).toMatchObject({
      from_status: "failed",
      to_status: "in_transit",
      actor: null,
    });
    expect(await report(tenant.driver, id, { result: "delivered" })).toSucceed(200);
  });

  test("may be postponed again, and until its morning has come stays where it is", async () => {
    const far = await newGround(
      await newTenant({ settings: { "general.timezone": { name: "Asia/Baghdad" } } }),
    );
    const id = await onItsWay(far);
    const day = dayIn(1, "Asia/Baghdad");
    const body = { ...postponed(), postponed_to: day };
    expect(await report(far.tenant.driver, id, body)).toSucceed(200);
    // Six in the morning of Baghdad is three in the night of UTC.
    const morning = async (now: string) =>
      (await sql`select (${now}::timestamptz at time zone 'Asia/Baghdad' - delivery.morning())::date = ${day}::date as come`)[
        0
      ].come;
    expect([await morning(`${day}T02:59:59Z`), await morning(`${day}T03:00:00Z`)])
      .toEqual([false, true]);
    await daysPass(id);
    expect(await report(far.tenant.driver, id, { ...body, postponed_to: dayIn(2, "Asia/Baghdad") }))
      .toSucceed(200);
    expect(await eventsOf(id, "delivery.postponed")).toHaveLength(2);
  });

  test("is found by the list, filtered and sorted", async () => {
    const own = await newGround(await newTenant());
    const ids = [await onItsWay(own), await onItsWay(own)];
    await report(own.tenant.driver, ids[0], postponed());
    const listed = async (query: string) =>
      (await own.tenant.ops.get(`${path}?${query}`)).body.data.map(({ id }: { id: string }) => id);
    expect(await listed("postponed=true")).toEqual([ids[0]]);
    expect(await listed("postponed=false")).toEqual([ids[1]]);
  });

  test("shows its day in its parcel when it is a leg, and does so until it ends", async () => {
    const { parent, b } = await stagedInWarehouse(ground);
    await handedTo(ground, b);
    await sql`update delivery.deliveries set status = 'picked_up' where id = ${b}`;
    expect(await report(tenant.driver, b, postponed())).toSucceed(200);
    expect([await dayOf(b), await dayOf(parent.id)]).toEqual([dayIn(3), dayIn(3)]);
    expect(await statusOf(parent.id)).toBe("failed");
    await daysPass(b, parent.id);
    expect([await dayOf(b), await dayOf(parent.id)]).toEqual([null, null]);
    expect(await statusOf(parent.id)).toBe("in_transit");
  });

  test("needs a day from tomorrow to thirty days on, and only it has one", async () => {
    const id = await onItsWay(ground);
    const call = { method: "POST", path: `${path}/${id}/outcome` } as const;
    await expectRefused(tenant.driver, call, [
      [{ ...postponed(), postponed_to: null }, "postponed_to"],
      [{ ...postponed(), postponed_to: "soon" }, "postponed_to"],
      [{ ...postponed(), postponed_to: dayIn(0) }, "postponed_to", "invalid_postponed_to"],
      [{ ...postponed(), postponed_to: dayIn(32) }, "postponed_to", "invalid_postponed_to"],
      [{ result: "failed", reason_code: "no_answer", postponed_to: dayIn(2) }, "postponed_to"],
      [{ ...postponed(), reason_code: "no_answer" }, "reason_code", "invalid_reference"],
      [{ ...postponed(), cash_collected: { cod: 5000 } }, "cash_collected"],
    ]);
    const answer = await report(tenant.driver, id, { ...postponed(), postponed_to: dayIn(-1) });
    expect(answer.body).toMatchObject({ first: dayIn(1), last: dayIn(30) });
    expect(await statusOf(id)).toBe("in_transit");
  });

  test("has the day that was agreed at the door, also where the report comes after midnight", async () => {
    const id = await onItsWay(ground);
    const occurred_at = new Date(Date.now() - 24 * 3_600_000).toISOString();
    const agreed = { ...postponed(), occurred_at };
    const late = await report(tenant.driver, id, { ...agreed, postponed_to: dayIn(-1) });
    expect(late).toFailWith(400, "invalid_postponed_to");
    expect(late.body).toMatchObject({ first: dayIn(0), last: dayIn(29) });
    expect(await report(tenant.driver, id, { ...agreed, postponed_to: dayIn(0) })).toSucceed(200);
    expect([await statusOf(id), await dayOf(id)]).toEqual(["failed", dayIn(0)]);
    await daysPass(id);
    expect([await statusOf(id), await dayOf(id)]).toEqual(["in_transit", null]);
  });

  test("needs what its reason needs", async () => {
    const strict = await newGround(await newTenant());
    await saveSettings(strict.tenant.id, "delivery.attempts", {
      reasons: [{ value: "later", label, kind: "postponed", counts: false, needs: { note: true } }],
    });
    const id = await onItsWay(strict);
    const body = { ...postponed(), reason_code: "later" };
    const none = await report(strict.tenant.driver, id, body);
    expect(none).toFailWith(400, "outcome_evidence_required");
    expect(none.body.missing).toEqual(["note"]);
    expect(await report(strict.tenant.driver, id, { ...body, note: "Called" })).toSucceed(200);
  });
});

describe("a night in a van", () => {
  test("is noticed by the office once a parcel", async () => {
    const id = await onItsWay(ground);
    await report(tenant.driver, id, postponed());
    await notify();
    expect(await noticesOf(id)).toEqual([]);
    await nightPasses(id);
    await nightPasses(id);
    const notices = await noticesOf(id);
    expect(notices.map(({ user_id }) => user_id).sort()).toEqual(
      [...new Set([tenant.admin, tenant.ops, tenant.dispatcher].map(({ id }) => id))].sort(),
    );
    expect(notices[0].payload).toMatchObject({ delivery_id: id, postponed_to: dayIn(3) });
    const { body } = await tenant.ops.get(
      "/tenants/me/notifications?type=delivery_postponed_in_van",
    );
    expect(body.data[0].message).toContain(dayIn(3));
  });

  test("is none of a parcel that goes out the next morning, or came to a warehouse", async () => {
    const [tomorrow, brought] = [await onItsWay(ground), await onItsWay(ground)];
    await report(tenant.driver, tomorrow, postponed(1));
    await report(tenant.driver, brought, postponed());
    await move(tenant.driver, brought, "return", { warehouse_id: ground.warehouse });
    const rows = await sql`select overnight_notice_at from delivery.deliveries
      where id = any (${[tomorrow, brought]})`;
    expect(rows.map(({ overnight_notice_at }) => overnight_notice_at)).toEqual([null, null]);
  });
});

describe("in a warehouse", () => {
  test("it waits for its day: no search, no driver who chooses; then it is searched for", async () => {
    const at = await newGround(await newTenant());
    const id = await onItsWay(at);
    await auto(at.tenant);
    await saveSettings(at.tenant.id, "general.driver", { driver_can_self_assign: true });
    const driver = await onDuty(at.tenant);
    expect(await report(at.tenant.driver, id, postponed())).toSucceed(200);
    await broughtIn(at, id);
    expect(await statusOf(id)).toBe("pending");
    expect(await dayOf(id)).toBe(dayIn(3));
    expect((await searchOf(at.tenant, id)).status).toBe("off");
    const open = await driver.get("/delivery/assignments/open");
    expect(open).toSucceed(200);
    expect(JSON.stringify(open.body)).not.toContain(id);
    const taken = await driver.post("/delivery/assignments/self", { delivery_ids: [id] });
    expect(taken).toFailWith(409, "delivery_postponed");
    expect(taken.body.delivery_ids).toEqual([id]);
    await daysPass(id);
    expect(await statusOf(id)).toBe("pending");
    expect((await searchOf(at.tenant, id)).status).not.toBe("off");
  });

  test("the office may search or assign at once, which ends the postponement", async () => {
    const at = await newGround(await newTenant());
    const ids = [await onItsWay(at), await onItsWay(at)];
    for (const id of ids) {
      await report(at.tenant.driver, id, postponed());
      await broughtIn(at, id);
    }
    expect(await move(at.tenant.ops, ids[0], "auto-assign")).toSucceed(202);
    expect(await dayOf(ids[0])).toBeNull();
    await assign(at.tenant, ids[1]);
    expect(await dayOf(ids[1])).toBeNull();
  });
});

describe("what operations do meanwhile", () => {
  test.each([
    ["a retry", "retry", { override_reason: "She called" }, "in_transit"],
    ["another driver", "retry", { reassign: true, override_reason: "She called" }, "pending"],
    ["a return to its sender", "return", {}, "returned"],
  ])("%s ends the postponement", async (_, step, body, status) => {
    const id = await onItsWay(ground);
    await report(tenant.driver, id, postponed());
    expect(await move(tenant.ops, id, step, body)).toSucceed(200);
    expect(await statusOf(id)).toBe(status);
    expect(await dayOf(id)).toBeNull();
    await nightPasses(id);
    expect(await noticesOf(id)).toEqual([]);
  });

  test("a redirect leaves the day as it is", async () => {
    const id = await onItsWay(ground);
    await report(tenant.driver, id, postponed());
    expect(await move(tenant.ops, id, "redirect", { dropoff_address_id: ground.from }))
      .toSucceed(200);
    expect(await dayOf(id)).toBe(dayIn(3));
  });
});
