/** Outcomes of attempts at the door: delivered as completed, failed and refused for a reason of the company. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  bookOf,
  checkAll,
  type Ground,
  move,
  moves,
  newDelivery,
  newGround,
  path,
  stagedInWarehouse,
  statusOf,
} from "../../support/deliveries.ts";
import {
  cash,
  eventsOf,
  failed,
  label,
  nothing,
  onItsWay,
  refused,
  report,
} from "../../support/outcomes.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

const reason = (value: string, kind: string, counts: boolean, needs = {}) => ({
  value,
  label,
  kind,
  counts,
  needs,
});
const parcel = (at: Ground = ground, status = "in_transit") => onItsWay(at, status);
const photo = (url: string) => ({ photo_urls: [url] });

describe("the outcome delivered", () => {
  test.each(["picked_up", "in_transit"])(
    "takes the cash from %s, as a completion does",
    async (from) => {
      const id = await parcel(ground, from);
      const held = await bookOf(tenant, "driver_cash", tenant.driver.id);
      const answer = await report(tenant.driver, id, {
        result: "delivered",
        cash_collected: cash,
        recipient_name: "Sara",
      });
      expect(answer).toSucceed(200);
      const split = { ...cash, currency: "IQD" };
      expect(answer.body.data).toMatchObject({
        delivery: { id, status: "delivered", recipient: { received_by: "Sara" } },
        returns: [],
        cash: { due: split, collected: split },
      });
      expect(await bookOf(tenant, "driver_cash", tenant.driver.id)).toBe(held + 7000);
      expect(await eventsOf(id)).toEqual([
        expect.objectContaining({ delivery_id: id, result: "delivered", reason_code: null }),
      ]);
    },
  );

  test("other cash than what is due, or a proof that is missing, leaves it as it is", async () => {
    const id = await parcel();
    const wrong = await report(tenant.driver, id, {
      result: "delivered",
      cash_collected: { ...cash, cod: 4000 },
    });
    expect(wrong).toFailWith(400, "cash_amount_mismatch");
    const strict = await newGround(await newTenant());
    await saveSettings(strict.tenant.id, "delivery.proof_settings", {
      delivery: { photo_required: true },
    });
    const second = await parcel(strict);
    const bare = await report(strict.tenant.driver, second, { result: "delivered" });
    expect(bare).toFailWith(400, "delivery_proof_required");
    expect(bare.body).toMatchObject({ field: "proofs.photo_urls", stage: "delivery" });
    expect([await statusOf(id), await statusOf(second)]).toEqual(["in_transit", "in_transit"]);
  });
});

describe("the outcome failed", () => {
  test("names a reason of the company, uses up an attempt, takes no cash, and can be tried again", async () => {
    const id = await parcel();
    const answer = await report(tenant.driver, id, { ...failed, note: "Rang twice" });
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({
      delivery: {
        status: "failed",
        status_reason: "no_answer",
        status_notes: "Rang twice",
        attempts_used: 1,
        assignment: { status: "accepted" },
      },
      returns: [],
      cash: { due: nothing, collected: nothing },
    });
    expect((await eventsOf(id))[0]).toMatchObject({
      result: "failed",
      reason_code: "no_answer",
      actor_id: tenant.driver.id,
    });
    const [{ rows }] =
      await sql`select count(*)::int as rows from money.cod_collections where delivery_id = ${id}`;
    expect(rows).toBe(0);
    expect(await move(tenant.ops, id, "retry", { override_reason: "called" })).toSucceed(200);
  });

  test("a reason that does not count uses up no attempt", async () => {
    const id = await parcel();
    const answer = await report(tenant.driver, id, {
      result: "failed",
      reason_code: "no_access",
      note: "The bridge is closed",
    });
    expect(answer).toSucceed(200);
    expect(answer.body.data.delivery.attempts_used).toBe(0);
    expect(await move(tenant.driver, id, "retry")).toSucceed(200);
  });

  test("what a reason needs has to come with it, and is kept as proof of the attempt alone", async () => {
    const strict = await newGround(await newTenant());
    const at = strict.tenant;
    await saveSettings(at.id, "delivery.attempts", {
      reasons: [reason("gate", "failed", true, { photo: true, note: true, place: true })],
    });
    await saveSettings(at.id, "delivery.proof_settings", { delivery: { photo_required: true } });
    const id = await parcel(strict);
    const gate = { result: "failed", reason_code: "gate" };
    const none = await report(at.driver, id, gate);
    expect(none).toFailWith(400, "outcome_evidence_required");
    expect(none.body).toMatchObject({
      field: "proofs.photo_urls",
      missing: ["photo", "note", "place"],
      message: "What this reason needs is missing: photo, note, place.",
    });
    const partial = await report(at.driver, id, { ...gate, note: "Locked" });
    expect(partial.body.missing).toEqual(["photo", "place"]);
    const { body: { data: place } } = await at.driver.post(`${path}/${id}/proof-uploads`, {
      stage: "delivery",
      kind: "photo",
      content_type: "image/jpeg",
    });
    const answer = await report(at.driver, id, {
      ...gate,
      note: "Locked",
      proofs: photo(place.path),
      latitude: 33.31,
      longitude: 44.36,
    });
    expect(answer).toSucceed(200);
    const { delivery } = (await at.ops.get(`${path}/${id}`)).body;
    expect(delivery.proofs).toEqual([
      expect.objectContaining({ stage: "attempt", kind: "photo", url: place.path }),
    ]);
    expect(delivery.history.at(-1)).toMatchObject({ to_status: "failed", note: "gate: Locked" });
    // The picture of a locked gate proves no delivery.
    expect(await move(at.ops, id, "retry", { override_reason: "called" })).toSucceed(200);
    expect(await report(at.driver, id, { result: "delivered" }))
      .toFailWith(400, "delivery_proof_required");
  });

  test("without a reason, with none of the company's or one of another kind it is refused", async () => {
    const id = await parcel();
    const none = await report(tenant.driver, id, { result: "failed" });
    expect(none).toFailWith(400, "outcome_evidence_required");
    expect(none.body.missing).toEqual(["reason_code"]);
    for (const reason_code of ["dog", "refused"]) {
      const answer = await report(tenant.driver, id, { result: "failed", reason_code });
      expect(answer).toFailWith(400, "invalid_reference");
      expect(answer.body.field).toBe("reason_code");
    }
    expect(await statusOf(id)).toBe("in_transit");
  });

  test("a leg's outcome shows in its parcel", async () => {
    const { parent, b } = await stagedInWarehouse(ground);
    await sql`update delivery.deliveries set status = 'accepted' where id = ${b}`;
    await sql`insert into delivery.assignments (tenant_id, delivery_id, driver_id, status, units)
      values (${tenant.id}, ${b}, ${tenant.driver.id}, 'accepted', 2)`;
    await sql`update delivery.deliveries set status = 'picked_up' where id = ${b}`;
    expect(await report(tenant.driver, b, failed)).toSucceed(200);
    expect(await statusOf(parent.id)).toBe("failed");
    expect(await eventsOf(parent.id)).toHaveLength(1);
  });
});

describe("the outcome refused", () => {
  test("is one attempt, after which its driver does not try again, however many are left; operations may", async () => {
    const allow = (attempts: number) =>
      sql`update delivery.delivery_services set allowed_delivery_attempts = ${attempts} where id = ${ground.service}`;
    await allow(3);
    const id = await parcel();
    const answer = await report(tenant.driver, id, refused);
    expect(answer).toSucceed(200);
    expect(answer.body.data.delivery).toMatchObject({
      status: "failed",
      status_reason: "refused",
      attempts_used: 1,
    });
    await allow(9);
    const again = await move(tenant.driver, id, "retry");
    expect(again).toFailWith(409, "delivery_attempts_exhausted");
    expect(again.body.message).toContain("was refused");
    expect(await move(tenant.ops, id, "retry", { override_reason: "The shop called" }))
      .toSucceed(200);
    expect(await report(tenant.driver, id, failed)).toSucceed(200);
    expect(await move(tenant.driver, id, "retry")).toSucceed(200);
    await allow(1);
  });

  test("on the way into a warehouse it needs operations, too", async () => {
    const { legs: [a] } = await newDelivery(ground, {
      staged: true,
      warehouse_id: ground.warehouse,
    });
    await assign(tenant, a.id);
    await moves(tenant.driver, a.id, "pickup", "depart");
    expect(await report(tenant.driver, a.id, refused)).toSucceed(200);
    expect(await move(tenant.driver, a.id, "retry")).toFailWith(409, "delivery_attempts_exhausted");
    expect(await move(tenant.ops, a.id, "retry", { override_reason: "The clerk is back" }))
      .toSucceed(200);
  });
});
