/** Assignments and withdrawals by hand, while a search for drivers runs. */
import { describe, expect, test } from "vitest";
import { newDriver } from "../../support/assignments.ts";
import {
  answers,
  auto,
  driverOf,
  newSearching,
  ordered,
  searchOf,
  timePasses,
} from "../../support/auto-assignment.ts";
import { sql } from "../../support/db.ts";
import { assign, move, moves, newDelivery, statusOf } from "../../support/deliveries.ts";
import { broughtIn, dayIn, report } from "../../support/outcomes.ts";
import { newYard } from "../../support/packages.ts";
import { newTenant } from "../../support/people.ts";
import { broughtInto, received, sentBackBy } from "../../support/send-back.ts";

describe("what people do by hand", () => {
  test("ends the search, and is not undone by it", async () => {
    const ground = await newSearching();
    const { tenant } = ground;
    const made = await ordered(ground);
    const driver = await newDriver(tenant);
    const given = await tenant.ops.post("/delivery/assignments", {
      delivery_id: made.id,
      driver_id: driver.id,
    });
    expect(given).toSucceed(201);
    expect(await searchOf(tenant, made.id)).toMatchObject({ status: "off", next_attempt_at: null });
    expect(await tenant.ops.post(`/delivery/assignments/${given.body.id}/unassign`, {}))
      .toSucceed(200);
    await timePasses(tenant);
    expect(await driverOf(made.id)).toBeNull();
    expect(await searchOf(tenant, made.id)).toMatchObject({ status: "off" });
  });

  test("an offer that the office withdraws leaves the delivery to the office", async () => {
    const ground = await newSearching();
    const { tenant } = ground;
    await newDriver(tenant);
    const made = await ordered(ground);
    const [{ id }] = await sql`select id from delivery.assignments where delivery_id = ${made.id}`;
    expect(await tenant.ops.post(`/delivery/assignments/${id}/unassign`, {})).toSucceed(200);
    await timePasses(tenant);
    expect(await searchOf(tenant, made.id)).toMatchObject({ status: "off" });
    expect(await statusOf(made.id)).toBe("pending");
  });

  test("what was assigned by hand and is rejected is searched for, but not with who said no", async () => {
    const ground = await newSearching({ enabled: false });
    const { tenant } = ground;
    const [one, two] = [await newDriver(tenant), await newDriver(tenant)];
    const made = await ordered(ground);
    const hand = async (driver_id: string) =>
      expect(
        await tenant.ops.post("/delivery/assignments", { delivery_id: made.id, driver_id }),
      ).toSucceed(201);
    await hand(one.id);
    await answers(tenant, one, made.id, "rejected");
    expect(await driverOf(made.id)).toBeNull();
    await auto(tenant);
    await hand(one.id);
    await answers(tenant, one, made.id, "rejected");
    expect(await driverOf(made.id)).toBe(two.id);
    expect(await searchOf(tenant, made.id)).toMatchObject({ status: "offered", attempts: 1 });
  });

  test("takes an offer only when it says so, alone and in a bulk; what was accepted stays", async () => {
    const ground = await newSearching();
    const { tenant } = ground;
    const asked = await newDriver(tenant);
    const [one, two, three] = [await ordered(ground), await ordered(ground), await ordered(ground)];
    await answers(tenant, asked, three.id, "accepted");
    const driver = await newDriver(tenant);
    const body = { delivery_id: one.id, driver_id: driver.id };
    expect(await tenant.ops.post("/delivery/assignments", body)).toFailWith(
      409,
      "delivery_already_assigned",
    );
    expect(await tenant.ops.post("/delivery/assignments", { ...body, replace_offer: true }))
      .toSucceed(201);
    expect(await driverOf(one.id)).toBe(driver.id);
    expect(await searchOf(tenant, one.id)).toMatchObject({ status: "off" });
    const bulk = (delivery_ids: string[], more = {}) =>
      tenant.ops.post("/delivery/assignments/bulk", {
        driver_id: driver.id,
        delivery_ids,
        ...more,
      });
    expect(await bulk([two.id])).toFailWith(409, "delivery_already_assigned");
    const refused = await bulk([two.id, three.id], { replace_offer: true });
    expect(refused).toFailWith(409, "delivery_already_assigned");
    expect(refused.body.delivery_ids).toEqual([three.id]);
    expect(await driverOf(two.id)).toBe(asked.id);
    expect(await searchOf(tenant, two.id)).toMatchObject({ status: "offered" });
    const preview = await bulk([two.id], { replace_offer: true, dry_run: true });
    expect(preview.body).toMatchObject({ ok: true, results: [{ delivery_id: two.id, ok: true }] });
    expect(await driverOf(two.id)).toBe(asked.id);
    expect(await searchOf(tenant, two.id)).toMatchObject({ status: "offered" });
    expect((await bulk([two.id], { dry_run: true })).body.ok).toBe(false);
    expect(await bulk([two.id], { replace_offer: true })).toSucceed(201);
    expect(await driverOf(two.id)).toBe(driver.id);
    const notified = await sql`select from tenancy.notifications where user_id = ${asked.id}
      and type = 'assignment_returned'`;
    expect(notified.length).toBe(2);
    const loads = await sql`select live_stops from delivery.drivers where user_id = ${asked.id}`;
    expect(loads[0].live_stops).toBe(1);
  });

  test("an order that a carrier gives back to the company's drivers is searched for", async () => {
    const ground = await newSearching();
    const { tenant } = ground;
    const made = await ordered(ground);
    const carrier = (body: object) =>
      tenant.ops.patch(`/delivery/deliveries/${made.id}/carrier`, body);
    expect(await carrier({ carrier_type: "external", carrier_code: "easypost" })).toSucceed(200);
    expect(await searchOf(tenant, made.id)).toMatchObject({ status: "off" });
    await newDriver(tenant);
    expect(await carrier({ carrier_type: "internal" })).toSucceed(200);
    await timePasses(tenant);
    expect(await searchOf(tenant, made.id)).toMatchObject({ status: "offered" });
  });

  test("a parcel that is not sent back after all is searched for again", async () => {
    const tenant = await newTenant();
    const yard = await newYard(tenant);
    await auto(tenant);
    const { id } = await newDelivery(yard);
    const receipt = await broughtInto(yard, id, yard.warehouse);
    // Nobody is offered it before it is sent back.
    await sql`update delivery.drivers set status = 'inactive' where tenant_id = ${tenant.id}`;
    await received(yard, receipt);
    expect(await statusOf(id)).toBe("pending");
    const back = await sentBackBy(yard, id, "operational-return");
    expect(await searchOf(tenant, id)).toMatchObject({ status: "off" });
    await newDriver(tenant);
    expect(await move(tenant.ops, back.id, "cancel", { reason: "mistake" })).toSucceed(200);
    await timePasses(tenant);
    expect(await searchOf(tenant, id)).toMatchObject({ status: "offered" });
  });

  test("a postponed parcel that is sent back is searched for on its day only if it is not sent back after all", async () => {
    const tenant = await newTenant();
    const yard = await newYard(tenant);
    await auto(tenant);
    const { id } = await newDelivery(yard);
    await assign(tenant, id);
    await moves(tenant.driver, id, "pickup", "depart");
    const postponed = { result: "postponed", reason_code: "postponed", postponed_to: dayIn(3) };
    expect(await report(tenant.driver, id, postponed)).toSucceed(200);
    await broughtIn(yard, id);
    const back = await sentBackBy(yard, id, "operational-return");
    await sql`update delivery.deliveries set postponed_to = current_date - 1 where id = ${id}`;
    await sql`select delivery.postponed_resume()`;
    expect(await searchOf(tenant, id)).toMatchObject({ status: "off" });
    await newDriver(tenant);
    expect(await move(tenant.ops, back.id, "cancel", { reason: "mistake" })).toSucceed(200);
    await timePasses(tenant);
    expect(await searchOf(tenant, id)).toMatchObject({ status: "offered" });
  });
});
