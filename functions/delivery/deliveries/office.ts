import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import { translate } from "../../../shared/i18n/index.ts";
import { measureFirst } from "../../../shared/routing/measured.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { operationsOrOrderer } from "../access.ts";
import { DeliveryResponse } from "./answer-schemas.ts";
import { Cancelled, DeliveryMade } from "./move-schemas.ts";
import { Cancel, CarrierChange } from "./schemas.ts";

const params = ids("delivery_id");
const operations = permission("manage:operations:tenant");

/** The refusals of an operational return. */
export const returning = [
  "return_destination_required",
  "return_destination_fixed",
  "address_not_found",
  "warehouse_not_found",
  "return_already_exists",
] as const;

/** Calls of the office, or of who orders, for one delivery. */
export const deliveryInOffice: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/deliveries/:delivery_id/submit",
    summary:
      "Order what was a draft: it is charged and waits for a driver; a return by its customer may need approval first",
    access: operationsOrOrderer,
    params,
    response: DeliveryMade,
    errors: [
      "delivery_not_found",
      "invalid_status_transition",
      "delivery_is_for_waybill",
      "delivery_goes_in_legs",
      "return_request_pending",
      "customer_not_found",
      "warehouse_not_found",
      "carrier_not_found",
      "service_not_found",
      "delivery_service_not_available",
      "service_not_for_returns",
      "invalid_package",
      "invalid_coordinates",
      "unit_size_or_dimensions_required",
      "can_not_use_this_delivery_for_this_unit_size",
      "delivery_price_changed",
      "insufficient_wallet_balance",
    ],
    async run({ db, params }) {
      const input = { id: params.delivery_id };
      await measureFirst(db, input, "delivery.draft_way_missing");
      return await db.call("delivery.delivery_submit", input);
    },
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
      "carrier_not_found",
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
