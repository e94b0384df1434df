import { answerWhole } from "../../../shared/api/list.ts";
import { anyone } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { AnsweredResponse, MyInvitationsResponse } from "./schemas.ts";

interface Invited {
  invitations: Record<string, unknown>[];
}

/** Invitations to the caller, and their answers. */
export const myInvitations: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/me/invitations",
    summary: "The open invitations to my address",
    access: anyone(),
    tenant: "none",
    response: MyInvitationsResponse,
    async run({ db }) {
      const { invitations } = await db.call<Invited>("tenancy.my_invitations_get");
      return answerWhole(invitations);
    },
  }),
  answer("accept", true, "Accept an invitation and become a member of its company"),
  answer("decline", false, "Decline an invitation"),
];

function answer(verb: "accept" | "decline", accepts: boolean, summary: string): AnyEndpoint {
  return endpoint({
    method: "post",
    path: `/me/invitations/:invitation_id/${verb}`,
    summary,
    access: anyone(),
    tenant: "none",
    params: ids("invitation_id"),
    response: AnsweredResponse,
    errors: [
      "invitation_not_found",
      "invitation_not_pending",
      ...(accepts ? ["account_not_confirmed", "user_already_member"] as const : []),
    ],
    run: ({ db, params }) =>
      db.call("tenancy.my_invitation_answer", { id: params.invitation_id, accepts }),
  });
}
