/** Razorpay's payment links, and its events, signed with the webhook secret that stands here. */
import { createHmac } from "node:crypto";
import { Hono } from "hono";
import type { Payment, Till } from "./till.ts";

export const account = "acc_BaridLocal0001";
export const webhookSecret = "local-webhook-secret";

/** The payment has none of its link's notes, and an order that is Razorpay's own. */
function eventOf(payment: Payment): string {
  const isPaid = payment.state === "paid";
  const [event, status] = isPaid ? ["payment_link.paid", "captured"] : ["payment.failed", "failed"];
  const link = { id: payment.id, reference_id: payment.orderId, status: "paid" };
  return JSON.stringify({
    entity: "event",
    account_id: account,
    event,
    contains: isPaid ? ["payment", "payment_link"] : ["payment"],
    payload: {
      ...(isPaid ? { payment_link: { entity: link } } : {}),
      payment: {
        entity: {
          id: payment.transaction,
          entity: "payment",
          amount: Number(payment.amount),
          currency: payment.currency,
          status,
          order_id: `order_${payment.id.slice(6)}`,
          method: "card",
          description: `#${payment.id.slice(6)}`,
          email: "customer@example.test",
          notes: [],
          created_at: Math.floor(Date.now() / 1000),
        },
      },
    },
    created_at: Math.floor(Date.now() / 1000),
  });
}

export function razorpayRoutes(till: Till, here: () => string): Hono {
  const app = new Hono();
  app.use("*", async (c, next) => {
    if (!c.req.header("authorization")?.startsWith("Basic ")) {
      return c.json({ error: { code: "BAD_REQUEST_ERROR" } }, 401);
    }
    await next();
  });
  app.post("/payment_links", async (c) => {
    const asked = await c.req.json();
    if (asked.expire_by < Date.now() / 1000 + 15 * 60) {
      const description = "expire_by should be at least 15 minutes after current time";
      return c.json({ error: { code: "BAD_REQUEST_ERROR", description } }, 400);
    }
    const payment = till.add({
      gateway: "razorpay",
      orderId: asked.reference_id,
      description: asked.description,
      amount: String(asked.amount),
      currency: asked.currency,
      backRef: asked.callback_url,
      notify: async (base) => {
        const body = eventOf(payment);
        const response = await fetch(`${base}/functions/v1/payment/webhooks/razorpay`, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            "x-razorpay-signature": createHmac("sha256", webhookSecret).update(body).digest("hex"),
          },
          body,
        });
        return `${response.status}`;
      },
    });
    return c.json({ id: payment.id, short_url: `${here()}/pay/${payment.id}`, status: "created" });
  });
  app.get("/payment_links/:id", (c) => {
    const payment = till.get(c.req.param("id"));
    if (!payment) return c.json({ error: { code: "BAD_REQUEST_ERROR" } }, 400);
    const amount = Number(payment.amount);
    const paid = payment.state === "paid";
    return c.json({
      id: payment.id,
      status: paid ? "paid" : payment.state === "declined" ? "cancelled" : "created",
      amount,
      currency: payment.currency,
      payments: paid ? [{ payment_id: payment.transaction, amount, status: "captured" }] : [],
    });
  });
  return app;
}
