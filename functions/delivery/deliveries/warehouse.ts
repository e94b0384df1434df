import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { warehouseOrOperations } from "../access.ts";
import { DeliveryMade, Executed } from "./move-schemas.ts";
import { returning } from "./office.ts";
import { Execute, ExecuteUndo, OperationalReturn } from "./schemas.ts";

const params = ids("delivery_id");

/** Calls of a warehouse for deliveries that are stored there. */
export const deliveryInWarehouse: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/deliveries/:delivery_id/execute",
    summary: "Pick a parcel for its driver: all of it is reserved; again answers the same",
    access: warehouseOrOperations,
    params,
    body: Execute,
    response: Executed,
    errors: [
      "delivery_not_found",
      "delivery_not_executable",
      "invalid_status_transition",
      "return_under_way",
      "warehouse_preparation_inconsistent",
    ],
    run: ({ db, params, body }) =>
      db.call("delivery.delivery_execute", { ...body, id: params.delivery_id }),
  }),
  endpoint({
    method: "post",
    path: "/deliveries/:delivery_id/execute/undo",
    summary: "Undo the preparation of a parcel that no driver is given: what was reserved is free",
    access: warehouseOrOperations,
    params,
    body: ExecuteUndo,
    response: Executed,
    errors: [
      "delivery_not_found",
      "delivery_not_executable",
      "invalid_status_transition",
      "delivery_not_prepared",
    ],
    run: ({ db, params, body }) =>
      db.call("delivery.delivery_execute_undo", { ...body, id: params.delivery_id }),
  }),
  endpoint({
    method: "post",
    path: "/deliveries/:delivery_id/operational-return",
    summary: "Return a stored parcel to its sender, or elsewhere, by a delivery of its own",
    access: permission("manage:operations:tenant", "manage:module:warehouse"),
    params,
    body: OperationalReturn,
    response: DeliveryMade,
    status: 201,
    errors: [
      "delivery_not_found",
      "delivery_not_in_warehouse",
      "invalid_status_transition",
      "service_not_found",
      ...returning,
    ],
    run: ({ db, params, body }) =>
      db.call("delivery.delivery_operational_return", { ...body, id: params.delivery_id }),
  }),
];
