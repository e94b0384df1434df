/** Top-ups that nobody pays end, so that nothing of them is waited for; money that comes later is not lost. */
import { beforeAll, expect, test } from "vitest";
import { sql, stack } from "../../support/db.ts";
import { placeAt } from "../../support/deletion.ts";
import { erased } from "../../support/erasure.ts";
import "../../support/expect.ts";
import { fundWallet } from "../../support/money.ts";
import { backRef, checkAll, methods, type Shop, walletOf } from "../../support/orders.ts";
import { askGateways, atGateway, eventFor, newCardShop, report } from "../../support/payments.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newCardShop();
});

interface TopUp {
  payment_id: string;
  instructions: { redirect_url: string; gateway_order_id: string };
}

/** A top-up of 25,000 that was asked for so many hours ago. */
async function topUp(
  hours: number,
  method: "gatewayone" | "razorpay" = "gatewayone",
  { tenant } = shop,
) {
  const { customer } = tenant;
  const wallet = await fundWallet(tenant, "customer", customer.id, 0);
  const answer = await customer.post(`/delivery/wallets/${wallet}/top-ups`, {
    amount: 25_000,
    paymentMethodTypeId: methods[method],
    backRef,
  });
  expect(answer).toSucceed(201);
  await later(answer.body, hours);
  return answer.body as TopUp;
}

const later = ({ payment_id }: TopUp, hours: number) =>
  sql`update money.payments set created_at = created_at - ${hours} * interval '1 hour',
    expires_at = expires_at - ${hours} * interval '1 hour',
    last_checked_at = last_checked_at - ${hours} * interval '1 hour' where id = ${payment_id}`;
const neverOpened = ({ payment_id }: TopUp) =>
  sql`update money.payments set redirect_url = null where id = ${payment_id}`;
const clock = () => sql`select money.payments_reconcile()`;
const statusOf = async ({ payment_id }: TopUp) =>
  (await sql`select status from money.payments where id = ${payment_id}`)[0]!.status;

test("one that never reached its gateway ends at a day, and not before", async () => {
  const [early, late] = [await topUp(23), await topUp(25)];
  for (const one of [early, late]) await neverOpened(one);
  await clock();
  expect(await statusOf(early)).toBe("pending");
  expect(await statusOf(late)).toBe("FAILED");
});

test("one that was opened ends once its gateway has answered after the day", async () => {
  const one = await topUp(25);
  await clock();
  expect(await statusOf(one)).toBe("pending");
  await askGateways(shop);
  await clock();
  expect(await statusOf(one)).toBe("FAILED");
});

test("one whose gateway cannot be asked ends at three days", async () => {
  const one = await topUp(71);
  await clock();
  expect(await statusOf(one)).toBe("pending");
  await later(one, 2);
  await clock();
  expect(await statusOf(one)).toBe("FAILED");
});

test("money that is reported of one that ended is credited, once", async () => {
  const { id } = shop.tenant.customer;
  const [told, asked] = [await topUp(73, "razorpay"), await topUp(73)];
  await clock();
  for (const one of [told, asked]) expect(await statusOf(one)).toBe("FAILED");
  const before = await walletOf(shop.tenant, id);
  const event = eventFor(shop, told.instructions.gateway_order_id, 25_000);
  await report(event);
  await report({ ...event, created_at: 7 });
  await atGateway(asked.instructions.redirect_url, "pay");
  expect(await walletOf(shop.tenant, id)).toBe(before + 50_000);
  await checkAll(shop.tenant);
});

test("one that ended keeps nobody from being erased", async () => {
  const place = placeAt(stack);
  const own = await newCardShop();
  const pending = "Open: 1 payments (WALLET_TOPUP) are pending";
  try {
    await neverOpened(await topUp(25, "gatewayone", own));
    const { tenant } = own;
    const shown = async () => (await erased(place, tenant, { person: tenant.customer.id })).text;
    expect(await shown()).toContain(pending);
    await clock();
    expect(await shown()).not.toContain("Open:");
  } finally {
    await place.close();
  }
});
