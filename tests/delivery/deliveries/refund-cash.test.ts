/** A fee that was taken in cash and is given back: to the payer's wallet, or from a desk against a receipt. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { heldBy, key, reverse, sound, withCash } from "../../support/cash-desks.ts";
import { cashRow } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  bookOf,
  checkAll,
  deliveryIn,
  type Ground,
  moves,
  newDelivery,
  newGround,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const refunds = "/delivery/cash-desks/refunds";
let tenant: Tenant;
let other: Tenant;
let ground: Ground;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  ground = await newGround(tenant);
  await sql`update delivery.delivery_services set policy_mode = 'custom',
    policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_cancel": true, "refund_delivery_fee_on_return": true}}'
    where id = ${ground.service}`;
});

/** Picked up from its sender, whose fee the driver took, and on its way back. */
async function takenBack(more: Record<string, unknown> = {}) {
  const made = await newDelivery(ground, { payer_type: "sender", ...more });
  await assign(tenant, made.id);
  await moves(tenant.driver, made.id, "pickup", "depart");
  const [{ id: cash }] =
    await sql`select id from money.cod_collections where delivery_id = ${made.id}`;
  const before = await cashRow(cash);
  const body = await moves(tenant.driver, made.id, "return");
  return { id: made.id as string, body, cash, before };
}

/** One that a desk has to pay: its sender is nobody we know. */
async function due() {
  const { id, body } = await takenBack({ customer_id: null });
  return { id, refund: body.refund_due };
}

const pay = (id: string, options = key(), more = {}, by = tenant.dispatcher) =>
  by.post(`${refunds}/${id}/pay`, { reference: "R-17", ...more }, options);

test("goes to the payer's wallet, once; the driver's cash stays as it is", async () => {
  const before = await bookOf(tenant, "wallet", tenant.customer.id);
  const { body, cash, before: row } = await takenBack();
  expect(body).toMatchObject({ refunded: true, refund_due: null });
  expect(await bookOf(tenant, "wallet", tenant.customer.id)).toBe(before + row.amount);
  const { changed: _a, updated_at: _b, ...now } = await cashRow(cash);
  expect(now).toEqual(expect.objectContaining({ status: "collected", amount: row.amount }));
  expect(await bookOf(tenant, "driver_cash", tenant.driver.id)).toBeGreaterThanOrEqual(row.amount);
  await checkAll(tenant);
});

test("nothing is given back where nothing was taken, or the policy keeps it", async () => {
  const waiting = await deliveryIn(ground, "accepted", { payer_type: "sender" });
  const off = await moves(tenant.ops, waiting.id, ["cancel", { reason: "no" }]);
  expect(off).toMatchObject({ refunded: false, refund_due: null, operational_return: null });
  await sql`update delivery.delivery_services set policy_overrides =
    '{"payment_policies": {"refund_delivery_fee_on_cancel": true, "refund_delivery_fee_on_return": false}}' where id = ${ground.service}`;
  const { body } = await takenBack();
  expect(body).toMatchObject({ refunded: false, refund_due: null });
  await sql`update delivery.delivery_services set policy_overrides =
    '{"payment_policies": {"refund_delivery_fee_on_cancel": true, "refund_delivery_fee_on_return": true}}' where id = ${ground.service}`;
});

test("a payer without a wallet is paid by a desk against a receipt, and a mistake is reversed", async () => {
  const { id, refund } = await due();
  expect(refund).toEqual({
    id: expect.any(String),
    amount: expect.any(Number),
    currency: "IQD",
    payer: { name: expect.anything(), phone: expect.anything() },
  });
  const listed = await tenant.dispatcher.get(refunds, {
    query: { status: "open", delivery_id: id },
  });
  expect(listed).toSucceed(200);
  expect(listed.body.data).toMatchObject([{
    id: refund.id,
    amount: refund.amount,
    status: "open",
  }]);
  expect(await pay(refund.id)).toFailWith(404, "cash_desk_not_found");
  await withCash(refund.amount + 500, tenant);
  const held = await heldBy(tenant, tenant.dispatcher);
  const once = key();
  const paid = await pay(refund.id, once);
  expect(paid).toSucceed(201);
  expect(paid.body.data).toMatchObject({
    kind: "refund",
    refund_id: refund.id,
    amount: refund.amount,
    reference: "R-17",
    to_user: null,
  });
  expect((await pay(refund.id, once)).body).toEqual(paid.body);
  expect((await pay(refund.id, once, { notes: null })).body).toEqual(paid.body);
  expect(await pay(refund.id)).toFailWith(409, "cash_refund_already_paid");
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(held - refund.amount);
  const done = await tenant.dispatcher.get(refunds, { query: { delivery_id: id } });
  expect(done.body.data).toMatchObject([{
    status: "paid",
    reference: "R-17",
    cash_transfer_id: paid.body.data.id,
  }]);
  await sound(tenant);
  expect(await reverse(tenant.dispatcher, paid.body.data.id)).toSucceed(200);
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(held);
  await sound(tenant);
  expect(await pay(refund.id)).toSucceed(201);
  await sound(tenant);
  await checkAll(tenant);
});

test("of two desks that pay at once one does", async () => {
  const { refund } = await due();
  await withCash(refund.amount * 2, tenant);
  const both = await Promise.all([pay(refund.id), pay(refund.id)]);
  expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
  await sound(tenant);
});

test("is for the office of the tenant, with a receipt and a key", async () => {
  const { refund } = await due();
  expect(await nobody.post(`${refunds}/${refund.id}/pay`, { reference: "R" }, key()))
    .toFailWith(401, "unauthorized");
  for (const person of [tenant.driver, tenant.customer, tenant.warehouse]) {
    expect(await pay(refund.id, key(), {}, person)).toFailWith(403, "forbidden");
    expect(await person.get(refunds)).toFailWith(403, "forbidden");
  }
  expect(await pay(refund.id, key(), {}, other.dispatcher)).toFailWith(
    404,
    "cash_refund_not_found",
  );
  expect(await pay(randomUUID())).toFailWith(404, "cash_refund_not_found");
  expect((await other.dispatcher.get(refunds)).body.data).toEqual([]);
  expect(await pay(refund.id, key(), { reference: "" })).toFailWith(400, "validation_failed");
  expect(await pay(refund.id, {} as never)).toFailWith(400, "idempotency_key_required");
  const [{ status }] = await sql`select status from money.payments where id = ${refund.id}`;
  expect(status).toBe("pending");
});
