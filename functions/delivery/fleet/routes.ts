import { anyOf, permission, role } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import type { ErrorCode } from "../../../shared/errors/errors.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import {
  CreateDriver,
  CreateVehicle,
  driverList,
  DriverResponse,
  DriversResponse,
  UpdateDriver,
  UpdateVehicle,
  vehicleList,
  VehicleResponse,
  VehiclesResponse,
} from "./schemas.ts";

const staff = permission("manage:operations:tenant");
const readers = anyOf(permission("view:tenant"), role("driver"));

const equipping: readonly ErrorCode[] = [
  "vehicle_not_found",
  "vehicle_inactive",
  "driver_vehicle_taken",
  "insufficient_vehicle_capacity",
  "zone_not_found",
  "driver_inactive",
];

/** Drivers and the vehicles they drive. */
export const fleet: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/drivers",
    summary: "List drivers; a driver finds only their own record",
    access: readers,
    query: driverList.query,
    response: DriversResponse,
    async run({ db, query }) {
      const { data, ...page } = await driverList.answer(db, query);
      const drivers = data.map(({ full_name: _searched, phone: _too, ...driver }) => driver);
      return { data: drivers, ...page };
    },
  }),
  endpoint({
    method: "post",
    path: "/drivers",
    summary: "Equip a member of type driver with vehicle and zones",
    access: staff,
    body: CreateDriver,
    response: DriverResponse,
    status: 201,
    errors: ["user_not_found", "user_not_driver", ...equipping],
    run: async ({ db, body }) => ({ data: await db.call("delivery.driver_create", body) }),
  }),
  endpoint({
    method: "patch",
    path: "/drivers/:driver_id",
    summary: "Change a driver",
    access: staff,
    params: ids("driver_id"),
    body: UpdateDriver,
    response: DriverResponse,
    errors: ["driver_not_found", ...equipping],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.driver_update", { ...body, id: params.driver_id }),
    }),
  }),
  endpoint({
    method: "get",
    path: "/vehicles",
    summary: "List vehicles",
    access: readers,
    query: vehicleList.query,
    response: VehiclesResponse,
    run: ({ db, query }) => vehicleList.answer(db, query),
  }),
  endpoint({
    method: "post",
    path: "/vehicles",
    summary: "Add a vehicle",
    access: staff,
    body: CreateVehicle,
    response: VehicleResponse,
    status: 201,
    run: async ({ db, body }) => ({ data: await db.call("delivery.vehicle_create", body) }),
  }),
  endpoint({
    method: "patch",
    path: "/vehicles/:vehicle_id",
    summary: "Change a vehicle, or take it out of use",
    access: staff,
    params: ids("vehicle_id"),
    body: UpdateVehicle,
    response: VehicleResponse,
    errors: ["vehicle_not_found", "vehicle_in_use", "insufficient_vehicle_capacity"],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.vehicle_update", { ...body, id: params.vehicle_id }),
    }),
  }),
];
