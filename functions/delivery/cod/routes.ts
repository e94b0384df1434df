import { listStep } from "../../../shared/api/cursor.ts";
import { csvEndpoint, csvTable } from "../../../shared/api/csv/export.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { collections, shown } from "./list.ts";
import { cashPeople, cashReaders, officeReaders } from "./access.ts";
import {
  Collection,
  CollectionsResponse,
  RemitResponse,
  Settle,
  SettleResponse,
  SummaryQuery,
  SummaryResponse,
} from "./schemas.ts";
import {
  reconciliationColumns,
  ReconciliationExportQuery,
  type ReconciliationPart,
  ReconciliationQuery,
  ReconciliationResponse,
} from "./reconciliation-schemas.ts";

const settling = [
  "conflicting_selection",
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
    access: cashReaders,
    query: collections.query,
    response: CollectionsResponse,
    async run({ db, query }) {
      const found = await collections.run(db, query);
      const { rows, summary, [listStep]: step, ...pagination } = found;
      return {
        cod: { collections: rows.map(shown), pagination, summary },
        [listStep]: step,
      };
    },
  }),
  endpoint({
    method: "get",
    path: "/cod-summary",
    summary: "List the cash that a driver, or every driver, still holds",
    access: cashReaders,
    query: SummaryQuery,
    response: SummaryResponse,
    errors: ["driver_not_found"],
    run: ({ db, query }) => db.call("money.cod_summary", query),
  }),
  endpoint({
    method: "post",
    path: "/cod-collections/remit",
    person: true,
    summary: "Hand in collected cash; moves no wallet but for a shortage that the driver owes",
    access: cashPeople,
    body: Settle,
    response: RemitResponse,
    errors: [...settling, "cash_handover_required", "insufficient_wallet_balance"],
    idempotencyConflictCode: "settlement_idempotency_conflict",
    run: async ({ db, body }) => ({ data: await db.call("money.cod_remit", body) }),
  }),
  endpoint({
    method: "post",
    path: "/cod-collections/settle-by-wallet",
    person: true,
    summary: "Pay for collected cash from the driver's wallet",
    access: cashPeople,
    body: Settle,
    response: SettleResponse,
    errors: [...settling, "insufficient_wallet_balance"],
    idempotencyConflictCode: "settlement_idempotency_conflict",
    run: async ({ db, body }) => ({ data: await db.call("money.cod_pay", body) }),
  }),
  endpoint({
    method: "get",
    path: "/cod-reconciliation",
    summary: "Prove that no cash is missing, as of a day or a moment",
    access: officeReaders,
    query: ReconciliationQuery,
    response: ReconciliationResponse,
    run: ({ db, query }) => db.call("money.cod_reconciliation", query),
  }),
  endpoint({
    method: "get",
    path: "/cod-reconciliation/export",
    summary: "One part of the reconciliation as a CSV file: that of the drivers unless said",
    access: officeReaders,
    query: ReconciliationExportQuery,
    response: "csv",
    async run({ db, query: { part, times: _, ...query } }) {
      const found = await db.call<Record<ReconciliationPart, Record<string, unknown>[]>>(
        "money.cod_reconciliation",
        query,
      );
      const name = part === "drivers" ? "cod-reconciliation" : `cod-reconciliation-${part}`;
      return csvTable(`${name}.csv`, reconciliationColumns[part], found[part]);
    },
  }),
  csvEndpoint({
    path: "/cod-collections/export",
    summary: "Collected cash as a CSV file, with the filters of the list",
    access: cashReaders,
    list: collections,
    row: Collection,
    filename: "cod-collections.csv",
    columns: {
      delivery_code: "delivery_code",
      external_reference_id: "external_reference_id",
      customer_name: "customer_name",
      delivery_address: "delivery_address",
      receiver_name: "receiver_name",
      leg_codes: "leg_codes",
      driver_name: "driver_name",
      driver_email: "driver_info.email",
      collection_stage: "collection_stage",
      status: "status",
      currency: "currency",
      amount: "amount",
      cod_amount: "cod_amount",
      delivery_fee_amount: "delivery_fee_amount",
      collected_at: "collected_at",
      remitted_at: "remitted_at",
      settled_at: "settled_at",
      settlement_payment_id: "settlement_payment_id",
      id: "id",
      reversed_at: "reversed_at",
    },
  }),
];
