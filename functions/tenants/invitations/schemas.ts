import { z } from "zod";
import { defineList, oneOf } from "../../../shared/api/list.ts";
import {
  Id,
  JsonObject,
  listResponse,
  PersonRef,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { UserType } from "../me/schemas.ts";

const statuses = ["pending", "accepted", "declined", "revoked", "expired"] as const;

const Invitation = z.strictObject({
  id: Id,
  email: z.string(),
  status: z.enum(statuses),
  expires_at: Timestamp,
}).meta({ id: "Invitation" });

/** The same for every address, whether it has an account or not. */
export const InvitationResponse = z.object({ data: z.object({ invitation: Invitation }) });

export const invitations = defineList({
  view: "tenancy.invitations_list",
  search: ["email", "full_name"],
  sort: ["created_at", "email", "expires_at"],
  params: { status: oneOf("status", statuses) },
  limit: { default: 20, max: 100 },
});

export const InvitationsResponse = listResponse(Invitation.extend({
  full_name: z.string(),
  tenant_user_type: UserType,
  roles: z.array(z.string()),
  invited_by: PersonRef.nullable(),
  answered_at: Timestamp.nullable(),
  created_at: Timestamp,
}));

export const MyInvitationsResponse = listResponse(z.strictObject({
  id: Id,
  status: z.enum(["pending"]),
  tenant: z.object({
    id: Id,
    slug: z.string(),
    name: JsonObject,
    logo_url: z.string().nullable(),
  }),
  tenant_user_type: UserType,
  roles: z.array(z.string()),
  invited_by: PersonRef.nullable(),
  expires_at: Timestamp,
  created_at: Timestamp,
}));

export const AnsweredResponse = z.object({
  data: z.object({
    invitation: z.object({ id: Id, status: z.enum(["accepted", "declined"]), tenant_id: Id }),
  }),
});

export const LeftResponse = z.object({ tenant_id: Id, left_at: Timestamp });
