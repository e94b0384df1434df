/** gatewayone's interface: a token, a transaction, its status; and a notification that proves nothing. */
import { Hono } from "hono";
import type { Payment, Till } from "./till.ts";

/** Taken from nobody: every name and password is right here. */
const token = "local-merchant-token";
export const terminal = "LOCAL001";

function stated(payment: Payment) {
  const [actionCode, responseCode, statusMsg] = {
    open: ["3", "-24", "Pending"],
    paid: ["0", "00", "Approved"],
    declined: ["2", "51", "Declined"],
  }[payment.state];
  return {
    terminal,
    actionCode,
    responseCode,
    statusMsg,
    amount: payment.amount,
    currency: payment.currency,
    rrn: payment.transaction,
    orderId: payment.orderId,
  };
}

export function gatewayoneRoutes(till: Till, here: () => string): Hono {
  const app = new Hono();
  app.post("/auth/merchant/login", async (c) => {
    const { username, password } = await c.req.json();
    return username && password
      ? c.json({ access_token: token })
      : c.json({ message: "Unauthorized" }, 401);
  });
  app.use("/transaction/*", async (c, next) => {
    if (c.req.header("authorization") !== `Bearer ${token}`) {
      return c.json({ message: "Unauthorized" }, 401);
    }
    await next();
  });
  app.post("/transaction", async (c) => {
    const asked = await c.req.json();
    if (till.ofOrder("gatewayone", asked.orderId)) {
      return c.json({ message: "orderId was used" }, 409);
    }
    const payment = till.add({
      gateway: "gatewayone",
      orderId: asked.orderId,
      description: asked.orderDesc,
      amount: asked.amount,
      currency: asked.currency,
      backRef: asked.backRef,
      notify: async () => {
        const response = await fetch(asked.notifyUrl, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(stated(payment)),
        });
        return `${response.status}`;
      },
    });
    return c.json({ data: { url: `${here()}/pay/${payment.id}` } }, 201);
  });
  app.get("/transaction/:orderId/checkStatus", (c) => {
    const payment = till.ofOrder("gatewayone", c.req.param("orderId"));
    return payment ? c.json({ data: stated(payment) }) : c.json({ message: "Not found" }, 404);
  });
  return app;
}
