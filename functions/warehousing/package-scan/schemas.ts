import { z } from "zod";
import { Id, Timestamp } from "../../../shared/schemas/schemas.ts";
import { carriedFields, itemFields } from "../../../shared/schemas/carried-delivery.ts";

const Barcode = z.string().trim().min(1).max(100);

export const ScanParams = z.object({ delivery_barcode: Barcode });
export const ScanMany = z.object({ barcodes: z.array(Barcode).min(1).max(200) }).meta({
  id: "ScanMany",
});

const action = z.enum([
  "open_receiving_order",
  "open_handoff",
  "open_picking_order",
  "open_delivery",
]);
const Target = z.object({ action, entity_id: Id, reason: z.string() }).meta({ id: "ScanTarget" });

const Summary = z.object({
  id: Id,
  delivery_code: z.int(),
  barcode: z.string(),
  status: z.string(),
  delivery_flow: z.string(),
  is_active: z.boolean(),
  label_outdated: z.boolean().describe(
    "Its place, receiver, amount or notes are no longer those of the label that was printed",
  ),
  next_action: z.enum([
    "receive",
    "execute",
    "pick",
    "assign",
    "handoff",
    "in_delivery",
    "none",
  ]),
  ...carriedFields,
}).meta({ id: "PackageScanSummary" });

const Exception = z.object({
  id: Id,
  delivery_id: Id,
  type: z.string(),
  status: z.string(),
  notes: z.string().nullable(),
  items: z.array(z.unknown()),
  created_at: Timestamp,
}).meta({ id: "ScannedException" });

const Item = z.object({
  ...itemFields,
  has_exception: z.boolean(),
  has_open_exception: z.boolean(),
  open_exception: Exception.nullable(),
  open_exceptions: z.array(Exception),
  open_exception_count: z.int(),
}).meta({ id: "ScannedItem" });

export const ScanResponse = z.object({
  action,
  entity_id: Id,
  reason: z.string(),
  scanned_barcode: z.string(),
  delivery: Summary,
  delivery_target: Target,
  return_delivery: Summary.nullable(),
  return_target: Target.nullable(),
  original_delivery: Summary.optional().describe("Of a return that was scanned itself"),
  original_target: Target.optional(),
  warehouse_context: z.object({
    warehouse_id: Id.nullable(),
    relation: z.enum(["source", "destination", "none"]),
    can_act: z.boolean(),
  }),
  receiving_order: z.object({
    id: Id,
    reference_number: z.string(),
    warehouse_id: Id,
    source: z.string(),
    status: z.string(),
    custody: z.string(),
    delivery_id: Id,
    exception_id: Id.nullable(),
  }).nullable(),
  items: z.array(Item),
  inbound_deliveries: z.array(Summary),
  outbound_deliveries: z.array(Summary),
  handoff: z.object({
    id: Id,
    delivery_id: Id,
    picking_order_id: Id,
    assignment_id: Id,
    driver_id: Id,
    status: z.string(),
    custody: z.string(),
    warehouse_id: Id,
  }).nullable(),
});

export const ScansResponse = z.object({
  results: z.array(z.union([
    ScanResponse.extend({ success: z.literal(true), message: z.string() }),
    z.object({
      success: z.literal(false),
      scanned_barcode: z.string(),
      error_code: z.literal("delivery_not_found"),
      message: z.string(),
    }),
  ])).describe("In the order sent; `success` and `message` are those of the one barcode"),
});
