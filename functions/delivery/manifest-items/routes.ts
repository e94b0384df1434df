import { permission, service } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, replayed } from "../../../shared/api/endpoint.ts";
import { warehouseOrOperations } from "../access.ts";
import { changeDestination, presentChanges } from "./change-destination.ts";
import {
  ChangeBatchBody,
  ChangeBatchResponse,
  ChangeDestinationBody,
  ChangeDestinationResponse,
  OrderBatchBody,
  OrderBatchResponse,
  SearchQuery,
  SearchResponse,
  SetDestinationBody,
  SetDestinationResponse,
  ValidateBody,
  ValidateResponse,
} from "./schemas.ts";
import { present, setDestination } from "./set-destination.ts";
import { validateIdentifiers } from "./validate.ts";

const feature = "transfer_manifest";

/** The bulk scan screen: search, check, receive and order. */
export const manifestItems: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/transfer-manifest-items/search",
    summary: "Find items that can still become orders",
    access: warehouseOrOperations,
    feature,
    query: SearchQuery,
    response: SearchResponse,
    run: async ({ db, query }) => ({
      data: await db.call("delivery.manifest_items_search", query),
    }),
  }),
  endpoint({
    method: "post",
    path: "/transfer-manifest-items/bulk/validate",
    summary: "Check scanned items before they are used",
    access: warehouseOrOperations,
    feature,
    body: ValidateBody,
    response: ValidateResponse,
    run: async ({ db, body, language }) => ({
      data: await validateIdentifiers(db, body, language),
    }),
  }),
  endpoint({
    method: "post",
    path: "/transfer-manifest-items/bulk/set-destination",
    summary: "Receive scanned items and make their delivery orders",
    access: warehouseOrOperations,
    feature,
    body: SetDestinationBody,
    response: SetDestinationResponse,
    idempotency: "handler",
    errors: [
      "one_destination_required",
      "branch_not_found",
      "address_not_found",
      "delivery_service_id_required",
      "service_not_found",
      "delivery_service_not_available",
      "manifest_bulk_order_creation_not_allowed",
      "manifest_arrival_required",
      "manifest_delivery_proof_required",
      "manifest_bulk_receipt_incomplete",
      "conflict",
    ],
    async run({ db, body, language, idempotencyKey }) {
      const outcome = await setDestination(db, body, idempotencyKey);
      return { ...present(outcome, language()), [replayed]: outcome[replayed] };
    },
  }),
  endpoint({
    method: "post",
    path: "/transfer-manifest-items/bulk/change-destination",
    summary: "Give the orders of items another destination or service, until they are picked up",
    access: permission("manage:operations:tenant"),
    feature,
    body: ChangeDestinationBody,
    response: ChangeDestinationResponse,
    idempotency: "handler",
    errors: [
      "one_destination_required",
      "branch_not_found",
      "address_not_found",
      "service_not_found",
      "delivery_service_not_available",
    ],
    async run({ db, body, language, idempotencyKey }) {
      const outcome = await changeDestination(db, body, idempotencyKey);
      return { ...presentChanges(outcome, language()), [replayed]: outcome[replayed] };
    },
  }),
  endpoint({
    method: "post",
    path: "/internal/manifest-change-batches",
    summary: "Change one batch of a large request's orders",
    access: service(),
    feature,
    body: ChangeBatchBody,
    response: ChangeBatchResponse,
    internal: true,
    run: ({ db, body }) => db.call("delivery.manifest_orders_change", body),
  }),
  endpoint({
    method: "post",
    path: "/internal/manifest-order-batches",
    summary: "Make one batch of a large request's orders",
    access: service(),
    feature,
    body: OrderBatchBody,
    response: OrderBatchResponse,
    // A delivery has a number that was reserved: the batch made nothing, which the outcome says of its items.
    errors: ["conflict"],
    internal: true,
    run: ({ db, body }) => db.call("delivery.manifest_orders_create", body),
  }),
];
