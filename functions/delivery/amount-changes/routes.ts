import { anyOf, permission, role } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { answerOf, clamp } from "../../../shared/api/list.ts";
import type { ErrorCode } from "../../../shared/errors/errors.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { operationsOrOrderer, staffOrDeliveryPeople } from "../access.ts";
import {
  AmountChangeResponse,
  AmountChangesQuery,
  AmountChangesResponse,
  ChangeAmount,
  DeclineAmountChange,
  pageSize,
} from "./schemas.ts";

const params = ids("delivery_id");
const changeParams = ids("delivery_id", "change_id");

/** The office and owners, who decide, and drivers, who request. */
const operationsOrDeliveryPeople = anyOf(
  permission("manage:operations:tenant"),
  role("driver", "institution", "customer"),
);

/** The refusals of a new amount. */
const changing: readonly ErrorCode[] = [
  "delivery_not_found",
  "order_amount_fixed",
  "delivery_is_draft",
  "delivery_ended",
  "operational_return_fixed",
  "shipment_booked",
  "too_many_decimals",
  "customer_required_for_cod",
  "amount_may_only_fall",
  "amount_unchanged",
];
const deciding = ["amount_change_not_found", "amount_change_not_pending"] as const;

/** Changes of the COD of what is ordered. */
export const amountChanges: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/deliveries/:delivery_id/amount-changes",
    summary:
      "Change the COD of a delivery; of a driver it is a request, which the office or the owner decides",
    access: operationsOrDeliveryPeople,
    params,
    body: ChangeAmount,
    response: AmountChangeResponse,
    status: 201,
    errors: [...changing, "assignment_ended", "partial_items_invalid", "amount_change_pending"],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.amount_change_create", { ...body, id: params.delivery_id }),
    }),
  }),
  endpoint({
    method: "get",
    path: "/deliveries/:delivery_id/amount-changes",
    summary: "List the changes of a delivery's COD, newest first",
    access: staffOrDeliveryPeople,
    params,
    query: AmountChangesQuery,
    response: AmountChangesResponse,
    errors: ["delivery_not_found"],
    async run({ db, params, query }) {
      const page = clamp(query.page, 1, 1_000_000, 1);
      const limit = clamp(query.limit, 1, pageSize.max, pageSize.default);
      const { rows, total } = await db.call<{ rows: Record<string, unknown>[]; total: number }>(
        "delivery.amount_changes_read",
        { id: params.delivery_id, limit, offset: (page - 1) * limit },
      );
      return answerOf({ rows, total, page, limit });
    },
  }),
  endpoint({
    method: "post",
    path: "/deliveries/:delivery_id/amount-changes/:change_id/approve",
    summary: "Approve the amount that a driver requested: it is due from now on",
    access: operationsOrOrderer,
    params: changeParams,
    response: AmountChangeResponse,
    errors: [...changing, ...deciding],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.amount_change_approve", {
        id: params.delivery_id,
        change_id: params.change_id,
      }),
    }),
  }),
  endpoint({
    method: "post",
    path: "/deliveries/:delivery_id/amount-changes/:change_id/decline",
    summary: "Decline the amount that a driver requested: it stays as it is",
    access: operationsOrOrderer,
    params: changeParams,
    body: DeclineAmountChange,
    response: AmountChangeResponse,
    errors: ["delivery_not_found", ...deciding],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.amount_change_decline", {
        ...body,
        id: params.delivery_id,
        change_id: params.change_id,
      }),
    }),
  }),
];
