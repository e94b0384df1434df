/** Parcels that are refused at the door and go back at once, where the company says so. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  deliveryIn,
  type Ground,
  move,
  moves,
  newGround,
  newWarehouse,
  path,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { newAddress } from "../../support/make.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { expectReplayed } from "../../support/promises.ts";
import {
  broughtIn,
  eventsOf,
  nothing,
  onItsWay,
  photoOf,
  refused,
  report,
} from "../../support/outcomes.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant({ settings: { "delivery.attempts": { after_last: "return" } } });
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

/** A parcel refused at its door, and the return that was made of it. */
async function sentBack(at: Ground = ground, more: Record<string, unknown> = {}) {
  const id = await onItsWay(at, "in_transit", more);
  const answer = await report(at.tenant.driver, id, { ...refused, note: "Changed their mind" });
  expect(answer).toSucceed(200);
  return { id, answer, back: answer.body.data.returns[0] as Body };
}

const loadOf = async (driver: Person) =>
  Number(
    (await sql`select capacity_used as load from delivery.drivers where user_id = ${driver.id}`)[0]
      .load,
  );

test("the setting is read and written with the group; anything else is refused", async () => {
  const settings = `/tenants/${tenant.id}/settings`;
  const { body } = await tenant.admin.get(settings, { query: { keys: "delivery.attempts" } });
  expect(body.delivery.attempts.settings.after_last).toBe("return");
  const wrong = await tenant.admin.put(settings, {
    delivery: { attempts: { settings: { after_last: "keep" } } },
  });
  expect(wrong).toFailWith(400, "validation_failed");
  const other = await newTenant();
  const unset = await other.admin.get(`/tenants/${other.id}/settings`, {
    query: { keys: "delivery.attempts" },
  });
  expect(unset.body.delivery.attempts.settings.after_last).toBe("ask");
});

describe("a refused parcel", () => {
  test("is returned, and its return is in the driver's hands, free, on the way to its sender", async () => {
    const load = await loadOf(tenant.driver);
    const { id, answer, back } = await sentBack();
    expect(answer.body.data).toMatchObject({
      delivery: { id, status: "returned", status_reason: "refused", attempts_used: 1 },
      cash: { due: nothing, collected: nothing },
      returns: [{
        original_delivery_id: id,
        delivery_flow: "operational_return",
        status: "picked_up",
        status_reason: "refused",
        price: 0,
        cod_amount: 0,
        pickup_address_id: ground.to,
        dropoff_address_id: ground.from,
        dropoff_warehouse_id: null,
        assignment: { status: "accepted", driver_id: tenant.driver.id },
      }],
    });
    expect(back.picked_up_at).not.toBeNull();
    expect(await loadOf(tenant.driver)).toBe(load + 2);
    expect(await eventsOf(id)).toEqual([expect.objectContaining({ result: "refused" })]);
    const { delivery } = (await tenant.ops.get(`${path}/${back.id}`)).body;
    const { delivery: original } = (await tenant.ops.get(`${path}/${id}`)).body;
    expect(delivery.items.map(({ name, quantity }: Body) => [name, quantity]))
      .toEqual(original.items.map(({ name, quantity }: Body) => [name, quantity]));
    expect(original.returns).toEqual([expect.objectContaining({ id: back.id })]);
    const duty = await tenant.driver.post("/delivery/drivers/me/duty", { on_duty: false });
    expect(duty.body.delivery_codes).toContain(back.delivery_code);
  });

  test("is back with a proof, and not before: then its fee is refunded by the policy", async () => {
    const own = await newGround(
      await newTenant({
        settings: {
          "delivery.attempts": { after_last: "return" },
          "delivery.fulfillment_policy": {
            payment_policies: { refund_delivery_fee_on_return: true },
          },
          "general.driver": { mode: "per_delivery", per_delivery: { base_amount: 1000 } },
        },
      }),
    );
    const wallet = await fundWallet(own.tenant, "customer", own.tenant.customer.id, 10_000);
    const paid = { payer_type: "sender", payment_method: "wallet" };
    const { back } = await sentBack(own, paid);
    const before = await balanceOf(wallet);
    expect(back.assignment).not.toBeNull();
    const bare = await move(own.tenant.driver, back.id, "complete");
    expect(bare).toFailWith(400, "delivery_proof_required");
    const ended = await move(own.tenant.driver, back.id, "return");
    expect(ended).toFailWith(409, "invalid_status_transition");
    expect(await move(own.tenant.ops, back.id, "cancel", { reason: "no" }))
      .toFailWith(409, "invalid_status_transition");
    expect(await balanceOf(wallet)).toBe(before);
    const { delivery } = (await own.tenant.ops.get(`${path}/${back.id}`)).body;
    expect(delivery.proof_requirements.delivery.photo_required).toBe(true);
    const photo = await photoOf(own.tenant.driver, back.id);
    expect(await move(own.tenant.driver, back.id, "complete", { proof: photo })).toSucceed(200);
    expect(await balanceOf(wallet)).toBe(before + 2000);
    const [{ pay }] = await sql`select count(*)::int as pay from money.driver_pay
      where tenant_id = ${own.tenant.id}`;
    expect(pay).toBe(0);
    await checkAll(own.tenant);
  });

  test("goes to the default warehouse where returns go there, and is received as any parcel is", async () => {
    const own = await newGround(
      await newTenant({ settings: { "delivery.attempts": { after_last: "return" } } }),
    );
    const stands = await newAddress(own.tenant);
    const { warehouse } = await newWarehouse(own.tenant, stands);
    await saveSettings(own.tenant.id, "general.warehouse", { default_warehouse_id: warehouse });
    await saveSettings(own.tenant.id, "general.delivery", {
      return_requests: { destination_mode: "warehouse" },
    });
    const { id, back } = await sentBack(own);
    expect(back).toMatchObject({ dropoff_warehouse_id: warehouse, dropoff_address_id: stands });
    const photo = await photoOf(own.tenant.driver, back.id);
    await moves(own.tenant.driver, back.id, "depart", ["complete", { proof: photo }]);
    const rows = await sql`select current_warehouse_id as at, status from delivery.deliveries
      where id in ${sql([id, back.id])} order by created_at`;
    expect(rows.map((row) => ({ ...row }))).toEqual([
      { at: warehouse, status: "returned" },
      { at: warehouse, status: "delivered" },
    ]);
    await checkAll(own.tenant);
  });

  test("goes to its sender where a place would be chosen, or there is no default warehouse", async () => {
    const own = await newGround(
      await newTenant({ settings: { "delivery.attempts": { after_last: "return" } } }),
    );
    const returnsGo = (destination_mode: string) =>
      saveSettings(own.tenant.id, "general.delivery", { return_requests: { destination_mode } });
    await returnsGo("choose");
    expect((await sentBack(own)).back.dropoff_address_id).toBe(own.from);
    await returnsGo("warehouse");
    expect((await sentBack(own)).back.dropoff_address_id).toBe(own.from);
    const { warehouse } = await newWarehouse(own.tenant, await newAddress(own.tenant));
    await saveSettings(own.tenant.id, "general.warehouse", { default_warehouse_id: warehouse });
    for (const status of ["maintenance", "inactive"]) {
      expect(await own.tenant.admin.put(`/warehousing/warehouses/${warehouse}`, { status }))
        .toSucceed(200);
      const { back } = await sentBack(own);
      expect(back.dropoff_warehouse_id).toBe(warehouse);
    }
    await sql`update warehousing.warehouses set deleted_at = now() where id = ${warehouse}`;
    expect((await sentBack(own)).back)
      .toMatchObject({ dropoff_address_id: own.from, dropoff_warehouse_id: null });
    await checkAll(own.tenant);
  });

  test("continues from the warehouse that takes its return in on the way", async () => {
    const { back } = await sentBack();
    await broughtIn(ground, back.id);
    const { delivery } = (await tenant.ops.get(`${path}/${back.id}`)).body;
    expect(delivery).toMatchObject({
      status: "pending",
      current_warehouse_id: ground.warehouse,
      dropoff_address_id: ground.from,
    });
    expect(await move(tenant.ops, back.id, "cancel", { reason: "no" }))
      .toFailWith(409, "invalid_status_transition");
    await takenOver(ground, back.id, tenant.driver2);
    const photo = await photoOf(tenant.driver2, back.id);
    await moves(tenant.driver2, back.id, "depart", ["complete", { proof: photo }]);
    await checkAll(tenant);
  });

  test("shows the return of a leg in its parcel", async () => {
    const { parent, b } = await stagedInWarehouse(ground, { cod_amount: 5000 });
    await takenOver(ground, b);
    const answer = await report(tenant.driver, b, refused);
    expect(answer).toSucceed(200);
    expect(answer.body.data.returns).toEqual([
      expect.objectContaining({ original_delivery_id: parent.id, dropoff_address_id: ground.from }),
    ]);
    expect([await statusOf(b), await statusOf(parent.id)]).toEqual(["returned", "returned"]);
    await checkAll(tenant);
  });

  test("the same report again is one return; another device learns what is true", async () => {
    const id = await onItsWay(ground);
    await expectReplayed(tenant.driver, `${path}/${id}/outcome`, refused, {
      ...refused,
      note: "again",
    });
    const [{ returns }] = await sql`select count(*)::int as returns from delivery.deliveries
      where original_delivery_id = ${id}`;
    expect(returns).toBe(1);
    const late = await report(tenant.driver, id, { result: "delivered" });
    expect(late).toFailWith(409, "delivery_status_changed");
    expect(late.body).toMatchObject({ status: "returned", status_reason: "refused" });
  });
});

describe("what is not at its receiver's door", () => {
  test("stays as where the office is asked", async () => {
    const { back } = await sentBack();
    const answer = await report(tenant.driver, back.id, refused);
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({ delivery: { status: "failed" }, returns: [] });
    expect(await move(tenant.ops, back.id, "retry", { reassign: true, override_reason: "Ill" }))
      .toFailWith(409, "return_through_warehouse");
    expect(await move(tenant.ops, back.id, "retry", { override_reason: "The receiver is back" }))
      .toSucceed(200);
    const { id } = await deliveryIn(ground, "returned");
    expect(await report(tenant.ops, id, refused)).toFailWith(409, "delivery_status_changed");
  });
});

test("refused on its way into a warehouse: that expects it no more, and takes nothing in", async () => {
  const id = await onItsWay(ground, "in_transit");
  const { receiving_order_id } = await moves(tenant.driver, id, [
    "return",
    { warehouse_id: ground.warehouse },
  ]);
  expect(await report(tenant.driver, id, refused)).toSucceed(200);
  expect(
    await tenant.ops.put(`/warehousing/receiving-orders/${receiving_order_id}`, {
      status: "received",
    }),
  ).toFailWith(409, "invalid_status_transition");
});
