import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import type { ErrorCode } from "../../../shared/errors/errors.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { canManageOperations, canViewOperations, canViewWarehouse } from "../access.ts";
import {
  CreatePickingOrder,
  orderList,
  OrderResponse,
  OrdersResponse,
  ReportProgress,
  UpdatePickingOrder,
} from "./schemas.ts";

const refusals: readonly ErrorCode[] = [
  "assignee_not_found",
  "inventory_item_not_found",
  "bin_not_found",
  "item_of_parcel",
  "item_not_in_bin",
  "insufficient_stock",
  "picked_too_much",
  "quantity_must_be_whole",
];

/** Why an order does not move on. */
const halts: readonly ErrorCode[] = [
  "picking_order_not_found",
  "invalid_status_transition",
  "picking_items_fixed",
  "picking_incomplete",
];

/** Picking orders: what is to be fetched from which bins. */
export const pickingOrders: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/picking-orders",
    summary: "List picking orders, and how many are in each status",
    access: canViewOperations,
    query: orderList.query,
    response: OrdersResponse,
    async run({ db, query }) {
      const { rows: orders, summary: stats, ...page } = await orderList.run(db, query);
      return { orders, stats, status_matrix: stats, ...page };
    },
  }),
  endpoint({
    method: "post",
    path: "/picking-orders",
    summary: "Make a picking order",
    access: canManageOperations,
    body: CreatePickingOrder,
    response: OrderResponse,
    status: 201,
    errors: ["warehouse_not_found", "picking_reference_exists", ...refusals],
    run: ({ db, body }) => db.call("warehousing.picking_order_create", body),
  }),
  endpoint({
    method: "get",
    path: "/picking-orders/:picking_order_id",
    version: versionedBy("warehousing.picking_orders", "picking_order_id"),
    summary: "Read a picking order",
    access: canViewOperations,
    params: ids("picking_order_id"),
    response: OrderResponse,
    errors: ["picking_order_not_found"],
    run: ({ db, params }) =>
      db.call("warehousing.picking_order_get", { id: params.picking_order_id }),
  }),
  endpoint({
    method: "put",
    path: "/picking-orders/:picking_order_id",
    version: versionedBy("warehousing.picking_orders", "picking_order_id"),
    summary: "Change a picking order or move it on; stock moves with it",
    access: canManageOperations,
    params: ids("picking_order_id"),
    body: UpdatePickingOrder,
    response: OrderResponse,
    errors: [
      ...halts,
      "pnd_picking_handed_off_by_driver_pickup",
      "picking_not_pending",
      "picking_reference_exists",
      "picking_belongs_to_order",
      ...refusals,
    ],
    run: ({ db, params, body }) =>
      db.call("warehousing.picking_order_update", { ...body, id: params.picking_order_id }),
  }),
  endpoint({
    method: "post",
    path: "/picking-orders/:picking_order_id/progress",
    version: versionedBy("warehousing.picking_orders", "picking_order_id"),
    summary:
      "Report what was picked; for whom the order was given to, and who works in its warehouse",
    access: canViewWarehouse,
    params: ids("picking_order_id"),
    body: ReportProgress,
    response: OrderResponse,
    errors: [...halts, "picking_line_not_found", "picked_too_much", "insufficient_stock"],
    run: ({ db, params, body }) =>
      db.call("warehousing.picking_order_progress", { ...body, id: params.picking_order_id }),
  }),
];
