import { z } from "zod";
import { defineList, flag, id, someOf } from "../../../shared/api/list.ts";
import { Id, Pagination, Text, Timestamp } from "../../../shared/schemas/schemas.ts";
import { Quantity, Url } from "../services/schemas.ts";

export const driverStatuses = ["active", "inactive"] as const;

export const UpdateDriver = z.object({
  vehicle_id: Id.nullable(),
  all_zones: z.boolean(),
  zone_ids: z.array(Id).max(300),
  status: z.enum(driverStatuses),
  default: z.boolean().describe("The driver of setting `delivery.assignment_change_settings`"),
}).partial().meta({ id: "UpdateDriver" });
export const CreateDriver = z.object({ user_id: Id }).extend(UpdateDriver.shape).meta({
  id: "CreateDriver",
});

export const CreateVehicle = z.object({
  name: Text,
  unit_capacity: Quantity,
  image_url: Url.nullish(),
}).meta({ id: "CreateVehicle" });
export const UpdateVehicle = CreateVehicle.extend({ is_active: z.boolean() }).partial().meta({
  id: "UpdateVehicle",
});

export const VehicleRef = z.object({ id: Id, name: z.string(), image_url: z.string().nullable() })
  .meta({
    id: "VehicleRef",
  });

export const LastPosition = z.object({
  latitude: z.number(),
  longitude: z.number(),
  accuracy_m: z.number().nullable(),
  recorded_at: Timestamp.describe("By the device's clock"),
}).meta({ id: "LastPosition" });

export const Driver = z.object({
  id: Id,
  user: z.object({
    id: Id,
    full_name: z.string(),
    phone: z.string().nullable(),
    email: z.string().nullable(),
  }),
  vehicle: VehicleRef.nullable(),
  all_zones: z.boolean(),
  zone_ids: z.array(Id),
  status: z.enum(driverStatuses),
  capacity_used: z.number(),
  on_duty: z.boolean(),
  is_online: z.boolean().describe("On duty, and heard of within `offline_threshold_seconds`"),
  last_heartbeat_at: Timestamp.nullable(),
  last_position: LastPosition.nullable(),
  is_default: z.boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "Driver" });

const Vehicle = VehicleRef.extend({
  unit_capacity: z.number(),
  is_active: z.boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "Vehicle" });

export const DriverResponse = z.object({ data: Driver });
export const DriversResponse = z.object({ data: z.array(Driver), pagination: Pagination });
export const VehicleResponse = z.object({ data: Vehicle });
export const VehiclesResponse = z.object({ data: z.array(Vehicle), pagination: Pagination });

export const driverList = defineList({
  view: "delivery.drivers_list",
  search: ["full_name", "phone"],
  sort: ["created_at", "full_name", "status", "capacity_used", "updated_at"],
  params: {
    status: someOf("status", driverStatuses),
    is_online: flag("is_online"),
    all_zones: flag("all_zones"),
    vehicle_id: {
      ...id("vehicle"),
      condition: (value) => `(r.vehicle ->> 'id')::uuid = (${value} #>> '{}')::uuid`,
    },
    /** Drivers who go there: those of the zone and those of all zones. */
    zone_id: {
      ...id("zone_ids"),
      condition: (value) => `(r.all_zones or r.zone_ids @> ${value})`,
    },
  },
  limit: { default: 20, max: 100 },
});

export const vehicleList = defineList({
  view: "delivery.vehicles_list",
  search: ["name"],
  sort: ["created_at", "name", "unit_capacity", "updated_at"],
  params: { is_active: flag("is_active") },
  limit: { default: 20, max: 100 },
});
