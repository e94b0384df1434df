import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { staffOrManifestPeople } from "../access.ts";
import {
  CreatePoint,
  PointCreated,
  PointDeactivated,
  PointResponse,
  points,
  PointsResponse,
  UpdatePoint,
} from "./schemas.ts";

const feature = "transfer_manifest";

/** Processing points: where drivers hand in what they collected. */
export const processingPoints: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/transfer-processing-points",
    summary: "Add a processing point",
    access: permission("manage:operations:tenant"),
    feature,
    body: CreatePoint,
    response: PointCreated,
    status: 201,
    message: { literal: "created_successfully" },
    errors: ["address_not_found", "processing_point_code_exists"],
    run: async ({ db, body }) => ({
      data: await db.call("delivery.processing_point_create", body),
    }),
  }),
  endpoint({
    method: "get",
    path: "/transfer-processing-points",
    summary: "List processing points; the default of a branch first",
    access: staffOrManifestPeople,
    feature,
    query: points.query,
    response: PointsResponse,
    run: ({ db, query }) => points.answer(db, query),
  }),
  endpoint({
    method: "get",
    path: "/transfer-processing-points/:processing_point_id",
    version: versionedBy("delivery.transfer_processing_points", "processing_point_id"),
    summary: "Read a processing point",
    access: staffOrManifestPeople,
    feature,
    params: ids("processing_point_id"),
    response: PointResponse,
    errors: ["processing_point_not_found"],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.processing_point_get", { id: params.processing_point_id }),
    }),
  }),
  endpoint({
    method: "patch",
    path: "/transfer-processing-points/:processing_point_id",
    version: versionedBy("delivery.transfer_processing_points", "processing_point_id"),
    summary: "Change a processing point, or take it out of use and back into it",
    access: permission("manage:operations:tenant"),
    feature,
    params: ids("processing_point_id"),
    body: UpdatePoint,
    response: PointResponse,
    errors: [
      "processing_point_not_found",
      "address_not_found",
      "processing_point_code_exists",
      "processing_point_in_use",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.processing_point_update", {
        ...body,
        id: params.processing_point_id,
      }),
    }),
  }),
  endpoint({
    method: "post",
    path: "/transfer-processing-points/:processing_point_id/deactivate",
    summary:
      "Take a processing point out of use; branches whose default it is have none from then on",
    access: permission("manage:operations:tenant"),
    feature,
    params: ids("processing_point_id"),
    response: PointDeactivated,
    errors: ["processing_point_not_found", "processing_point_in_use"],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.processing_point_deactivate", {
        id: params.processing_point_id,
      }),
    }),
  }),
];
