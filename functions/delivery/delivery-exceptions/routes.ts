import { z } from "zod";
import { anyOf, permission, role } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { contains, defineList, equal, id, since, someOf, until } from "../../../shared/api/list.ts";
import {
  Id,
  ids,
  JsonObject,
  listResponse,
  LongText,
  Text,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { maxBytes, maxListFieldBytes, maxPackageLines } from "../../../shared/schemas/sizes.ts";
import { staffOrDeliveryPeople, warehouseOrOperations } from "../access.ts";
import { deliveryStatuses } from "../../../shared/schemas/delivery-statuses.ts";

const statuses = ["open", "resolved"] as const;

const Exception = z.object({
  id: Id,
  tenant_id: Id,
  delivery_id: Id,
  type: z.string(),
  status: z.enum(statuses),
  items: z.array(JsonObject),
  notes: z.string().nullable(),
  resolution: z.string().nullable(),
  resolution_notes: z.string().nullable(),
  created_by: Id.nullable(),
  resolved_by: Id.nullable(),
  resolved_at: Timestamp.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
  delivery_code: z.int(),
  delivery_status: z.enum(deliveryStatuses),
  delivery: JsonObject,
}).meta({ id: "DeliveryException" });

const NewException = z.object({
  type: z.string().trim().min(1).max(64),
  notes: LongText.nullish(),
  items: maxBytes(
    maxListFieldBytes,
    z.array(z.object({
      delivery_item_id: Id,
      quantity: z.int().min(1).max(1_000_000).optional(),
      condition: z.string().trim().min(1).max(64).optional(),
    })).max(maxPackageLines),
  ).nullish(),
}).meta({ id: "NewDeliveryException" });

const exceptionsList = defineList({
  view: "delivery.delivery_exceptions_list",
  sort: ["created_at"],
  params: {
    status: someOf("status", statuses),
    delivery_id: id("delivery_id"),
    type: equal("type"),
    date_from: since("created_at"),
    date_to: until("created_at"),
  },
  columns: {
    status: someOf("status", statuses),
    type: contains("type"),
  },
  limit: { default: 20, max: 100 },
});

/** Delivery exceptions and their resolution. */
export const deliveryExceptions: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/deliveries/:delivery_id/exceptions",
    summary: "Report a delivery exception. The delivery cannot be assigned until it is resolved.",
    access: anyOf(
      permission("manage:operations:tenant", "manage:module:warehouse"),
      role("driver"),
    ),
    params: ids("delivery_id"),
    body: NewException,
    response: z.object({ exception: Exception, receiving_order_id: Id.nullable() }),
    status: 201,
    errors: [
      "delivery_not_found",
      "assignment_ended",
      "assignment_not_accepted",
      "delivery_item_not_found",
      "delivery_ended",
    ],
    run: ({ db, params, body }) =>
      db.call("delivery.delivery_exception_open", { ...body, id: params.delivery_id }),
  }),
  endpoint({
    method: "get",
    path: "/delivery-exceptions",
    summary: "List exceptions; drivers, customers and institutions see those of their deliveries",
    access: staffOrDeliveryPeople,
    query: exceptionsList.query,
    response: listResponse(Exception),
    run: ({ db, query }) => exceptionsList.answer(db, query),
  }),
  endpoint({
    method: "post",
    path: "/delivery-exceptions/:delivery_exception_id/resolve",
    summary: "Resolve an exception",
    access: warehouseOrOperations,
    params: ids("delivery_exception_id"),
    body: z.object({ resolution: Text, notes: LongText.nullish() }),
    response: z.object({ exception: Exception }),
    errors: ["delivery_exception_not_found", "delivery_exception_resolved"],
    run: ({ db, params, body }) =>
      db.call("delivery.delivery_exception_resolve", { ...body, id: params.delivery_exception_id }),
  }),
];
