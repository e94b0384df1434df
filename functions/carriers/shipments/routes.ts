import { z } from "zod";
import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { CarrierCode, ids } from "../../../shared/schemas/schemas.ts";
import { book } from "./book.ts";
import { cancel } from "./cancel.ts";
import { ShipmentResponse, shipmentsList, ShipmentsResponse } from "./schemas.ts";

const bookingErrors = [
  "delivery_not_found",
  "delivery_not_bookable",
  "shipment_in_progress",
  "carrier_refused",
  "carrier_unavailable",
] as const;

/** Shipments: deliveries booked with an external carrier. */
export const shipments: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/shipments",
    summary: "List the bookings of deliveries with carriers, newest first",
    access: permission("manage:operations:tenant"),
    query: shipmentsList.query,
    response: ShipmentsResponse,
    run: ({ db, query }) => shipmentsList.answer(db, query),
  }),
  endpoint({
    method: "get",
    path: "/shipments/:delivery_id",
    summary: "Read the booking of a delivery: the one that lives, or else the last that ended",
    access: permission("manage:operations:tenant"),
    params: ids("delivery_id"),
    response: ShipmentResponse,
    errors: ["delivery_not_found", "shipment_not_found"],
    run: ({ db, params }) => db.call("integration.shipment_get", params),
  }),
  endpoint({
    method: "post",
    path: "/shipments/:delivery_id",
    summary:
      "Book a pending external delivery with a carrier; once more with the same carrier it returns that shipment",
    access: permission("manage:operations:tenant"),
    params: ids("delivery_id"),
    body: z.object({ carrier_code: CarrierCode }),
    response: ShipmentResponse,
    errors: [
      ...bookingErrors,
      "carrier_not_found",
      "carrier_not_enabled",
      "delivery_not_external",
      "delivery_goes_in_legs",
      "return_under_way",
      "goods_not_picked",
      "amount_is_for_part",
      "carrier_collects_no_cash",
      "sender_cash_not_collected",
      "shipment_with_other_carrier",
    ],
    idempotency: "handler",
    run: ({ db, params, body, idempotencyKey }) =>
      book(db, { ...params, carrier_code: body.carrier_code }, idempotencyKey),
  }),
  endpoint({
    method: "post",
    path: "/shipments/:delivery_id/cancel",
    summary: "Cancel a booking before the carrier has picked up the parcel",
    access: permission("manage:operations:tenant"),
    params: ids("delivery_id"),
    response: ShipmentResponse,
    errors: [...bookingErrors, "shipment_not_found"],
    idempotency: "handler",
    run: ({ db, params, idempotencyKey }) => cancel(db, params.delivery_id, idempotencyKey),
  }),
];
