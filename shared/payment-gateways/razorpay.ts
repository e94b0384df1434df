/**
 * Razorpay, and gateways that notify as it does: the body is signed with the webhook's secret (HMAC-SHA256,
 * lower-case hex). Payments are opened as payment links; their reference, and notes where events have them, carry our number.
 */
import { Buffer } from "node:buffer";
import { z } from "zod";
import { accept } from "../schemas/input.ts";
import { addressOf, askGateway } from "./call.ts";
import { type Facts, type Gateway, minorUnits } from "./gateway.ts";

const address = () => addressOf("razorpay", "https://api.razorpay.com/v1");

const Units = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const Word = z.string().max(200);
const Text = z.string().max(2_000).nullish();
const Notes = z.union([
  z.looseObject({ order_id: Word.nullish(), customer_id: Word.nullish() }),
  // Empty notes are written as a list.
  z.array(z.unknown()).max(0),
]).nullish();

const Payment = z.object({
  id: Word.min(1),
  entity: Word.optional(),
  amount: Units,
  currency: z.string().length(3),
  status: Word,
  order_id: Word.nullish(),
  method: Word.nullish(),
  description: Text,
  email: Text,
  notes: Notes,
  created_at: z.int().optional(),
});
const Refund = z.object({
  id: Word.min(1),
  payment_id: Word.min(1),
  amount: Units,
  currency: z.string().length(3),
  status: Word.optional(),
});

/** A customer's bank contests a payment; of one that was lost, the gateway took `amount_deducted`. */
const Dispute = z.object({
  id: Word.min(1),
  payment_id: Word.min(1),
  amount: Units,
  currency: z.string().length(3),
  amount_deducted: Units.nullish().describe(
    "Taken for a dispute that was lost, in minor units; 0 until then",
  ),
});

/** The link that a payment was made by; our number is its `reference_id`. */
const PaidLink = z.object({ id: Word.min(1), reference_id: Word.nullish() });

/** A notification as documented. */
export const Notification = z.object({
  entity: Word.optional(),
  account_id: Word.min(1),
  event: Word.min(1),
  contains: z.array(Word).max(20).optional(),
  payload: z.object({
    payment: z.object({ entity: Payment }).optional(),
    payment_link: z.object({ entity: PaidLink }).optional(),
    refund: z.object({ entity: Refund }).optional(),
    dispute: z.object({ entity: Dispute }).optional(),
  }),
  created_at: z.int().optional(),
});

const Link = z.object({ id: Word.min(1), short_url: z.url({ protocol: /^https?$/ }) });
const LinkState = z.object({
  status: Word,
  amount: Units,
  currency: z.string().length(3),
  payments: z.array(z.object({ payment_id: Word, amount: Units, status: Word })).nullish(),
});

const paidEvents = ["payment.captured", "order.paid", "payment_link.paid"];

/** Event and status together: an event says what happened, the payment in it its present status. */
function kindOf(event: string, status: string): Facts["kind"] {
  if (paidEvents.includes(event) && status === "captured") return "paid";
  return event === "payment.failed" && status === "failed" ? "failed" : "none";
}

/**
 * A payment by a link has an order of Razorpay's own, and not always the link's notes: then its description alone names the link, as `#`
 * and the link's number.
 */
function linkDescribed({ description }: z.infer<typeof Payment>): string | undefined {
  const number = /^#(\w{14})$/.exec(description ?? "")?.[1];
  return number && `plink_${number}`;
}

function authorization(secrets: Readonly<Record<string, string>>): Record<string, string> {
  const pair = Buffer.from(`${secrets.key_id}:${secrets.key_secret}`).toString("base64");
  return { authorization: `Basic ${pair}` };
}

function read(body: unknown): Facts {
  const { event, payload } = accept(Notification, body);
  const payment = payload.payment?.entity;
  const refund = payload.refund?.entity;
  if (event === "refund.processed" && refund) {
    return {
      kind: "refunded",
      event,
      transaction_id: refund.payment_id,
      refund_id: refund.id,
      amount: String(refund.amount),
      unit: "minor",
      currency: refund.currency,
    };
  }
  const dispute = payload.dispute?.entity;
  if (event === "payment.dispute.lost" && dispute) {
    return {
      kind: "refunded",
      event,
      transaction_id: dispute.payment_id,
      refund_id: dispute.id,
      amount: String(dispute.amount_deducted || dispute.amount),
      unit: "minor",
      currency: dispute.currency,
    };
  }
  if (!payment) return { kind: "none", event };
  const link = payload.payment_link?.entity;
  const notes = Array.isArray(payment.notes) ? undefined : payment.notes;
  const named = link?.reference_id ?? notes?.order_id ?? undefined;
  return {
    kind: kindOf(event, payment.status),
    event,
    gateway_order_id: named ?? payment.order_id ?? undefined,
    reference: link?.id ?? (named ? undefined : linkDescribed(payment)) ?? payment.order_id ??
      undefined,
    order: named,
    transaction_id: payment.id,
    amount: String(payment.amount),
    unit: "minor",
    currency: payment.currency,
  };
}

export const gateway: Gateway = {
  code: "razorpay",
  settings: z.strictObject({
    /** The account events name. */
    account_id: z.string().trim().regex(/^[\w-]{1,64}$/),
    /** Digits of minor units, where the gateway counts otherwise than `money.gateway_exponent` says. */
    amount_exponent: z.int().min(0).max(3).nullish(),
  }),
  secrets: ["webhook_secret", "key_id", "key_secret"],
  needs: ["account_id", "webhook_secret", "key_id", "key_secret"],
  async open(payment, secrets) {
    const link = await askGateway(`${address()}/payment_links`, {
      method: "POST",
      headers: authorization(secrets),
      body: {
        amount: minorUnits(payment),
        currency: payment.currency,
        reference_id: payment.gateway_order_id,
        description: payment.description ?? payment.gateway_order_id,
        expire_by: Math.ceil(Date.parse(payment.expires_at) / 1000),
        callback_url: payment.back_ref,
        callback_method: "get",
        notes: { order_id: payment.gateway_order_id },
      },
    }, Link);
    return { redirect_url: link.short_url, gateway_reference: link.id };
  },
  async ask(payment, secrets) {
    const id = encodeURIComponent(payment.gateway_reference ?? "");
    const link = await askGateway(`${address()}/payment_links/${id}`, {
      method: "GET",
      headers: authorization(secrets),
    }, LinkState);
    const made = link.payments?.find(({ status }) => status === "captured");
    return {
      kind: made
        ? "paid"
        : link.status === "expired" || link.status === "cancelled"
        ? "failed"
        : "none",
      event: `link ${link.status}`,
      gateway_order_id: payment.gateway_order_id,
      transaction_id: made?.payment_id ?? "",
      amount: String(made?.amount ?? link.amount),
      unit: "minor",
      currency: link.currency,
    };
  },
  signed: { header: "x-razorpay-signature", read },
};
