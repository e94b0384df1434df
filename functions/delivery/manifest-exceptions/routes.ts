import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { type Language, translate } from "../../../shared/i18n/index.ts";
import { warehouseOrOperations } from "../access.ts";
import {
  CreateException,
  ExceptionResponse,
  exceptionsList,
  ExceptionsResolved,
  ExceptionsResponse,
  ResolveExceptions,
} from "./schemas.ts";

const feature = "transfer_manifest";

interface Resolved {
  resolved_count: number;
  failed_count: number;
  failed: { error_key: string }[];
}

/** The exception queue: items that somebody has to look at before they become orders. */
export const manifestExceptions: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/transfer-manifest-exceptions",
    summary: "List exceptions; the open ones unless asked otherwise",
    access: permission("view:tenant"),
    feature,
    query: exceptionsList.query,
    response: ExceptionsResponse,
    async run({ db, query, language }) {
      const { data, ...page } = await exceptionsList.answer(db, query);
      return { data: data.map((row) => withLabel(language(), row)), ...page };
    },
  }),
  endpoint({
    method: "post",
    path: "/transfer-manifest-exceptions",
    summary: "Put an item, or a parcel that stands on no manifest, into the exception queue",
    access: warehouseOrOperations,
    feature,
    body: CreateException,
    response: ExceptionResponse,
    status: 201,
    errors: [
      "invalid_exception_reason",
      "invalid_barcode",
      "invalid_proof_url",
      "item_not_found",
      "item_void",
      "item_already_has_order",
      "exception_already_open",
      "manifest_not_found",
      "manifest_action_not_allowed",
    ],
    async run(context) {
      const row = await context.db.call("delivery.exception_create", context.body);
      return { data: withLabel(context.language(), row) };
    },
  }),
  endpoint({
    method: "post",
    path: "/transfer-manifest-items/bulk/resolve-exceptions",
    summary: "Take items out of the exception queue: reprocess or void",
    access: warehouseOrOperations,
    feature,
    body: ResolveExceptions,
    response: ExceptionsResolved,
    errors: ["manifest_not_found"],
    async run(context) {
      const answer = await context.db.call<Resolved>("delivery.exceptions_resolve", context.body);
      const failed = answer.failed.map((entry) => ({
        ...entry,
        error_message: translate(context.language(), entry.error_key),
      }));
      const { resolved_count, failed_count } = answer;
      return {
        // Nothing to resolve in a manifest is no failure: what was asked for holds.
        success: resolved_count > 0 || failed_count === 0,
        ...(failed_count > 0
          ? {
            message: translate(context.language(), "exceptions_not_resolved", {
              resolved_count,
              failed_count,
            }),
          }
          : {}),
        data: { ...answer, failed },
      };
    },
  }),
];

/** The tenant words its own reasons; ours is worded here, and one that is gone is shown as it was. */
function withLabel(language: Language, row: Record<string, unknown>): Record<string, unknown> {
  const { value, label } = row.reason as { value: string; label: string | null };
  const fallback = value === "missing_on_receive"
    ? translate(language, "exception_reason_missing_on_receive")
    : value;
  return { ...row, reason: { value, label: label ?? fallback } };
}
