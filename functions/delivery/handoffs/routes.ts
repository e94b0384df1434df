import { z } from "zod";
import { anyOf, permission, role } from "../../../shared/api/access.ts";
import { carriedFields } from "../../../shared/schemas/carried-delivery.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { defineList, id, someOf } from "../../../shared/api/list.ts";
import {
  Id,
  ids,
  listResponse,
  NamedRef,
  Person,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { CashMoveResponse } from "../deliveries/answer-schemas.ts";
import { Pickup } from "../deliveries/schemas.ts";
import { operationsOrDriver } from "../access.ts";

const statuses = ["pending", "completed", "cancelled"] as const;

const Handoff = z.object({
  id: Id,
  tenant_id: Id,
  delivery_id: Id,
  picking_order_id: Id,
  assignment_id: Id.nullable(),
  driver_id: Id.nullable(),
  status: z.enum(statuses),
  custody: z.enum(["warehouse", "driver"]),
  warehouse_id: Id,
  completed_at: Timestamp.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
  delivery: z.looseObject(carriedFields),
  warehouse: NamedRef,
  driver: Person.nullable(),
}).meta({ id: "Handoff" });

const handoffsList = defineList({
  view: "delivery.handoffs_list",
  sort: ["created_at"],
  params: {
    driver_id: id("driver_id"),
    delivery_id: id("delivery_id"),
    warehouse_id: id("warehouse_id"),
    status: someOf("status", statuses),
  },
  limit: { default: 20, max: 100 },
});

/** Parcels that a warehouse puts into drivers' hands. */
export const handoffs: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/handoffs",
    summary: "List handoffs; drivers see their own",
    access: anyOf(permission("view:tenant"), role("driver")),
    query: handoffsList.query,
    response: listResponse(Handoff),
    run: ({ db, query }) => handoffsList.answer(db, query),
  }),
  endpoint({
    method: "post",
    path: "/handoffs/:handoff_id/pickup",
    summary: "Confirm a handoff: the stock leaves the warehouse and the driver has custody",
    access: operationsOrDriver,
    params: ids("handoff_id"),
    body: Pickup,
    response: CashMoveResponse.extend({ handoff: Handoff }),
    errors: [
      "handoff_not_found",
      "handoff_not_pending",
      "delivery_not_found",
      "assignment_ended",
      "invalid_status_transition",
      "assignment_not_accepted",
      "invalid_occurred_at",
      "delivery_status_changed",
      "invalid_proof_url",
      "delivery_proof_required",
      "cash_amount_mismatch",
      "warehouse_preparation_inconsistent",
    ],
    run: ({ db, params, body }) =>
      db.call("delivery.handoff_pickup", { ...body, id: params.handoff_id }),
  }),
];
