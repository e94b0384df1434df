/** Carriers, webhooks and payment gateways: the systems of others. */
import {
  bookedCash,
  carriedCash,
  enable,
  external,
  newSide,
  type Side,
  signedBy,
} from "../../../support/carriers.ts";
import { sql } from "../../../support/db.ts";
import { newDelivery } from "../../../support/deliveries.ts";
import { placeOrder, type Shop } from "../../../support/orders.ts";
import { due, eventFor, newCardShop, numberOf, report, sign } from "../../../support/payments.ts";
import type { Call, Calls } from "../call.ts";

/** A merchant's subscription. */
const ofMerchant: Call["before"] = async ({ tenant }) => {
  const [{ id }] = await sql`select id from integration.webhook_subscriptions
    where tenant_id = ${tenant.id} and owner_user_id is not null`;
  return { things: { subscription: id } };
};

let known: Promise<Side> | undefined;
const sideOf = () => known ??= newSide();

type Stands = "ordered" | "booked" | "delivered" | "paid";

/** A delivery by the simulated carrier that stands as it has to. */
const shipment = (stands: Stands): Pick<Call, "before"> => ({
  before: async () => {
    const { tenant, ground, secret } = await sideOf();
    const things: Record<string, string> = { tenant: tenant.id, carrier: "simulated", secret };
    if (stands === "ordered") {
      things.delivery = (await newDelivery(ground, external)).id;
    } else if (stands === "booked") {
      const { id, tracking_number } = await bookedCash(ground);
      Object.assign(things, { delivery: id, tracking_number });
    } else {
      const { id, collection } = await carriedCash(ground, secret);
      Object.assign(things, { delivery: id, carrier_collection: collection });
    }
    if (stands === "paid") {
      const answer = await tenant.admin.post("/carriers/tenant/simulated/remittances", {
        amount: 9_000,
        currency: "IQD",
        reference: `payment-${Date.now()}`,
        carrier_collection_ids: [things.carrier_collection],
      });
      things.remittance = answer.body.remittance.id;
    }
    return { tenant, things };
  },
});

let cards: Promise<Shop> | undefined;
const cardShop = () => cards ??= newCardShop();

/** An order that waits for its payment, and the event that its gateway then sends. */
const payment: Pick<Call, "before"> = {
  before: async () => {
    const shop = await cardShop();
    const number = numberOf(await placeOrder(shop, "razorpay"));
    return { tenant: shop.tenant, things: { tenant: shop.tenant.id, number } };
  },
};

/** An event that fits no payment. */
const unmatched: Pick<Call, "before"> = {
  before: async () => {
    const shop = await cardShop();
    const placed = await placeOrder(shop, "razorpay");
    await report(eventFor(shop, numberOf(placed), due - 1_000));
    const [{ id }] = await sql`select id from money.payment_webhook_events
      where tenant_id = ${shop.tenant.id} order by created_at desc limit 1`;
    return { tenant: shop.tenant, things: { tenant: shop.tenant.id, webhook_event: id } };
  },
};

export const integration: Calls = {
  "GET /carriers/tenant": shipment("booked"),
  "PATCH /carriers/tenant/:carrier_code": {
    ...shipment("booked"),
    body: () => ({ is_enabled: true, prefer_internal: true, default_price: 4_000 }),
  },
  "POST /carriers/tenant/:carrier_code/rotate-secret": {
    before: async ({ tenant }) => {
      await enable(tenant);
      return {};
    },
  },
  "GET /carriers/tenant/:carrier_code/collections": shipment("delivered"),
  "GET /carriers/tenant/:carrier_code/remittances": shipment("paid"),
  "GET /carriers/tenant/:carrier_code/remittances/:remittance_id": shipment("paid"),
  "POST /carriers/tenant/:carrier_code/remittances": {
    ...shipment("delivered"),
    body: ({ carrier_collection }) => ({
      amount: 9_000,
      charges: 500,
      currency: "IQD",
      reference: `payment-${Date.now()}`,
      carrier_collection_ids: [carrier_collection],
    }),
  },
  "POST /carriers/tenant/:carrier_code/remittances/:remittance_id/reverse": {
    ...shipment("paid"),
    body: () => ({ reason: "The bank sent it back" }),
  },
  "GET /carriers/shipments": shipment("booked"),
  "GET /carriers/shipments/:delivery_id": shipment("booked"),
  "POST /carriers/shipments/:delivery_id": {
    ...shipment("ordered"),
    body: () => ({ carrier_code: "simulated" }),
  },
  "POST /carriers/shipments/:delivery_id/cancel": shipment("booked"),
  "POST /carriers/webhooks/:carrier_code/:tenant_id": {
    ...shipment("booked"),
    by: "nobody",
    body: ({ tracking_number }) => ({
      event_id: `event-${Date.now()}`,
      tracking_number,
      status: "delivered",
    }),
    headers: ({ secret }, body) => ({ "x-carrier-signature": signedBy(String(secret), body) }),
  },
  "POST /webhooks/subscriptions": {
    before: async ({ tenant }) => {
      const [{ id }] = await sql`select m.id from tenancy.modules m where m.id not in (
        select s.module_id from integration.webhook_subscriptions s where s.tenant_id = ${tenant.id})
        order by m.position limit 1`;
      return { things: { module: id } };
    },
    body: ({ module }) => ({
      module_id: module,
      url: "http://127.0.0.1:9/hook",
      event_types: ["delivery.*"],
    }),
  },
  "PUT /webhooks/merchant-subscriptions/:subscription_id": {
    before: ofMerchant,
    body: () => ({ is_active: false }),
  },
  "DELETE /webhooks/merchant-subscriptions/:subscription_id": { before: ofMerchant },
  "PUT /webhooks/subscriptions/:subscription_id": {
    body: () => ({ event_types: ["delivery.*", "cod.*"], is_active: true }),
  },
  "POST /webhooks/subscriptions/:subscription_id/recover": {
    body: () => ({ since: new Date(Date.now() - 86_400_000).toISOString() }),
  },
  "POST /webhooks/events/:eventId/retry": {
    before: async ({ tenant }) => {
      await sql`update integration.webhook_events set status = 'failed'
        where tenant_id = ${tenant.id}`;
      return {};
    },
  },
  "POST /payment/webhooks/gatewayone": {
    by: "nobody",
    before: async () => {
      const shop = await cardShop();
      return { things: { number: numberOf(await placeOrder(shop, "gatewayone")) } };
    },
    body: ({ number }) => ({
      terminal: "LOCAL001",
      actionCode: "0",
      responseCode: "00",
      statusMsg: "Approved",
      amount: "6000",
      currency: "368",
      rrn: "123456789012",
      orderId: String(number),
    }),
  },
  "POST /payment/webhooks/:gateway_code": {
    ...payment,
    by: "nobody",
    params: () => ({ gateway_code: "razorpay" }),
    body: async ({ number }) => eventFor(await cardShop(), String(number), due),
    headers: (_, body) => ({ "x-gateway-signature": sign(body) }),
  },
  "GET /payment/webhook-events": unmatched,
  "POST /payment/webhook-events/:event_id/resolve": {
    ...unmatched,
    body: () => ({ resolution: "credited_by_adjustment", note: "Credited to the wallet" }),
  },
  "GET /payment/gateways": { before: async () => ({ tenant: (await cardShop()).tenant }) },
  "PUT /payment/gateways/:gateway_code": {
    params: () => ({ gateway_code: "gatewayone" }),
    body: () => ({
      is_active: true,
      settings: { terminal: "SHOP0001" },
      secrets: { username: "dijla", password: "as the gateway gave it" },
    }),
  },
};
