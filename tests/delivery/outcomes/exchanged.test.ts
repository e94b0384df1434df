/** Parcels that are handed over against goods that the receiver gives back. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  bookOf,
  checkAll,
  type Ground,
  move,
  moves,
  newGround,
  path,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { newService } from "../../support/money.ts";
import { broughtIn, cash, eventsOf, onItsWay, report } from "../../support/outcomes.ts";
import { queuedOn } from "../../support/overlapping.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { expectRefused, expectReplayed } from "../../support/promises.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant({
    settings: { "general.driver": { mode: "per_delivery", per_delivery: { base_amount: 1000 } } },
  });
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

const exchanged = {
  result: "exchanged",
  taken_back: [{ name: "Old phone", quantity: 1 }, { name: "Charger", quantity: 2 }],
};
const itemsOf = async (id: string) =>
  (await tenant.ops.get(`${path}/${id}`)).body.delivery.items.map((
    { name, quantity }: Body,
  ) => [name, quantity]);

describe("an exchange", () => {
  test.each(["picked_up", "in_transit"])(
    "from %s: delivered, and what is given back is a free return in the driver's hands",
    async (from) => {
      const id = await onItsWay(ground, from);
      const held = await bookOf(tenant, "driver_cash", tenant.driver.id);
      const answer = await report(tenant.driver, id, { ...exchanged, cash_collected: cash });
      expect(answer).toSucceed(200);
      const due = { ...cash, currency: "IQD" };
      expect(answer.body.data).toMatchObject({
        delivery: { id, status: "delivered", delivered_in_part: false, cod_amount: 5000 },
        returns: [{
          original_delivery_id: id,
          delivery_flow: "customer_return",
          status: "picked_up",
          price: 0,
          cod_amount: 0,
          pickup_address_id: ground.to,
          dropoff_address_id: ground.from,
          assignment: { status: "accepted", driver_id: tenant.driver.id },
        }],
        cash: { due, collected: due },
      });
      const [back] = answer.body.data.returns;
      expect(await itemsOf(back.id)).toEqual([["Old phone", 1], ["Charger", 2]]);
      expect(await bookOf(tenant, "driver_cash", tenant.driver.id)).toBe(held + 7000);
      expect(await eventsOf(id)).toEqual([expect.objectContaining({ result: "exchanged" })]);
      await moves(tenant.driver, back.id, "depart", "complete");
      const pay = await sql`select delivery_id from money.driver_pay
        where delivery_id = any (${[id, back.id]})`;
      expect(pay.map(({ delivery_id }) => delivery_id)).toEqual([id]);
    },
  );

  test("has the service of returns where there is one, which need not allow them, else that of the parcel", async () => {
    const own = await newGround(await newTenant());
    const serviceOf = async () => {
      const answer = await report(own.tenant.driver, await onItsWay(own), exchanged);
      expect(answer).toSucceed(200);
      return answer.body.data.returns[0].delivery_service_id;
    };
    expect(await serviceOf()).toBe(own.service);
    const service = await newService(own.tenant);
    await saveSettings(own.tenant.id, "general.delivery", {
      return_requests: { default_delivery_service_id: service },
    });
    expect(await serviceOf()).toBe(service);
    await sql`update delivery.delivery_services set deleted_at = now() where id = ${service}`;
    expect(await serviceOf()).toBe(own.service);
    await checkAll(own.tenant);
  });

  test("leaves what was delivered to be returned by its customer", async () => {
    const id = await onItsWay(ground);
    expect(await report(tenant.driver, id, exchanged)).toSucceed(200);
    await sql`update delivery.delivery_services set allow_returns = true where id = ${ground.service}`;
    const asked = () =>
      tenant.ops.post(path, {
        delivery_flow: "customer_return",
        original_delivery_id: id,
        delivery_service_id: ground.service,
        payer_type: "sender",
        payment_method: "cash",
        unit_size: 1,
      });
    expect(await asked()).toSucceed(201);
    expect(await asked()).toFailWith(409, "return_already_exists");
  });

  test("continues from the warehouse that takes its return in on the way", async () => {
    const id = await onItsWay(ground);
    const { body: { data: { returns: [back] } } } = await report(tenant.driver, id, exchanged);
    expect(await move(tenant.driver, back.id, "return")).toFailWith(
      409,
      "invalid_status_transition",
    );
    await broughtIn(ground, back.id);
    expect(await statusOf(back.id)).toBe("pending");
    expect(await move(tenant.ops, back.id, "cancel", { reason: "no" }))
      .toFailWith(409, "invalid_status_transition");
    await checkAll(tenant);
  });

  test("ends a staged parcel by its last leg", async () => {
    const { parent, b } = await stagedInWarehouse(ground, { cod_amount: 5000 });
    await takenOver(ground, b);
    const answer = await report(tenant.driver, b, exchanged);
    expect(answer.body.data.returns[0].original_delivery_id).toBe(parent.id);
    expect(await statusOf(parent.id)).toBe("delivered");
  });
});

test("names what is given back, each with a quantity, and nothing else does", async () => {
  const id = await onItsWay(ground);
  const [phone] = exchanged.taken_back;
  await expectRefused(tenant.driver, { method: "POST", path: `${path}/${id}/outcome` }, [
    [{ result: "exchanged" }, "taken_back"],
    [{ ...exchanged, taken_back: [] }, "taken_back"],
    [{ ...exchanged, taken_back: [{ ...phone, name: " " }] }, "taken_back.0.name"],
    [{ ...exchanged, taken_back: [{ ...phone, quantity: 1.5 }] }, "taken_back.0.quantity"],
    [{ ...exchanged, cash_collected: { cod: 1 } }, "cash_collected", "cash_amount_mismatch"],
    [{ result: "delivered", taken_back: [phone] }, "taken_back"],
  ]);
  expect(await statusOf(id)).toBe("in_transit");
});

test("the same report again is one exchange", async () => {
  const id = await onItsWay(ground);
  await expectReplayed(tenant.driver, `${path}/${id}/outcome`, exchanged, {
    ...exchanged,
    note: "x",
  });
  const [{ returns }] = await sql`select count(*)::int as returns from delivery.deliveries
    where original_delivery_id = ${id}`;
  expect(returns).toBe(1);
});

test("two devices with different outcomes: the first holds, whichever it is", async () => {
  for (const first of [0, 1]) {
    const id = await onItsWay(ground);
    const bodies = [exchanged, { result: "refused", reason_code: "refused" }];
    const answers = await queuedOn(
      id,
      [bodies[first], bodies[1 - first]].map((body) => () => report(tenant.driver, id, body)),
    );
    expect(answers[0]).toSucceed(200);
    expect(answers[1]).toFailWith(409, "delivery_status_changed");
    expect(await statusOf(id)).toBe(first === 0 ? "delivered" : "failed");
  }
});
