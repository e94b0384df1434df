import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { staffOrInstitution } from "../access.ts";
import { institutionList, InstitutionResponse, InstitutionsResponse } from "./schemas.ts";

const feature = "transfer_manifest";

/** Institutions: customers whose branches hand in whole manifests. */
export const institutions: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/institutions",
    summary: "List institutions",
    access: staffOrInstitution,
    feature,
    query: institutionList.query,
    response: InstitutionsResponse,
    run: ({ db, query }) => institutionList.answer(db, query),
  }),
  endpoint({
    method: "get",
    path: "/institutions/:institution_user_id",
    summary: "Read an institution",
    access: staffOrInstitution,
    feature,
    params: ids("institution_user_id"),
    response: InstitutionResponse,
    errors: ["institution_not_found"],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.institution_get", { id: params.institution_user_id }),
    }),
  }),
];
