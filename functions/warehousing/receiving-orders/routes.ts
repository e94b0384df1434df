import { z } from "zod";
import { anyOf, permission, role } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import { defineList, id, since, someOf, until } from "../../../shared/api/list.ts";
import {
  Id,
  ids,
  JsonObject,
  listResponse,
  LongText,
  NamedRef,
  Person,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";

const statuses = ["pending", "received", "cancelled"] as const;
const sources = [
  "inbound",
  "failed_delivery_return",
  "delivery_return_handoff",
  "supplier",
] as const;
const conditions = z.enum(["good", "damaged"]);

const Order = z.object({
  id: Id,
  tenant_id: Id,
  reference_number: z.string(),
  warehouse_id: Id,
  source: z.enum(sources),
  status: z.enum(statuses),
  custody: z.enum(["awaiting_warehouse_receipt", "in_warehouse"]),
  delivery_id: Id.nullable(),
  exception_id: Id.nullable(),
  notes: z.string().nullable(),
  created_by: Id.nullable(),
  received_by: Id.nullable(),
  received_at: Timestamp.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
  warehouse: NamedRef,
  delivery: JsonObject.nullable(),
  receiver: Person.nullable(),
  item_details: z.array(z.object({
    item_id: Id,
    item: z.object({ id: Id, name: z.string(), sku: z.string() }),
    quantity: z.int(),
    received_quantity: z.int().nullable(),
    bin_id: Id.nullable(),
    condition: conditions.nullable(),
    damaged_quantity: z.int().describe("Of what was received"),
  })),
}).meta({ id: "ReceivingOrder" });

const Update = z.object({
  status: z.enum(["received", "cancelled"]),
  item_details: z.array(z.object({
    item_id: Id.nullish(),
    bin_id: Id.nullish(),
    received_quantity: z.int().min(0).max(1_000_000_000).nullish(),
    condition: conditions.nullish(),
    damaged_quantity: z.int().min(0).max(1_000_000_000).nullish().describe(
      "Of what was received; without it all of what is `damaged` is",
    ),
  })).max(1_000).nullish().describe(
    "One entry a line at most: the lines of `item_id`, which share what came of it, else the line in the entry's place",
  ),
  notes: LongText.nullish(),
}).meta({ id: "UpdateReceivingOrder" });

const ordersList = defineList({
  view: "warehousing.receiving_orders_list",
  search: ["reference_number"],
  sort: ["created_at"],
  params: {
    warehouse_id: id("warehouse_id"),
    status: someOf("status", statuses),
    source: someOf("source", sources),
    delivery_id: id("delivery_id"),
    date_from: since("created_at"),
    date_to: until("created_at"),
  },
  limit: { default: 20, max: 100 },
});

const lookers = permission("view:tenant", "manage:operations:tenant", "manage:module:warehouse");

/** Goods on their way into a warehouse. */
export const receivingOrders: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/receiving-orders",
    summary: "List receiving orders",
    access: lookers,
    query: ordersList.query,
    response: listResponse(Order),
    run: ({ db, query }) => ordersList.answer(db, query),
  }),
  endpoint({
    method: "get",
    path: "/receiving-orders/:receiving_order_id",
    version: versionedBy("warehousing.receiving_orders", "receiving_order_id"),
    summary: "Read a receiving order",
    access: lookers,
    params: ids("receiving_order_id"),
    response: z.object({ order: Order }),
    errors: ["receiving_order_not_found"],
    run: ({ db, params }) =>
      db.call("warehousing.receiving_order_get", { id: params.receiving_order_id }),
  }),
  endpoint({
    method: "put",
    path: "/receiving-orders/:receiving_order_id",
    version: versionedBy("warehousing.receiving_orders", "receiving_order_id"),
    summary:
      "Receive the goods, or cancel the receiving order; a repetition returns the same answer",
    access: anyOf(
      permission("manage:operations:tenant", "manage:module:warehouse"),
      role("warehouse_staff"),
    ),
    params: ids("receiving_order_id"),
    body: Update,
    response: z.object({ order: Order }),
    errors: [
      "receiving_order_not_found",
      "invalid_status_transition",
      "bin_id_required_for_received_items",
      "bin_not_found",
      "bin_inactive",
      "bin_of_sorting_session",
      "inventory_item_not_found",
      "item_named_twice",
      "received_too_much",
      "damaged_too_much",
      "serial_number_taken",
    ],
    run: ({ db, params, body }) =>
      db.call("warehousing.receiving_order_update", { ...body, id: params.receiving_order_id }),
  }),
];
