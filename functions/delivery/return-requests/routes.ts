import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { DeliveryMade } from "../deliveries/move-schemas.ts";
import { Decline } from "./schemas.ts";

const params = ids("delivery_id");
const operations = permission("manage:operations:tenant");

/** Decisions of the office about returns that owners ask for. */
export const returnRequests: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/deliveries/:delivery_id/return-request/approve",
    summary: "Approve a return that its owner asked for: it is charged and waits for a driver",
    access: operations,
    params,
    response: DeliveryMade,
    errors: ["delivery_not_found", "return_request_not_pending", "insufficient_wallet_balance"],
    run: ({ db, params }) => db.call("delivery.return_request_approve", { id: params.delivery_id }),
  }),
  endpoint({
    method: "post",
    path: "/deliveries/:delivery_id/return-request/decline",
    summary: "Decline a return that its owner asked for: its draft is cancelled",
    access: operations,
    params,
    body: Decline,
    response: DeliveryMade,
    errors: ["delivery_not_found", "return_request_not_pending"],
    run: ({ db, params, body }) =>
      db.call("delivery.return_request_decline", { ...body, id: params.delivery_id }),
  }),
];
