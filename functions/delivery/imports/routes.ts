import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { importEndpoint } from "../../../shared/api/csv/import.ts";
import type { ErrorCode } from "../../../shared/errors/errors.ts";
import { refusalText } from "../../../shared/i18n/index.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { operationsOrOrderer } from "../access.ts";
import { ordering } from "../deliveries/routes.ts";
import { CreateDelivery } from "../deliveries/schemas.ts";
import {
  CancelImport,
  ImportCancelled,
  ImportKnown,
  importsList,
  ImportsResponse,
} from "./schemas.ts";

/** Ordering the deliveries of a file, and the list of such files. */
export const deliveryImports: AnyEndpoint[] = [
  importEndpoint({
    path: "/deliveries/import",
    summary:
      "Order the deliveries of a CSV file; ways that nobody asked the price of go as the crow flies",
    access: operationsOrOrderer,
    line: CreateDelivery,
    maxLines: 500,
    core: "delivery.delivery_import",
    lineErrors: ["forbidden", ...ordering],
    known: ImportKnown,
  }),
  endpoint({
    method: "get",
    path: "/deliveries/imports",
    summary: "List imports of deliveries, newest first; customers and institutions see their own",
    access: operationsOrOrderer,
    query: importsList.query,
    response: ImportsResponse,
    run: ({ db, query }) => importsList.answer(db, query),
  }),
];

interface Left {
  delivery_id: string;
  delivery_code: number;
  status: string;
  code: ErrorCode;
  params: Record<string, unknown>;
}

/** The end of an import that was a mistake. */
export const importCancellation: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/deliveries/imports/:import_id/cancel",
    summary: "Cancel the deliveries of an import that nobody has in hand yet",
    access: operationsOrOrderer,
    params: ids("import_id"),
    body: CancelImport,
    response: ImportCancelled,
    errors: ["import_not_found"],
    async run({ db, params, body, language }) {
      const answer = await db.call<{ import_id: string; cancelled: number; left: Left[] }>(
        "delivery.import_cancel",
        { ...body, id: params.import_id },
      );
      return {
        ...answer,
        left: answer.left.map(({ params, ...left }) => ({
          ...left,
          message: refusalText(language(), left.code, params),
        })),
      };
    },
  }),
];
