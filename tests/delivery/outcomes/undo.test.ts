/** The undo of an outcome: everything it made is reversed, and the delivery lives on as if it had not come to one. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  deliveryIn,
  type Ground,
  move,
  moves,
  newDelivery,
  newGround,
  path,
  stagedInWarehouse,
  statusOf,
} from "../../support/deliveries.ts";
import { newPayer, payFor } from "../../support/driver-pay.ts";
import { fundWallet } from "../../support/money.ts";
import { cash, failed, onItsWay, report, sound, standing, undo } from "../../support/outcomes.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  ground = await newPayer();
  tenant = ground.tenant;
  await fundWallet(tenant, "customer", tenant.customer.id, 100_000);
});

const parcel = (at: Ground = ground, status?: string) => onItsWay(at, status);

const paymentsOf = async (id: string) =>
  (await sql`select type, status from money.payments where delivery_id = ${id} order by created_at, type`)
    .map(({ type, status }) => `${type} ${status}`);
const listed = async (id: string, query: Record<string, string> = {}) =>
  (await tenant.admin.get("/delivery/cod-collections", { query: { delivery_id: id, ...query } }))
    .body.cod;

describe("a delivery that is undone", () => {
  test.each(["picked_up", "in_transit"])(
    "is as it was in %s: cash, COD, pay, payments and load; and it lives its whole life again",
    async (from) => {
      const id = await parcel(ground, from);
      const before = await standing(tenant);
      const { attempts_used } = (await tenant.ops.get(`${path}/${id}`)).body.delivery;
      for (let life = 1; life <= 2; life++) {
        const done = await report(tenant.driver, id, {
          result: "delivered",
          cash_collected: cash,
          recipient_name: "Sara",
        });
        expect(done).toSucceed(200);
        expect(await standing(tenant)).toMatchObject({
          wallet: before.wallet + 5000,
          held: before.held + 7000,
          payable: before.payable + 500,
        });
        const answer = await undo(tenant.driver, id);
        expect(answer).toSucceed(200);
        expect(answer.body.data).toMatchObject({
          delivery: {
            id,
            status: from,
            status_reason: "outcome_undone",
            status_notes: "Wrong parcel",
            attempts_used,
            assignment: { status: "accepted", driver: { id: tenant.driver.id } },
            delivered_at: null,
          },
          cash: { ...cash, currency: "IQD" },
        });
        expect(answer.body.data.delivery.recipient.received_by).toBeUndefined();
        expect(await standing(tenant)).toEqual(before);
        expect((await payFor(id)).map(({ status }) => status)).toEqual(
          Array(life).fill("reversed"),
        );
        expect(await paymentsOf(id)).toEqual(
          Array(life).fill(["COD_COLLECTION CANCELLED", "DELIVERY_FEE CANCELLED"]).flat(),
        );
        expect((await listed(id)).collections).toEqual([]);
        await sound(tenant);
      }
      expect(await move(tenant.driver, id, "complete", { cash_collected: cash })).toSucceed(200);
      expect(await standing(tenant)).toEqual({
        ...before,
        wallet: before.wallet + 5000,
        held: before.held + 7000,
        clearing: before.clearing - 5000,
        outside: before.outside - 7000,
        payable: before.payable + 500,
        cost: before.cost - 500,
        load: {
          capacity_used: before.load.capacity_used - 2,
          live_stops: before.load.live_stops - 1,
        },
      });
      const { delivery } = (await tenant.ops.get(`${path}/${id}`)).body;
      expect(delivery.collections).toHaveLength(1);
      expect(delivery.history.slice(-5).map((row: { to_status: string }) => row.to_status))
        .toEqual(["delivered", from, "delivered", from, "delivered"]);
      expect(delivery.history.at(-2).note).toBe("outcome_undone: Wrong parcel");
      await sound(tenant);
    },
  );

  test("cash that the sender paid at pickup stays taken", async () => {
    const { id } = await deliveryIn(ground, "in_transit", {
      payer_type: "sender",
      cod_amount: 5000,
    });
    const before = await standing(tenant);
    await moves(tenant.driver, id, "complete");
    const answer = await undo(tenant.driver, id);
    expect(answer.body.data.cash).toEqual({ cod: 5000, delivery_fee: 0, currency: "IQD" });
    expect(await standing(tenant)).toEqual(before);
    expect(await paymentsOf(id)).toEqual(["DELIVERY_FEE SUCCESS", "COD_COLLECTION CANCELLED"]);
    await sound(tenant);
  });

  test("a delivery without cash has nothing to give back", async () => {
    const at = await newGround(await newTenant());
    const { id } = await deliveryIn(at, "in_transit", {
      payment_method: "cash",
      payer_type: "sender",
    });
    await moves(at.tenant.driver, id, "complete");
    expect((await undo(at.tenant.driver, id)).body.data.cash)
      .toEqual({ cod: 0, delivery_fee: 0, currency: "IQD" });
    await sound(at.tenant);
  });

  test("a proof of what was undone proves nothing; the same picture may prove the next one", async () => {
    const at = await newGround(await newTenant());
    await saveSettings(at.tenant.id, "delivery.proof_settings", {
      delivery: { photo_required: true },
    });
    const id = await parcel(at);
    const { body: { data: place } } = await at.tenant.driver.post(`${path}/${id}/proof-uploads`, {
      stage: "delivery",
      kind: "photo",
      content_type: "image/jpeg",
    });
    const proof = { photo_urls: [place.path] };
    expect(await move(at.tenant.driver, id, "complete", { proof })).toSucceed(200);
    expect(await undo(at.tenant.driver, id)).toSucceed(200);
    expect(await move(at.tenant.driver, id, "complete")).toFailWith(400, "delivery_proof_required");
    expect(await move(at.tenant.driver, id, "complete", { proof })).toSucceed(200);
  });

  test("comes back to a driver who is full by now", async () => {
    const at = await newGround(await newTenant());
    const id = await parcel(at);
    await moves(at.tenant.driver, id, "complete");
    await sql`update delivery.vehicles set unit_capacity = 1 where tenant_id = ${at.tenant.id}`;
    expect(await undo(at.tenant.ops, id)).toSucceed(200);
    const [{ capacity_used }] = await sql`select capacity_used from delivery.drivers
      where tenant_id = ${at.tenant.id} and user_id = ${at.tenant.driver.id}`;
    expect(capacity_used).toBe(2);
    await sound(at.tenant);
    const notices = await at.tenant.driver.get("/tenants/me/notifications", {
      query: { type: "outcome_undone" },
    });
    expect(notices.body.data).toEqual([expect.objectContaining({
      payload: expect.objectContaining({ delivery_id: id, result: "delivered" }),
    })]);
  });

  test("subscribers hear of it, and the log says who and why", async () => {
    const id = await parcel();
    await moves(tenant.driver, id, "complete");
    expect(await undo(tenant.ops, id, "Typed for another parcel")).toSucceed(200);
    const [{ event_data }] = await sql`select event_data from integration.system_events
      where entity_id = ${id} and event_type = 'delivery.outcome_undone'`;
    expect(event_data).toMatchObject({
      delivery_id: id,
      result: "delivered",
      reason: "Typed for another parcel",
      actor_id: tenant.ops.id,
    });
    const logged =
      await sql`select actor_id, after from app.audit_log where tenant_id = ${tenant.id}
      and entity = 'delivery.outcomes' and action = 'update' and after ->> 'undo_reason' = 'Typed for another parcel'`;
    expect(logged.map(({ actor_id }) => actor_id)).toEqual([tenant.ops.id]);
  });
});

describe("a failure that is undone", () => {
  test.each([
    ["fail", { reason: "absent" }, 1],
    ["outcome", failed, 1],
    ["outcome", { result: "failed", reason_code: "no_access", note: "Closed" }, 0],
    ["outcome", { result: "refused", reason_code: "refused" }, 1],
  ])("by %s %j: the attempt was none", async (step, body, counted) => {
    const id = await parcel();
    const before = await standing(tenant);
    const made = await move(tenant.driver, id, step, body);
    expect(made).toSucceed(200);
    expect((made.body.data ?? made.body).delivery.attempts_used).toBe(counted);
    const { delivery, cash: none } = (await undo(tenant.driver, id)).body.data;
    expect(delivery).toMatchObject({
      status: "in_transit",
      attempts_used: 0,
      assignment: { status: "accepted" },
    });
    expect(none).toEqual({ cod: 0, delivery_fee: 0, currency: "IQD" });
    expect(await standing(tenant)).toEqual(before);
    // A refusal that was undone needs no operations for the next attempt.
    await sql`update delivery.delivery_services set allowed_delivery_attempts = 2 where id = ${ground.service}`;
    await moves(tenant.driver, id, "fail", "retry", "complete");
    await sql`update delivery.delivery_services set allowed_delivery_attempts = 1 where id = ${ground.service}`;
    await sound(tenant);
  });

  test("a second attempt's outcome goes, the first stays", async () => {
    await sql`update delivery.delivery_services set allowed_delivery_attempts = 3 where id = ${ground.service}`;
    const id = await parcel();
    await moves(tenant.driver, id, "fail", "retry", "fail");
    const { delivery } = (await undo(tenant.driver, id)).body.data;
    expect(delivery).toMatchObject({ status: "in_transit", attempts_used: 1 });
    expect(await undo(tenant.driver, id)).toFailWith(409, "outcome_already_undone");
    await moves(tenant.driver, id, "fail");
    expect((await undo(tenant.driver, id)).body.data.delivery.attempts_used).toBe(1);
    await sql`update delivery.delivery_services set allowed_delivery_attempts = 1 where id = ${ground.service}`;
  });
});

describe("a staged parcel whose outcome is undone", () => {
  test("its last leg is on its way again, and its parcel with it", async () => {
    const { parent, b } = await stagedInWarehouse(ground, { cod_amount: 5000 });
    await sql`update delivery.deliveries set status = 'accepted' where id = ${b}`;
    await sql`insert into delivery.assignments (tenant_id, delivery_id, driver_id, status, units)
      values (${tenant.id}, ${b}, ${tenant.driver.id}, 'accepted', 2)`;
    await sql`update delivery.deliveries set status = 'picked_up' where id = ${b}`;
    const before = await standing(tenant);
    for (const named of [b, parent.id]) {
      await moves(tenant.driver, b, "complete");
      expect(await statusOf(parent.id)).toBe("delivered");
      expect(await undo(tenant.ops, named)).toSucceed(200);
      expect([await statusOf(b), await statusOf(parent.id)]).toEqual(["picked_up", "in_transit"]);
      expect(await standing(tenant)).toEqual(before);
    }
    await moves(tenant.driver, b, "fail");
    const [{ attempts_used }] =
      await sql`select attempts_used from delivery.deliveries where id = ${parent.id}`;
    expect(attempts_used).toBe(1);
    expect(await undo(tenant.driver, b)).toSucceed(200);
    expect(
      (await sql`select attempts_used from delivery.deliveries where id = ${parent.id}`)[0]
        .attempts_used,
    )
      .toBe(0);
    await moves(tenant.driver, b, "complete");
    expect(await standing(tenant)).toMatchObject({
      wallet: before.wallet + 5000,
      held: before.held + 7000,
    });
    await sound(tenant);
  });

  test("a leg that was said to have come to a warehouse is not expected there; one that was received went on", async () => {
    await saveSettings(tenant.id, "general.warehouse", { handoff_required: true });
    const { legs: [a, b] } = await newDelivery(ground, {
      staged: true,
      warehouse_id: ground.warehouse,
    });
    await assign(tenant, a.id);
    await moves(tenant.driver, a.id, "pickup", "depart", "complete");
    const receipts =
      async () => (await sql`select id, status from warehousing.receiving_orders where delivery_id = ${a.id} order by created_at`);
    expect((await receipts()).map(({ status }) => status)).toEqual(["pending"]);
    expect(await undo(tenant.driver, a.id)).toSucceed(200);
    expect((await receipts()).map(({ status }) => status)).toEqual(["cancelled"]);
    expect([await statusOf(a.id), await statusOf(b.id)]).toEqual(["in_transit", "draft"]);
    await moves(tenant.driver, a.id, "complete");
    const [, { id }] = await receipts();
    expect(await tenant.admin.put(`/warehousing/receiving-orders/${id}`, { status: "received" }))
      .toSucceed();
    expect(await undo(tenant.ops, a.id)).toFailWith(409, "outcome_went_on");
    await saveSettings(tenant.id, "general.warehouse", { handoff_required: false });
    await sound(tenant);
  });
});
