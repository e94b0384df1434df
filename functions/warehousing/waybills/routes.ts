import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import type { ErrorCode } from "../../../shared/errors/errors.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { createWaybill } from "../package-transfers/create.ts";
import { CreateTransfer, WaybillMade } from "../package-transfers/schemas.ts";
import { canManageWarehouse, canViewWarehouse, canWorkInWarehouse } from "../access.ts";
import { waybillRefusals } from "./refusals.ts";
import {
  HandOver,
  Receive,
  Resolve,
  Seal,
  waybillList,
  WaybillResponse,
  WaybillsResponse,
} from "./schemas.ts";
import { z } from "zod";

const path = "/waybills/:waybill_id";
const common: readonly ErrorCode[] = ["waybill_not_found", "waybill_action_not_allowed"];
const arriving: readonly ErrorCode[] = [
  "bin_not_found",
  "bin_inactive",
  "bin_of_sorting_session",
  "bin_id_required_for_received_items",
  "serial_number_taken",
];
const CreateWaybill = CreateTransfer.extend({
  mode: z.literal("delivery_operation").optional(),
  operation_type: z.literal("waybill").optional(),
}).meta({ id: "CreateWaybill" });

/** Waybills: parcels that travel together from one warehouse to another. */
export const waybills: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/waybills",
    summary: "List waybills",
    access: canViewWarehouse,
    query: waybillList.query,
    response: WaybillsResponse,
    run: ({ db, query }) => waybillList.answer(db, query),
  }),
  endpoint({
    method: "post",
    path: "/waybills",
    summary: "Draft a waybill of parcels and pieces of inventory",
    access: canManageWarehouse,
    body: CreateWaybill,
    response: WaybillMade,
    status: 201,
    idempotency: "required",
    errors: ["idempotency_key_required", ...waybillRefusals],
    run: ({ db, body, language }) => createWaybill(db, body, language),
  }),
  endpoint({
    method: "get",
    path,
    summary: "Read a waybill with all that is on it",
    access: canViewWarehouse,
    params: ids("waybill_id"),
    response: WaybillResponse,
    errors: ["waybill_not_found"],
    run: ({ db, params }) => db.call("warehousing.waybill_get", { id: params.waybill_id }),
  }),
  endpoint({
    method: "post",
    path: `${path}/seal`,
    summary: "Seal a drafted waybill: its contents stay as they are",
    access: canWorkInWarehouse,
    params: ids("waybill_id"),
    body: Seal,
    response: WaybillResponse,
    errors: [...common, "waybill_has_no_deliveries"],
    run: ({ db, params, body }) =>
      db.call("warehousing.waybill_seal", { ...body, id: params.waybill_id }),
  }),
  endpoint({
    method: "post",
    path: `${path}/cancel`,
    summary: "Cancel a drafted waybill, sealed or not; its parcels and stock are released",
    access: canWorkInWarehouse,
    params: ids("waybill_id"),
    response: WaybillResponse,
    errors: common,
    run: ({ db, params }) => db.call("warehousing.waybill_cancel", { id: params.waybill_id }),
  }),
  endpoint({
    method: "post",
    path: `${path}/driver-handover`,
    summary: "Put a sealed waybill into a driver's hands",
    access: canWorkInWarehouse,
    params: ids("waybill_id"),
    body: HandOver,
    response: WaybillResponse,
    errors: [
      ...common,
      "waybill_has_no_deliveries",
      "waybill_delivery_not_ready",
      "goods_not_picked",
      "driver_not_found",
      "driver_inactive",
      "vehicle_not_found",
      "vehicle_inactive",
    ],
    run: ({ db, params, body }) =>
      db.call("warehousing.waybill_hand_over", { ...body, id: params.waybill_id }),
  }),
  endpoint({
    method: "post",
    path: `${path}/receive`,
    summary: "Receive a waybill at its destination, and say what is missing",
    access: canWorkInWarehouse,
    params: ids("waybill_id"),
    body: Receive,
    response: WaybillResponse,
    errors: [
      ...common,
      "waybill_has_no_deliveries",
      "delivery_not_in_waybill",
      "waybill_receipt_incomplete",
      ...arriving,
    ],
    run: ({ db, params, body }) =>
      db.call("warehousing.waybill_receive", { ...body, id: params.waybill_id }),
  }),
  endpoint({
    method: "post",
    path: `${path}/close`,
    summary: "Close a received waybill with nothing left open",
    access: canWorkInWarehouse,
    params: ids("waybill_id"),
    response: WaybillResponse,
    errors: [...common, "waybill_has_open_discrepancies"],
    run: ({ db, params }) => db.call("warehousing.waybill_close", { id: params.waybill_id }),
  }),
  endpoint({
    method: "post",
    path: `${path}/discrepancies/:discrepancy_id/resolve`,
    summary: "Say what became of a parcel that was missing",
    access: canWorkInWarehouse,
    params: ids("waybill_id", "discrepancy_id"),
    body: Resolve,
    response: WaybillResponse,
    errors: [...common, "discrepancy_not_found", ...arriving],
    run: ({ db, params, body }) =>
      db.call("warehousing.waybill_discrepancy_resolve", {
        ...body,
        id: params.waybill_id,
        discrepancy_id: params.discrepancy_id,
      }),
  }),
];
