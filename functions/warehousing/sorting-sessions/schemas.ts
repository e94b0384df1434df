import { z } from "zod";
import { defineList, id, since, someOf, until } from "../../../shared/api/list.ts";
import { Day, Id, NamedRef, Text, Timestamp } from "../../../shared/schemas/schemas.ts";

const statuses = ["active", "completed"] as const;
const destinationTypes = ["city", "zone", "partner_area"] as const;
const Capacity = z.int().min(1).max(100_000);

export const NewAssignment = z.object({
  staff_id: Id.describe("The staff member's place in the warehouse, or their user id"),
  destination_type: z.enum(destinationTypes),
  destination_value: Text.max(200).describe(
    "A destination may have several: the next is filled when the one before is full",
  ),
  capacity: Capacity.optional().describe("Parcels the cage takes; 10 unless said"),
}).meta({ id: "NewSortingAssignment" });

export const CreateSession = z.object({
  warehouse_id: Id,
  assignments: z.array(NewAssignment).max(100).nullish(),
}).meta({ id: "CreateSortingSession" });
export const CompleteSession = z.object({ status: z.literal("completed") }).meta({
  id: "CompleteSortingSession",
});
export const AddAssignments = z.object({ assignments: z.array(NewAssignment).min(1).max(100) })
  .meta({ id: "AddSortingAssignments" });
export const ChangeAssignment = z.object({
  staff_id: Id.optional(),
  capacity: Capacity.optional(),
}).meta({ id: "ChangeSortingAssignment" });
export const Scan = z.object({
  delivery_barcode: z.string().trim().min(1).max(100).describe(
    "A parcel's barcode; a delivery code where no barcode matches",
  ),
  assignment_id: Id.optional().describe(
    "Which of the matching cages; unless said, the first with room of the most exact kind",
  ),
}).meta({ id: "SortingScan" });

const Location = z.object({
  id: Id,
  code: z.string(),
  name: z.string(),
  location_type: z.enum(["CAGE", "TROLLEY"]),
  total_capacity: z.number(),
  filled_capacity: z.number(),
}).meta({ id: "SortingLocation" });

const Assignment = z.object({
  id: Id,
  session_id: Id,
  staff_id: Id,
  destination_type: z.enum(destinationTypes),
  destination_value: z.string(),
  cage_location_id: Id,
  created_at: Timestamp,
  cage_location: Location,
  staff: z.object({ id: Id, full_name: z.string(), employee_id: z.string().nullable() }),
}).meta({ id: "SortingAssignment" });

const TemporaryLocation = Location.extend({ is_active: z.boolean() }).meta({
  id: "TemporaryLocation",
});

const Session = z.object({
  id: Id,
  tenant_id: Id,
  warehouse_id: Id,
  status: z.enum(statuses),
  started_at: Timestamp,
  ended_at: Timestamp.nullable(),
  created_by: Id.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
  warehouse: NamedRef,
  assignments: z.array(Assignment),
  temporary_locations: z.array(TemporaryLocation),
}).meta({ id: "SortingSession" });

export const SessionResponse = z.object({ session: Session });
export const SessionsResponse = z.object({
  sessions: z.array(Session),
  page: z.int(),
  limit: z.int(),
  total: z.int(),
});
export const AssignmentsResponse = z.object({ assignments: z.array(Assignment) });
export const AddedResponse = AssignmentsResponse.extend({
  temporary_locations: z.array(TemporaryLocation),
});
export const AssignmentResponse = z.object({ assignment: Assignment });
export const ScanResponse = z.object({
  scan_id: Id,
  already_sorted: z.boolean(),
  scanned_at: Timestamp,
  put_to: Location.extend({
    assignment_id: Id,
    destination_type: z.enum(destinationTypes),
    destination_value: z.string(),
  }).describe("Where the parcel goes"),
  assignment: Assignment,
  delivery: z.object({
    id: Id,
    delivery_code: z.int(),
    barcode: z.string(),
    status: z.string(),
    delivery_flow: z.string(),
    label_outdated: z.boolean().describe(
      "Its place, receiver, amount or notes are no longer those of the label that was printed",
    ),
  }),
});

export const sessionList = defineList({
  view: "warehousing.sorting_sessions_list",
  sort: ["started_at", "ended_at", "status"],
  params: {
    warehouse_id: id("warehouse_id"),
    status: someOf("status", statuses),
    date_from: { ...since("started_at"), schema: Day },
    date_to: { ...until("started_at"), schema: Day },
  },
  limit: { default: 20, max: 100 },
  readBy: "started_at",
});
