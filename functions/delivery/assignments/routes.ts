import { anyOf, permission, role } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, status } from "../../../shared/api/endpoint.ts";
import type { ErrorCode } from "../../../shared/errors/errors.ts";
import { translate } from "../../../shared/i18n/index.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import {
  AnswerAssignment,
  AssignmentAnswered,
  AssignmentCreated,
  assignmentList,
  AssignmentsResponse,
  type BulkAnswer,
  BulkAnswered,
  BulkResponse,
  CreateAssignment,
  CreateBulk,
  HandedOver,
  HandOver,
  Unassign,
  Unassigned,
} from "./schemas.ts";

const staff = permission("manage:operations:tenant");

/** Reasons why deliveries cannot be assigned to a driver, in single and bulk calls. */
export const obstacles: readonly ErrorCode[] = [
  "driver_not_found",
  "driver_not_active",
  "driver_has_no_vehicle",
  "vehicle_inactive",
  "delivery_not_found",
  "duplicate_deliveries",
  "no_active_child_leg",
  "delivery_carrier_not_internal",
  "delivery_already_assigned",
  "delivery_status_changed",
  "return_under_way",
  "delivery_has_open_exception",
  "parent_exception_open",
  "warehouse_item_exception_open",
  "warehouse_preparation_inconsistent",
  "driver_not_allowed_in_zones",
  "insufficient_vehicle_capacity",
  "invalid_status_transition",
  "handoff_already_pending",
];

/** Assignments: made by dispatchers, answered by drivers. */
export const assignments: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/assignments",
    summary: "List assignments; drivers find their own",
    access: anyOf(staff, role("driver")),
    query: assignmentList.query,
    response: AssignmentsResponse,
    async run({ db, query }) {
      const { rows: assignments, summary: stats, ...page } = await assignmentList.run(db, query);
      return { assignments, stats, ...page };
    },
  }),
  endpoint({
    method: "post",
    path: "/assignments",
    summary: "Assign a delivery to a driver",
    access: staff,
    body: CreateAssignment,
    response: AssignmentCreated,
    status: 201,
    errors: [
      ...obstacles,
      "assignment_driver_required",
      "vehicle_not_found",
      "driver_vehicle_taken",
      "delivery_zone_validation_unavailable",
      "driver_not_allowed_in_pickup_zone",
      "driver_not_allowed_in_delivery_zone",
    ],
    run: ({ db, body }) => db.call("delivery.assignment_create", body),
  }),
  endpoint({
    method: "post",
    path: "/assignments/bulk",
    summary: "Assign many deliveries to one driver, all or none; or say what would become of each",
    access: staff,
    body: CreateBulk,
    response: BulkResponse,
    status: 201,
    otherStatus: 200,
    errors: [...obstacles, "deliveries_zone_context_incomplete"],
    async run({ db, body, language }) {
      const answer = await db.call<BulkAnswer>("delivery.assignment_bulk_create", body);
      if (!("dry_run" in answer)) return answer;
      const results = answer.results.map((result) =>
        result.code
          ? {
            ...result,
            message: translate(language(), result.code, { delivery_ids: [result.delivery_id] }),
          }
          : result
      );
      return { ...answer, results, [status]: 200 };
    },
  }),
  endpoint({
    method: "put",
    path: "/assignments/bulk/:bulkAssignmentId",
    summary: "Accept or reject a bulk, all of it; for the driver who was given it",
    access: role("driver"),
    params: ids("bulkAssignmentId"),
    body: AnswerAssignment,
    response: BulkAnswered,
    errors: [
      "bulk_assignment_not_found",
      "assignment_not_pending",
      "driver_inactive",
      "invalid_status_transition",
    ],
    async run({ db, params, body }) {
      const bulk_assignment_id = params.bulkAssignmentId;
      const answered = await db.call("delivery.assignments_answer", {
        ...body,
        bulk_assignment_id,
      });
      return { bulk_assignment_id, ...answered };
    },
  }),
  endpoint({
    method: "put",
    path: "/assignments/:assignmentId",
    summary: "Accept or reject an assignment; for the driver who was given it",
    access: role("driver"),
    params: ids("assignmentId"),
    body: AnswerAssignment,
    response: AssignmentAnswered,
    errors: [
      "assignment_not_found",
      "assignment_not_pending",
      "driver_inactive",
      "invalid_status_transition",
    ],
    async run({ db, params, body }) {
      const assignment_id = params.assignmentId;
      const answered = await db.call("delivery.assignments_answer", { ...body, assignment_id });
      return { id: assignment_id, ...answered };
    },
  }),
  endpoint({
    method: "post",
    path: "/assignments/:assignmentId/unassign",
    summary: "Take a delivery from its driver before it is picked up",
    access: staff,
    params: ids("assignmentId"),
    body: Unassign,
    response: Unassigned,
    errors: [
      "assignment_not_found",
      "assignment_ended",
      "delivery_already_picked_up",
      "invalid_status_transition",
    ],
    run: ({ db, params, body }) =>
      db.call("delivery.assignment_unassign", { ...body, id: params.assignmentId }),
  }),
  endpoint({
    method: "post",
    path: "/assignments/driver/:driverId/hand-over",
    summary:
      "Move a driver's list to another driver, with what is picked up, which the other confirms",
    access: staff,
    params: ids("driverId"),
    body: HandOver,
    response: HandedOver,
    status: 201,
    errors: [
      ...obstacles,
      "deliveries_zone_context_incomplete",
      "same_driver",
      "assignment_not_found",
      "assignment_ended",
      "nothing_to_hand_over",
    ],
    run: ({ db, params, body }) =>
      db.call("delivery.assignments_hand_over", { ...body, driver_id: params.driverId }),
  }),
];
