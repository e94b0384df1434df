import { z } from "zod";
import { Id, Timestamp } from "../../../shared/schemas/schemas.ts";
import { driverStatuses, LastPosition, VehicleRef } from "../fleet/schemas.ts";
import { placeWithoutPeople } from "../place.ts";
import { deliveryStatuses } from "../../../shared/schemas/delivery-statuses.ts";

export const BoardQuery = z.object({
  zone_id: Id.optional().describe(
    "Only drivers who go there, and deliveries that begin or end there",
  ),
});

const NextStop = z.object({
  delivery_id: Id,
  delivery_code: z.int(),
  place: z.object({ kind: z.enum(["pickup", "dropoff"]), ...placeWithoutPeople }),
}).meta({ id: "NextStop" });

const BoardDriver = z.object({
  id: Id,
  full_name: z.string(),
  status: z.enum(driverStatuses).describe(
    "Inactive: fetches nothing any more; what is in hand stays with the driver until it is handed over",
  ),
  on_duty: z.boolean(),
  is_online: z.boolean(),
  last_position: LastPosition.nullable(),
  vehicle: VehicleRef.nullable(),
  capacity: z.number().nullable().describe("Units that the vehicle takes"),
  load: z.number().describe("Units that the driver's open deliveries take"),
  stops_left: z.int(),
  next_stop: NextStop.nullable().describe(
    "Nothing that is postponed, nor, of an inactive driver, what is not picked up",
  ),
}).meta({ id: "BoardDriver" });

const DeliveryOnBoard = z.object({
  id: Id,
  delivery_code: z.int(),
  status: z.enum(deliveryStatuses),
  promised_at: Timestamp.nullable(),
  deliver_before: Timestamp.nullable(),
  pickup_zone_id: Id.nullable(),
  dropoff_zone_id: Id.nullable(),
  driver_id: Id.nullable(),
}).meta({ id: "DeliveryOnBoard" });

export const BoardResponse = z.object({
  data: z.object({
    as_of: Timestamp,
    drivers: z.array(BoardDriver),
    unassigned: z.object({
      total: z.int(),
      by_zone: z.array(z.object({
        zone_id: Id.nullable(),
        name: z.string().nullable(),
        count: z.int(),
        oldest_at: Timestamp,
      })),
    }).describe(
      "What waits for a driver, by the zone it is fetched in; a parcel that is sent back counts as its return",
    ),
    to_reassign: z.object({
      total: z.int(),
      deliveries: z.array(DeliveryOnBoard).describe("The first 50, those that are due first"),
    }).describe(
      "What drivers who are inactive were to fetch: nobody does until it is given to somebody else",
    ),
    late: z.object({
      total: z.int(),
      deliveries: z.array(DeliveryOnBoard).describe("The first 50, the longest late first"),
    }),
    searching: z.int().describe("Automatic assignments that look for a driver"),
    failed_to_assign: z.int().describe("Automatic assignments that found none; the office assigns"),
  }),
});
