import { z } from "zod";
import { carriedFields } from "../../../shared/schemas/carried-delivery.ts";
import { Id, Pagination, Timestamp } from "../../../shared/schemas/schemas.ts";
import { pageParameters } from "../../../shared/api/list.ts";
import { placeWithoutPeople } from "../place.ts";
import { deliveryFlows } from "../statuses.ts";

export const pageSize = { default: 20, max: 100 };
export const OpenQuery = z.object(pageParameters(pageSize));

const OpenPlace = z.object(placeWithoutPeople).meta({ id: "PlaceOfOpenDelivery" });

const OpenDelivery = z.object({
  delivery_id: Id,
  delivery_code: z.int(),
  delivery_flow: z.enum(deliveryFlows),
  leg: z.enum(["A", "B"]).nullable(),
  unit_size: z.number(),
  distance_km: z.number().nullable().describe(
    "From the driver's last position to the pickup: by road where that was measured, else estimated",
  ),
  pickup: OpenPlace,
  dropoff: OpenPlace,
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
