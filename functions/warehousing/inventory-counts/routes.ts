import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { canManageOrViewWarehouse, canManageWarehouse } from "../access.ts";
import {
  countList,
  CountResponse,
  CountsResponse,
  CreateCount,
  CreateCountResponse,
} from "./schemas.ts";

/** Bins are counted: what differs from the books is booked, and the count is kept. */
export const inventoryCounts: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/inventory/counts",
    summary: "List counts of stock",
    access: canManageOrViewWarehouse,
    query: countList.query,
    response: CountsResponse,
    run: ({ db, query }) => countList.answer(db, query),
  }),
  endpoint({
    method: "get",
    path: "/inventory/counts/:count_id",
    summary: "Read a count of stock with its lines",
    access: canManageOrViewWarehouse,
    params: ids("count_id"),
    response: CountResponse,
    errors: ["inventory_count_not_found"],
    run: ({ db, params }) => db.call("warehousing.count_get", { id: params.count_id }),
  }),
  endpoint({
    method: "post",
    path: "/inventory/counts",
    summary: "Report what was counted in bins, and book what differs",
    access: canManageWarehouse,
    body: CreateCount,
    response: CreateCountResponse,
    status: 201,
    errors: [
      "warehouse_not_found",
      "bin_not_found",
      "bin_inactive",
      "bin_of_sorting_session",
      "inventory_item_not_found",
      "item_of_parcel",
      "serial_number_required",
      "serial_quantity_must_be_one",
      "serial_number_taken",
      "lot_number_required",
      "count_below_reserved",
    ],
    run: ({ db, body }) => db.call("warehousing.count_create", body),
  }),
];
