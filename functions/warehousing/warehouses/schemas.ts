import { z } from "zod";
import {
  contains,
  defineList,
  equal,
  type Filter,
  id,
  type ListQuery,
  number,
  oneOf,
  period,
} from "../../../shared/api/list.ts";
import { Id, JsonObject, Text, Timestamp } from "../../../shared/schemas/schemas.ts";

const statuses = ["active", "inactive", "maintenance", "full"] as const;
const accessModes = ["all_users", "select_users", "exclude_users"] as const;

export const Code = z.string().trim().min(1).max(64);

/** In the tenant's own unit; at most three decimals, as stored. */
export const Capacity = z.number().min(0).max(9_999_999_999).multipleOf(0.001);

const Features = z.strictObject({
  climate_control: z.boolean(),
  security_level: z.string().trim().min(1).max(100),
  dock_doors: z.number().int().min(0).max(100_000),
  hazardous_materials: z.boolean(),
  refrigeration: z.boolean(),
  cross_docking: z.boolean(),
}, { error: "invalid_warehouse_features" }).partial().meta({ id: "WarehouseFeatures" });

export const CreateWarehouse = z.object({
  name: Text,
  code: Code,
  address_id: Id,
  status: z.enum(statuses).optional(),
  total_capacity: Capacity.nullish(),
  available_capacity: Capacity.nullish(),
  features: Features.optional(),
  access_mode: z.enum(accessModes).optional(),
  user_ids: z.array(z.guid({ error: "invalid_customer_ids" })).max(10_000).optional(),
}).meta({ id: "CreateWarehouse" });
export const UpdateWarehouse = CreateWarehouse.partial().meta({ id: "UpdateWarehouse" });

const Warehouse = z.object({
  id: Id,
  tenant_id: Id,
  address_id: Id,
  name: z.string(),
  code: z.string(),
  status: z.enum(statuses),
  total_capacity: z.number().nullable(),
  available_capacity: z.number().nullable(),
  features: JsonObject,
  access_mode: z.enum(accessModes),
  user_ids: z.array(Id).describe("In a list the first hundred"),
  user_count: z.int(),
  created_at: Timestamp,
  updated_at: Timestamp,
  deleted_at: Timestamp.nullable(),
  address: z.object({
    id: Id,
    title: z.record(z.string(), z.string()).describe("As stored, in all its languages"),
    full_address: z.string(),
    city: z.string().nullable(),
    country: z.string().nullable(),
    latitude: z.number().nullable(),
    longitude: z.number().nullable(),
  }),
}).meta({ id: "Warehouse" });

export const WarehouseResponse = z.object({ warehouse: Warehouse });
export const Done = z.object({});

export const SetCarrierWarehouse = z.object({
  external_id: z.string().trim().min(1).max(200).describe("The warehouse's number at the carrier"),
  external_name: Text.nullish(),
}).meta({ id: "SetCarrierWarehouse" });
export const CarrierWarehouseResponse = z.object({
  carrier_warehouse: z.object({
    warehouse_id: Id,
    carrier_code: z.string(),
    external_id: z.string(),
    external_name: z.string().nullable(),
  }),
});

export const WarehousesResponse = z.object({
  warehouses: z.array(Warehouse.extend({
    carrier_warehouse: z.object({ external_id: z.string(), external_name: z.string().nullable() })
      .optional().describe("Only in lists that were asked for a carrier"),
  })),
  page: z.int(),
  limit: z.int(),
  total: z.int(),
  stats: z.object({
    totalWarehouses: z.int(),
    activeCount: z.int(),
    maintenanceCount: z.int(),
    inactiveCount: z.int(),
    totalCapacity: z.number(),
    availableCapacity: z.number(),
  }),
});

/** Part of the query that narrows nothing by itself. */
const order: Filter = { schema: z.enum(["asc", "desc"]), condition: () => "true" };

const list = defineList({
  view: "warehousing.warehouses_list",
  made: ["carrier_warehouse"],
  search: ["name", "code"],
  sort: [
    "created_at",
    "name",
    "code",
    "status",
    "total_capacity",
    "available_capacity",
    "updated_at",
  ],
  params: {
    status: oneOf("status", statuses),
    code: equal("code"),
    customer_id: {
      ...id("id"),
      condition: (value) =>
        `exists (select from warehousing.warehouses w where w.id = r.id
          and warehousing.warehouse_open_to(w, (${value} #>> '{}')::uuid))`,
    },
    carrier_code: {
      ...equal("id"),
      condition: (value) =>
        `r.id in (select c.warehouse_id from warehousing.carrier_warehouses c
          where c.carrier_code = ${value} #>> '{}')`,
    },
    total_capacity_order: order,
    available_capacity_order: order,
  },
  columns: {
    name: contains("name"),
    code: contains("code"),
    city: contains("city"),
    country: contains("country"),
    status: oneOf("status", statuses),
    access_mode: oneOf("access_mode", accessModes),
    total_capacity: number("total_capacity"),
    available_capacity: number("available_capacity"),
    created_at: period("created_at"),
  },
  limit: { default: 10, max: 100 },
  // Beside the figures: what each warehouse is called at the carrier that was asked for.
  summary: {
    sql: () =>
      `jsonb_build_object(
        'stats', warehousing.warehouses_stats(($1 #>> '{param,customer_id}')::uuid),
        'carrier', (select coalesce(jsonb_object_agg(c.warehouse_id,
            jsonb_build_object('external_id', c.external_id, 'external_name', c.external_name)), '{}')
          from warehousing.carrier_warehouses c where c.carrier_code = $1 #>> '{param,carrier_code}'))`,
  },
});

/** The older ways to say how to sort win over `sort_by`. */
function withLegacyOrder(query: ListQuery): ListQuery {
  for (const by of ["total_capacity", "available_capacity"]) {
    const direction = query.filters[`${by}_order`] as "asc" | "desc" | undefined;
    if (direction) return { ...query, sort_by: by, sort_order: direction };
  }
  return query;
}

export const warehouseList = { query: list.query.transform(withLegacyOrder), run: list.run };
