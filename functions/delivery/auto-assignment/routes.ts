import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, status } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { AutoAssign, AutoAssignResponse } from "./schemas.ts";

/** Automatic assignment, started by hand. */
export const autoAssignment: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/deliveries/:delivery_id/auto-assign",
    summary: "Search for a driver again, with all attempts; or say who would be asked",
    access: permission("manage:operations:tenant"),
    params: ids("delivery_id"),
    body: AutoAssign,
    response: AutoAssignResponse,
    status: 202,
    otherStatus: 200,
    errors: ["delivery_not_found", "delivery_not_auto_assignable", "delivery_status_changed"],
    async run({ db, params, body }) {
      const data = await db.call("delivery.auto_assign", { ...body, id: params.delivery_id });
      return body.dry_run ? { data, [status]: 200 } : { data };
    },
  }),
];
