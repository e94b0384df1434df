import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { canManageOrViewWarehouse, canManageWarehouse } from "../access.ts";
import {
  AddStaff,
  binList,
  BinResponse,
  BinsResponse,
  CreateBin,
  pageOf,
  staffList,
  StaffListResponse,
  StaffResponse,
  UpdateBin,
} from "./places-schemas.ts";

/** The bins of a warehouse, and who works in it. */
export const warehousePlaces: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/warehouses/:warehouse_id/bins",
    summary: "List the places of a warehouse",
    access: canManageOrViewWarehouse,
    params: ids("warehouse_id"),
    query: binList.query,
    response: BinsResponse,
    errors: ["warehouse_not_found"],
    run: ({ db, params, query }) => pageOf(binList, db, query, params.warehouse_id),
  }),
  endpoint({
    method: "post",
    path: "/warehouses/:warehouse_id/bins",
    summary: "Add a place to a warehouse",
    access: canManageWarehouse,
    params: ids("warehouse_id"),
    body: CreateBin,
    response: BinResponse,
    status: 201,
    errors: ["warehouse_not_found", "bin_code_exists", "default_receiving_exists"],
    run: ({ db, params, body }) =>
      db.call("warehousing.bin_create", { ...body, warehouse_id: params.warehouse_id }),
  }),
  endpoint({
    method: "get",
    path: "/warehouses/:warehouse_id/bins/:bin_id",
    version: versionedBy("warehousing.bins", "bin_id"),
    summary: "Read a place of a warehouse",
    access: canManageOrViewWarehouse,
    params: ids("warehouse_id", "bin_id"),
    response: BinResponse,
    errors: ["bin_not_found"],
    run: ({ db, params }) =>
      db.call("warehousing.bin_get", { warehouse_id: params.warehouse_id, id: params.bin_id }),
  }),
  endpoint({
    method: "put",
    path: "/warehouses/:warehouse_id/bins/:bin_id",
    version: versionedBy("warehousing.bins", "bin_id"),
    summary: "Change a place of a warehouse, or take it out of use",
    access: canManageWarehouse,
    params: ids("warehouse_id", "bin_id"),
    body: UpdateBin,
    response: BinResponse,
    errors: [
      "bin_not_found",
      "bin_code_exists",
      "default_receiving_exists",
      "bin_not_empty",
      "bin_full",
      "bin_of_sorting_session",
    ],
    run: ({ db, params, body }) =>
      db.call("warehousing.bin_update", {
        ...body,
        warehouse_id: params.warehouse_id,
        id: params.bin_id,
      }),
  }),
  endpoint({
    method: "get",
    path: "/warehouses/:warehouse_id/staff",
    summary: "List who works in a warehouse",
    access: canManageOrViewWarehouse,
    params: ids("warehouse_id"),
    query: staffList.query,
    response: StaffListResponse,
    errors: ["warehouse_not_found"],
    run: ({ db, params, query }) => pageOf(staffList, db, query, params.warehouse_id),
  }),
  endpoint({
    method: "post",
    path: "/warehouses/:warehouse_id/staff",
    summary: "Assign a member of staff to a warehouse",
    access: canManageWarehouse,
    params: ids("warehouse_id"),
    body: AddStaff,
    response: StaffResponse,
    status: 201,
    errors: ["warehouse_not_found", "user_not_found", "staff_already_assigned"],
    run: ({ db, params, body }) =>
      db.call("warehousing.staff_add", { ...body, warehouse_id: params.warehouse_id }),
  }),
  endpoint({
    method: "post",
    path: "/warehouses/:warehouse_id/staff/:staff_id/deactivate",
    summary: "End an assignment to a warehouse",
    access: canManageWarehouse,
    params: ids("warehouse_id", "staff_id"),
    response: StaffResponse,
    errors: ["staff_not_found"],
    run: ({ db, params }) =>
      db.call("warehousing.staff_deactivate", {
        warehouse_id: params.warehouse_id,
        id: params.staff_id,
      }),
  }),
];
