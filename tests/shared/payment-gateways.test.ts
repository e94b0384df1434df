/** The adapters of the payment gateways against the services as their documentation describes them. */
import { http, HttpResponse } from "msw";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import {
  type Gateway,
  GatewayAway,
  type GatewayPayment,
} from "../../shared/payment-gateways/gateway.ts";
import { gateway as gatewayone } from "../../shared/payment-gateways/gatewayone.ts";
import { gateway as razorpay } from "../../shared/payment-gateways/razorpay.ts";
import { gatewayoneService, razorpayService } from "../support/outside/payment-gateways.ts";

const server = setupServer();
beforeAll(() => {
  vi.stubEnv("BARID_GATEWAYONE_URL", "https://gatewayone.example");
  vi.stubEnv("BARID_RAZORPAY_URL", "");
  server.listen({ onUnhandledRequest: "error" });
});
afterEach(() => server.resetHandlers());
afterAll(() => {
  server.close();
  vi.unstubAllEnvs();
});

const payment: GatewayPayment = {
  id: "p1",
  tenant_id: "t1",
  gateway_code: "",
  gateway_order_id: "123456789012",
  gateway_reference: null,
  amount: "25000.500",
  currency: "IQD",
  numeric_code: "368",
  exponent: 3,
  description: null,
  back_ref: "https://shop.example/back",
  expires_at: "2099-12-01T00:00:00Z",
  settings: {},
};
const notifyUrl = "https://api.example/payment/webhooks/gatewayone";

describe("razorpay", () => {
  const secrets = { key_id: "rzp_key", key_secret: "shh" };

  test("opens a payment link in minor units and reads how it stands", async () => {
    const service = razorpayService();
    server.use(...service.handlers);
    const opened = await razorpay.open(payment, secrets, notifyUrl);
    expect(opened).toEqual({
      redirect_url: "https://rzp.example/i/plink_1",
      gateway_reference: "plink_1",
    });
    const [{ line, headers, body }] = service.asked;
    expect(line).toBe("POST /v1/payment_links");
    expect(headers.get("authorization")).toBe(
      `Basic ${Buffer.from("rzp_key:shh").toString("base64")}`,
    );
    expect(body).toEqual({
      amount: 25_000_500,
      currency: "IQD",
      reference_id: "123456789012",
      description: "123456789012",
      expire_by: Date.parse("2099-12-01T00:00:00Z") / 1000,
      callback_url: "https://shop.example/back",
      callback_method: "get",
      notes: { order_id: "123456789012" },
    });

    const known = { ...payment, gateway_reference: opened.gateway_reference };
    expect(await razorpay.ask(known, secrets)).toMatchObject({ kind: "none", transaction_id: "" });
    service.payments.get("plink_1")!.state = "declined";
    expect(await razorpay.ask(known, secrets)).toMatchObject({
      kind: "failed",
      event: "link cancelled",
    });
    service.payments.get("plink_1")!.state = "paid";
    expect(await razorpay.ask(known, secrets)).toEqual({
      kind: "paid",
      event: "link paid",
      gateway_order_id: "123456789012",
      transaction_id: "pay_1",
      amount: "25000500",
      unit: "minor",
      currency: "IQD",
    });
  });

  test("refuses an amount with a fraction of a minor unit before it calls", async () => {
    const service = razorpayService();
    server.use(...service.handlers);
    await expect(razorpay.open({ ...payment, exponent: 0 }, secrets, notifyUrl))
      .rejects.toThrow(GatewayAway);
    expect(service.asked).toEqual([]);
  });
});

describe("gatewayone", () => {
  const secrets = { username: "merchant", password: "shh" };

  test("logs in, opens a transaction in major units and asks for its status", async () => {
    const service = gatewayoneService();
    server.use(...service.handlers);
    expect(await gatewayone.open(payment, secrets, notifyUrl)).toEqual({
      redirect_url: "https://gatewayone.example/pay/123456789012",
      gateway_reference: null,
    });
    expect(service.asked.map(({ line }) => line)).toEqual([
      "POST /auth/merchant/login",
      "POST /transaction",
    ]);
    expect(service.asked[1].body).toEqual({
      orderId: "123456789012",
      orderDesc: "123456789012",
      amount: "25000.5",
      currency: "368",
      transactionType: "1",
      backRef: "https://shop.example/back",
      notifyUrl,
    });

    expect(await gatewayone.ask(payment, secrets)).toMatchObject({ kind: "none" });
    service.payments.get(payment.gateway_order_id)!.state = "declined";
    expect(await gatewayone.ask(payment, secrets)).toMatchObject({ kind: "failed" });
    service.payments.get(payment.gateway_order_id)!.state = "paid";
    expect(await gatewayone.ask(payment, secrets)).toEqual({
      kind: "paid",
      event: "status 0/00",
      gateway_order_id: "123456789012",
      order: "123456789012",
      transaction_id: "123456789012",
      amount: "25000.5",
      unit: "major",
      currency: "368",
      terminal: "T1",
    });
  });

  test("a wrong password opens nothing", async () => {
    const service = gatewayoneService();
    server.use(...service.handlers);
    await expect(gatewayone.open(payment, { username: "merchant", password: "" }, notifyUrl))
      .rejects.toThrow(GatewayAway);
    expect(service.payments.size).toBe(0);
  });
});

describe.each<[string, Gateway]>([["razorpay", razorpay], ["gatewayone", gatewayone]])(
  "%s in trouble",
  (_, gateway) => {
    const secrets = { key_id: "k", key_secret: "s", username: "u", password: "p" };
    const known = { ...payment, gateway_reference: "plink_1" };
    test.each<[string, () => Response]>([
      ["cannot be reached", () => HttpResponse.error()],
      ["fails", () => HttpResponse.json({}, { status: 500 })],
      ["answers a page", () => HttpResponse.html("<html>Approved</html>")],
      ["answers other JSON", () => HttpResponse.json({ ok: true })],
      ["answers without end", () => HttpResponse.json({ data: "x".repeat(70_000) })],
    ])("that %s says nothing of a payment", async (_, answer) => {
      server.use(http.all("*", answer));
      await expect(gateway.ask(known, secrets)).rejects.toThrow(GatewayAway);
      await expect(gateway.open(payment, secrets, notifyUrl)).rejects.toThrow(GatewayAway);
    });
  },
);
