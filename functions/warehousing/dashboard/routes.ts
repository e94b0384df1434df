import { z } from "zod";
import { anyOf, permission, role } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { translate } from "../../../shared/i18n/index.ts";
import { Id, NamedRef, Timestamp } from "../../../shared/schemas/schemas.ts";

const activityTypes = [
  "inventory_initial_stock",
  "inventory_received",
  "inventory_picked",
  "inventory_moved",
  "inventory_adjusted",
  "inventory_returned",
  "inventory_counted",
  "inventory_transferred_in",
  "inventory_transferred_out",
  "inventory_transaction",
] as const;

const Location = z.object({ id: Id, code: z.string() }).nullable();

const DashboardResponse = z.object({
  warehouse: NamedRef,
  status: z.object({
    available_units: z.int(),
    reserved_units: z.int(),
    damaged_units: z.int(),
    expired_units: z.int(),
    other_units: z.int(),
    total_units: z.int(),
  }),
  recent_activity: z.array(z.object({
    id: Id,
    type: z.enum(activityTypes),
    label: z.string(),
    quantity: z.int(),
    timestamp: Timestamp,
    item: z.object({ id: Id, name: z.string(), sku: z.string() }),
    performed_by: z.object({ id: Id.nullable(), name: z.string().nullable() }),
    from_location: Location,
    to_location: Location,
    reference: z.object({ id: Id.nullable(), type: z.string().nullable() }),
  })),
});

const DashboardQuery = z.object({
  warehouse_id: z.guid({
    error: ({ input }) => input === undefined ? "warehouse_id_required" : "invalid_uuid",
  }),
});

/** The warehouse as somebody who works there sees it, live. */
export const dashboard: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/dashboard",
    summary: "Show the stock and the latest activity of the caller's warehouse",
    access: anyOf(
      permission("manage:module:warehouse"),
      role("warehouse_manager", "warehouse_staff"),
    ),
    query: DashboardQuery,
    response: DashboardResponse,
    errors: ["warehouse_id_required", "warehouse_assignment_required", "warehouse_inactive"],
    async run(context) {
      const seen = await context.db.call<{ recent_activity: { type: string }[] }>(
        "warehousing.dashboard",
        { warehouse_id: context.query.warehouse_id },
      );
      const language = context.language();
      return {
        ...seen,
        recent_activity: seen.recent_activity.map((activity) => ({
          ...activity,
          label: translate(language, `activity_${activity.type}`),
        })),
      };
    },
  }),
];
