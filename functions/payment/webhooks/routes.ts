import { z } from "zod";
import { open, permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import { accept, requireStorable } from "../../../shared/schemas/input.ts";
import { log } from "../../../shared/runtime/log.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { applyFacts, checkPayment, digest } from "../../../shared/payment-gateways/checkout.ts";
import { Notification as HintBody } from "../../../shared/payment-gateways/gatewayone.ts";
import { Notification as SignedBody } from "../../../shared/payment-gateways/razorpay.ts";
import { triggerWebhookDispatch } from "../../../shared/outbound/webhook-dispatch.ts";
import { gatewayNamed } from "../../../shared/payment-gateways/registry.ts";
import { EventResponse, EventsResponse, Received, Resolve, webhookEvents } from "./schemas.ts";
import { claimedAccount, signersOf } from "./signature.ts";
import { parseStrictly } from "./strict-json.ts";

const maxBodyBytes = 65_536;
const received = { literal: "received" } as const;
const admin = permission("manage:tenant");

/**
 * Notifications of gateways. Public, with the same answer for what was applied, was known, or says nothing to
 * us: callers that are no gateway learn nothing.
 */
export const webhooks: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/webhooks/gatewayone",
    summary: "A notification of gatewayone: a reason to ask it, and nothing more",
    access: open(),
    tenant: "none",
    idempotency: "handler",
    rawBodyMaxBytes: maxBodyBytes,
    body: HintBody,
    response: Received,
    message: received,
    errors: ["gateway_unavailable"],
    async run({ raw, waitUntil }) {
      const { orderId } = accept(HintBody, parseStrictly(raw));
      // Ours are numbers: about anything else there is nobody to ask.
      const state = /^\d{1,20}$/.test(orderId)
        ? await checkPayment({ code: "gatewayone", number: orderId }, 2)
        : "unknown";
      waitUntil(triggerWebhookDispatch());
      // The gateway was asked a moment ago, perhaps too early, so it has to send the notification again.
      if (state === "wait") throw new AppError("gateway_unavailable");
      if (state === "unknown") log("info", "payment_notification_ignored", { order: orderId });
      return {};
    },
  }),
  endpoint({
    method: "post",
    path: "/webhooks/:gateway_code",
    summary:
      "A signed event of a payment gateway (header X-Gateway-Signature, or the gateway's own)",
    access: open(),
    tenant: "none",
    idempotency: "handler",
    params: z.object({ gateway_code: z.string().max(100) }),
    rawBodyMaxBytes: maxBodyBytes,
    body: SignedBody,
    response: Received,
    message: received,
    errors: ["gateway_not_found", "invalid_signature"],
    async run({ raw, params, request, waitUntil }) {
      const gateway = await gatewayNamed(params.gateway_code);
      if (!gateway?.signed) throw new AppError("gateway_not_found");
      const { header, read } = gateway.signed;
      const signature = request.headers.get("x-gateway-signature") ?? request.headers.get(header);
      const account = claimedAccount(raw);
      const tenants = await signersOf(gateway.code, account, raw, signature ?? "");
      if (tenants.length === 0) throw new AppError("invalid_signature");
      const facts = { ...read(requireStorable(parseStrictly(raw))), account };
      const text = new TextDecoder().decode(raw);
      // The bytes are what was signed: the same bytes are the same event, whatever a header calls them.
      await applyFacts(gateway.code, tenants, digest(raw), "signature", facts, text);
      waitUntil(triggerWebhookDispatch());
      return {};
    },
  }),
  endpoint({
    method: "get",
    path: "/webhook-events",
    summary: "List notifications of gateways; `open=true` is unmatched money",
    access: admin,
    query: webhookEvents.query,
    response: EventsResponse,
    run: ({ db, query }) => webhookEvents.answer(db, query),
  }),
  endpoint({
    method: "post",
    path: "/webhook-events/:event_id/resolve",
    person: true,
    summary: "Settle an event that fits no payment, and move its money where `action` says so",
    access: admin,
    params: ids("event_id"),
    body: Resolve,
    response: EventResponse,
    errors: [
      "payment_event_not_found",
      "payment_event_not_open",
      "payment_action_not_possible",
      "insufficient_wallet_balance",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("money.webhook_event_resolve", { ...body, ...params }),
    }),
  }),
];
