import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { canManageWarehouse } from "../access.ts";
import { ReconciliationQuery, ReconciliationResponse } from "./schemas.ts";

/** The proof that no unit of stock is lost sight of. */
export const stockReconciliation: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/stock-reconciliation",
    summary: "Prove that no unit is missing, as of a day or a moment",
    access: canManageWarehouse,
    query: ReconciliationQuery,
    response: ReconciliationResponse,
    run: ({ db, query }) => db.call("warehousing.stock_reconciliation", query),
  }),
];
