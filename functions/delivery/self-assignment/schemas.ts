import { z } from "zod";
import { carriedFields } from "../../../shared/schemas/carried-delivery.ts";
import { Id, Pagination, Timestamp } from "../../../shared/schemas/schemas.ts";
import { deliveryFlows } from "../statuses.ts";

export const OpenQuery = z.object({
  page: z.string().optional().meta({ description: "Page, from 1", type: "integer" }),
  limit: z.string().optional().meta({
    description: "Rows of a page: 20, at most 100",
    type: "integer",
  }),
});

const Place = z.object({
  full_address: z.string().nullable(),
  city: z.string().nullable(),
  latitude: z.number().nullable(),
  longitude: z.number().nullable(),
}).meta({ id: "PlaceOfOpenDelivery" });

const OpenDelivery = z.object({
  delivery_id: Id,
  delivery_code: z.int(),
  delivery_flow: z.enum(deliveryFlows),
  leg: z.enum(["A", "B"]).nullable(),
  unit_size: z.number(),
  distance_km: z.number().nullable().describe(
    "From the driver's last position to the pickup: by road where that was measured, else estimated",
  ),
  pickup: Place,
  dropoff: Place,
  cash_due: carriedFields.cash_due,
  currency: z.string(),
  deliver_after: Timestamp.nullable(),
  deliver_before: Timestamp.nullable(),
  promised_at: Timestamp.nullable(),
  created_at: Timestamp,
}).meta({ id: "OpenDelivery" });
export const OpenResponse = z.object({
  data: z.array(OpenDelivery).describe("Of the nearest 300 those that the driver could take"),
  pagination: Pagination,
});

export const SelfAssign = z.object({ delivery_ids: z.array(Id).min(1).max(20) })
  .meta({ id: "SelfAssignDeliveries" });
