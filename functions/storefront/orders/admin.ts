import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import { translate } from "../../../shared/i18n/index.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { tenantAdmin } from "../access.ts";
import { adminOrders } from "./list.ts";
import { inEveryList } from "./listed.ts";
import {
  AcceptShortResponse,
  Approve,
  ApproveResponse,
  Cancel,
  CancelResponse,
  Note,
  RefundOrder,
  RefundResponse,
} from "./decision-schemas.ts";
import { OrderResponse, OrdersResponse } from "./schemas.ts";

const params = ids("order_id");

/** An order with its picks: what was found of its goods is a part of what the shop sees, and decides by. */
const orderVersion = versionedBy("storefront.orders_version", "order_id");

/** The endings of an order before its customer has it, shipped or not: they share input and answer. */
const ending = {
  method: "put",
  version: orderVersion,
  access: tenantAdmin,
  params,
  body: Cancel,
  response: CancelResponse,
  message: "order_cancelled",
} as const;

/** The shop's part in orders. */
export const adminOrderEndpoints: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/orders",
    summary: "List the market's orders",
    access: tenantAdmin,
    query: adminOrders.query,
    response: OrdersResponse,
    async run({ db, query }) {
      const { rows, page, limit, total, summary: stats, ...rest } = await adminOrders.run(
        db,
        query,
      );
      const orders = rows.map((row) => ({
        ...inEveryList(row),
        shippingAddress: { city: row.city },
        deliveryFee: row.shipping_cost,
        discountAmount: row.discount_amount,
        finalAmount: row.total_price,
      }));
      const pagination = { page, limit, total, totalPages: Math.ceil(total / limit) };
      return { orders, pagination, stats, ...rest };
    },
  }),
  endpoint({
    method: "get",
    path: "/orders/:order_id",
    version: orderVersion,
    summary: "Read an order",
    access: tenantAdmin,
    params,
    response: OrderResponse,
    errors: ["order_not_found"],
    run: async ({ db, params }) => ({
      data: { order: await db.call("storefront.order_get", params) },
    }),
  }),
  endpoint({
    method: "put",
    path: "/orders/:order_id/approve",
    version: orderVersion,
    summary:
      "Approve a pending order: its goods are set aside to be picked, its deliveries are made",
    access: tenantAdmin,
    params,
    body: Approve,
    response: ApproveResponse,
    message: "order_approved",
    errors: [
      "order_not_found",
      "order_not_pending",
      "order_not_paid",
      "insufficient_stock",
      "staging_warehouse_required",
      "service_not_found",
      "delivery_service_not_available",
      "invalid_coordinates",
      "invalid_package",
      "unit_size_or_dimensions_required",
      "can_not_use_this_delivery_for_this_unit_size",
    ],
    async run({ db, params, body, language }) {
      const approved = await db.call("storefront.order_approve", { ...body, ...params });
      return { data: { ...approved, message: translate(language(), "order_approved", {}) } };
    },
  }),
  endpoint({
    method: "post",
    path: "/orders/:order_id/accept-short",
    version: orderVersion,
    summary: "Send an order without what was not found; it costs as much less",
    access: tenantAdmin,
    params,
    response: AcceptShortResponse,
    errors: [
      "order_not_found",
      "order_not_short",
      "order_nothing_picked",
      "shipment_cash_changes",
      "insufficient_wallet_balance",
      "invalid_status_transition",
    ],
    run: async ({ db, params }) => ({
      data: await db.call("storefront.order_accept_short", params),
    }),
  }),
  endpoint({
    method: "post",
    path: "/orders/:order_id/redeliver",
    version: orderVersion,
    summary: "Make new deliveries for what cancelled ones were to bring and did not take",
    access: tenantAdmin,
    params,
    response: OrderResponse,
    message: "order_redelivered",
    errors: [
      "order_not_found",
      "order_nothing_to_redeliver",
      "shipment_cash_changes",
      "staging_warehouse_required",
      "warehouse_not_found",
    ],
    run: async ({ db, params }) => ({
      data: { order: await db.call("storefront.order_redeliver", params) },
    }),
  }),
  endpoint({
    ...ending,
    path: "/orders/:order_id/cancel",
    summary: "Cancel an order that has not left; what was paid goes back to the customer's wallet",
    errors: [
      "order_not_found",
      "order_not_cancellable",
      "insufficient_wallet_balance",
      "invalid_status_transition",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("storefront.order_cancel", { ...body, ...params }),
    }),
  }),
  endpoint({
    method: "put",
    path: "/orders/:order_id/ship",
    version: orderVersion,
    summary: "Mark a confirmed, picked order as shipped, if the shop delivers it itself",
    access: tenantAdmin,
    params,
    body: Note,
    response: OrderResponse,
    errors: [
      "order_not_found",
      "invalid_status_transition",
      "order_has_delivery",
      "goods_not_picked",
    ],
    run: async ({ db, params, body }) => ({
      data: { order: await db.call("storefront.order_ship", { ...body, ...params }) },
    }),
  }),
  endpoint({
    method: "put",
    path: "/orders/:order_id/deliver",
    version: orderVersion,
    summary: "Say that a shipped order is with its customer",
    access: tenantAdmin,
    params,
    body: Note,
    response: OrderResponse,
    errors: ["order_not_found", "invalid_status_transition", "order_has_delivery"],
    run: async ({ db, params, body }) => ({
      data: { order: await db.call("storefront.order_deliver", { ...body, ...params }) },
    }),
  }),
  endpoint({
    ...ending,
    path: "/orders/:order_id/return",
    summary:
      "Say that a shipped order came back: it ends as cancelled, and what was paid is given back",
    errors: [
      "order_not_found",
      "invalid_status_transition",
      "order_has_delivery",
      "insufficient_wallet_balance",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("storefront.order_return", { ...body, ...params }),
    }),
  }),
  endpoint({
    method: "post",
    path: "/orders/:order_id/refund",
    person: true,
    summary: "Give what was paid, or a part of it, back to the customer's wallet",
    access: tenantAdmin,
    params,
    body: RefundOrder,
    response: RefundResponse,
    errors: [
      "order_not_found",
      "order_not_paid",
      "nothing_to_refund",
      "refund_too_high",
      "too_many_decimals",
      "insufficient_wallet_balance",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("storefront.order_refund", { ...body, ...params }),
    }),
  }),
];
