import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import type { ErrorCode } from "../../../shared/errors/errors.ts";
import { CarrierCode, ids } from "../../../shared/schemas/schemas.ts";
import { canManageOperations, canViewOperations } from "../access.ts";
import {
  CarrierWarehouseResponse,
  CreateWarehouse,
  Done,
  SetCarrierWarehouse,
  UpdateWarehouse,
  warehouseList,
  WarehouseResponse,
  WarehousesResponse,
} from "./schemas.ts";

const refusals: readonly ErrorCode[] = [
  "address_not_found",
  "warehouse_code_exists",
  "invalid_warehouse_features",
  "invalid_customer_ids",
];

const atCarrier = ids("warehouse_id").extend({ carrier_code: CarrierCode });

/** Warehouses of the tenant. */
export const warehouses: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/warehouses",
    summary: "List warehouses, with the tenant's key figures",
    access: canViewOperations,
    query: warehouseList.query,
    response: WarehousesResponse,
    async run({ db, query }) {
      const { rows, summary, ...page } = await warehouseList.run(db, query);
      const { stats, carrier } = summary as {
        stats: Record<string, number>;
        carrier: Record<string, unknown>;
      };
      const shown = rows.map(({ city: _filtered, country: _too, ...row }) => {
        const named = carrier[row.id as string];
        return named ? { ...row, carrier_warehouse: named } : row;
      });
      return { warehouses: shown, ...page, stats };
    },
  }),
  endpoint({
    method: "post",
    path: "/warehouses",
    summary: "Add a warehouse",
    access: canManageOperations,
    body: CreateWarehouse,
    response: WarehouseResponse,
    status: 201,
    errors: refusals,
    run: ({ db, body }) => db.call("warehousing.warehouse_create", body),
  }),
  endpoint({
    method: "get",
    path: "/warehouses/:warehouse_id",
    version: versionedBy("warehousing.warehouses", "warehouse_id"),
    summary: "Read a warehouse",
    access: canViewOperations,
    params: ids("warehouse_id"),
    response: WarehouseResponse,
    errors: ["warehouse_not_found"],
    run: ({ db, params }) => db.call("warehousing.warehouse_get", { id: params.warehouse_id }),
  }),
  endpoint({
    method: "put",
    path: "/warehouses/:warehouse_id",
    version: versionedBy("warehousing.warehouses", "warehouse_id"),
    summary: "Change a warehouse; what is not sent stays",
    access: canManageOperations,
    params: ids("warehouse_id"),
    body: UpdateWarehouse,
    response: WarehouseResponse,
    errors: ["warehouse_not_found", ...refusals],
    run: ({ db, params, body }) =>
      db.call("warehousing.warehouse_update", { ...body, id: params.warehouse_id }),
  }),
  endpoint({
    method: "delete",
    path: "/warehouses/:warehouse_id",
    version: versionedBy("warehousing.warehouses", "warehouse_id"),
    summary: "Remove an empty warehouse; its record stays",
    access: canManageOperations,
    params: ids("warehouse_id"),
    response: Done,
    errors: [
      "warehouse_not_found",
      "warehouse_has_inventory",
      "warehouse_in_use",
      "warehouse_in_use_by_settings",
    ],
    run: ({ db, params }) => db.call("warehousing.warehouse_delete", { id: params.warehouse_id }),
  }),
  endpoint({
    method: "put",
    path: "/warehouses/:warehouse_id/carriers/:carrier_code",
    summary: "Note what a carrier calls a warehouse",
    access: canManageOperations,
    params: atCarrier,
    body: SetCarrierWarehouse,
    response: CarrierWarehouseResponse,
    errors: ["warehouse_not_found", "carrier_not_found"],
    run: ({ db, params, body }) =>
      db.call("warehousing.carrier_warehouse_set", { ...body, ...params }),
  }),
  endpoint({
    method: "delete",
    path: "/warehouses/:warehouse_id/carriers/:carrier_code",
    summary: "Forget what a carrier calls a warehouse",
    access: canManageOperations,
    params: atCarrier,
    response: Done,
    errors: ["warehouse_not_found"],
    run: ({ db, params }) => db.call("warehousing.carrier_warehouse_clear", params),
  }),
];
