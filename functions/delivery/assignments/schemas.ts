import { z } from "zod";
import { asciiDigits } from "../../../shared/schemas/digits.ts";
import {
  containing,
  contains,
  defineList,
  type Filter,
  id,
  type ListQuery,
  period,
  someOf,
} from "../../../shared/api/list.ts";
import {
  DayOrKeptInstant,
  Id,
  Latitude,
  Longitude,
  LongText,
  PersonRef,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { carriedFields } from "../../../shared/schemas/carried-delivery.ts";
import { driverFilter, withDriverIdFilter } from "../driver-id-filter.ts";

export const assignmentStatuses = [
  "pending",
  "assigned",
  "accepted",
  "rejected",
  "completed",
  "returned",
] as const;

/** Apps count from 0 or from 1. */
const Position = z.int().min(0).max(1_000_000);
const ReplaceOffer = z.boolean().nullish().describe(
  "Takes what an automatic assignment has only offered from the driver who was asked",
);
const DeliveryIds = z.array(Id).min(1).max(1_000);

const PromisedUntil = DayOrKeptInstant.describe("A time, or a day: until it ends");

export const CreateAssignment = z.object({
  delivery_id: Id,
  driver_id: Id.nullish().describe(
    "May be left out where the tenant's default driver carries manifest parcels into the warehouse",
  ),
  vehicle_id: Id.nullish(),
  estimated_pickup_time: PromisedUntil.nullish(),
  estimated_delivery_time: PromisedUntil.nullish(),
  sequence_number: Position.nullish(),
  notes: LongText.nullish(),
  replace_offer: ReplaceOffer,
}).meta({ id: "CreateAssignment" });
export const AssignmentCreated = z.object({ id: Id, resolved_delivery_id: Id.optional() });

export const CreateBulk = z.object({
  driver_id: Id,
  delivery_ids: DeliveryIds,
  dry_run: z.boolean().nullish().describe(
    "Says of every delivery whether it would pass, and writes nothing",
  ),
  replace_offer: ReplaceOffer,
}).meta({ id: "CreateAssignments" });
export const BulkMade = z.object({
  assignment_ids: z.array(Id),
  bulk_assignment_id: Id,
  count: z.int(),
  total_units: z.number(),
  driver_capacity_used: z.number(),
  resolved_deliveries: z.array(z.object({ requested_delivery_id: Id, assigned_delivery_id: Id }))
    .optional(),
}).meta({ id: "BulkMade" });
const Foreseen = z.object({
  delivery_id: Id,
  assigned_delivery_id: Id.optional(),
  ok: z.boolean(),
  code: z.string().optional(),
  message: z.string().optional(),
  missing_zones: z.array(Id).optional(),
}).meta({ id: "ForeseenAssignment" });
const BulkForeseen = z.object({
  dry_run: z.literal(true),
  ok: z.boolean(),
  results: z.array(Foreseen),
  capacity: z.object({ vehicle: z.number().nullable(), used: z.number(), after: z.number() }),
}).meta({ id: "BulkForeseen" });
export const BulkResponse = z.union([BulkMade, BulkForeseen]);
export type BulkAnswer = z.infer<typeof BulkMade> | z.infer<typeof BulkForeseen>;

export const AnswerAssignment = z.object({
  status: z.enum(["accepted", "rejected"]),
  reason: LongText.nullish(),
}).meta({ id: "AnswerAssignment" });
const Answered = z.object({ status: z.string(), updated_count: z.int() });
export const BulkAnswered = Answered.extend({ bulk_assignment_id: Id });
export const AssignmentAnswered = Answered.extend({ id: Id });

export const Unassign = z.object({ reason: LongText.nullish() }).meta({ id: "UnassignDeliveries" });
export const Unassigned = z.object({ id: Id, delivery_id: Id, status: z.literal("returned") });

export const HandOver = z.object({
  to_driver_id: Id,
  delivery_ids: DeliveryIds.nullish(),
  picked_up: z.boolean().nullish().describe(
    "Whether parcels that are picked up go along, which is so unless false is sent",
  ),
}).meta({ id: "HandOverAssignments" });
export const HandedOver = z.object({
  bulk_assignment_id: Id,
  assignment_ids: z.array(Id),
  count: z.int(),
  to_confirm: z.int().describe(
    "How many of them are on the road: the new driver accepts before anything is done with them",
  ),
  total_units: z.number(),
  driver_capacity_used: z.number(),
  kept: z.array(z.object({ assignment_id: Id, delivery_id: Id, status: z.string() })),
});

const Who = z.object({ id: Id, full_name: z.string(), phone: z.string().nullable() });
const Assignment = z.object({
  id: Id,
  tenant_id: Id,
  delivery_id: Id,
  bulk_assignment_id: Id.nullable(),
  assignment_time: Timestamp,
  status: z.enum(assignmentStatuses),
  assignment_status: z.enum(assignmentStatuses),
  requires_driver_response: z.boolean(),
  sequence_number: z.int(),
  estimated_pickup_time: Timestamp.nullable(),
  estimated_delivery_time: Timestamp.nullable(),
  notes: z.string().nullable(),
  responded_at: Timestamp.nullable(),
  response_reason: z.string().nullable(),
  delivery: z.object({
    id: Id,
    delivery_code: z.int(),
    external_reference_id: z.string().nullable(),
    customer: Who.nullable(),
    barcode: z.string(),
    parent_id: Id.nullable(),
    leg: z.enum(["A", "B"]).nullable(),
    postponed_to: z.string().nullable().describe(
      "The day, YYYY-MM-DD, to which its receiver postponed it",
    ),
    ...carriedFields,
  }).nullable(),
  drivers: z.object({ id: Id, user: Who.nullable() }),
  vehicle: z.object({ id: Id, name: z.string(), image_url: z.string().nullable() }).nullable(),
  assigned_by: PersonRef.nullable(),
  customer: Who.extend({ email: z.string().nullable() }).nullish(),
  delivery_details: z.record(z.string(), z.unknown()).nullish(),
  route: z.record(z.string(), z.unknown()).nullish(),
}).meta({ id: "Assignment" });

const extras = ["customer", "delivery_details", "route"] as const;
type Extra = typeof extras[number];

/** An id or a text of the delivery, found before the assignments are looked at. */
const ofDelivery = (
  filter: Filter,
  column: string,
  compare: (column: string, value: string) => string,
): Filter => ({
  ...filter,
  condition: (value) =>
    `r.delivery_id in (select d.id from delivery.deliveries d
      where d.tenant_id = (select app.tenant_id()) and ${
      compare(`d.${column}`, `(${value} #>> '{}')`)
    })`,
});

const declared = defineList({
  view: "delivery.assignments_list",
  readBy: "assignment_time",
  changes: "delivery.assignments",
  sort: ["assignment_time"],
  params: {
    status: someOf("status", assignmentStatuses),
    driver_id: driverFilter("delivery.driver_filter"),
    delivery_id: id("delivery_id"),
    bulk_assignment_id: id("bulk_assignment_id"),
    include: {
      schema: z.string().max(100).regex(
        /^\s*(customer|delivery_details|route)\s*(,\s*(customer|delivery_details|route)\s*)*$/,
      ),
      condition: () => "true",
    },
  },
  columns: {
    status: someOf("status", assignmentStatuses),
    driver_id: id("driver_id"),
    vehicle_id: id("vehicle_id"),
    delivery_id: id("delivery_id"),
    assigned_by: id("assigned_by_id"),
    bulk_assignment_id: id("bulk_assignment_id"),
    external_reference_id: ofDelivery(
      contains("delivery"),
      "external_reference_id",
      containing,
    ),
    delivery_code: ofDelivery(
      {
        schema: z.union([
          z.int().min(1).max(Number.MAX_SAFE_INTEGER),
          z.string().overwrite(asciiDigits).regex(/^[1-9]\d{0,14}$/),
        ]),
        condition: () => "true",
      },
      "delivery_code",
      (column, value) => `${column} = ${value}::bigint`,
    ),
    assignment_time: period("assignment_time"),
  },
  limit: { default: 10, max: 100 },
  tally: { name: "assignments", filters: ["status", "driver_id"] },
  // Filters do not narrow the counters.
  summary: { sql: () => "delivery.assignment_stats()" },
});

const assignments = withDriverIdFilter(declared, "delivery.require_driver_id");

export const assignmentList = { query: assignments.query, run: runList };

/** Reads the columns that are shown: some only when they are asked for by `include`. */
function runList(db: Parameters<typeof assignments.run>[0], query: ListQuery) {
  const { include, ...filters } = query.filters;
  const asked = new Set(String(include ?? "").split(",").map((word) => word.trim()));
  const left = extras.filter((name: Extra) => !asked.has(name)) as readonly string[];
  const fields = (query.fields ?? Object.keys(Assignment.shape)).filter((name) =>
    !left.includes(name)
  );
  return assignments.run(db, { ...query, filters, fields });
}

export const AssignmentsResponse = z.object({
  assignments: z.array(Assignment),
  page: z.int(),
  limit: z.int(),
  total: z.int(),
  stats: z.object({
    totalAssignments: z.int(),
    pendingAssignments: z.int(),
    completedAssignments: z.int(),
    recentlyAddedCount: z.int(),
  }),
});

export const SequenceResponse = z.object({ assignments: z.array(Assignment), total: z.int() });
export const SetSequence = z.object({
  assignments: z.array(z.object({ assignment_id: Id, sequence_number: Position })).min(1).max(
    1_000,
  ),
}).meta({ id: "SetSequence" });
export const SequenceSet = z.object({ updated_count: z.int() });

export const SuggestSequence = z.object({ latitude: Latitude, longitude: Longitude }).partial()
  .refine(({ latitude, longitude }) => (latitude === undefined) === (longitude === undefined), {
    error: "invalid_coordinates",
    path: ["latitude"],
  }).meta({ id: "SuggestSequence" });
export const SequenceSuggested = z.object({
  assignments: z.array(z.object({ assignment_id: Id, sequence_number: z.int() })),
  stops: z.array(z.object({
    assignment_id: Id,
    delivery_id: Id,
    delivery_code: z.int(),
    type: z.enum(["pickup", "dropoff"]),
    latitude: z.number(),
    longitude: z.number(),
    distance_km: z.number(),
  })),
  unplaced: z.array(Id).describe(
    "Assignments without coordinates: they keep their order, behind the others",
  ),
  distance_km: z.number(),
  distance_saved_km: z.number().describe("Below 0 where a longer way is what being on time takes"),
  measured_by: z.enum(["road", "estimate"]).describe(
    "By the roads, or estimated from great circles and 30 km/h",
  ),
  late_stops: z.int().describe("Stops that are reached after the time at which they are due"),
  minutes: z.int().describe("Until the last stop is done: driving, waiting and 3 minutes a stop"),
});
