import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { measureFirst } from "../../../shared/routing/measured.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { operationsOrOrderer } from "../access.ts";
import { Redirect, RedirectResponse } from "./schemas.ts";

/** Another destination for what is ordered. */
export const redirects: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/deliveries/:delivery_id/redirect",
    summary: "Send a parcel elsewhere: the office until it is delivered, its owner until pickup",
    access: operationsOrOrderer,
    params: ids("delivery_id"),
    body: Redirect,
    response: RedirectResponse,
    errors: [
      "delivery_not_found",
      "delivery_is_draft",
      "delivery_ended",
      "operational_return_fixed",
      "shipment_booked",
      "delivery_already_picked_up",
      "return_under_way",
      "address_not_found",
      "delivery_service_not_available",
      "invalid_coordinates",
      "redirect_needs_other_driver",
      "redirect_to_customer",
      "customer_required_for_wallet",
      "insufficient_wallet_balance",
    ],
    async run({ db, params, body }) {
      const input = { ...body, id: params.delivery_id };
      await measureFirst(db, input, "delivery.redirect_way_missing");
      return { data: await db.call("delivery.delivery_redirect", input) };
    },
  }),
];
