import { z } from "zod";
import { defineList, foundBy, id, since, someOf, until } from "../../../shared/api/list.ts";
import { seesAllWarehouses } from "../access.ts";
import {
  Id,
  listResponse,
  LongText,
  NamedRef,
  PersonRef,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";

const statuses = ["drafted", "in_transit", "received", "closed"] as const;

export const Seal = z.object({ seal_number: z.string().trim().min(1).max(100).nullish() }).meta({
  id: "SealWaybill",
});
export const HandOver = z.object({ driver_id: Id, vehicle_id: Id.nullish() }).meta({
  id: "HandOverWaybill",
});
export const Receive = z.object({
  received_delivery_ids: z.array(Id).max(2_000).optional().describe(
    "Left out: all that is not missing. Sent: each parcel stands in one of the two lists",
  ),
  missing_delivery_ids: z.array(Id).max(2_000).optional(),
  bin_id: Id.nullish().describe(
    "Where the stock of the parcels goes; the default receiving bin unless said",
  ),
}).meta({ id: "ReceiveWaybill" });
export const Resolve = z.object({
  resolution: z.enum(["found", "lost"]).optional().describe(
    "It turned up at the destination, or it is gone",
  ),
  notes: LongText.nullish(),
  bin_id: Id.nullish(),
}).meta({ id: "ResolveWaybill" });

const Waybill = z.object({
  id: Id,
  tenant_id: Id,
  waybill_number: z.string(),
  status: z.enum(statuses),
  source_warehouse_id: Id,
  destination_warehouse_id: Id,
  source_warehouse: NamedRef,
  destination_warehouse: NamedRef,
  driver: PersonRef.nullable(),
  vehicle: z.object({ id: Id, name: z.string() }).nullable(),
  seal_number: z.string().nullable(),
  sealed_at: Timestamp.nullable(),
  handed_over_at: Timestamp.nullable(),
  received_at: Timestamp.nullable(),
  closed_at: Timestamp.nullable(),
  cancelled_at: Timestamp.nullable().describe(
    "Cancelled before it was handed over; it is closed then",
  ),
  notes: z.string().nullable(),
  created_by: Id.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
  delivery_count: z.int(),
  open_discrepancy_count: z.int(),
}).meta({ id: "Waybill" });

export const WaybillDetail = Waybill.extend({
  deliveries: z.array(z.object({
    id: Id,
    delivery_code: z.int(),
    barcode: z.string(),
    status: z.string(),
    delivery_flow: z.string(),
    current_warehouse_id: Id.nullable(),
    received_state: z.enum(["received", "missing"]).nullable(),
  })),
  items: z.array(z.object({
    delivery_id: Id,
    item_id: Id.nullable(),
    name: z.string(),
    quantity: z.int(),
    stock_quantity: z.int().describe("Units that travel as stock"),
  })),
  discrepancies: z.array(z.object({
    id: Id,
    delivery_id: Id,
    type: z.enum(["missing_on_receive", "left_before_handover"]).describe(
      "Missing at the destination, or carried by another company before the handover",
    ),
    status: z.enum(["open", "resolved"]),
    resolution: z.string().nullable(),
    notes: z.string().nullable(),
    resolved_by: Id.nullable(),
    resolved_at: Timestamp.nullable(),
    created_at: Timestamp,
  })),
}).meta({ id: "WaybillDetail" });

export const WaybillResponse = z.object({ waybill: WaybillDetail });
export const WaybillsResponse = listResponse(Waybill);

export const waybillList = defineList({
  view: "warehousing.waybills_list",
  sort: ["created_at", "waybill_number", "status"],
  hidden: ["driver_id"],
  params: {
    status: someOf("status", statuses),
    source_warehouse_id: id("source_warehouse_id"),
    destination_warehouse_id: id("destination_warehouse_id"),
    driver_id: id("driver_id"),
    date_from: since("created_at"),
    date_to: until("created_at"),
    search: { ...foundBy("warehousing.waybills_with"), schema: z.string().trim().max(100) },
  },
  limit: { default: 20, max: 100 },
  tally: {
    name: "waybills",
    readers: seesAllWarehouses,
    filters: ["status", "source_warehouse_id", "destination_warehouse_id"],
  },
});
