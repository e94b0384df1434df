import { answerWhole } from "../../../shared/api/list.ts";
import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { addUser } from "./add-user.ts";
import {
  CreateUser,
  PermissionsResponse,
  RolesResponse,
  UpdateUser,
  UserChangedResponse,
  UserResponse,
  users,
  UsersResponse,
} from "./schemas.ts";

/** The users of a tenant and what they may do. */
export const tenantUsers: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/:tenantId/users",
    summary: "List the tenant's users",
    access: permission("manage:tenant"),
    tenant: "path",
    params: ids("tenantId"),
    query: users.query,
    response: UsersResponse,
    run: ({ db, query }) => users.answer(db, query),
  }),
  endpoint({
    method: "post",
    path: "/:tenantId/members",
    person: true,
    summary: "Make a person with an account at once; the system's own call, which also needs " +
      "permission manage:system",
    access: permission("manage:user_access:system"),
    tenant: "path",
    params: ids("tenantId"),
    body: CreateUser,
    response: UserResponse,
    status: 201,
    idempotency: "handler",
    errors: [
      "user_already_member",
      "account_exists",
      "user_being_added",
      "invalid_roles",
      "weak_password",
    ],
    run: ({ db, body, idempotencyKey }) => addUser(db, body, idempotencyKey),
  }),
  endpoint({
    method: "put",
    path: "/:tenantId/users/:userId",
    person: true,
    summary: "Change a user",
    access: permission("manage:tenant"),
    tenant: "path",
    params: ids("tenantId", "userId"),
    body: UpdateUser,
    response: UserChangedResponse,
    errors: [
      "user_not_found",
      "user_field_fixed",
      "invalid_roles",
      "cannot_deactivate_self",
      "last_tenant_admin",
    ],
    run: ({ db, params, body }) =>
      db.call("tenancy.user_update", { ...body, user_id: params.userId }),
  }),
  endpoint({
    method: "post",
    path: "/:tenantId/users/:userId/deactivate",
    person: true,
    summary: "Shut a user out of the tenant",
    access: permission("manage:tenant"),
    tenant: "path",
    params: ids("tenantId", "userId"),
    response: UserChangedResponse,
    errors: ["user_not_found", "cannot_deactivate_self", "last_tenant_admin"],
    run: ({ db, params }) =>
      db.call("tenancy.user_update", { user_id: params.userId, is_active: false }),
  }),
  endpoint({
    method: "get",
    path: "/:tenantId/roles",
    summary: "List the roles a tenant can give",
    access: permission("view:tenant"),
    tenant: "path",
    params: ids("tenantId"),
    response: RolesResponse,
    run: async ({ db }) => answerWhole(await db.call("tenancy.roles_get")),
  }),
  endpoint({
    method: "get",
    path: "/:tenantId/permissions",
    summary: "List the permissions that roles of a tenant carry",
    access: permission("view:tenant"),
    tenant: "path",
    params: ids("tenantId"),
    response: PermissionsResponse,
    run: async ({ db }) => answerWhole(await db.call("tenancy.permissions_get")),
  }),
];
