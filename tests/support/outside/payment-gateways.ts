/** The payment gateways as their documentation has them: payments are opened, stay open, and are paid when a test says so. */
import { http, HttpResponse, type RequestHandler } from "msw";
import { type NotedRequest, noteRequest } from "./requests.ts";

/** A gateway's record of a payment. */
export interface KeptPayment {
  order: string;
  amount: string;
  currency: string;
  state: "open" | "paid" | "declined";
}

export interface PaymentGateway {
  handlers: RequestHandler[];
  asked: NotedRequest[];
  /** By the gateway's own number for Razorpay, by ours for GatewayOne. */
  payments: Map<string, KeptPayment>;
}

function gateway(): PaymentGateway {
  return { handlers: [], asked: [], payments: new Map() };
}

/** Razorpay: payment links, counted in minor units, under a key in Basic authentication. */
export function razorpayService(): PaymentGateway {
  const service = gateway();
  const { payments } = service;
  service.handlers.push(
    http.all("*/v1/*", async ({ request }) => {
      service.asked.push(await noteRequest(request));
      if (request.headers.get("authorization")?.startsWith("Basic ")) return undefined;
      return HttpResponse.json({ error: { code: "BAD_REQUEST_ERROR" } }, { status: 401 });
    }),
    http.post("*/v1/payment_links", async ({ request }) => {
      const sent = await request.json() as Record<string, unknown>;
      const id = `plink_${payments.size + 1}`;
      payments.set(id, {
        order: String(sent.reference_id),
        amount: String(sent.amount),
        currency: String(sent.currency),
        state: "open",
      });
      return HttpResponse.json({
        id,
        short_url: `https://rzp.example/i/${id}`,
        status: "created",
      });
    }),
    http.get("*/v1/payment_links/:id", ({ params }) => {
      const payment = payments.get(String(params.id));
      if (!payment) {
        return HttpResponse.json({ error: { code: "BAD_REQUEST_ERROR" } }, { status: 400 });
      }
      const { state, currency } = payment;
      const amount = Number(payment.amount);
      return HttpResponse.json({
        id: params.id,
        status: { open: "created", paid: "paid", declined: "cancelled" }[state],
        amount,
        currency,
        payments: state === "paid" ? [{ payment_id: "pay_1", amount, status: "captured" }] : [],
      });
    }),
  );
  return service;
}

const token = "merchant-token";
const unauthorized = () => HttpResponse.json({ message: "Unauthorized" }, { status: 401 });

/** GatewayOne: a token for a name and a password, a transaction, and its status, in major units and ISO numbers. */
export function gatewayoneService(): PaymentGateway {
  const service = gateway();
  const { payments } = service;
  service.handlers.push(
    http.all("*", async ({ request }) => void service.asked.push(await noteRequest(request))),
    http.post("*/auth/merchant/login", async ({ request }) => {
      const { username, password } = await request.json() as Record<string, string>;
      return username && password ? HttpResponse.json({ access_token: token }) : unauthorized();
    }),
    http.all(
      /\/transaction\b/,
      ({ request }) =>
        request.headers.get("authorization") === `Bearer ${token}` ? undefined : unauthorized(),
    ),
    http.post("*/transaction", async ({ request }) => {
      const sent = await request.json() as Record<string, string>;
      if (payments.has(sent.orderId)) {
        return HttpResponse.json({ message: "orderId was used" }, { status: 409 });
      }
      const { orderId: order, amount, currency } = sent;
      payments.set(order, { order, amount, currency, state: "open" });
      return HttpResponse.json({ data: { url: `https://gatewayone.example/pay/${order}` } });
    }),
    http.get("*/transaction/:order/checkStatus", ({ params }) => {
      const payment = payments.get(String(params.order));
      if (!payment) return HttpResponse.json({ message: "Not found" }, { status: 404 });
      const [actionCode, responseCode, statusMsg] = {
        open: ["3", "-24", "Pending"],
        paid: ["0", "00", "Approved"],
        declined: ["2", "51", "Declined"],
      }[payment.state];
      return HttpResponse.json({
        data: {
          terminal: "T1",
          actionCode,
          responseCode,
          statusMsg,
          amount: payment.amount,
          currency: payment.currency,
          rrn: "123456789012",
          orderId: payment.order,
        },
      });
    }),
  );
  return service;
}
