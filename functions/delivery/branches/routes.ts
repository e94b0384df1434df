import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import type { ErrorCode } from "../../../shared/errors/errors.ts";
import { importEndpoint } from "../../../shared/api/csv/import.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { staffOrInstitution, staffOrManifestPeople } from "../access.ts";
import {
  BranchCreated,
  BranchDeactivated,
  BranchesResponse,
  branchList,
  BranchResponse,
  ByCode,
  ByCodeQuery,
  CreateBranch,
  UpdateBranch,
} from "./schemas.ts";

const feature = "transfer_manifest";
const branchIds = ids("institution_user_id", "branch_id");

/** The ids of a branch's path as its cores take them. */
function named(params: { institution_user_id: string; branch_id: string }) {
  return { institution_user_id: params.institution_user_id, id: params.branch_id };
}

/** The refusals of a new branch. */
const refusals: readonly ErrorCode[] = [
  "address_not_found",
  "processing_point_not_found",
  "processing_point_inactive",
  "branch_code_exists",
];

/** Branches of institutions: where drivers fetch parcels. */
export const branches: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/institutions/:institution_user_id/branches",
    summary: "Add a branch to an institution",
    access: permission("manage:operations:tenant"),
    feature,
    params: ids("institution_user_id"),
    body: CreateBranch,
    response: BranchCreated,
    status: 201,
    errors: ["institution_not_found", "institution_inactive", ...refusals],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.branch_create", { ...body, ...params }),
    }),
  }),
  importEndpoint({
    path: "/institutions/:institution_user_id/branches/import",
    summary: "Add the branches of a CSV file to an institution",
    access: permission("manage:operations:tenant"),
    feature,
    params: ids("institution_user_id"),
    line: CreateBranch,
    maxLines: 5_000,
    core: "delivery.branch_import",
    lineErrors: refusals,
    errors: ["institution_not_found", "institution_inactive"],
  }),
  endpoint({
    method: "get",
    path: "/institutions/:institution_user_id/branches",
    summary: "List the branches of an institution, in use or not",
    access: staffOrInstitution,
    feature,
    params: ids("institution_user_id"),
    query: branchList.query,
    response: BranchesResponse,
    errors: ["institution_not_found"],
    async run({ db, params, query }) {
      const filters = { ...query.filters, ...params };
      const page = await branchList.answer(db, { ...query, filters });
      // Nothing found may also mean that there is no such institution.
      if (page.pagination.total === 0) {
        await db.call("delivery.institution_get", { id: params.institution_user_id });
      }
      return page;
    },
  }),
  endpoint({
    method: "get",
    path: "/institution-branches",
    summary: "List the branches of all institutions; those in use unless asked otherwise",
    access: staffOrManifestPeople,
    feature,
    query: branchList.query,
    response: BranchesResponse,
    run({ db, query }) {
      const filters = { is_active: "true", ...query.filters };
      return branchList.answer(db, { ...query, filters });
    },
  }),
  endpoint({
    method: "get",
    path: "/institution-branches/by-code/:branch_code",
    summary: "Find a branch by the code in its QR code",
    access: staffOrManifestPeople,
    feature,
    params: ByCode,
    query: ByCodeQuery,
    response: BranchResponse,
    errors: ["branch_not_found", "branch_code_ambiguous"],
    run: async ({ db, params, query }) => ({
      data: await db.call("delivery.branch_by_code", { code: params.branch_code, ...query }),
    }),
  }),
  endpoint({
    method: "get",
    path: "/institutions/:institution_user_id/branches/:branch_id",
    version: versionedBy("delivery.institution_branches", "branch_id"),
    summary: "Read a branch",
    access: staffOrManifestPeople,
    feature,
    params: branchIds,
    response: BranchResponse,
    errors: ["branch_not_found"],
    run: async ({ db, params }) => ({ data: await db.call("delivery.branch_get", named(params)) }),
  }),
  endpoint({
    method: "patch",
    path: "/institutions/:institution_user_id/branches/:branch_id",
    version: versionedBy("delivery.institution_branches", "branch_id"),
    summary: "Change a branch, or take it out of use and back into it",
    access: permission("manage:operations:tenant"),
    feature,
    params: branchIds,
    body: UpdateBranch,
    response: BranchResponse,
    errors: [
      "branch_not_found",
      "branch_in_use",
      "processing_point_not_found",
      "processing_point_inactive",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.branch_update", { ...body, ...named(params) }),
    }),
  }),
  endpoint({
    method: "post",
    path: "/institutions/:institution_user_id/branches/:branch_id/deactivate",
    summary: "Take a branch out of use",
    access: permission("manage:operations:tenant"),
    feature,
    params: branchIds,
    response: BranchDeactivated,
    errors: ["branch_not_found", "branch_in_use"],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.branch_deactivate", named(params)),
    }),
  }),
];
