import { anyOf, permission, role } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { answerOf, clamp } from "../../../shared/api/list.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { broadcastPositions } from "./broadcast.ts";
import {
  ChangeDuty,
  DutyResponse,
  pageSize,
  PositionsQuery,
  PositionsResponse,
  PositionsTaken,
  SendPositions,
} from "./schemas.ts";

const office = permission("manage:operations:tenant");
const officeOrDriver = anyOf(office, role("driver"));

/** Duty of drivers, and their positions. */
export const driverPositions: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/drivers/me/duty",
    summary: "Go on or off duty; the office does it for the driver it names",
    access: officeOrDriver,
    body: ChangeDuty,
    response: DutyResponse,
    errors: ["driver_not_found", "driver_inactive", "driver_has_parcels"],
    run: async ({ db, body }) => ({ data: await db.call("delivery.duty_change", body) }),
  }),
  endpoint({
    method: "post",
    path: "/drivers/me/positions",
    summary: "Report where the driver is and was, up to 200 points; a sign of life",
    access: role("driver"),
    body: SendPositions,
    response: PositionsTaken,
    status: 202,
    async run({ db, body, waitUntil }) {
      const data = await db.call<{ accepted: number }>("delivery.positions_record", body);
      if (data.accepted > 0) waitUntil(broadcastPositions(db.withoutKey(), db.seen.tenant!));
      return { data };
    },
  }),
  endpoint({
    method: "get",
    path: "/drivers/:driver_id/positions",
    summary: "Where a driver was in at most 24 hours, oldest first; for the office and the driver",
    access: officeOrDriver,
    params: ids("driver_id"),
    query: PositionsQuery,
    response: PositionsResponse,
    errors: ["driver_not_found", "invalid_date_range"],
    async run({ db, params, query }) {
      const page = clamp(query.page, 1, 1_000_000, 1);
      const limit = clamp(query.limit, 1, pageSize.max, pageSize.default);
      const { rows, total } = await db.call<{ rows: Record<string, unknown>[]; total: number }>(
        "delivery.positions_read",
        {
          driver_id: params.driver_id,
          from: query.from,
          to: query.to,
          limit,
          offset: (page - 1) * limit,
        },
      );
      return answerOf({ rows, total, page, limit });
    },
  }),
];
