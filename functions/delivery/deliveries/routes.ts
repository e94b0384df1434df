import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import { AppError, type ErrorCode } from "../../../shared/errors/errors.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { withLinks } from "../proofs/links.ts";
import { operationsOrOrderer, staffOrDeliveryPeople } from "../access.ts";
import { measureFirst } from "../../../shared/routing/measured.ts";
import { deliveriesList } from "./list.ts";
import { DeliveryMade } from "./move-schemas.ts";
import {
  DeliveriesResponse,
  DeliveryDetailQuery,
  DeliveryDetailResponse,
} from "./answer-schemas.ts";
import { CreateDelivery, UpdateDelivery } from "./schemas.ts";

const params = ids("delivery_id");

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
  "carrier_not_found",
  "delivery_goes_in_legs",
  "delivery_barcode_taken",
];

/** The refusals of ordering a delivery. */
export const ordering: readonly ErrorCode[] = [
  ...terms,
  "staging_warehouse_required",
  "delivery_not_found",
  "original_not_delivered",
  "return_already_exists",
  "partial_items_invalid",
  "return_destination_required",
  "insufficient_wallet_balance",
];

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

/** Making, reading and changing deliveries. What happens to them then: office.ts, moves.ts, warehouse.ts. */
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
      await measureFirst(db, body, "delivery.order_way_missing");
      return await db.call("delivery.delivery_create", body);
    },
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
      async run({ db, params, body }) {
        const input = { ...body, id: params.delivery_id };
        await measureFirst(db, input, "delivery.draft_way_missing");
        return await db.call("delivery.delivery_update", input);
      },
    })
  ),
];
