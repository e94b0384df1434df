/** The list of delivery services: its filters, and what of the query is no filter. */
import { z } from "zod";
import {
  contains,
  defineList,
  equal,
  type Filter,
  flag,
  id,
  type ListQuery,
  number,
  oneOf,
  period,
} from "../../../shared/api/list.ts";
import { Id, Timestamp } from "../../../shared/schemas/schemas.ts";
import { Service, serviceLevels } from "./schemas.ts";

/** Part of the query that narrows nothing by itself. */
const aside = (schema: z.ZodType): Filter => ({ schema, condition: () => "true" });

const option = (name: string): Filter => ({
  ...flag("service_options"),
  condition: (value) => `(r.service_options -> '${name}' = 'true') = (${value} #>> '{}')::boolean`,
});

const typeCode: Filter = {
  ...equal("delivery_type"),
  condition: (value) => `r.delivery_type ->> 'code' = ${value} #>> '{}'`,
};

const services = defineList({
  view: "delivery.services_list",
  search: ["search_names", "code"],
  hidden: ["search_names"],
  sort: [
    "created_at",
    "name",
    "code",
    "default_price",
    "unit_min",
    "unit_max",
    "service_level",
    "estimated_delivery_time_min",
    "estimated_delivery_time_max",
    "priority",
    "updated_at",
  ],
  params: {
    service_level: oneOf("service_level", serviceLevels),
    active: flag("active"),
    allow_returns: flag("allow_returns"),
    delivery_type: {
      ...id("delivery_type"),
      condition: (value) => `(r.delivery_type ->> 'id')::uuid = (${value} #>> '{}')::uuid`,
    },
    delivery_type_code: typeCode,
    customer_id: {
      ...id("id"),
      condition: (value) =>
        `exists (select from delivery.delivery_services s where s.id = r.id
          and delivery.service_open_to(s, delivery.service_access_user((${value} #>> '{}')::uuid)))`,
    },
    context: {
      schema: z.literal("g2g"),
      condition: () => "r.id = any (coalesce((select delivery.g2g_services()), array[r.id]))",
    },
    price_order: aside(z.enum(["asc", "desc"])),
    include_stats: aside(z.enum(["true", "false"])),
  },
  columns: {
    name: contains("name"),
    code: contains("code"),
    description: contains("description"),
    service_level: oneOf("service_level", serviceLevels),
    delivery_type_code: typeCode,
    active: flag("active"),
    allow_returns: flag("allow_returns"),
    default_price: number("default_price"),
    unit_min: number("unit_min"),
    unit_max: number("unit_max"),
    estimated_delivery_time_min: number("estimated_delivery_time_min"),
    estimated_delivery_time_max: number("estimated_delivery_time_max"),
    signature_required: option("signature_required"),
    insurance_available: option("insurance_available"),
    created_at: period("created_at"),
  },
  limit: { default: 10, max: 100 },
  tally: { name: "services", filters: ["active"], within: `'{"deleted_at": null}'::jsonb` },
});

/** `price_order` is the older way to say how to sort; `sort_by` wins over it. */
function withPriceOrder(query: ListQuery): ListQuery {
  const order = query.filters.price_order as "asc" | "desc" | undefined;
  if (!order || query.sort_by) return query;
  return { ...query, sort_by: "default_price", sort_order: order };
}

export const serviceList = {
  query: services.query.transform(withPriceOrder),
  run: services.run,
};

const Stats = z.object({
  totalServices: z.int(),
  activeServices: z.int(),
  deliveryTypesCount: z.int(),
  recentlyAdded: z.array(
    z.object({ id: Id, code: z.string(), name: z.string(), created_at: Timestamp }),
  ),
}).meta({ id: "ServiceStats" });

export const ServicesResponse = z.object({
  deliveryServices: z.array(Service),
  stats: Stats.nullable().describe("Null when they were not asked for"),
  page: z.int(),
  limit: z.int(),
  total: z.int(),
});
