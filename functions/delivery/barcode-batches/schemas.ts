import { z } from "zod";
import { barcodePattern } from "../../../shared/schemas/barcode.ts";
import { defineList, id } from "../../../shared/api/list.ts";
import { Id, Pagination, Timestamp } from "../../../shared/schemas/schemas.ts";

const Indicator = z.string().regex(/^[A-Z]{2}$/);
const Barcode = z.string().regex(barcodePattern);

export const CreateBatch = z.object({
  quantity: z.int().min(1).max(1000),
  institution_user_id: Id.nullish(),
  branch_id: Id.nullish(),
  service_indicator: Indicator.optional(),
}).meta({ id: "CreateBarcodeBatch" });

const Batch = z.object({
  id: Id,
  batch_number: z.string(),
  quantity: z.int(),
  first_barcode: Barcode,
  last_barcode: Barcode,
}).meta({ id: "BarcodeBatch" });
const BatchRow = Batch.extend({
  service_indicator: z.string(),
  issuer: z.string(),
  institution_user_id: Id.nullable(),
  branch_id: Id.nullable(),
  used_count: z.int(),
  created_at: Timestamp,
}).meta({ id: "BarcodeBatchSummary" });

export const BatchCreated = z.object({ data: Batch });
export const BatchResponse = z.object({
  data: BatchRow.extend({
    barcodes: z.array(z.object({ barcode: Barcode, status: z.enum(["unused", "used"]) })),
  }),
});
export const BatchesResponse = z.object({ data: z.array(BatchRow), pagination: Pagination });

export const layouts = ["sheet", "roll"] as const;

export const LabelsQuery = z.object({
  layout: z.enum(layouts).optional().describe(
    "`sheet` (unless said): A4 with 24 labels of 70 x 37 mm; `roll`: a page of 62 x 29 mm for each",
  ),
  status: z.enum(["unused", "used", "all"]).optional().describe(
    "`unused` unless said: a barcode that is used stands on a parcel already",
  ),
});

export const batchList = defineList({
  view: "delivery.barcode_batches_list",
  search: ["batch_number"],
  sort: ["created_at", "batch_number", "quantity"],
  params: { institution_user_id: id("institution_user_id"), branch_id: id("branch_id") },
  limit: { default: 20, max: 100 },
});
