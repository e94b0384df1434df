import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { AppError, type ErrorCode } from "../../../shared/errors/errors.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { canViewWarehouse, canWorkInWarehouse } from "../access.ts";
import {
  AddAssignments,
  AddedResponse,
  AssignmentResponse,
  AssignmentsResponse,
  ChangeAssignment,
  CompleteSession,
  CreateSession,
  Scan,
  ScanResponse,
  sessionList,
  SessionResponse,
  SessionsResponse,
} from "./schemas.ts";
import { z } from "zod";

const path = "/sorting-sessions/:session_id";
const active: readonly ErrorCode[] = ["sorting_session_not_found", "sorting_session_not_active"];

/** Sessions in which staff put parcels into cages, one or several for each destination. */
export const sortingSessions: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/sorting-sessions",
    summary: "List the sorting sessions of a warehouse",
    access: canViewWarehouse,
    query: sessionList.query,
    response: SessionsResponse,
    errors: ["warehouse_id_required"],
    async run({ db, query }) {
      if (!query.filters.warehouse_id) {
        throw new AppError("warehouse_id_required", { field: "warehouse_id" });
      }
      const { rows: sessions, ...page } = await sessionList.run(db, query);
      return { sessions, ...page };
    },
  }),
  endpoint({
    method: "post",
    path: "/sorting-sessions",
    summary: "Open a sorting session, with a cage or trolley for each destination",
    access: canWorkInWarehouse,
    body: CreateSession,
    response: SessionResponse,
    status: 201,
    errors: [
      "warehouse_not_found",
      "staff_not_found",
      "staff_not_in_warehouse",
    ],
    run: ({ db, body }) => db.call("warehousing.sorting_session_create", body),
  }),
  endpoint({
    method: "get",
    path,
    summary: "Read a sorting session",
    access: canViewWarehouse,
    params: ids("session_id"),
    response: SessionResponse,
    errors: ["sorting_session_not_found"],
    run: ({ db, params }) => db.call("warehousing.sorting_session_get", { id: params.session_id }),
  }),
  endpoint({
    method: "put",
    path,
    summary: "End a sorting session; its cages go out of use",
    access: canWorkInWarehouse,
    params: ids("session_id"),
    body: CompleteSession,
    response: SessionResponse,
    errors: active,
    run: ({ db, params }) =>
      db.call("warehousing.sorting_session_complete", { id: params.session_id }),
  }),
  endpoint({
    method: "get",
    path: `${path}/assignments`,
    summary: "List the assignments of a sorting session",
    access: canViewWarehouse,
    params: ids("session_id"),
    response: AssignmentsResponse,
    errors: ["sorting_session_not_found"],
    run: ({ db, params }) =>
      db.call("warehousing.sorting_assignments_get", { id: params.session_id }),
  }),
  endpoint({
    method: "post",
    path: `${path}/assignments`,
    summary: "Give more destinations to staff",
    access: canWorkInWarehouse,
    params: ids("session_id"),
    body: AddAssignments,
    response: AddedResponse,
    status: 201,
    errors: [
      ...active,
      "staff_not_found",
      "staff_not_in_warehouse",
    ],
    run: ({ db, params, body }) =>
      db.call("warehousing.sorting_assignments_add", { ...body, id: params.session_id }),
  }),
  endpoint({
    method: "post",
    path: `${path}/scan`,
    summary: "Put a parcel into the cage of its destination",
    access: canWorkInWarehouse,
    params: ids("session_id"),
    body: Scan,
    response: ScanResponse,
    errors: [
      ...active,
      "delivery_not_found",
      "sorting_assignment_not_found",
      "package_not_sortable",
      "package_not_here",
      "package_elsewhere",
      "no_matching_destination",
      "cage_full",
    ],
    run: ({ db, params, body }) =>
      db.call("warehousing.sorting_scan", { ...body, id: params.session_id }),
  }),
  endpoint({
    method: "put",
    path: `${path}/assignments/:assignment_id`,
    summary: "Change who fills a cage, or what it takes",
    access: canWorkInWarehouse,
    params: ids("session_id", "assignment_id"),
    body: ChangeAssignment,
    response: AssignmentResponse,
    errors: [
      ...active,
      "sorting_assignment_not_found",
      "staff_not_found",
      "staff_not_in_warehouse",
      "capacity_below_filled",
    ],
    run: ({ db, params, body }) =>
      db.call("warehousing.sorting_assignment_update", {
        ...body,
        id: params.session_id,
        assignment_id: params.assignment_id,
      }),
  }),
  endpoint({
    method: "delete",
    path: `${path}/assignments/:assignment_id`,
    summary: "Take a destination away while its cage is empty",
    access: canWorkInWarehouse,
    params: ids("session_id", "assignment_id"),
    response: z.object({}),
    errors: [...active, "sorting_assignment_not_found", "cage_not_empty"],
    run: ({ db, params }) =>
      db.call("warehousing.sorting_assignment_remove", {
        id: params.session_id,
        assignment_id: params.assignment_id,
      }),
  }),
];
