import { role } from "../../../shared/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/endpoint.ts";
import { collections, shown } from "./list.ts";
import {
  CollectionsResponse,
  ReconciliationQuery,
  ReconciliationResponse,
  RemitResponse,
  Settle,
  SettleResponse,
  SummaryQuery,
  SummaryResponse,
} from "./schemas.ts";

/** Drivers for their own cash, the office for everybody's. */
const cashPeople = role("driver", "dispatcher", "tenant_admin");

const settling = [
  "cod_collection_ids_required",
  "cod_collections_not_pending",
  "mixed_driver_selection",
  "driver_id_required",
  "driver_not_found",
  "no_pending_collections",
  "settlement_amount_mismatch",
  "invalid_receiver",
  "receiver_required",
  "settlement_idempotency_conflict",
] as const;

/** Cash that drivers collected: who holds how much, and how it is handed in. */
export const cod: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/cod-collections",
    summary: "List collected cash, with sums over the same filters but the status",
    access: cashPeople,
    query: collections.query,
    response: CollectionsResponse,
    errors: ["invalid_column_filters"],
    async run({ db, query }) {
      const { rows, page, limit, total, summary } = await collections.run(db, query);
      return {
        cod: { collections: rows.map(shown), pagination: { page, limit, total }, summary },
      };
    },
  }),
  endpoint({
    method: "get",
    path: "/cod-summary",
    summary: "What a driver, or all of them, still hold",
    access: cashPeople,
    query: SummaryQuery,
    response: SummaryResponse,
    errors: ["driver_not_found"],
    run: ({ db, query }) => db.call("money.cod_summary", query),
  }),
  endpoint({
    method: "post",
    path: "/cod-collections/remit",
    summary: "Hand in collected cash; moves no wallet",
    access: cashPeople,
    body: Settle,
    response: RemitResponse,
    errors: [...settling, "cash_handover_required"],
    conflict: "settlement_idempotency_conflict",
    run: async ({ db, body }) => ({ data: await db.call("money.cod_remit", body) }),
  }),
  endpoint({
    method: "post",
    path: "/cod-collections/settle-by-wallet",
    summary: "Pay for collected cash from the driver's wallet",
    access: cashPeople,
    body: Settle,
    response: SettleResponse,
    errors: [...settling, "insufficient_wallet_balance"],
    conflict: "settlement_idempotency_conflict",
    run: async ({ db, body }) => ({ data: await db.call("money.cod_pay", body) }),
  }),
  endpoint({
    method: "get",
    path: "/cod-reconciliation",
    summary: "Prove that no cash is missing, as of a day or a moment",
    access: role("dispatcher", "tenant_admin"),
    query: ReconciliationQuery,
    response: ReconciliationResponse,
    run: ({ db, query }) => db.call("money.cod_reconciliation", query),
  }),
];
