import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { staffOrInstitution } from "../access.ts";
import type { z } from "zod";
import { AppError } from "../../../shared/errors/errors.ts";
import { pdfFile } from "../../../shared/http/pdf-file.ts";
import {
  BatchCreated,
  BatchesResponse,
  batchList,
  BatchResponse,
  CreateBatch,
  LabelsQuery,
} from "./schemas.ts";

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
  endpoint({
    method: "get",
    path: "/transfer-manifest-barcode-batches/:batch_id/labels",
    summary: "Print the barcodes of a batch as labels",
    access: staffOrInstitution,
    feature,
    params: ids("batch_id"),
    query: LabelsQuery,
    response: "pdf",
    errors: ["barcode_batch_not_found", "barcode_batch_has_none"],
    async run({ db, params, query: { layout = "sheet", status = "unused" }, language }) {
      const { barcodes, batch_number, quantity } = await db.call<
        z.output<typeof BatchResponse>["data"]
      >("delivery.barcode_batch_get", { id: params.batch_id });
      const labels = barcodes.map((row, index) => ({ ...row, position: index + 1 }))
        .filter((row) => status === "all" || row.status === status);
      if (labels.length === 0) throw new AppError("barcode_batch_has_none");
      // Drawing is heavy and rare: the other calls of this function start without it.
      const { renderBatchLabels } = await import("./label-pages.ts");
      const pdf = await renderBatchLabels(labels, {
        layout,
        batch_number,
        quantity,
        language: language(),
      });
      return pdfFile(`${batch_number}.pdf`, pdf);
    },
  }),
];
