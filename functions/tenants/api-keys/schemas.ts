import { z } from "zod";
import { EffectiveActive, EffectiveUntil, TenantStatus } from "../me/schemas.ts";
import {
  Id,
  Instant,
  JsonObject,
  listResponse,
  PersonRef,
  Text,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";

/** The scopes open to a tenant's key: permissions, none of the system's, and for an institution's own program all that the institution may do, or see. */
const Scope = z.enum([
  "view:tenant",
  "manage:tenant",
  "manage:operations:tenant",
  "manage:module:warehouse",
  "own:institution",
  "own:institution:view",
]);

/** `stopped`: the person who answers for it may do nothing of what its scopes say any more. */
export const statuses = ["active", "stopped", "expired", "revoked"] as const;

export const CreateApiKey = z.object({
  name: Text.max(100).meta({ description: "What uses it, so that people know it again" }),
  scopes: z.array(Scope).min(1).max(20).meta({
    description:
      "Of the company's programs its permissions; of an institution's own program `own:institution` alone, or `own:institution:view` alone: it reads and changes nothing",
  }),
  expires_at: Instant.meta({ description: "When it ends by itself: at most a year from now" }),
}).meta({ id: "CreateApiKey" });

export const ApiKey = z.strictObject({
  id: Id,
  name: z.string(),
  hint: z.string().nullable().meta({ description: "The last four characters of the key" }),
  scopes: z.array(z.string()),
  effective_scopes: z.array(z.string()).meta({
    description: "Those that the person who answers for the key has now: all it may do",
  }),
  status: z.enum(statuses),
  created_by: PersonRef.nullable().meta({
    description: "The person who answers for it: its maker, or who took it over",
  }),
  expires_at: Timestamp.nullable(),
  revoked_at: Timestamp.nullable(),
  last_used_at: Timestamp.nullable().meta({
    description: "When a call with it last succeeded, to the hour; null: never",
  }),
  created_at: Timestamp,
}).meta({ id: "ApiKey" });

/** A company as its key sees it, also while it is shut. */
const CompanyOfKey = z.strictObject({
  id: Id,
  slug: z.string(),
  name: JsonObject,
  status: TenantStatus,
  effective_active: EffectiveActive,
  effective_until: EffectiveUntil,
}).meta({ id: "CompanyOfKey" });

export const MyApiKeyResponse = z.object({
  api_key: ApiKey,
  tenant: CompanyOfKey.nullable().meta({
    description: "null: a key of the system, which works in each company that a call names",
  }),
});
export const ApiKeyResponse = z.object({ api_key: ApiKey });
/** The key is returned here only. */
export const ApiKeyCreated = ApiKeyResponse.extend({ key: z.string() });
export const ApiKeysResponse = listResponse(ApiKey);
