import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import { canManageWarehouse, canViewWarehouse } from "../access.ts";
import { waybillRefusals } from "../waybills/refusals.ts";
import { createTransfer, withLocalizedRejections } from "./create.ts";
import {
  askedKind,
  CreateTransfer,
  transferList,
  TransferMade,
  TransfersResponse,
  ValidateResponse,
  ValidateTransfer,
} from "./schemas.ts";

/** Packages that go from one warehouse to another: on paper, with a driver, or on a waybill. */
export const packageTransfers: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/package-transfers",
    summary: "List transfers of packages, and how many there are of each kind",
    access: canViewWarehouse,
    query: transferList.query,
    response: TransfersResponse,
    errors: ["operation_type_not_allowed", "unsupported_filter"],
    async run({ db, query, request }) {
      const sent = new URL(request.url).searchParams;
      for (const field of ["status", "transfer_type"]) {
        if (sent.has(field)) throw new AppError("unsupported_filter", { field });
      }
      const { mode, operation_type } = askedKind(query);
      if (mode === "system_only" && operation_type) {
        throw new AppError("operation_type_not_allowed", { field: "operation_type" });
      }
      // Said by the operation alone; the rows are found by both.
      const filters = operation_type && !mode
        ? { ...query.filters, mode: "delivery_operation" }
        : query.filters;
      const { rows, summary: stats, ...page } = await transferList.run(db, { ...query, filters });
      const package_transfers = rows.map(({ delivery, ...row }) =>
        row.operation_type === "single_delivery" ? { ...row, delivery } : row
      );
      return { package_transfers, stats, ...page };
    },
  }),
  endpoint({
    method: "post",
    path: "/package-transfers",
    summary: "Move packages to another warehouse: system only, single delivery or waybill",
    access: canManageWarehouse,
    body: CreateTransfer,
    response: TransferMade,
    status: 201,
    errors: [
      "idempotency_key_required",
      "operation_type_required",
      "operation_type_not_allowed",
      "single_delivery_needs_one_package",
      ...waybillRefusals,
    ],
    run: ({ db, body, language, idempotencyKey }) =>
      createTransfer(db, body, language, idempotencyKey),
  }),
  endpoint({
    method: "post",
    path: "/package-transfers/validate",
    summary: "Say what a waybill of a selection would be made of",
    access: canManageWarehouse,
    body: ValidateTransfer,
    response: ValidateResponse,
    errors: ["warehouse_not_found", "warehouses_must_differ"],
    run: ({ db, body, language }) =>
      withLocalizedRejections(
        language,
        () => db.call("warehousing.package_transfer_validate", body),
      ),
  }),
];
