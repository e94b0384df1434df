import { memberOrKey } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import type { ErrorCode } from "../../../shared/errors/errors.ts";
import { measureFirst } from "../../../shared/routing/measured.ts";
import { PriceBody, PriceQuery, PriceResponse } from "./schemas.ts";

const refusals: readonly ErrorCode[] = [
  "service_not_found",
  "delivery_service_not_available",
  "invalid_coordinates",
  "can_not_use_this_delivery_for_this_unit_size",
];

/** The price of a delivery before it is ordered, by the calculation that charges it. */
export const price: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/price",
    summary: "Price of a number of units (legacy)",
    access: memberOrKey(),
    query: PriceQuery,
    response: PriceResponse,
    message: "price_calculated",
    errors: refusals,
    async run({ db, query }) {
      await measureFirst(db, query);
      return await db.call("delivery.price_preview", query);
    },
  }),
  endpoint({
    method: "post",
    path: "/price",
    summary: "Price of a package",
    access: memberOrKey(),
    body: PriceBody,
    response: PriceResponse,
    message: "price_calculated",
    errors: ["invalid_package", "unit_size_or_dimensions_required", ...refusals],
    async run({ db, body }) {
      await measureFirst(db, body);
      return await db.call("delivery.price_preview", body);
    },
  }),
];
