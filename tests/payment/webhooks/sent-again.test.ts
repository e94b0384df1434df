/** Webhook events that name our order, count in the account's unit, or become valid only when sent again. */
import type postgres from "postgres";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { waitingFor, whileOpen } from "../../support/overlapping.ts";
import { until } from "../../support/receiver.ts";
import { checkAll, type Placed, placeOrder, type Shop, standing } from "../../support/orders.ts";
import {
  atGateway,
  due,
  eventFor,
  expireUnpaid,
  lookedAt,
  newCardShop,
  numberOf,
  report,
} from "../../support/payments.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newCardShop();
});

const openEvents = async ({ tenant }: Shop) =>
  (await tenant.admin.get("/payment/webhook-events", { query: { open: true } })).body.data;
const setUp = (mine: Shop, code: string, settings: object) =>
  mine.tenant.admin.put(`/payment/gateways/${code}`, { settings });
const look = ({ id }: Placed, { tenant }: Shop) =>
  tenant.customer.get(`/storefront/orders/${id}/payment-status`);
describe("our order by its own id in the notes", () => {
  const naming = (placed: Placed, mine: Shop, order = placed.id) =>
    eventFor(mine, `order_${numberOf(placed)}`, due, { entity: { notes: { order_id: order } } });

  test("is found, though the gateway calls it otherwise; told again it is known", async () => {
    const placed = await placeOrder(shop, "razorpay");
    const event = naming(placed, shop, placed.id.toUpperCase());
    await report(event);
    await report({ ...event, created_at: 5 });
    expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
    expect(await openEvents(shop)).toEqual([]);
    await checkAll(shop.tenant);
  });

  test("of its second try, when the first one failed", async () => {
    const placed = await placeOrder(shop, "razorpay");
    await report({
      ...eventFor(shop, numberOf(placed), due, { event: "payment.failed", status: "failed" }),
    });
    await report(naming(placed, shop));
    expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
  });

  test("of another company, or opened at another gateway, is none of ours", async () => {
    const other = await newCardShop(10);
    const placed = await placeOrder(shop, "razorpay");
    const elsewhere = await placeOrder(other, "gatewayone");
    await report(naming(placed, other));
    await report(naming(elsewhere, other));
    expect(await standing(placed.id)).toMatchObject({ payment_status: "pending", paid: 0 });
    expect(await standing(elsewhere.id)).toMatchObject({ payment_status: "pending", paid: 0 });
    expect((await openEvents(other)).map(({ reason }: { reason: string }) => reason))
      .toEqual(["payment_unknown", "payment_unknown"]);
  });
});

test("an account's own digits of minor units hold when it is asked, paid and given back", async () => {
  const mine = await newCardShop(10);
  await setUp(mine, "razorpay", { amount_exponent: 3 });
  const placed = await placeOrder(mine, "razorpay");
  expect(await (await fetch(placed.instructions.redirect_url)).text()).toContain("6000000 IQD");
  await report(eventFor(mine, numberOf(placed), due * 1_000));
  const refund = { id: "rfnd_1", payment_id: `pay_${numberOf(placed)}`, currency: "IQD" };
  await report({
    entity: "event",
    account_id: mine.account,
    event: "refund.processed",
    payload: { refund: { entity: { ...refund, amount: due * 1_000 } } },
  });
  expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1, refunds: 1 });
  await checkAll(mine.tenant);
});

test("without one, minor units have the tenant's digits: whole dinars are asked for", async () => {
  const placed = await placeOrder(shop, "razorpay");
  const page = await (await fetch(placed.instructions.redirect_url)).text();
  expect(page).toContain("6000 IQD");
});

test("cents are counted exactly: of these prices binary fractions make another number of cents", async () => {
  const mine = await newCardShop(10);
  const currency = "USD";
  await sql`update tenancy.tenant_settings set settings = ${sql.json({ currency_code: currency })}
    where tenant_id = ${mine.tenant.id} and group_key = 'currency'`;
  for (const price of [24.09, 24.13, 24.35]) {
    await sql`update storefront.product_variants set price = ${price} where tenant_id = ${mine.tenant.id}`;
    const placed = await placeOrder(mine, "razorpay");
    const [{ cents }] = await sql`select (total_price * 100)::int as cents
      from storefront.storefront_orders where id = ${placed.id}`;
    await report(eventFor(mine, numberOf(placed), cents, { entity: { currency } }));
    expect(await standing(placed.id), `${price}`).toMatchObject({
      payment_status: "paid",
      paid: 1,
    });
  }
  expect(await openEvents(mine)).toEqual([]);
  await checkAll(mine.tenant);
});

test("a gateway that was switched off is heard about what it took", async () => {
  const mine = await newCardShop(10);
  const placed = await placeOrder(mine, "razorpay");
  await report(eventFor(mine, numberOf(placed), due));
  const off = await mine.tenant.admin.put("/payment/gateways/razorpay", { is_active: false });
  expect(off).toSucceed(200);
  const refund = { id: "rfnd_2", payment_id: `pay_${numberOf(placed)}`, currency: "IQD" };
  await report({
    entity: "event",
    account_id: mine.account,
    event: "refund.processed",
    payload: { refund: { entity: { ...refund, amount: due } } },
  });
  expect(await standing(placed.id)).toMatchObject({ paid: 1, refunds: 1 });
});

describe("money that fitted nothing", () => {
  test("is matched when the event is sent again, after the obstacle was removed", async () => {
    const mine = await newCardShop(10);
    await setUp(mine, "razorpay", { amount_exponent: 2 });
    const placed = await placeOrder(mine, "razorpay");
    const event = eventFor(mine, numberOf(placed), due);
    await report(event);
    await report(event);
    expect(await openEvents(mine)).toMatchObject([{ reason: "amount_differs" }]);
    await setUp(mine, "razorpay", { amount_exponent: 0 });
    await report(event);
    expect(await openEvents(mine)).toEqual([]);
    expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
    await report(event);
    await checkAll(mine.tenant);
  });

  test("is open no more once the gateway, asked, or another event of it has paid the order", async () => {
    const mine = await newCardShop(10);
    // The account by which the local gateway signs.
    await setUp(mine, "razorpay", { account_id: "acc_BaridLocal0001" });
    const asked = await placeOrder(mine, "razorpay");
    const heard = await placeOrder(mine, "razorpay");
    await setUp(mine, "razorpay", { amount_exponent: 2 });
    await atGateway(asked.instructions.redirect_url, "pay");
    const event = eventFor(mine, numberOf(heard), due, { account: "acc_BaridLocal0001" });
    await report(event);
    expect(await openEvents(mine)).toHaveLength(2);
    await setUp(mine, "razorpay", { amount_exponent: 0 });
    await report({ ...event, created_at: 5 });
    for (const placed of [asked, heard]) {
      const { order } = (await look(placed, mine)).body;
      expect(order).toMatchObject({ paymentStatus: "paid", refund_due: false });
    }
    expect(await openEvents(mine)).toEqual([]);
    await checkAll(mine.tenant);
  });

  test("waits for whoever resolves it while another event of it would pay the order, in no circle", async () => {
    const mine = await newCardShop(10);
    await setUp(mine, "razorpay", { amount_exponent: 2 });
    const placed = await placeOrder(mine, "razorpay");
    const event = eventFor(mine, numberOf(placed), due);
    for (const created_at of [5, 6]) await report({ ...event, created_at });
    const [{ id }] = await openEvents(mine);
    await setUp(mine, "razorpay", { amount_exponent: 0 });
    await whileOpen(async (session) => {
      await session`select set_config('app.tenant_id', ${mine.tenant.id}, true),
        set_config('app.user_id', ${mine.tenant.admin.id}, true), set_config('app.grants', '{permission:manage:tenant}', true)`;
      const [{ pid }] = await session`select pg_backend_pid() as pid,
        money.lock_unmatched_event(${id}) as event` as [{ pid: number }];
      const paying = report({ ...event, created_at: 5 });
      await until(async () => (await waitingFor(pid)).length > 0);
      await session`select money.webhook_event_resolve(${
        sql.json({ event_id: id, resolution: "dismissed" })
      })`;
      await session`commit`;
      expect((await paying).status).toBe(200);
    });
    expect(await openEvents(mine)).toEqual([]);
    expect(await standing(placed.id)).toMatchObject({ payment_status: "pending", paid: 0 });
  });

  test("keeps its order open, until the terminal is right and the gateway is asked", async () => {
    const mine = await newCardShop(10);
    await setUp(mine, "gatewayone", { terminal: "WRONG" });
    const placed = await placeOrder(mine, "gatewayone");
    await atGateway(placed.instructions.redirect_url, "pay");
    expect(await openEvents(mine)).toMatchObject([{ reason: "terminal_differs" }]);
    await expireUnpaid(placed);
    expect(await standing(placed.id)).toMatchObject({ status: "pending" });
    await setUp(mine, "gatewayone", { terminal: "LOCAL001" });
    expect((await look(placed, mine)).body.order).toMatchObject({ paymentStatus: "paid" });
    expect(await openEvents(mine)).toEqual([]);
    await checkAll(mine.tenant);
  });

  test("is not matched again once somebody resolved it, and its order ends like others", async () => {
    const mine = await newCardShop(10);
    const placed = await placeOrder(mine, "razorpay");
    await setUp(mine, "razorpay", { amount_exponent: 2 });
    const event = eventFor(mine, numberOf(placed), due);
    await report(event);
    const [{ id }] = await openEvents(mine);
    await mine.tenant.admin.post(`/payment/webhook-events/${id}/resolve`, {
      resolution: "refunded_at_gateway",
    });
    await setUp(mine, "razorpay", { amount_exponent: 0 });
    await report(event);
    expect(await standing(placed.id)).toMatchObject({ payment_status: "pending", paid: 0 });
    await expireUnpaid(placed);
    expect(await standing(placed.id)).toMatchObject({ status: "cancelled" });
  });
});

describe("after a declined card", () => {
  const declined = async (mine: Shop) => {
    const placed = await placeOrder(mine, "gatewayone");
    await atGateway(placed.instructions.redirect_url, "decline");
    expect(await standing(placed.id)).toMatchObject({ payment_status: "failed" });
    return placed;
  };
  /** As if two hours had passed since it was declined, and the gateway had been asked so many minutes ago. */
  const asked = (
    minutes: number,
    orders: Placed[],
    tx: postgres.Sql | postgres.TransactionSql = sql,
  ) =>
    tx`update money.payments set last_checked_at = now() - ${minutes} * interval '1 minute',
      processed_at = now() - interval '2 hours', created_at = now() - interval '2 hours'
      where order_id in ${tx(orders.map(({ id }) => id))}`;

  test("another card on the same page is seen when the customer looks", async () => {
    const placed = await declined(shop);
    await atGateway(placed.instructions.redirect_url, "pay", "yes");
    await asked(60, [placed]);
    expect((await look(placed, shop)).body.order).toMatchObject({ paymentStatus: "paid" });
    await checkAll(shop.tenant);
  });

  test("and by the clock, less often once the order has ended", async () => {
    const [open, ended] = [await declined(shop), await declined(shop)];
    await shop.tenant.admin.put(`/storefront/orders/${ended.id}/cancel`, { reason: "other" });
    const looks = (minutes: number) =>
      sql.begin(async (tx) => {
        await asked(minutes, [open, ended], tx);
        return await lookedAt(tx, shop);
      });
    const soon = await looks(5);
    expect(soon).toContain(open.id);
    expect(soon).not.toContain(ended.id);
    // Its page takes another card all the same.
    expect(await looks(61)).toEqual(expect.arrayContaining([open.id, ended.id]));
  });
});
