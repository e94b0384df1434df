import { z } from "zod";
import { defineList, type Filter, flag, oneOf, words } from "../../../shared/api/list.ts";
import { Id, listResponse, Phone, Text, Timestamp } from "../../../shared/schemas/schemas.ts";
import { UserType } from "../me/schemas.ts";
import { Password } from "../password.ts";

/** Roles a tenant gives; the system administrator's is not among them. */
const roleKeys = [
  "tenant_admin",
  "operations_manager",
  "dispatcher",
  "warehouse_manager",
  "warehouse_staff",
  "driver",
  "institution",
  "customer",
] as const;

const Roles = z.array(z.enum(roleKeys)).max(roleKeys.length).transform((roles) => [
  ...new Set(roles),
]);

export const Email = z.string().trim().toLowerCase().max(254).pipe(z.email());

const EmployeeId = z.string().trim().min(1).max(64);

export const CreateUser = z.object({
  email: Email,
  password: Password.optional(),
  full_name: Text,
  phone: Phone.optional(),
  tenant_user_type: UserType,
  roles: Roles.optional(),
  is_business: z.boolean().default(false),
  employee_id: EmployeeId.optional(),
}).transform(({ roles, ...user }) => ({
  ...user,
  // Drivers, institutions and customers have the one role of their kind, so it need not be said.
  roles: roles ?? (user.tenant_user_type === "staff" ? [] : [user.tenant_user_type]),
})).meta({ id: "CreateUser" });

export const UpdateUser = z.object({
  email: Email.optional(),
  full_name: Text.optional(),
  phone: Phone.nullable().optional(),
  tenant_user_type: UserType.optional(),
  roles: Roles.optional(),
  is_business: z.boolean().optional(),
  employee_id: EmployeeId.nullable().optional(),
  is_active: z.boolean().optional(),
}).meta({ id: "UpdateUser" });

const User = z.object({
  id: Id,
  email: z.string().nullable(),
  phone: z.string().nullable(),
  full_name: z.string(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  avatar_url: z.string().nullable(),
  tenant_user_type: UserType,
  is_business: z.boolean(),
  is_active: z.boolean(),
  employee_id: z.string().nullable(),
  roles: z.array(z.string()),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "TenantMember" });

export const UserResponse = z.object({ user: User });
export const UserChangedResponse = UserResponse.extend({
  stopped_api_keys: z.array(
    z.object({ id: Id, name: z.string(), hint: z.string().nullable() }),
  ).meta({
    description: "Keys that the person answers for and that do nothing any more; another " +
      "administrator can take one over (`POST /tenants/me/api-keys/{api_key_id}/take-over`)",
  }),
});
export const UsersResponse = listResponse(User);

const Named = z.object({ key: z.string(), name: z.record(z.string(), z.string()) }).meta({
  id: "NamedRole",
});

export const RolesResponse = listResponse(Named.extend({ permissions: z.array(z.string()) }));
export const PermissionsResponse = listResponse(Named);

const hasRole: Filter = {
  schema: z.enum(roleKeys),
  condition: (value) =>
    `exists (select from tenancy.tenant_user_roles ur
      where ur.tenant_id = app.tenant_id() and ur.user_id = r.id and ur.role_key = ${value} #>> '{}')`,
};

export const users = defineList({
  view: "tenancy.users_list",
  search: ["full_name", "email", "phone", "employee_id"],
  sort: ["created_at", "full_name", "email", "updated_at"],
  params: {
    type: oneOf("tenant_user_type", words(UserType)),
    role: hasRole,
    is_active: flag("is_active"),
  },
  limit: { default: 20, max: 100 },
});
