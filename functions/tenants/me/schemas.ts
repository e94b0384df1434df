import { z } from "zod";
import { Id, JsonObject, Phone, Text, Timestamp, WebUrl } from "../../../shared/schemas/schemas.ts";
import { maxText } from "../../../shared/schemas/sizes.ts";
import { Password } from "../password.ts";

export const UserType = z.enum(["staff", "driver", "institution", "customer"]);

export const TenantStatus = z.enum(["pending", "active", "suspended", "archived"]);

export const EffectiveActive = z.boolean().meta({
  description: "Whether the tenant may be used now; if not, its calls are 403 `tenant_inactive`",
});
export const EffectiveUntil = Timestamp.nullable().meta({
  description: "Until when the time is paid for, where the system asks for subscriptions",
});

const Me = z.object({
  id: Id,
  email: z.string().nullable(),
  full_name: z.string(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  phone: z.string().nullable(),
  avatar_url: z.string().nullable(),
  is_system_admin: z.boolean(),
}).meta({ id: "Me" });

const Membership = z.object({
  tenant_id: Id,
  slug: z.string(),
  name: JsonObject,
  tenant_user_type: UserType,
  roles: z.array(z.string()),
  permissions: z.array(z.string()),
  status: TenantStatus,
  subscription_status: z.string(),
  effective_active: EffectiveActive,
  effective_until: EffectiveUntil,
}).meta({ id: "Membership" });

export const MeResponse = z.object({
  user: Me,
  memberships: z.array(Membership),
  active_tenant_id: Id.nullable(),
});

const NamePart = maxText(100).min(1).nullable().optional();

export const UpdateProfile = z.object({
  full_name: Text.optional(),
  first_name: NamePart,
  last_name: NamePart,
  phone: Phone.nullable().optional(),
  avatar_url: WebUrl.nullable().optional(),
}).refine((profile) => Object.keys(profile).length > 0, { error: "name a field" }).meta({
  id: "UpdateProfile",
});

export const Confirm = z.object({ password: Password }).meta({ id: "ConfirmAccount" });

export const ConfirmResponse = z.object({ confirmed_at: Timestamp });

export const SwitchResponse = z.object({ active_tenant_id: Id });

const Person = z.object({ id: Id, email: z.string().nullable() }).meta({ id: "Account" });

export const Tenant = z.object({
  id: Id,
  name: JsonObject,
  slug: z.string(),
  status: TenantStatus,
  contact_info: JsonObject,
  metadata: JsonObject,
  logo_url: z.string().nullable(),
  subscription_status: z.string(),
  effective_active: z.boolean(),
  effective_until: Timestamp.nullable(),
  created_at: Timestamp,
  created_by: Id.nullable(),
  updated_at: Timestamp,
  updated_by: Id.nullable(),
  created_by_user: Person.nullable(),
  updated_by_user: Person.nullable(),
  tenant_users: z.array(z.object({ user_id: Id, created_at: Timestamp, user: Person })).meta({
    description: "Those who work with the tenant, the first 1,000 and the caller; customers and " +
      "all others: GET /tenants/{tenantId}/users",
  }),
  statistics: z.object({ active_users: z.int() }),
}).meta({ id: "Tenant" });

export const TenantResponse = z.object({ tenant: Tenant });
