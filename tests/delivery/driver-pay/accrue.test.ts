/** Drivers earn when a delivery is delivered: by the company's rule of that moment, once, exactly. */
import { expect, test } from "vitest";
import { carried, newSide } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  deliveryIn,
  move,
  moves,
  newDelivery,
  stagedInWarehouse,
  takenOver,
} from "../../support/deliveries.ts";
import {
  brought,
  newPayer,
  payFor,
  payPath,
  percentageOf,
  perDelivery,
  setRule,
  sound,
} from "../../support/driver-pay.ts";

test("a percentage of the fee, by one journal, with the rule and an event", async () => {
  const ground = await newPayer(percentageOf(12.5));
  const { tenant } = ground;
  const id = await brought(ground);
  const { body } = await tenant.driver.get(payPath);
  expect(body.data).toEqual([{
    id: expect.any(String),
    driver: { id: tenant.driver.id, full_name: expect.any(String) },
    delivery: { id, delivery_code: expect.any(Number) },
    rule: { mode: "percentage", percentage: 12.5, base_amount: null, delivery_fee: 2000 },
    amount: 250,
    currency: "IQD",
    status: "accrued",
    accrued_at: expect.any(String),
    paid_at: null,
    payout_id: null,
  }]);
  const [row] = body.data;
  expect(
    await sql`select t.kind, a.kind as account, a.owner_type, e.amount from money.ledger_transactions t
      join money.ledger_entries e on e.transaction_id = t.id join money.accounts a on a.id = e.account_id
      where t.reference_id = ${row.id} order by e.amount`,
  ).toEqual([
    { kind: "driver_pay", account: "driver_cost", owner_type: "tenant", amount: -250 },
    { kind: "driver_pay", account: "driver_payable", owner_type: "driver", amount: 250 },
  ]);
  expect(
    await sql`select event_type, event_data from integration.system_events where entity_id = ${row.id}`,
  ).toEqual([{
    event_type: "driver_pay.accrued",
    event_data: {
      driver_pay_id: row.id,
      delivery_id: id,
      delivery_code: row.delivery.delivery_code,
      driver_id: tenant.driver.id,
      amount: 250,
      currency: "IQD",
      actor_id: tenant.driver.id,
    },
  }]);
  await sound(tenant);
});

test("an amount for each delivery; the rule is that of the moment of delivery", async () => {
  const ground = await newPayer(perDelivery(750));
  const { id } = await newDelivery(ground);
  await assign(ground.tenant, id);
  await moves(ground.tenant.driver, id, "pickup");
  await setRule(ground.tenant, perDelivery(900));
  await moves(ground.tenant.driver, id, "complete");
  await setRule(ground.tenant, percentageOf(50));
  const { body } = await ground.tenant.driver.get(payPath);
  expect(body.data[0]).toMatchObject({
    amount: 900,
    rule: { mode: "per_delivery", percentage: null, base_amount: 900, delivery_fee: 2000 },
  });
});

test.each([
  ["half up to whole dinars", "IQD", percentageOf(12.525), 251],
  ["down below a half", "IQD", percentageOf(12.52), 250],
  ["to two decimals", "USD", percentageOf(0.00025), 0.01],
  ["to three decimals", "KWD", perDelivery(1.0005), 1.001],
])("is rounded %s", async (_how, currency_code, rule, amount) => {
  const ground = await newPayer(rule);
  await sql`update tenancy.tenant_settings set settings = ${sql.json({ currency_code })}
    where tenant_id = ${ground.tenant.id} and group_key = 'currency'`;
  const id = await brought(ground);
  expect(await payFor(id)).toMatchObject([{ amount }]);
  await sound(ground.tenant);
});

test.each([
  ["an unknown word", { ...perDelivery(500), mode: "monthly" }],
  ["no mode", { per_delivery: { base_amount: 500 } }],
  ["no amount", { mode: "per_delivery" }],
  ["no percentage", { mode: "percentage", percentage: { percentage_of_delivery_fee: null } }],
  ["nothing", perDelivery(0)],
  ["less than the smallest coin", percentageOf(0.01)],
])("%s pays nothing", async (_what, rule) => {
  const ground = await newPayer(rule);
  const id = await brought(ground);
  expect(await payFor(id)).toEqual([]);
  await sound(ground.tenant);
});

test("of a staged delivery each leg earns half, the one into the warehouse the larger half", async () => {
  const ground = await newPayer(perDelivery(501));
  const { tenant } = ground;
  const { parent, a, b } = await stagedInWarehouse(ground, { cod_amount: 3000 });
  await takenOver(ground, b, tenant.driver2);
  expect(await payFor(b)).toEqual([]);
  await moves(tenant.driver2, b, "depart", "complete");
  expect(await payFor(a)).toEqual([{
    driver_id: tenant.driver.id,
    amount: 251,
    status: "accrued",
  }]);
  expect(await payFor(b)).toEqual([
    { driver_id: tenant.driver2.id, amount: 250, status: "accrued" },
  ]);
  expect(await payFor(parent.id)).toEqual([]);
  await sound(tenant);
});

test("halves of cents are exact", async () => {
  const ground = await newPayer(perDelivery(1.1));
  await sql`update tenancy.tenant_settings set settings = ${sql.json({ currency_code: "USD" })}
    where tenant_id = ${ground.tenant.id} and group_key = 'currency'`;
  const { a, b } = await stagedInWarehouse(ground);
  await takenOver(ground, b);
  await moves(ground.tenant.driver, b, "depart", "complete");
  expect([await payFor(a), await payFor(b)]).toMatchObject([[{ amount: 0.55 }], [{
    amount: 0.55,
  }]]);
});

test("of a percentage the legs halve what the parcel earns, whose fee they do not carry themselves", async () => {
  const ground = await newPayer(percentageOf(10.05));
  const { a, b } = await stagedInWarehouse(ground);
  await takenOver(ground, b);
  await moves(ground.tenant.driver, b, "depart", "complete");
  const [{ amount: into }] = await payFor(a);
  const [{ amount: out }] = await payFor(b);
  expect([into, out]).toEqual([101, 100]);
});

test("belongs to the driver who brought it: when the office completes it, and after a handover on the road", async () => {
  const ground = await newPayer();
  const { tenant } = ground;
  const one = await deliveryIn(ground, "in_transit");
  await moves(tenant.ops, one.id, "complete");
  expect(await payFor(one.id)).toMatchObject([{ driver_id: tenant.driver.id }]);
  const two = await deliveryIn(ground, "in_transit");
  const moved = await tenant.ops.post(
    `/delivery/assignments/driver/${tenant.driver.id}/hand-over`,
    { to_driver_id: tenant.driver2.id, delivery_ids: [two.id] },
  );
  expect(moved).toSucceed(201);
  await tenant.driver2.put(`/delivery/assignments/bulk/${moved.body.bulk_assignment_id}`, {
    status: "accepted",
  });
  await moves(tenant.driver2, two.id, "complete");
  expect(await payFor(two.id)).toMatchObject([{ driver_id: tenant.driver2.id }]);
});

test("a carrier that brings a parcel earns no driver anything", async () => {
  const side = await newSide();
  await setRule(side.tenant, perDelivery(500));
  const [{ id }] = await carried(side, 1000);
  expect(await payFor(id)).toEqual([]);
});

test("what failed, came back or was cancelled earns nothing", async () => {
  const ground = await newPayer();
  for (const status of ["failed", "returned", "cancelled"]) {
    const { id } = await deliveryIn(ground, status);
    expect(await payFor(id), status).toEqual([]);
  }
});

test("is earned once, however often and by how many it is completed", async () => {
  const ground = await newPayer();
  const { tenant } = ground;
  const { id } = await deliveryIn(ground, "in_transit");
  const answers = await Promise.all(
    Array.from(
      { length: 10 },
      (_, n) => move(n % 2 ? tenant.driver : tenant.ops, id, "complete"),
    ),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(await payFor(id)).toHaveLength(1);
  await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
    await tx`select money.driver_pay_accrue(${id}, ${tenant.driver2.id})`;
  });
  expect(await payFor(id)).toHaveLength(1);
  const twice =
    sql`insert into money.driver_pay (tenant_id, delivery_id, driver_id, mode, base_amount,
      delivery_fee, amount, currency, delivery_code)
    select tenant_id, delivery_id, driver_id, mode, base_amount, delivery_fee, amount, currency, delivery_code
    from money.driver_pay where delivery_id = ${id}`;
  await expect(twice).rejects.toThrow("driver_pay_already_accrued");
  await sound(tenant);
});

test("twenty deliveries of two drivers completed at once earn each its own pay", async () => {
  const ground = await newPayer(percentageOf(10));
  const { tenant } = ground;
  const ids: string[] = [];
  for (let n = 0; n < 20; n++) {
    const { id } = await newDelivery(ground, { cod_amount: 1000 });
    await assign(tenant, id, n % 2 ? tenant.driver : tenant.driver2);
    await moves(tenant.ops, id, "pickup");
    ids.push(id);
  }
  const done = await Promise.all(ids.map((id) => move(tenant.ops, id, "complete")));
  for (const answer of done) expect(answer).toSucceed(200);
  const { body } = await tenant.admin.get(payPath);
  expect(body.summary).toEqual({ accrued: 4000, paid: 0 });
  await sound(tenant);
});
