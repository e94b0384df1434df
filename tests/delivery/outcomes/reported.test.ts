/** Reports of an outcome: by whom, with what proof, once. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  bookOf,
  checkAll,
  deliveryIn,
  type Ground,
  newDelivery,
  newGround,
  path,
  statusOf,
} from "../../support/deliveries.ts";
import {
  cash,
  dayIn,
  eventsOf,
  failed,
  onItsWay,
  refused,
  report,
} from "../../support/outcomes.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";

let tenant: Tenant;
let ground: Ground;
let other: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  other = await newTenant();
});
afterAll(() => checkAll(tenant));
const parcel = (at: Ground = ground, status = "in_transit") => onItsWay(at, status);
const photo = (url: string) => ({ photo_urls: [url] });

describe("a report", () => {
  test("operations report for a driver", async () => {
    const id = await parcel();
    expect(await report(tenant.ops, id, failed)).toSucceed(200);
  });

  test("two devices with different outcomes: one holds, the other learns what is true", async () => {
    for (let round = 0; round < 4; round++) {
      const id = await parcel();
      const held = await bookOf(tenant, "driver_cash", tenant.driver.id);
      const answers = await Promise.all([
        report(tenant.driver, id, { result: "delivered", cash_collected: cash }),
        report([tenant.driver, tenant.ops][round % 2], id, failed),
      ]);
      const lost = answers.find(({ status }) => status !== 200);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
      expect(lost).toFailWith(409, "delivery_status_changed");
      const status = await statusOf(id);
      expect(lost?.body).toMatchObject({
        status,
        status_reason: status === "failed" ? "no_answer" : null,
      });
      expect(await bookOf(tenant, "driver_cash", tenant.driver.id))
        .toBe(held + (status === "delivered" ? 7000 : 0));
    }
  });

  test.each([
    ["delivered", { result: "delivered", cash_collected: cash }],
    ["failed", failed],
    ["refused", refused],
    ["postponed", { result: "postponed", reason_code: "postponed", postponed_to: dayIn(2) }],
  ])("the same report of %s again is one outcome", async (_, body) => {
    const id = await parcel();
    await expectReplayed(tenant.driver, `${path}/${id}/outcome`, body, {
      ...body,
      occurred_at: new Date().toISOString(),
    });
    expect(await eventsOf(id)).toHaveLength(1);
  });

  test("a parcel that is not on its way has no outcome", async () => {
    for (const status of ["pending", "assigned"]) {
      const { id } = await deliveryIn(ground, status);
      expect(await report(tenant.ops, id, failed)).toFailWith(409, "invalid_status_transition");
    }
    const { id } = await deliveryIn(ground, "cancelled");
    expect(await report(tenant.ops, id, failed)).toFailWith(409, "delivery_status_changed");
  });

  test("is refused to another driver, an owner and callers without a token", async () => {
    const id = await parcel();
    const call = { method: "POST", path: `${path}/${id}/outcome`, body: failed } as const;
    await expectGuarded(call, { denied: [tenant.customer, tenant.institution] });
    const stranger = await report(tenant.driver2, id, failed);
    expect([403, 404]).toContain(stranger.status);
    await expectRefused(tenant.driver, call, [
      [{}, "result"],
      [{ result: "eaten" }, "result"],
      [{ result: "delivered", reason_code: "no_answer" }, "reason_code"],
      [{ ...failed, cash_collected: cash }, "cash_collected"],
      [{ ...failed, recipient_name: "Sara" }, "recipient_name"],
      [{ ...failed, latitude: 33 }, "longitude"],
      [{ ...failed, occurred_at: "2020-01-01T00:00:00Z" }, "occurred_at", "invalid_occurred_at"],
      [{ ...failed, proofs: photo("http://[") }, "proofs.photo_urls.0"],
    ]);
    const theirs = await newDelivery(await newGround(other));
    await expectNoSuch(
      tenant.ops,
      { method: "POST", path: `${path}/{id}/outcome`, body: failed },
      "delivery_id",
      "delivery_not_found",
      theirs.id,
    );
    expect(await report(tenant.ops, randomUUID(), failed)).toFailWith(404, "delivery_not_found");
  });

  test("a delivery that its driver has not accepted has no outcome of theirs", async () => {
    const { id } = await newDelivery(ground);
    await assign(tenant, id, tenant.driver, "pending");
    await sql`update delivery.deliveries set status = 'picked_up' where id = ${id}`;
    expect(await report(tenant.driver, id, failed)).toFailWith(409, "assignment_not_accepted");
  });
});
