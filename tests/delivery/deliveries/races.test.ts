import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  bookOf,
  checkAll,
  deliveryIn,
  type Ground,
  handedTo,
  move,
  moves,
  newDelivery,
  newGround,
  order,
  parcelStock,
  path,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { tally, times } from "../../support/races.ts";

let tenant: Tenant;
let ground: Ground;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

describe("at the same moment", () => {
  test("ten completions take the cash once", async () => {
    const { id } = await deliveryIn(ground, "in_transit", { cod_amount: 5000 });
    const held = await bookOf(tenant, "driver_cash", tenant.driver.id);
    const answers = await times(
      10,
      (i) =>
        move([tenant.driver, tenant.ops][i % 2], id, "complete", {
          cash_collected: { cod: 5000, delivery_fee: 2000 },
        }),
    );
    const { "200": done, ...refused } = tally(answers);
    expect(done).toBe(1);
    // A driver whose assignment has just ended carries nothing any more.
    expect(
      Object.keys(refused).every((key) =>
        /^409 invalid|^409 assignment_ended|^403 forbidden/.test(key)
      ),
    ).toBe(true);
    expect(await bookOf(tenant, "driver_cash", tenant.driver.id) - held).toBe(7000);
  });

  test("completing and failing: one of them", async () => {
    for (let round = 0; round < 6; round++) {
      const { id } = await deliveryIn(ground, "in_transit");
      const answers = await Promise.all([
        move(tenant.driver, id, "complete"),
        move(tenant.ops, id, "fail", { reason: "absent" }),
        move(tenant.ops, id, "return"),
      ]);
      const done = answers.filter(({ status }) => status === 200);
      // A failed one may still come back; a delivered or returned one ends.
      expect(done.length).toBeGreaterThan(0);
      if (answers[0].status === 200) expect(done).toHaveLength(1);
      expect(answers.every(({ status }) => [200, 403, 409].includes(status))).toBe(true);
    }
  });

  test("pickup against cancellation: one of them wins", async () => {
    for (let round = 0; round < 6; round++) {
      const { id } = await deliveryIn(ground, "accepted", { payer_type: "sender" });
      const answers = await Promise.all([
        move(tenant.driver, id, "pickup"),
        move(tenant.ops, id, "cancel", { reason: "no" }),
      ]);
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect([403, 409]).toContain(answers.find(({ status }) => status !== 200)!.status);
      expect(await statusOf(id)).toBe(answers[0].status === 200 ? "picked_up" : "cancelled");
    }
  });

  test("ten executions make one pick, ten pickups of a handoff move the stock once", async () => {
    const { b } = await stagedInWarehouse(ground);
    const made = await times(10, (i) => move([tenant.ops, tenant.warehouse][i % 2], b, "execute"));
    expect(tally(made)).toEqual({ "200": 10 });
    expect(new Set(made.map(({ body }) => body.picking_order.id)).size).toBe(1);
    const handoff = await handedTo(ground, b);
    const answers = await times(
      10,
      (i) => [tenant.driver, tenant.ops][i % 2].post(`/delivery/handoffs/${handoff}/pickup`),
    );
    expect(tally(answers)).toEqual({ "200": 1, "409 handoff_not_pending": 9 });
    const [{ n }] = await sql`select count(*)::int as n from warehousing.inventory_transactions t
      join warehousing.picking_orders p on p.id = t.reference_id where p.delivery_id = ${b} and t.transaction_type = 'pick'`;
    expect(n).toBe(1);
    expect(await tenant.driver2.post(`/delivery/handoffs/${handoff}/pickup`))
      .toFailWith(404, "handoff_not_found");
  });

  test("ten receipts of a return put the stock back once and free its driver once", async () => {
    const { parent, b } = await stagedInWarehouse(ground);
    await takenOver(ground, b);
    const { receiving_order_id } = await moves(tenant.driver, b, "return");
    const answers = await times(
      10,
      () =>
        tenant.warehouse.put(`/warehousing/receiving-orders/${receiving_order_id}`, {
          status: "received",
        }),
    );
    expect(tally(answers)).toEqual({ "200": 10 });
    expect(await parcelStock(parent.id)).toEqual({ available: 1 });
  });

  test("legs of one parcel that move together do not wait for each other in a circle", async () => {
    const parcels = await times(6, () => stagedInWarehouse(ground));
    const answers = await times(24, (i) => {
      const { parent, a, b } = parcels[i % 6];
      return [
        () => move(tenant.ops, b, "execute"),
        () => move(tenant.ops, a, "exceptions", { type: "late" }),
        () => move(tenant.ops, parent.id, "cancel", { reason: "no" }),
        () => move(tenant.ops, b, "exceptions", { type: "wet" }),
      ][Math.floor(i / 6)]();
    });
    expect(Object.keys(tally(answers)).filter((key) => key.startsWith("5"))).toEqual([]);
  });

  test("drivers of many deliveries complete them side by side", async () => {
    const ids = (await times(8, () => newDelivery(ground, { cod_amount: 1000 }))).map(({ id }) =>
      id
    );
    for (const [i, id] of ids.entries()) {
      await assign(tenant, id, [tenant.driver, tenant.driver2][i % 2]);
    }
    const answers = await times(8, async (i) => {
      const person = [tenant.driver, tenant.driver2][i % 2];
      await move(person, ids[i], "pickup");
      return await move(person, ids[i], "complete");
    });
    expect(tally(answers)).toEqual({ "200": 8 });
  });
});

describe("the same again", () => {
  test("under its key answers the same and writes nothing twice", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const first = await tenant.ops.post(path, order(ground), { headers });
    const again = await tenant.ops.post(path, order(ground), { headers });
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await tenant.ops.post(path, order(ground, { notes: "other" }), { headers }))
      .toFailWith(409, "idempotency_conflict");
    await assign(tenant, first.body.id);
    await moves(tenant.driver, first.body.id, "pickup");
    const key = { headers: { "idempotency-key": randomUUID() } };
    const done = await tenant.driver.post(`${path}/${first.body.id}/complete`, {}, key);
    expect(done).toSucceed();
    const replay = await tenant.driver.post(`${path}/${first.body.id}/complete`, {}, key);
    expect(replay.body).toEqual(done.body);
  });
});
