import { anyone, member, memberOrKey, verifiedEmail } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { confirmAccount } from "./confirm-account.ts";
import {
  Confirm,
  ConfirmResponse,
  MeResponse,
  SwitchResponse,
  TenantResponse,
  UpdateProfile,
} from "./schemas.ts";

/** The caller's own account, memberships, and the tenant their calls go to. */
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
  endpoint({
    method: "post",
    path: "/:tenantId/switch",
    summary: "Choose the tenant my next token names; refresh the token afterwards",
    access: member(),
    tenant: "path",
    params: ids("tenantId"),
    response: SwitchResponse,
    run: ({ db }) => db.call("tenancy.tenant_switch"),
  }),
  endpoint({
    method: "get",
    path: "/:tenantId",
    version: versionedBy("tenancy.tenants", "tenantId"),
    summary: "Read a tenant: members their own, system administrators any",
    access: memberOrKey(),
    tenant: "path",
    params: ids("tenantId"),
    response: TenantResponse,
    run: async ({ db }) => ({ tenant: await db.call("tenancy.tenant_get") }),
  }),
];
