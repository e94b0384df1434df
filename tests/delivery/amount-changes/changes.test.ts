/** The office and owners change what a parcel owes at the door, and every place that shows it says the new sum. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { amountChanges, change } from "../../support/amount-changes.ts";
import type { Body, Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  deliveryIn,
  type Ground,
  handedTo,
  move,
  moves,
  newDelivery,
  newGround,
  path,
  stagedInWarehouse,
} from "../../support/deliveries.ts";
import { checkDeliveries } from "../../support/delivery-invariants.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { openPdf } from "../../support/pdf.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectReplayed } from "../../support/promises.ts";

let ground: Ground;
let tenant: Tenant;

beforeAll(async () => {
  ground = await newGround(await newTenant());
  tenant = ground.tenant;
});
afterAll(() => checkDeliveries(tenant));

const shown = async (id: string, by: Person = tenant.ops): Promise<Body> =>
  (await by.get(`${path}/${id}`)).body.delivery;

describe("the office and the owner", () => {
  test("decide at once; the delivery says what it owes now and what was ordered", async () => {
    const { id } = await newDelivery(ground, { cod_amount: 5000 });
    const answer = await change(tenant.dispatcher, id, 4000);
    expect(answer).toSucceed(201);
    expect(answer.body.data.amount_change).toEqual({
      id: expect.any(String),
      delivery_id: id,
      old_cod_amount: 5000,
      new_cod_amount: 4000,
      currency: "IQD",
      reason: "Agreed by telephone",
      kept_items: null,
      status: "approved",
      requested_by: { id: tenant.dispatcher.id, full_name: expect.any(String) },
      requested_at: expect.any(String),
      decided_by: { id: tenant.dispatcher.id, full_name: expect.any(String) },
      decided_at: expect.any(String),
      decline_reason: null,
    });
    const now = { cod_amount: 4000, ordered_cod_amount: 5000, label_outdated: true };
    expect(answer.body.data.delivery).toMatchObject({ cod_amount: 4000, ordered_cod_amount: 5000 });
    expect(await shown(id)).toMatchObject(now);
    expect(await change(tenant.customer, id, 6000)).toSucceed(201);
    expect(await shown(id, tenant.customer))
      .toMatchObject({ cod_amount: 6000, ordered_cod_amount: 5000 });
    const untouched = await newDelivery(ground, { cod_amount: 700 });
    expect(await shown(untouched.id)).toMatchObject({ cod_amount: 700, ordered_cod_amount: 700 });
  });

  test("find what was changed, newest first, a page at a time", async () => {
    const { id } = await newDelivery(ground, { cod_amount: 5000 });
    for (const amount of [4000, 3000, 0]) {
      expect(await change(tenant.ops, id, amount)).toSucceed(201);
    }
    for (const by of [tenant.warehouse, tenant.customer, tenant.dispatcher]) {
      const { body } = await by.get(amountChanges(id));
      expect(body.data.map((one: Body) => [one.old_cod_amount, one.new_cod_amount]))
        .toEqual([[3000, 0], [4000, 3000], [5000, 4000]]);
      expect(body.pagination).toEqual({ page: 1, limit: 20, total: 3, total_pages: 1 });
    }
    const { body } = await tenant.ops.get(amountChanges(id), { query: { page: 2, limit: 2 } });
    expect(body.data.map((one: Body) => one.new_cod_amount)).toEqual([4000]);
    expect(body.pagination).toEqual({ page: 2, limit: 2, total: 3, total_pages: 2 });
  });

  test("notify its driver and subscribers", async () => {
    const { id, delivery_code } = await deliveryIn(ground, "in_transit", { cod_amount: 5000 });
    const answer = await change(tenant.ops, id, 4500);
    const { body } = await tenant.driver.get("/tenants/me/notifications", {
      query: { type: "delivery_changed" },
    });
    expect(body.data[0].payload).toMatchObject({ delivery_id: id, delivery_code });
    const [event] = await sql`select event_data from integration.system_events
      where entity_id = ${id} and event_type = 'delivery.amount_changed'`;
    expect(event.event_data).toEqual({
      delivery_id: id,
      delivery_code,
      amount_change_id: answer.body.data.amount_change.id,
      old_cod_amount: 5000,
      new_cod_amount: 4500,
      currency: "IQD",
      reason: "Agreed by telephone",
      requested_by: tenant.ops.id,
      actor_id: tenant.ops.id,
    });
  });

  test("change what is collected, and what its owner is credited with", async () => {
    const wallet = await fundWallet(tenant, "customer", tenant.customer.id, 0);
    const before = await balanceOf(wallet);
    const { id } = await deliveryIn(ground, "in_transit", { cod_amount: 5000 });
    expect(await change(tenant.ops, id, 5500)).toSucceed(201);
    expect((await shown(id, tenant.driver)).cash_due.delivery)
      .toEqual({ cod: 5500, delivery_fee: 2000, currency: "IQD" });
    const stops = await tenant.driver.get(`/delivery/assignments/${tenant.driver.id}/sequence`);
    const text = JSON.stringify(stops.body);
    expect(text).toContain(id);
    expect(text).toContain('"cod":5500');
    expect(text).not.toContain('"cod":5000');
    const old = await move(tenant.driver, id, "complete", {
      cash_collected: { cod: 5000, delivery_fee: 2000 },
    });
    expect(old).toFailWith(400, "cash_amount_mismatch");
    const { cash } = await moves(tenant.driver, id, ["complete", {
      cash_collected: { cod: 5500, delivery_fee: 2000 },
    }]);
    expect(cash.collected).toMatchObject({ cod: 5500, delivery_fee: 2000 });
    expect(await balanceOf(wallet)).toBe(before + 5500);
    expect(await change(tenant.ops, id, 1)).toFailWith(409, "delivery_ended");
  });

  test("change a staged parcel by either leg: the last leg owes it, handoff and list say so", async () => {
    const { parent, a, b } = await stagedInWarehouse(ground, { cod_amount: 5000 });
    expect(await change(tenant.ops, a, 4000)).toSucceed(201);
    const handoff = await handedTo(ground, b);
    const answer = await change(tenant.ops, b, 3000);
    expect(answer.body.data.amount_change.delivery_id).toBe(parent.id);
    expect(answer.body.data.delivery)
      .toMatchObject({ id: b, cod_amount: 3000, ordered_cod_amount: 5000 });
    expect(await shown(parent.id)).toMatchObject({ cod_amount: 3000, ordered_cod_amount: 5000 });
    expect(await shown(a)).toMatchObject({ cod_amount: 0, ordered_cod_amount: 0 });
    const handoffs = await tenant.driver.get("/delivery/handoffs", { query: { limit: 100 } });
    const one = handoffs.body.data.find((row: Body) => row.id === handoff);
    expect(one.delivery).toMatchObject({ cod_amount: 3000, cash_due: { delivery: { cod: 3000 } } });
    const listed = await tenant.driver.get(path, { query: { limit: 100 } });
    expect(listed.body.data.find((row: Body) => row.id === b))
      .toMatchObject({ cod_amount: 3000, ordered_cod_amount: 5000 });
    expect(await tenant.driver.post(`/delivery/handoffs/${handoff}/pickup`)).toSucceed();
    const seen = await tenant.driver.get(amountChanges(b));
    expect(seen.body.pagination.total).toBe(2);
    const { cash } = await moves(tenant.driver, b, "complete");
    expect(cash.collected.cod).toBe(3000);
  });

  test("outdate labels printed before; the next print shows the sum that is true", async () => {
    const made = await newDelivery(ground, { cod_amount: 5000 });
    const print = async () => {
      const answer = await tenant.ops.post("/delivery/shipment-labels", {
        delivery_codes: [made.delivery_code],
      });
      return await (await openPdf(answer.body)).text(1);
    };
    const outdated = async () =>
      (await tenant.warehouse.get(`/warehousing/package-scan/${made.barcode}`)).body.delivery
        .label_outdated;
    expect(await print()).toContain("5,000");
    expect(await outdated()).toBe(false);
    expect(await change(tenant.customer, made.id, 4321)).toSucceed(201);
    expect(await outdated()).toBe(true);
    expect(await print()).toContain("4,321");
    expect(await outdated()).toBe(false);
  });
});

describe("an owner", () => {
  test("only lowers the amount once the parcel is picked up, or was", async () => {
    for (const status of ["picked_up", "in_transit", "failed"]) {
      const { id } = await deliveryIn(ground, status, { cod_amount: 5000 });
      const refused = await change(tenant.customer, id, 5001);
      expect(refused).toFailWith(409, "amount_may_only_fall");
      expect(refused.body).toMatchObject({ field: "cod_amount", cod_amount: 5000 });
      expect(await change(tenant.customer, id, 4000)).toSucceed(201);
      expect(await change(tenant.ops, id, 9000)).toSucceed(201);
    }
    const { parent } = await stagedInWarehouse(ground, { cod_amount: 5000 });
    expect(await change(tenant.customer, parent.id, 6000)).toFailWith(409, "amount_may_only_fall");
  });

  test("may be an institution; a stranger finds nothing", async () => {
    const { id } = await newDelivery(ground, {
      customer_id: undefined,
      institution_user_id: tenant.institution.id,
      cod_amount: 5000,
    });
    expect(await change(tenant.institution, id, 4000)).toSucceed(201);
    for (const by of [tenant.customer, tenant.driver]) {
      expect(await change(by, id, 1)).toFailWith(404, "delivery_not_found");
      expect(await by.get(amountChanges(id))).toFailWith(404, "delivery_not_found");
    }
  });
});

test("kept items are units of the parcel, at least one and not all; they may be for the same amount", async () => {
  const { id } = await newDelivery(ground, {
    cod_amount: 5000,
    package: { items: [{ name: "Shirt", quantity: 3 }, { name: "Shoes", quantity: 1 }] },
  });
  const foreign = (await shown((await newDelivery(ground)).id)).items[0].id;
  const [shirt, shoes] = (await shown(id)).items.map((item: Body) => item.id);
  const kept = (...lines: [string, number][]) => ({
    kept_items: lines.map(([delivery_item_id, quantity]) => ({ delivery_item_id, quantity })),
  });
  for (
    const wrong of [
      kept([shirt, 4]),
      kept([shirt, 1], [shirt, 1]),
      kept([shirt, 3], [shoes, 1]),
      kept([foreign, 1]),
      kept([shirt, 1], [foreign, 1]),
    ]
  ) {
    const refused = await change(tenant.ops, id, 3000, wrong);
    expect(refused, JSON.stringify(wrong)).toFailWith(400, "partial_items_invalid");
    expect(refused.body.field).toBe("kept_items");
  }
  const agreed = async () =>
    (await sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
      return await tx`select delivery.kept_items_agreed(${id}) as kept_items`;
    }))[0];
  expect(await agreed()).toEqual({ kept_items: null });
  const part = kept([shoes, 1], [shirt, 2]);
  const answer = await change(tenant.ops, id, 5000, part);
  expect(answer).toSucceed(201);
  expect(answer.body.data.amount_change.kept_items).toEqual(part.kept_items);
  expect(await agreed()).toEqual(part);
  expect(await change(tenant.ops, id, 4000)).toSucceed(201);
  expect(await agreed()).toEqual({ kept_items: null });
});

test("one key is one change", async () => {
  const { id } = await newDelivery(ground, { cod_amount: 5000 });
  await expectReplayed(
    tenant.ops,
    amountChanges(id),
    { cod_amount: 4000, reason: "Less" },
    { cod_amount: 3000, reason: "Less" },
  );
  expect((await tenant.ops.get(amountChanges(id))).body.pagination.total).toBe(1);
});
