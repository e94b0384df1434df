import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { staffOrInstitution } from "../access.ts";
import { BatchCreated, BatchesResponse, batchList, BatchResponse, CreateBatch } from "./schemas.ts";

const feature = "transfer_manifest";

/** Barcodes printed before there is a parcel; `shared/schemas/barcode.ts` says how they are made. */
export const barcodeBatches: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/transfer-manifest-barcode-batches",
    summary: "Make a batch of new barcodes",
    access: permission("manage:operations:tenant"),
    feature,
    body: CreateBatch,
    response: BatchCreated,
    status: 201,
    errors: ["institution_not_found", "branch_not_found", "barcode_serials_exhausted"],
    run: async ({ db, body }) => ({ data: await db.call("delivery.barcode_batch_create", body) }),
  }),
  endpoint({
    method: "get",
    path: "/transfer-manifest-barcode-batches",
    summary: "List barcode batches",
    access: staffOrInstitution,
    feature,
    query: batchList.query,
    response: BatchesResponse,
    run: ({ db, query }) => batchList.answer(db, query),
  }),
  endpoint({
    method: "get",
    path: "/transfer-manifest-barcode-batches/:batch_id",
    summary: "Read a barcode batch with its barcodes",
    access: staffOrInstitution,
    feature,
    params: ids("batch_id"),
    response: BatchResponse,
    errors: ["barcode_batch_not_found"],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.barcode_batch_get", { id: params.batch_id }),
    }),
  }),
];
