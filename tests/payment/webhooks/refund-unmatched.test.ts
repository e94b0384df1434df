/** A refund that a gateway reports and that fits nothing: nothing more goes back meanwhile, and an administrator books it. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Answer } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { fundWallet } from "../../support/money.ts";
import {
  backRef,
  checkAll,
  methods,
  type Placed,
  type Shop,
  standing,
  walletOf,
} from "../../support/orders.ts";
import {
  due,
  eventFor,
  newCardShop,
  openReports,
  paidByCard,
  refundOf,
  report,
} from "../../support/payments.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newCardShop();
  // Losses are paid from this.
  await paidByCard(shop, 10);
});

const admin = () => shop.tenant.admin;
const giveBack = ({ id }: Placed, amount?: number) =>
  admin().post(`/storefront/orders/${id}/refund`, { amount });
const cancel = ({ id }: Placed) =>
  admin().put(`/storefront/orders/${id}/cancel`, { reason: "other" });
const resolve = (
  id: string,
  action?: string,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  admin().post(`/payment/webhook-events/${id}/resolve`, {
    resolution: action ? "refunded_at_gateway" : "dismissed",
    action,
  }, { headers });
const wallets = async () => ({
  shop: await walletOf(shop.tenant, null),
  customer: await walletOf(shop.tenant, shop.tenant.customer.id),
});
const refundsOf = (order: { id: string }) =>
  sql`select p.amount::int, p.order_id is null as loss, t.kind from money.payments p
    join money.ledger_transactions t on t.reference_id = p.id
    where p.tenant_id = ${shop.tenant.id} and p.type = 'REFUND'
      and ${order.id} in (p.order_id::text, p.snapshot ->> 'order_id')
    order by p.created_at, p.order_id is null`;

/** Changes a wallet by hand, the shop's unless said: money goes to the bank, or comes from there. */
async function adjust({ tenant }: Shop, amount: number, direction: string, wallet?: string) {
  const [own] = await sql`select id from money.accounts
    where tenant_id = ${tenant.id} and kind = 'wallet' and owner_user_id is null`;
  const answer = await tenant.admin.post(
    `/delivery/wallets/${wallet ?? own!.id}/adjust`,
    { amount, direction, reason: "To the bank and back" },
    { headers: { "idempotency-key": randomUUID() } },
  );
  expect(answer).toSucceed(200);
}

/** An order of which 1,000 went to the wallet before the gateway gave back all 6,000. */
async function givenBackTwice(): Promise<Placed> {
  const placed = await paidByCard(shop);
  expect(await giveBack(placed, 1_000)).toSucceed(200);
  await report(refundOf(shop, placed));
  expect(await openReports(shop, placed)).toMatchObject([{ reason: "amount_differs" }]);
  return placed;
}

describe("while it is open", () => {
  test("the order's cancellation gives nothing back again, and neither does a refund by hand", async () => {
    const placed = await givenBackTwice();
    const before = await wallets();
    const refused = await giveBack(placed);
    expect(refused).toFailWith(409, "nothing_to_refund");
    expect(refused.body.message).toContain("reported a refund of this order");
    const answer = await cancel(placed);
    expect(answer).toSucceed(200);
    expect(answer.body.data.refund).toBeNull();
    expect(await wallets()).toEqual(before);
    await checkAll(shop.tenant);
  });

  test("and no longer: settled without an action, the rest goes back again", async () => {
    const placed = await givenBackTwice();
    expect(await giveBack(placed, 1)).toFailWith(409, "nothing_to_refund");
    const [{ id }] = await openReports(shop, placed);
    expect(await resolve(id)).toSucceed(200);
    expect((await giveBack(placed)).body.data.refund).toMatchObject({ amount: 5_000 });
  });

  test("the rest of the payment still goes back, also where it is reported more than once", async () => {
    const poor = await newCardShop();
    const placed = await paidByCard(poor);
    await adjust(poor, 5_000, "debit");
    await report(refundOf(poor, placed, 2_500));
    await report({ ...refundOf(poor, placed, 2_500), created_at: 7 });
    expect(await openReports(poor, placed)).toMatchObject([
      { reason: "insufficient_wallet_balance" },
      { reason: "insufficient_wallet_balance" },
    ]);
    await adjust(poor, 5_000, "credit");
    const refund = (amount?: number) =>
      poor.tenant.admin.post(`/storefront/orders/${placed.id}/refund`, { amount });
    expect((await refund(3_501)).body.amount).toBe(3_500);
    // Reported once more it is booked, and the reports that stay open hold nothing back besides.
    await report({ ...refundOf(poor, placed, 2_500), created_at: 8 });
    expect((await refund()).body.data.refund).toMatchObject({ amount: 3_500 });
    await checkAll(poor.tenant);
  });

  test("an order that waits for its approval is not approved", async () => {
    const placed = await paidByCard(shop);
    await report(refundOf(shop, placed, due + 1));
    expect(await admin().put(`/storefront/orders/${placed.id}/approve`, {}))
      .toFailWith(409, "order_not_paid");
  });

  test("one in another currency holds all of the payment back, and is not booked", async () => {
    const placed = await paidByCard(shop);
    await report(refundOf(shop, placed, 10, undefined, { currency: "USD" }));
    const [event] = await openReports(shop, placed);
    expect(event.reason).toBe("currency_differs");
    expect(await giveBack(placed, 1)).toFailWith(409, "nothing_to_refund");
    const answer = await resolve(event.id, "refund");
    expect(answer).toFailWith(409, "payment_action_not_possible");
    expect(answer.body.reason).toBe("currency_differs");
  });
});

describe("is resolved by refund", () => {
  test("as a refund of what is left of the order, and a loss of the company for the rest", async () => {
    const placed = await givenBackTwice();
    expect(await cancel(placed)).toSucceed(200);
    const before = await wallets();
    const [{ id }] = await openReports(shop, placed);
    for (const action of ["accept", "credit_wallet"]) {
      const refused = await resolve(id, action);
      expect(refused).toFailWith(409, "payment_action_not_possible");
      expect(refused.body.reason).toBe("not_a_payment");
    }
    const answer = await resolve(id, "refund");
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({ action: "refund", is_open: false });
    expect(await wallets()).toEqual({ ...before, shop: before.shop - 6_000 });
    expect(await refundsOf(placed)).toEqual([
      { amount: 1_000, loss: false, kind: "order_refund" },
      { amount: 5_000, loss: false, kind: "gateway_refund" },
      { amount: 1_000, loss: true, kind: "gateway_loss" },
    ]);
    expect(await openReports(shop, placed)).toEqual([]);
    await checkAll(shop.tenant);
  });

  test("as a loss alone where nothing was left; reported once more it is known", async () => {
    const placed = await paidByCard(shop);
    expect(await cancel(placed)).toSucceed(200);
    await report(refundOf(shop, placed));
    const before = await wallets();
    const [{ id }] = await openReports(shop, placed);
    expect(await resolve(id, "refund")).toSucceed(200);
    await report({ ...refundOf(shop, placed), created_at: 9 });
    expect(await openReports(shop, placed)).toEqual([]);
    expect(await wallets()).toEqual({ ...before, shop: before.shop - due });
    expect((await refundsOf(placed)).at(-1)).toEqual({
      amount: due,
      loss: true,
      kind: "gateway_loss",
    });
    await checkAll(shop.tenant);
  });

  test("once its company's wallet covers it, when the gateway took what was spent", async () => {
    const poor = await newCardShop();
    const placed = await paidByCard(poor);
    await adjust(poor, due, "debit");
    await report(refundOf(poor, placed));
    const [event] = await openReports(poor, placed);
    expect(event.reason).toBe("insufficient_wallet_balance");
    const book = () =>
      poor.tenant.admin.post(`/payment/webhook-events/${event.id}/resolve`, {
        ...{ resolution: "refunded_at_gateway", action: "refund" },
      });
    expect((await book()).body.code).toBe("insufficient_wallet_balance");
    await adjust(poor, due, "credit");
    expect(await book()).toSucceed(200);
    expect(await walletOf(poor.tenant, null)).toBe(0);
    await checkAll(poor.tenant);
  });

  test("of a top-up that was spent: its wallet gives what it has, the company the rest", async () => {
    const { customer } = shop.tenant;
    const wallet = await fundWallet(shop.tenant, "customer", customer.id, 0);
    const asked = await customer.post(`/delivery/wallets/${wallet}/top-ups`, {
      ...{ amount: 25_000, paymentMethodTypeId: methods.razorpay, backRef },
    });
    const number = asked.body.instructions.gateway_order_id;
    await report(eventFor(shop, number, 25_000));
    const had = await walletOf(shop.tenant, customer.id);
    await adjust(shop, had - 5_000, "debit", wallet);
    await report(refundOf(shop, { instructions: { gateway_order_id: number } } as Placed, 25_000));
    const [event] = (await admin().get("/payment/webhook-events", {
      query: { open: true, search: `pay_${number}` },
    })).body.data;
    expect(event.reason).toBe("insufficient_wallet_balance");
    const before = await wallets();
    expect(await resolve(event.id, "refund")).toSucceed(200);
    expect(await wallets()).toEqual({ shop: before.shop - 20_000, customer: 0 });
    await checkAll(shop.tenant);
  });
});

test("repeated with its key, it is booked once", async () => {
  const placed = await givenBackTwice();
  const [{ id }] = await openReports(shop, placed);
  const key = { "idempotency-key": randomUUID() };
  const first = await resolve(id, "refund", key);
  const after = await wallets();
  const second = await resolve(id, "refund", key);
  expect(second.body).toEqual(first.body);
  expect(second.headers.get("idempotency-replayed")).toBe("true");
  expect(await resolve(id, "refund")).toFailWith(409, "payment_event_not_open");
  expect(await wallets()).toEqual(after);
});

test("reports, resolutions and a cancellation at once give the money back once", async () => {
  for (let round = 0; round < 4; round++) {
    const placed = await givenBackTwice();
    await report({ ...refundOf(shop, placed), created_at: 3 });
    const events = await openReports(shop, placed);
    const before = await wallets();
    const [cancelled, ...answers] = await Promise.all([
      cancel(placed),
      ...Array.from({ length: 6 }, (_, n) => resolve(events[n % 2].id, "refund")),
      report({ ...refundOf(shop, placed), created_at: 4 }),
    ]);
    expect(cancelled).toSucceed(200);
    expect(answers.filter((answer) => "headers" in answer && answer.status === 200)).toHaveLength(
      1,
    );
    expect(await wallets()).toEqual({ ...before, shop: before.shop - 6_000 });
    expect(await standing(placed.id)).toMatchObject({ status: "cancelled", refunds: 2 });
    expect(await openReports(shop, placed)).toEqual([]);
  }
  await checkAll(shop.tenant);
});
