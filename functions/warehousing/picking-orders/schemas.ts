import { z } from "zod";
import { asciiDigits } from "../../../shared/schemas/digits.ts";
import { defineList, flag, foundBy, id, type ListQuery, someOf } from "../../../shared/api/list.ts";
import {
  DayOrKeptInstant,
  Id,
  Instant,
  LongText,
  NamedRef,
  PersonRef,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { seesAllWarehouses } from "../access.ts";

const statuses = ["pending", "in_progress", "completed", "handed_off", "cancelled"] as const;
const orderTypes = ["individual", "batch", "waybill"] as const;

const Count = z.int().min(0).max(1_000_000_000);

/** Whole units; a fraction of one is refused by a code of its own. */
const Quantity = z.int({
  error: (issue) =>
    issue.code === "invalid_type" && typeof issue.input === "number"
      ? "quantity_must_be_whole"
      : undefined,
}).min(1).max(1_000_000_000);

const Lines = z.array(z.object({
  item_id: Id,
  bin_id: Id,
  quantity: Quantity,
  picked_quantity: Count.nullish().describe(
    "The picked quantity; without it what was recorded stays. As long as every line says 0 and none has a status of its own (`missing`, say), nobody has recorded anything, and completing takes all",
  ),
  status: z.string().trim().min(1).max(50).nullish(),
})).min(1).max(1_000);

const Progress = z.object({
  total_items: Count.describe(
    "Answers count the lines, whatever is said here and of `picked_items`",
  ),
  picked_items: Count,
  start_time: Instant.nullable(),
  end_time: Instant.nullable(),
  picker_notes: LongText.nullable(),
}).partial().meta({ id: "PickingProgress" });

const Labels = z.object({
  reference_number: z.string().trim().min(1).max(100).nullish(),
  external_reference: z.string().trim().min(1).max(200).nullish(),
  priority: z.int32().nullish(),
});

const Voluntary = z.object({
  assigned_to: Id.nullable(),
  picking_progress: Progress.nullable(),
  notes: LongText.nullable(),
  due_date: DayOrKeptInstant.nullable().describe("A time, or a day: until it ends"),
}).partial();

export const CreatePickingOrder = z.object({
  warehouse_id: Id,
  order_type: z.enum(orderTypes),
  status: z.enum(["pending", "in_progress", "completed", "cancelled"]),
  item_details: Lines,
}).extend(Labels.shape).extend(Voluntary.shape).meta({ id: "CreatePickingOrder" });

export const UpdatePickingOrder = z.object({
  status: z.enum(statuses),
  item_details: Lines,
  reference_number: Labels.shape.reference_number.unwrap().unwrap().describe(
    "As long as the order is pending, as are the references and the priority",
  ),
  priority: z.int32(),
}).partial().extend({ external_reference: Labels.shape.external_reference }).extend(
  Voluntary.shape,
).meta({ id: "UpdatePickingOrder" });

/** A picker's report: the progress of the order and the quantities picked of the named lines. */
export const ReportProgress = z.object({
  status: z.enum(["in_progress", "completed"]),
  items: z.array(z.object({
    item_id: Id,
    bin_id: Id,
    picked_quantity: Count,
  })).max(1_000).refine(
    (items) =>
      new Set(items.map(({ item_id, bin_id }) => `${item_id} ${bin_id}`)).size === items.length,
    { params: { reason_key: "reason_place_twice" } },
  ),
  picker_notes: LongText.nullish(),
}).meta({ id: "ReportProgress" });

const Order = z.object({
  id: Id,
  tenant_id: Id,
  warehouse_id: Id,
  reference_number: z.string(),
  external_reference: z.string().nullable(),
  order_type: z.enum(orderTypes),
  priority: z.int(),
  status: z.enum(statuses),
  item_details: z.array(z.object({
    item_id: Id,
    bin_id: Id,
    quantity: z.int(),
    picked_quantity: z.int(),
    status: z.string(),
  })),
  picking_progress: z.object({
    total_items: z.int(),
    picked_items: z.int(),
    start_time: Timestamp.nullable(),
    end_time: Timestamp.nullable(),
    picker_notes: z.string().nullable(),
  }),
  notes: z.string().nullable(),
  due_date: Timestamp.nullable(),
  completed_date: Timestamp.nullable(),
  assigned_to: Id.nullable(),
  created_by: Id.nullable(),
  delivery_id: Id.nullable().describe("Set: the pick of a delivery, which its driver takes over"),
  order_id: Id.nullable().describe(
    "Set: the pick of a store's order, through which alone it is changed or cancelled",
  ),
  created_at: Timestamp,
  updated_at: Timestamp,
  created_by_user: PersonRef.nullable(),
  assigned_to_user: PersonRef.nullable(),
  warehouse: NamedRef,
}).meta({ id: "PickingOrder" });

const Person = PersonRef.extend({
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  email: z.string().nullable(),
}).meta({ id: "Picker" });

const Stats = z.object({
  pending: z.int(),
  in_progress: z.int(),
  completed: z.int(),
  handed_off: z.int(),
  cancelled: z.int(),
  total: z.int(),
}).meta({ id: "PickingStats" });

export const OrderResponse = z.object({
  order: Order.extend({
    created_by_user: Person.nullable(),
    assigned_to_user: Person.nullable(),
  }),
});
export const OrdersResponse = z.object({
  orders: z.array(Order),
  stats: Stats.describe(
    "Of the tenant, or of the warehouse that was asked for; no other filter applies",
  ),
  status_matrix: Stats,
  page: z.int(),
  limit: z.int(),
  total: z.int(),
});

const list = defineList({
  view: "warehousing.picking_orders_list",
  changes: "warehousing.picking_orders",
  search: ["reference_number"],
  sort: ["created_at", "priority", "due_date", "reference_number", "status", "updated_at"],
  params: {
    warehouse_id: id("warehouse_id"),
    status: someOf("status", statuses),
    order_type: someOf("order_type", orderTypes),
    priority: {
      schema: z.union([
        z.enum(["asc", "desc"]),
        z.string().overwrite(asciiDigits).regex(/^-?\d{1,9}$/),
      ]),
      condition: (value) => `r.priority = (${value} #>> '{}')::integer`,
    },
    completed: {
      ...flag("status"),
      condition: (value) =>
        `(r.status in ('completed', 'handed_off')) = (${value} #>> '{}')::boolean`,
    },
    /** References found by their index; see `withSearch`. */
    found: { ...foundBy("warehousing.picking_orders_with"), schema: z.string().max(200) },
  },
  limit: { default: 20, max: 100 },
  tally: {
    name: "picking_orders",
    filters: ["warehouse_id", "status"],
    readers: seesAllWarehouses,
  },
  summary: {
    sql: (_rows, { wanted }) => `warehousing.picking_stats(${wanted})`,
    ignores: ["status", "order_type", "priority", "completed", "found", "search"],
  },
});

/** `priority` in words says how to sort, as a number what to find. */
function withPriority(query: ListQuery): ListQuery {
  const { priority, ...filters } = query.filters;
  if (priority !== "asc" && priority !== "desc") return query;
  return { ...query, filters, sort_by: "priority", sort_order: priority };
}

/**
 * The index of references pays for itself as long as few of them match: three characters beyond what
 * every reference begins with. Anything else is quicker found by reading on from the newest order.
 */
function withSearch({ search, ...query }: ListQuery): ListQuery {
  const { found: _notOfClients, ...filters } = query.filters;
  if (!search) return { ...query, filters };
  const rare = search.replace(/^p?k?o?-?0*/i, "").length >= 3;
  return rare
    ? { ...query, filters: { ...filters, found: search } }
    : { ...query, filters, search };
}

export const orderList = {
  query: list.query.transform(withPriority).transform(withSearch),
  run: list.run,
};
