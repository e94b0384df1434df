import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import { AppError, type ErrorCode } from "../../../shared/errors/errors.ts";
import { translate } from "../../../shared/i18n/index.ts";
import { importEndpoint } from "../../../shared/api/csv/import.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { withLinks } from "../manifests/proofs.ts";
import { operationsOrOrderer, staffOrDeliveryPeople } from "../access.ts";
import { measureFirst } from "../../../shared/routing/measured.ts";
import { deliveriesList } from "./list.ts";
import { Cancelled, DeliveryMade } from "./move-schemas.ts";
import {
  DeliveriesResponse,
  DeliveryDetailQuery,
  DeliveryDetailResponse,
  DeliveryResponse,
} from "./answer-schemas.ts";
import { Cancel, CarrierChange, CreateDelivery, UpdateDelivery } from "./schemas.ts";

const params = ids("delivery_id");
const operations = permission("manage:operations:tenant");

/** The refusals of a delivery's terms. */
const terms: readonly ErrorCode[] = [
  "customer_not_found",
  "address_not_found",
  "warehouse_not_found",
  "delivery_place_required",
  "delivery_service_id_required",
  "service_not_found",
  "delivery_service_not_available",
  "service_not_for_returns",
  "invalid_package",
  "item_prices_not_cod",
  "invalid_coordinates",
  "unit_size_or_dimensions_required",
  "can_not_use_this_delivery_for_this_unit_size",
  "too_many_decimals",
  "order_amount_fixed",
  "invalid_delivery_window",
  "customer_required_for_cod",
  "customer_required_for_wallet",
  "wallet_is_the_senders",
  "carrier_code_required",
  "delivery_barcode_taken",
];

/** The refusals of ordering a delivery. */
const ordering: readonly ErrorCode[] = [
  ...terms,
  "staging_warehouse_required",
  "delivery_not_found",
  "original_not_delivered",
  "return_already_exists",
  "partial_items_invalid",
  "return_destination_required",
  "insufficient_wallet_balance",
];

/** The refusals of an operational return. */
export const returning = [
  "return_destination_required",
  "return_destination_fixed",
  "address_not_found",
  "warehouse_not_found",
  "return_already_exists",
] as const;

const change = {
  summary:
    "Change a draft; or correct recipient, notes, reference, promised time and window of an order",
  access: operationsOrOrderer,
  params,
  body: UpdateDelivery,
  response: DeliveryMade,
  errors: [
    "delivery_not_found",
    "delivery_already_ordered",
    "delivery_already_picked_up",
    "delivery_ended",
    "delivery_is_for_waybill",
    ...terms,
  ],
  path: "/deliveries/:delivery_id",
  version: versionedBy("delivery.deliveries", "delivery_id"),
} as const;

/** Proofs with their links; without, while the storage is away: the delivery is worth reading all the same. */
async function linked<P extends { url: string }>(proofs: P[]) {
  try {
    return await withLinks(proofs);
  } catch (error) {
    if (!(error instanceof AppError && error.code === "service_unavailable")) throw error;
    return proofs.map((proof) => ({ ...proof, link: null }));
  }
}

/** Making, reading and changing deliveries. What happens to them then: moves.ts, warehouse.ts. */
export const deliveries: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/deliveries",
    summary: "Order a delivery, or keep a draft of one",
    access: operationsOrOrderer,
    body: CreateDelivery,
    response: DeliveryMade,
    status: 201,
    errors: ordering,
    async run({ db, body }) {
      await measureFirst(db, body);
      return await db.call("delivery.delivery_create", body);
    },
  }),
  importEndpoint({
    path: "/deliveries/import",
    summary:
      "Order the deliveries of a CSV file; ways that nobody asked the price of go as the crow flies",
    access: operationsOrOrderer,
    line: CreateDelivery,
    maxLines: 500,
    core: "delivery.delivery_import",
    lineErrors: ["forbidden", ...ordering],
  }),
  endpoint({
    method: "get",
    path: "/deliveries",
    summary: "List deliveries; drivers, customers and institutions see their own",
    access: staffOrDeliveryPeople,
    query: deliveriesList.query,
    response: DeliveriesResponse,
    run: ({ db, query }) => deliveriesList.answer(db, query),
  }),
  endpoint({
    method: "get",
    path: "/deliveries/:delivery_id",
    version: versionedBy("delivery.deliveries", "delivery_id"),
    summary: "Read a delivery with its legs, driver, exceptions, cash, items, history and proofs",
    access: staffOrDeliveryPeople,
    params,
    query: DeliveryDetailQuery,
    response: DeliveryDetailResponse,
    confidential: (query) => query.get("include")?.includes("proof_links") ?? false,
    errors: ["delivery_not_found"],
    async run({ db, params, query }) {
      const { delivery } = await db.call<{ delivery: { proofs: { url: string }[] } }>(
        "delivery.delivery_get",
        { id: params.delivery_id },
      );
      if (!query.include) return { delivery };
      return { delivery: { ...delivery, proofs: await linked(delivery.proofs) } };
    },
  }),
  ...(["patch", "put"] as const).map((method) =>
    endpoint({
      ...change,
      method,
      run: ({ db, params, body }) =>
        db.call("delivery.delivery_update", { ...body, id: params.delivery_id }),
    })
  ),
  endpoint({
    method: "post",
    path: "/deliveries/:delivery_id/submit",
    summary:
      "Order what was a draft: it is charged and waits for a driver; a return may wait for the office",
    access: operationsOrOrderer,
    params,
    response: DeliveryMade,
    errors: [
      "delivery_not_found",
      "invalid_status_transition",
      "delivery_is_for_waybill",
      "return_request_pending",
      "insufficient_wallet_balance",
    ],
    run: ({ db, params }) => db.call("delivery.delivery_submit", { id: params.delivery_id }),
  }),
  endpoint({
    method: "patch",
    path: "/deliveries/:delivery_id/carrier",
    version: versionedBy("delivery.deliveries", "delivery_id"),
    summary: "Give a waiting delivery to another company to carry, or take it back",
    access: operations,
    params,
    body: CarrierChange,
    response: DeliveryResponse,
    errors: [
      "delivery_not_found",
      "invalid_status_transition",
      "delivery_goes_in_legs",
      "delivery_is_for_waybill",
      "carrier_code_required",
      "shipment_with_other_carrier",
    ],
    run: ({ db, params, body }) =>
      db.call("delivery.delivery_carrier", { ...body, id: params.delivery_id }),
  }),
  endpoint({
    method: "post",
    path: "/deliveries/:delivery_id/cancel",
    summary:
      "Cancel a delivery before pickup; one that waits in a warehouse goes back to its sender",
    access: operationsOrOrderer,
    params,
    body: Cancel,
    response: Cancelled,
    errors: [
      "delivery_not_found",
      "invalid_status_transition",
      "delivery_not_in_warehouse",
      ...returning,
      "insufficient_wallet_balance",
      "shipment_cash_changes",
    ],
    async run({ db, params, body, language }) {
      const answer = await db.call<{ operational_return: { delivery_code: number } | null }>(
        "delivery.delivery_cancel",
        { ...body, id: params.delivery_id },
      );
      if (!answer.operational_return) return answer;
      const { delivery_code } = answer.operational_return;
      const message = translate(language(), "delivery_cancelled_to_return", { delivery_code });
      return { ...answer, message };
    },
  }),
];
