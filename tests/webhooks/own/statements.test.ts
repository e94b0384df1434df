/** A merchant hears of their own statements: when one is made, paid, reversed and voided. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { newHolder } from "../../support/cod-holds.ts";
import type { Ground } from "../../support/deliveries.ts";
import { broughtIn, cancel, opened, pay, reverse } from "../../support/merchant-statements.ts";
import { type Receiver, startReceiver, until, verified } from "../../support/receiver.ts";
import { deliveriesOf, subscribeMerchant } from "../../support/webhooks.ts";

let ground: Ground;
let receiver: Receiver;
beforeAll(async () => {
  [ground, receiver] = await Promise.all([newHolder({ release: "on_remit" }), startReceiver()]);
});
afterAll(() => receiver.close());

test("each step is sent with its figures, without who did it, and another merchant hears nothing", async () => {
  const { tenant } = ground;
  await broughtIn(ground, [7_000], {
    customer_id: undefined,
    institution_user_id: tenant.institution.id,
  });
  const { secret } = await subscribeMerchant(tenant.institution, receiver.url, [
    "merchant_statement.*",
  ]);
  const other = await subscribeMerchant(tenant.institution2, receiver.url);
  const { id, number, net } = await opened(tenant, { owner_user_id: tenant.institution.id });
  expect(await pay(tenant.admin, id, { reference: "TRX-9" })).toSucceed(200);
  expect(await reverse(tenant.admin, id)).toSucceed(200);
  expect(await cancel(tenant.admin, id, { reason: "Wrong day" })).toSucceed(200);
  await until(() => receiver.received.length === 4);
  const bodies = receiver.received.map((one) => verified(secret, one) as Body);
  const whole = { statement_id: id, number, net, currency: "IQD", count: expect.any(Number) };
  const payout = { payout_id: expect.any(String), method: "bank" };
  expect(bodies.map(({ type, data }) => [type, data])).toEqual([
    ["merchant_statement.opened", whole],
    ["merchant_statement.paid", { ...whole, ...payout, reference: "TRX-9" }],
    ["merchant_statement.reversed", { ...whole, ...payout, reason: "Typed twice" }],
    ["merchant_statement.voided", { ...whole, reason: "Wrong day" }],
  ]);
  expect(await deliveriesOf(other.id)).toEqual([]);
});
