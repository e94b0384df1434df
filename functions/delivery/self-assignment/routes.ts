import { role } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { answerOf, clamp } from "../../../shared/api/list.ts";
import { obstacles } from "../assignments/routes.ts";
import { BulkMade } from "../assignments/schemas.ts";
import { OpenQuery, OpenResponse, pageSize, SelfAssign } from "./schemas.ts";

/** Drivers who choose their deliveries themselves. */
export const selfAssignment: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/assignments/open",
    summary: "Pending deliveries that the driver could take now, the nearest pickup first",
    access: role("driver"),
    query: OpenQuery,
    response: OpenResponse,
    errors: ["self_assignment_disabled", "driver_not_found", "driver_off_duty"],
    async run({ db, query }) {
      const page = clamp(query.page, 1, 1_000, 1);
      const limit = clamp(query.limit, 1, pageSize.max, pageSize.default);
      const open = await db.call<{ rows: Record<string, unknown>[]; total: number }>(
        "delivery.assignments_open",
        { limit, offset: (page - 1) * limit },
      );
      return answerOf({ ...open, page, limit });
    },
  }),
  endpoint({
    method: "post",
    path: "/assignments/self",
    summary: "Take deliveries, all or none; for a driver on duty",
    access: role("driver"),
    body: SelfAssign,
    response: BulkMade,
    status: 201,
    errors: [
      "self_assignment_disabled",
      "delivery_postponed",
      "driver_off_duty",
      ...obstacles,
      "deliveries_zone_context_incomplete",
    ],
    run: ({ db, body }) => db.call("delivery.self_assign", body),
  }),
];
