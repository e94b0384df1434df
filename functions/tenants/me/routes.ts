import { anyone, verifiedEmail } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { confirmAccount } from "./confirm-account.ts";
import { Confirm, ConfirmResponse, MeResponse, UpdateProfile } from "./schemas.ts";

/** The caller's own account, and the tenants they belong to. */
export const me: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/me",
    summary: "Read my profile and the tenants I belong to",
    access: anyone(),
    tenant: "none",
    response: MeResponse,
    run: ({ db }) => db.call("tenancy.me_get"),
  }),
  endpoint({
    method: "put",
    path: "/me/profile",
    person: true,
    summary: "Change my names, telephone and picture, which all my tenants see",
    access: anyone(),
    tenant: "none",
    body: UpdateProfile,
    response: MeResponse,
    run: ({ db, body }) => db.call("tenancy.profile_update", body),
  }),
  endpoint({
    method: "post",
    path: "/me/confirm",
    summary:
      "Make my account my own, with a new password; every session ends, so sign in afterwards",
    access: verifiedEmail(),
    tenant: "none",
    body: Confirm,
    response: ConfirmResponse,
    message: "account_confirmed",
    // The call may be repeated as it is: the second time does what the first did.
    idempotency: "handler",
    errors: ["weak_password"],
    run: ({ db, body }) => confirmAccount(db, body.password),
  }),
];
