/**
 * The payment gateways of this machine: both take payments as the real ones do, on a page where whoever
 * sits here decides, and notify the backend. Never deployed.
 */
import { Hono } from "hono";
import { gatewayoneRoutes } from "./gatewayone.ts";
import { page } from "./page.ts";
import { razorpayRoutes } from "./razorpay.ts";
import { Till } from "./till.ts";

export interface PaymentsOptions {
  /** The stack's own address, as browsers and functions see it. */
  url: () => string;
  log: (line: string) => void;
}

export function paymentsApp({ url, log }: PaymentsOptions): Hono {
  const till = new Till();
  const here = () => `${url()}/payments/v1`;
  const app = new Hono().basePath("/payments/v1");
  app.route("/gatewayone", gatewayoneRoutes(till, here));
  app.route("/razorpay", razorpayRoutes(till, here));
  app.get("/pay/:id", (c) => {
    const payment = till.get(c.req.param("id"));
    return payment ? c.html(page(payment)) : c.text("There is no such payment.", 404);
  });
  // The page's buttons, and what tests press.
  app.post("/pay/:id", async (c) => {
    const payment = till.get(c.req.param("id"));
    if (!payment) return c.text("There is no such payment.", 404);
    const form = await c.req.parseBody();
    // After a declined card the page takes another one.
    if (payment.state !== "paid") {
      payment.state = form.decision === "pay" ? "paid" : "declined";
      payment.transaction = till.transaction(payment.gateway);
    }
    const told = form.silent === "yes" ? "nobody" : await payment.notify(url()).catch(String);
    log(`payments: ${payment.gateway} ${payment.orderId} ${payment.state}, told: ${told}`);
    return c.html(page(payment));
  });
  return app;
}
