/** Answers of calls that make, return, cancel or prepare a delivery. */
import { z } from "zod";
import { Id, JsonObject, Timestamp } from "../../../shared/schemas/schemas.ts";
import { ReturnRequest } from "../return-requests/schemas.ts";
import { deliveryStatuses } from "../../../shared/schemas/delivery-statuses.ts";
import { deliveryFlows } from "../statuses.ts";
import { DeliveryResponse, DeliveryRow } from "./answer-schemas.ts";

export const DeliveryMade = z.object({
  id: Id,
  delivery: z.object({
    id: Id,
    delivery_code: z.int(),
    barcode: z.string(),
    status: z.enum(deliveryStatuses),
    delivery_flow: z.enum(deliveryFlows),
    price: z.number(),
    unit_size: z.number(),
    unit_size_source: z.string(),
    currency: z.string(),
    cod_amount: z.number(),
    original_delivery_id: Id.nullable(),
    return_request: ReturnRequest.nullish(),
    legs: z.array(z.object({
      id: Id,
      leg: z.enum(["A", "B"]),
      sequence_plan: z.int(),
      delivery_code: z.int(),
      status: z.enum(deliveryStatuses),
    })),
  }),
});
const Refund = {
  refunded: z.boolean().describe("Whether the fee went to a wallet"),
  refund_due: z.object({
    id: Id,
    amount: z.number(),
    currency: z.string(),
    payer: z.object({ name: z.string().nullable(), phone: z.string().nullable() }),
  }).nullable().describe("The refund a desk owes to a payer without a wallet; null: none"),
};
export const Returned = DeliveryResponse.extend({
  receiving_order_id: Id.nullable(),
  ...Refund,
});
export const Cancelled = DeliveryResponse.extend({
  ...Refund,
  operational_return: DeliveryRow.nullable().describe(
    "The delivery that brings back a parcel that waited in a warehouse; null for one that nobody had picked up",
  ),
});
export const Executed = DeliveryResponse.extend({
  picking_order: z.object({
    id: Id,
    reference_number: z.string(),
    status: z.string(),
    warehouse_id: Id,
    delivery_id: Id,
    completed_date: Timestamp.nullable(),
    item_details: z.array(JsonObject),
  }),
});
