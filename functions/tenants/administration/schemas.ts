import { z } from "zod";
import { defineList, oneOf } from "../../../shared/api/list.ts";
import {
  Id,
  JsonObject,
  LongText,
  orEmpty,
  Phone,
  Text,
  WebUrl,
} from "../../../shared/schemas/schemas.ts";
import { maxBytes, maxContactBytes, maxMetadataBytes } from "../../../shared/schemas/sizes.ts";
import { Tenant } from "../me/schemas.ts";
import { Email } from "../users/schemas.ts";

const statuses = ["pending", "active", "suspended", "archived"] as const;

/** By language; one that is given says something, and one there must be. */
export const TenantName = z.object({
  en: Text.optional(),
  fr: Text.optional(),
  ar: Text.optional(),
  ku: Text.optional(),
}).refine((name) => Object.values(name).some((text) => text), { error: "tenant_name_required" })
  .meta({ id: "TenantName" });

export const Slug = z.string().trim().max(63).regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, {
  error: "invalid_tenant_slug",
});

export const ContactInfo = maxBytes(
  maxContactBytes,
  z.object({
    email: Email.nullish(),
    phone: Phone.nullish(),
    address: z.union([LongText, JsonObject]).nullish(),
  }),
);

export const Url = orEmpty(WebUrl);

export const CreateTenant = z.object({
  name: TenantName,
  slug: Slug,
  contact_info: ContactInfo.optional(),
  metadata: maxBytes(maxMetadataBytes, JsonObject).optional(),
  logo_url: Url.nullish(),
}).meta({ id: "CreateTenant" });

export const UpdateTenant = z.object({
  name: TenantName.optional(),
  contact_info: ContactInfo.optional(),
  metadata: maxBytes(maxMetadataBytes, JsonObject).optional(),
  logo_url: Url.nullable().optional(),
  slug: Slug.optional(),
  status: z.enum(statuses).optional(),
}).meta({ id: "UpdateTenant" });

const Listed = Tenant.omit({ statistics: true }).extend({
  tenant_users: z.object({ count: z.int() }),
}).meta({ id: "TenantSummary" });

export const TenantsResponse = z.object({
  tenants: z.array(Listed),
  total: z.int(),
  page: z.int(),
  limit: z.int(),
});

export const tenants = defineList({
  view: "tenancy.tenants_list",
  search: ["slug"],
  sort: ["created_at", "updated_at", "slug", "status"],
  params: { status: oneOf("status", statuses) },
  limit: { default: 10, max: 100 },
});

export const EnabledModules = z.array(Id).max(100);
