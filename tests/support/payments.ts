/** Payments by card for tests: shops that take them, and the reports of their gateways. */
import { createHmac } from "node:crypto";
import type postgres from "postgres";
import { expect } from "vitest";
import { sql, stack } from "./db.ts";
import { runJobs } from "./jobs.ts";
import { newShop, type Placed, placeOrder, type Shop } from "./orders.ts";

export const webhookSecret = "local-webhook-secret";

/** One unit of the shop's product with its delivery, as gateways count: the tenant counts whole dinars, so they do. */
export const due = 6_000;

/** The response to a gateway, whatever the outcome of its event. */
export const received = { status: 200, body: { success: true, message: "received" } };

/** The gateway's own number of an order. */
export const numberOf = ({ instructions }: Placed): string => instructions.gateway_order_id;

/** Sets both gateways up, as an administrator would. */
export async function takeCards({ tenant, account }: Shop): Promise<void> {
  expect(
    await tenant.admin.put("/payment/gateways/gatewayone", {
      is_active: true,
      settings: { terminal: "LOCAL001" },
      secrets: { username: "shop", password: "secret" },
    }),
  ).toSucceed(200);
  expect(
    await tenant.admin.put("/payment/gateways/razorpay", {
      is_active: true,
      settings: { account_id: account },
      secrets: { webhook_secret: webhookSecret, key_id: "rzp_1", key_secret: "secret" },
    }),
  ).toSucceed(200);
}

/** A shop with both gateways set up; more goods than a test sells, unless said. */
export async function newCardShop(stock = 1_000): Promise<Shop> {
  const shop = await newShop({ stock });
  await takeCards(shop);
  return shop;
}

/** An event as the gateway sends one, captured unless said. */
export function eventFor(
  shop: Shop,
  number: string,
  amount: number,
  more: { event?: string; status?: string; id?: string; entity?: object; account?: string } = {},
): Record<string, unknown> {
  const { event = "payment.captured", status = "captured" } = more;
  return {
    entity: "event",
    account_id: more.account ?? shop.account,
    event,
    contains: ["payment"],
    payload: {
      payment: {
        entity: {
          id: more.id ?? `pay_${number}`,
          entity: "payment",
          amount,
          currency: "IQD",
          status,
          order_id: number,
          method: "card",
          description: "Order",
          email: "buyer@example.test",
          notes: { order_id: number, customer_id: shop.tenant.customer.id },
          created_at: 1_790_000_000,
          ...more.entity,
        },
      },
    },
    created_at: 1_790_000_001,
  };
}

/** A refund of an order's payment as the gateway reports it. */
export const refundOf = (
  shop: Shop,
  placed: Placed,
  amount = due,
  id = `rfnd_${numberOf(placed)}`,
  more: object = {},
): Record<string, unknown> => ({
  ...{ entity: "event", account_id: shop.account, event: "refund.processed" },
  payload: {
    refund: {
      entity: { id, payment_id: `pay_${numberOf(placed)}`, currency: "IQD", amount, ...more },
    },
  },
});

/** An order by card that was paid. */
export async function paidByCard(shop: Shop, quantity = 1): Promise<Placed> {
  const placed = await placeOrder(shop, "razorpay", quantity);
  await report(eventFor(shop, numberOf(placed), due * quantity));
  return placed;
}

/** Reports of gateways on an order that nobody has settled. */
export const openReports = async ({ tenant }: Shop, order: { id: string }) =>
  (await tenant.admin.get("/payment/webhook-events", { query: { open: true, limit: 100 } }))
    .body.data.filter(({ order_id }: { order_id: string | null }) => order_id === order.id);

export const sign = (body: string, secret = webhookSecret) =>
  createHmac("sha256", secret).update(body).digest("hex");

export interface Told {
  status: number;
  // deno-lint-ignore no-explicit-any -- tests look into bodies of many shapes
  body: any;
}

/** Sends an event, signed in this header unless a signature (or null for none) is given. */
export async function report(
  event: unknown,
  signature?: string | null,
  code = "razorpay",
  header = "x-gateway-signature",
): Promise<Told> {
  const body = typeof event === "string" ? event : JSON.stringify(event);
  const headers: Record<string, string> = { "content-type": "application/json" };
  const sent = signature === undefined ? sign(body) : signature;
  if (sent !== null) headers[header] = sent;
  const response = await fetch(`${stack.functionsUrl}/payment/webhooks/${code}`, {
    method: "POST",
    headers,
    body,
  });
  return { status: response.status, body: await response.json() };
}

/** Presses a button of the gateway's page; `silent` lets its notification get lost. */
export async function atGateway(
  redirectUrl: string,
  decision: "pay" | "decline",
  silent: "yes" | "no" = "no",
): Promise<void> {
  const response = await fetch(redirectUrl, {
    method: "POST",
    body: new URLSearchParams({ decision, silent }),
  });
  expect(response.status).toBe(200);
}

/** Lets so many hours pass over an order and its payments, in which nobody asked its gateway. */
export async function hoursLater({ id }: { id: string }, hours: number): Promise<void> {
  await sql.begin((tx) => hoursLaterIn(tx, id, hours));
}

async function hoursLaterIn(tx: postgres.TransactionSql, id: string, hours: number): Promise<void> {
  // Only the time is moved here; the order stays as it was agreed.
  await tx`set local session_replication_role = replica`;
  await tx`update storefront.storefront_orders set created_at = created_at - ${hours} * interval '1 hour'
    where id = ${id}`;
  await tx`update money.payments set created_at = created_at - ${hours} * interval '1 hour',
    expires_at = expires_at - ${hours} * interval '1 hour',
    last_checked_at = last_checked_at - ${hours} * interval '1 hour' where order_id = ${id}`;
  await tx`set local session_replication_role = origin`;
}

/** A day later, when the gateway has said for the last time how the order's payments stand. */
export async function endedUnpaid(
  tx: postgres.TransactionSql,
  { id }: { id: string },
): Promise<void> {
  await hoursLaterIn(tx, id, 25);
  await tx`select money.payment_answered(id) from money.payments where order_id = ${id}`;
}

/** The clock ends an order a day old of whose payments the gateway has said for the last time how they stand. */
export async function expireUnpaid(order: { id: string }): Promise<void> {
  await sql.begin((tx) => endedUnpaid(tx, order));
  await sql`select storefront.orders_expire()`;
}

/**
 * The clock asks: the look at each payment is queued, and done.
 * -> how many looks were queued for this shop since it was asked for the last time: another file's tests may have begun it
 */
export async function askGateways({ tenant }: Shop): Promise<number> {
  await sql`select money.payments_reconcile()`;
  await runJobs("payment", tenant.id);
  const looks = await sql`delete from app.jobs
    where kind = 'payment.reconcile' and tenant_id = ${tenant.id} and status not in ('queued', 'running') returning id`;
  return looks.length;
}

/** The orders at whose payments the clock would look, by what only `tx` sees so far; the looks are not kept. */
export async function lookedAt(tx: postgres.TransactionSql, { tenant }: Shop): Promise<string[]> {
  await tx`select money.payments_reconcile()`;
  const looks = await tx`with look as (
      delete from app.jobs where kind = 'payment.reconcile' and tenant_id = ${tenant.id} returning entity_key)
    select p.order_id from look join money.payments p on p.id::text = look.entity_key`;
  return looks.map(({ order_id }) => order_id);
}
