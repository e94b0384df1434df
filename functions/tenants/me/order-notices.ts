import {
  inLanguage,
  type Language,
  type MessageKey,
  translate,
} from "../../../shared/i18n/index.ts";

type Payload = Record<string, unknown>;

/** Types of notifications to the customer of an order, and their texts. */
export const orderTexts = {
  order_confirmed: "notification_order_confirmed",
  order_shortened: "notification_order_shortened",
  order_shipped: "notification_order_shipped",
  order_shipped_again: "notification_order_shipped_again",
  order_not_delivered: "notification_order_not_delivered",
  order_delivered: "notification_order_delivered",
  order_cancelled: "notification_order_cancelled",
  order_refunded: "notification_order_refunded",
} as const satisfies Record<string, MessageKey>;

/** The text of a notification of an order where the step was another than its type says at first; of any other notification: nothing. */
export function orderText(type: string, payload: Payload): MessageKey | undefined {
  if (type === "order_shipped_again" && payload.undone) {
    return "notification_order_shipped_after_all";
  }
  if (type === "order_delivered" && payload.fulfilment === "partial") {
    return "notification_order_delivered_in_part";
  }
  if (type !== "order_cancelled") return undefined;
  if (payload.fulfilment === "returned") return "notification_order_came_back";
  if (payload.cancel_reason === "payment_failed") return "notification_order_not_paid";
  return undefined;
}

/** The sentences to the customer of an order: what it comes without, why it was not handed over and what follows, and what is paid back. */
export function ofOrder(language: Language, payload: Payload): string[] {
  const { missing, reason_label: label, next } = payload;
  const said: string[] = [];
  const say = (key: MessageKey, more = {}) =>
    said.push(translate(language, key, { ...payload, ...more }));
  if (payload.estimated_delivery_date) say("notification_order_promised");
  if (Array.isArray(missing) && missing.length) {
    say("notification_order_without", {
      missing: missing.map(({ name, sku, quantity }) =>
        `${quantity} × ${inLanguage(name, language) || sku}`
      ),
    });
    say("notification_order_costs");
  }
  if (label) {
    say("notification_reason", { reason: inLanguage(label as Record<string, string>, language) });
  }
  if (isReason(payload.cancel_reason)) {
    say("notification_reason", { reason: translate(language, reasons[payload.cancel_reason]) });
  }
  if (isNext(next)) say(nexts[next]);
  if (payload.refunded_amount) {
    say(
      payload.refund_method === "gateway"
        ? "notification_refunded_gateway"
        : "notification_refunded_wallet",
    );
  }
  if (payload.refund_due_amount) say("notification_refund_owed");
  return said;
}

const reasons = {
  customer_request: "reason_order_asked",
  out_of_stock: "reason_order_out_of_stock",
} as const satisfies Record<string, MessageKey>;
const isReason = (word: unknown): word is keyof typeof reasons =>
  Object.hasOwn(reasons, String(word));

const nexts = {
  postponed: "notification_next_postponed",
  attempt: "notification_next_attempt",
  decision: "notification_next_decision",
} as const satisfies Record<string, MessageKey>;
const isNext = (word: unknown): word is keyof typeof nexts => Object.hasOwn(nexts, String(word));
