import { z } from "zod";
import { defineList, equal, id, someOf } from "../../../shared/api/list.ts";
import { deliveryStatuses } from "../../../shared/schemas/delivery-statuses.ts";
import { CarrierCode, Id, listResponse, Timestamp } from "../../../shared/schemas/schemas.ts";

const statuses = ["booking", "booked", "cancelling", "cancelled"] as const;

export const Shipment = z.strictObject({
  id: Id,
  delivery_id: Id,
  carrier_code: z.string(),
  status: z.enum(statuses),
  tracking_number: z.string().nullable(),
  label_url: z.string().nullable(),
  cash_due: z.number().describe("The amount collected at the door, in the delivery's currency"),
  booked_at: Timestamp.nullable(),
  cancelled_at: Timestamp.nullable(),
}).meta({ id: "Shipment" });
export const ShipmentResponse = z.object({ shipment: Shipment });

export const shipmentsList = defineList({
  view: "integration.shipments_list",
  sort: ["created_at"],
  params: {
    status: someOf("status", statuses),
    carrier_code: { ...equal("carrier_code"), schema: CarrierCode },
    delivery_status: someOf("delivery_status", deliveryStatuses),
    delivery_id: id("delivery_id"),
  },
  limit: { default: 20, max: 100 },
});

export const ShipmentsResponse = listResponse(
  Shipment.extend({
    delivery_code: z.number(),
    delivery_status: z.enum(deliveryStatuses),
    currency: z.string(),
    created_at: Timestamp,
  }).meta({ id: "ShipmentOfList" }),
);
