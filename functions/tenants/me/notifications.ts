import { z } from "zod";
import { anyone } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { type Language, type MessageKey, translate } from "../../../shared/i18n/index.ts";
import { defineList, isSet, someOf } from "../../../shared/api/list.ts";
import { Id, JsonObject, listResponse, Timestamp } from "../../../shared/schemas/schemas.ts";
import { ofOrder, orderText, orderTexts } from "./order-notices.ts";

/** Types of notifications and their texts. */
const texts = {
  api_key_expiring: "notification_api_key_expiring",
  assignment_created: "notification_assignment_created",
  bulk_assignment_created: "notification_bulk_assignment_created",
  assignment_returned: "notification_assignment_returned",
  assignments_handed_over: "notification_assignments_handed_over",
  assignments_rejected: "notification_assignments_rejected",
  handover_rejected: "notification_handover_rejected",
  handover_withdrawn: "notification_handover_withdrawn",
  auto_assignment_failed: "notification_auto_assignment_failed",
  delivery_postponed_in_van: "notification_delivery_postponed_in_van",
  picking_assigned: "notification_picking_assigned",
  picking_withdrawn: "notification_picking_withdrawn",
  receipt_incomplete: "notification_receipt_incomplete",
  delivery_cancelled: "notification_delivery_cancelled",
  delivery_exception_opened: "notification_delivery_exception_opened",
  delivery_refused: "notification_delivery_refused",
  delivery_changed: "notification_delivery_changed",
  amount_change_requested: "notification_amount_change_requested",
  amount_change_declined: "notification_amount_change_declined",
  amount_change_late: "notification_amount_change_late",
  recipient_answered: "notification_recipient_answered",
  redirect_late: "notification_redirect_late",
  redirect_fee_due: "notification_redirect_fee_due",
  redirect_fee_late: "notification_redirect_fee_late",
  outcome_undone: "notification_outcome_undone",
  webhook_disabled: "notification_webhook_disabled",
  pickup_undone: "notification_pickup_undone",
  cash_count_cancelled: "notification_cash_count_cancelled",
  cash_handed_over: "notification_cash_handed_over",
  cash_handover_reversed: "notification_cash_handover_reversed",
  wallet_cash_paid_in: "notification_wallet_cash_paid_in",
  wallet_cash_paid_out: "notification_wallet_cash_paid_out",
  wallet_cash_reversed: "notification_wallet_cash_reversed",
  cod_settlement_reversed: "notification_cod_settlement_reversed",
  member_left: "notification_member_left",
  manifest_cancelled: "notification_manifest_cancelled",
  manifest_given: "notification_manifest_given",
  manifest_given_to_another: "notification_manifest_given_to_another",
  market_submitted: "notification_market_submitted",
  market_approved: "notification_market_approved",
  market_rejected: "notification_market_rejected",
  order_placed: "notification_order_placed",
  ...orderTexts,
  order_delivery_cancelled: "notification_order_delivery_cancelled",
  order_refund_due: "notification_order_refund_due",
  order_refunded_at_gateway: "notification_order_refunded_at_gateway",
  payment_unmatched: "notification_payment_unmatched",
  refund_due: "notification_refund_due",
  refund_due_ended: "notification_refund_due_ended",
  return_requested: "notification_return_requested",
  return_approved: "notification_return_approved",
  return_declined: "notification_return_declined",
  shipment_cancelled: "notification_shipment_cancelled",
  shipment_not_cancelled: "notification_shipment_not_cancelled",
  shipment_place_changed: "notification_shipment_place_changed",
  shipment_of_cancelled: "notification_shipment_of_cancelled",
  statement_opened: "notification_statement_opened",
  statement_paid: "notification_statement_paid",
  statement_reversed: "notification_statement_reversed",
  statement_voided: "notification_statement_voided",
  tenant_invitation: "notification_tenant_invitation",
} as const satisfies Record<string, MessageKey>;

const types = Object.keys(texts) as [keyof typeof texts, ...(keyof typeof texts)[]];

const notifications = defineList({
  view: "tenancy.notifications_mine",
  made: "all",
  sort: ["created_at"],
  params: { unread: isSet("read_at", "unset"), type: someOf("type", types) },
  limit: { default: 20, max: 100 },
  summary: {
    sql: () => "(select count(*) from tenancy.notifications_mine l where l.read_at is null)",
  },
});

const Notification = z.object({
  id: Id,
  tenant_id: Id.nullable(),
  type: z.enum(types),
  message: z.string().describe("The text, in the reader's language"),
  payload: JsonObject.describe("The subject: ids and numbers"),
  read_at: Timestamp.nullable(),
  created_at: Timestamp,
}).meta({ id: "Notification" });

type Notification = { type: keyof typeof texts; payload: Record<string, unknown> };

/** The sentences about what a person who left has still to hand in, or to get. */
const leftBehind = {
  parcels: "member_left_parcels",
  cash_in_hand: "member_left_cash_in_hand",
  cash_on_desk: "member_left_cash_on_desk",
  pay: "member_left_pay",
  wallet: "member_left_wallet",
  open_parcels: "member_left_open_parcels",
  picking_orders: "member_left_picking_orders",
  manifests: "member_left_manifests",
  api_keys: "member_left_api_keys",
} as const satisfies Record<string, MessageKey>;

/** The texts of those about several parcels where it is one. */
const ofOne: Partial<Record<keyof typeof texts, MessageKey>> = {
  bulk_assignment_created: "notification_assignment_created",
  assignments_handed_over: "notification_assignments_handed_over_one",
  assignments_rejected: "notification_assignments_rejected_one",
  handover_rejected: "notification_handover_rejected_one",
  handover_withdrawn: "notification_handover_withdrawn_one",
};

/** The text of a notification, and a sentence for each thing more that it knows. */
export function messageOf(language: Language, { type, payload }: Notification): string {
  if (type === "picking_withdrawn" && payload.reason === "cancelled") {
    return translate(language, "notification_picking_cancelled", payload);
  }
  // Of a newer release, whose migrations are applied and whose functions are not deployed yet, or no more.
  if (!Object.hasOwn(texts, type)) return translate(language, "notification_of_newer_release");
  const one = payload.assignment_count === 1 ? ofOne[type] : orderText(type, payload);
  const text = translate(language, one ?? texts[type], payload);
  if (type === "webhook_disabled") return [text, ...whyDisabled(language, payload)].join(" ");
  if (type === "member_left") return [text, ...leftBy(language, payload)].join(" ");
  if (Object.hasOwn(orderTexts, type)) return [text, ...ofOrder(language, payload)].join(" ");
  return [text, ...ofParcels(language, type, payload)].join(" ");
}

/** Why a subscription was switched off. */
const disabledReasons: Record<string, MessageKey> = {
  gone: "notification_webhook_gone",
  failing: "notification_webhook_failing",
  stopped: "notification_webhook_stopped",
};

/** Why, and what becomes of the events until it is on again; of a newer release's reason only the latter. */
function whyDisabled(language: Language, { reason }: Notification["payload"]): string[] {
  const why = Object.hasOwn(disabledReasons, String(reason))
    ? [disabledReasons[String(reason)]]
    : [];
  return [...why, "notification_webhook_until_on" as const].map((key) => translate(language, key));
}

/** Which parcels it is about, why, where they are now and what changed of them, as far as it says so. */
function ofParcels(
  language: Language,
  type: Notification["type"],
  payload: Notification["payload"],
): string[] {
  const { delivery_codes: codes, assignment_count: count, holders, reason } = payload;
  const said: string[] = [];
  const say = (key: MessageKey, more = {}) =>
    said.push(translate(language, key, { ...payload, ...more }));
  if (Array.isArray(codes) && codes.length) {
    const more = Number(count ?? codes.length) - codes.length;
    if (more > 0) say("notification_codes_more", { more });
    else say(codes.length === 1 ? "notification_codes_one" : "notification_codes");
  }
  if (Array.isArray(holders)) {
    say("notification_holders", { holder_names: holders.map((one) => one.driver_name) });
  }
  if (type === "recipient_answered" && payload.wanted_day) say("notification_wanted_day");
  if (payload.to_driver_name) say("notification_to_driver");
  if (typeof reason === "string" && saysReason.includes(type)) {
    // It has an end of its own in people's words.
    say("notification_reason", { reason: reason.trim().replace(/[.؟!?]+$/, "") });
  }
  if (Array.isArray(payload.changed) && payload.changed.length) say("notification_changed");
  return said;
}

/** Those whose own text does not say why. */
const saysReason: readonly Notification["type"][] = [
  "assignment_returned",
  "assignments_rejected",
  "handover_rejected",
];

/** A sentence for each thing that a person who left has still to hand in, or to get. */
function leftBy(language: Language, payload: Notification["payload"]): string[] {
  return Object.entries(leftBehind).flatMap(([part, key]) =>
    [payload[part] ?? []].flat().map((of) =>
      translate(
        language,
        key,
        typeof of === "object" ? of as Record<string, unknown> : { count: of },
      )
    )
  );
}

/** The caller's notifications and whether they were read. */
export const myNotifications: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/me/notifications",
    summary: "List my notifications, of my tenant and of the platform",
    access: anyone(),
    tenant: "optional",
    query: notifications.query,
    response: listResponse(Notification).extend({ unread_count: z.int() }),
    async run({ db, query, language }) {
      const { data, summary: unread_count, ...page } = await notifications.answer(db, query);
      const rows = data as (Record<string, unknown> & Notification)[];
      return {
        data: rows.map((row) => ({
          ...row,
          message: messageOf(language(), row),
        })),
        unread_count,
        ...page,
      };
    },
  }),
  endpoint({
    method: "post",
    path: "/me/notifications/read",
    summary: "I have read these, or all of them",
    access: anyone(),
    tenant: "optional",
    body: z.object({ notification_ids: z.array(Id).min(1).max(1_000).nullish() }),
    response: z.object({ updated_count: z.int(), unread_count: z.int() }),
    run: ({ db, body }) => db.call("tenancy.notifications_read", body),
  }),
];
