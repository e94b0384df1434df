import { anyone, permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { seal } from "../../../shared/outbound/secrets.ts";
import { CreateUser } from "../users/schemas.ts";
import { passwordPurpose } from "./deliver.ts";
import { InvitationResponse, invitations, InvitationsResponse, LeftResponse } from "./schemas.ts";

/** How people come into a company and leave it: by their own decision. */
export const tenantInvitations: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/:tenantId/users",
    person: true,
    summary: "Invite a person; every address gets the same answer, with an account or without",
    access: permission("manage:tenant"),
    tenant: "path",
    params: ids("tenantId"),
    body: CreateUser,
    response: InvitationResponse,
    status: 202,
    message: "invitation_sent",
    errors: ["user_already_member", "invalid_roles"],
    async run({ db, body: { password, ...person } }) {
      const sealed = password && await seal(password, passwordPurpose(person.email));
      return await db.call("tenancy.user_invite", { ...person, made: { password: sealed } });
    },
  }),
  endpoint({
    method: "get",
    path: "/:tenantId/invitations",
    summary: "List the tenant's invitations",
    access: permission("manage:tenant"),
    tenant: "path",
    params: ids("tenantId"),
    query: invitations.query,
    response: InvitationsResponse,
    run: ({ db, query }) => invitations.answer(db, query),
  }),
  endpoint({
    method: "post",
    path: "/:tenantId/invitations/:invitation_id/resend",
    person: true,
    summary: "Send an open or expired invitation again, for another 14 days",
    access: permission("manage:tenant"),
    tenant: "path",
    params: ids("tenantId", "invitation_id"),
    response: InvitationResponse,
    status: 202,
    message: "invitation_sent",
    errors: ["invitation_not_found", "invitation_not_pending"],
    run: ({ db, params }) => db.call("tenancy.invitation_resend", { id: params.invitation_id }),
  }),
  endpoint({
    method: "delete",
    path: "/:tenantId/invitations/:invitation_id",
    summary: "Revoke an open invitation",
    access: permission("manage:tenant"),
    tenant: "path",
    params: ids("tenantId", "invitation_id"),
    response: InvitationResponse,
    errors: ["invitation_not_found", "invitation_not_pending"],
    run: ({ db, params }) => db.call("tenancy.invitation_revoke", { id: params.invitation_id }),
  }),
  endpoint({
    method: "post",
    path: "/:tenantId/leave",
    summary: "Leave a company; only an invitation, or a store that I join, brings me back",
    access: anyone(),
    tenant: "none",
    params: ids("tenantId"),
    response: LeftResponse,
    errors: ["last_tenant_admin"],
    run: ({ db, params }) => db.call("tenancy.tenant_leave", { tenant_id: params.tenantId }),
  }),
];
