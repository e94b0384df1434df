/** Refusals of tenants, their people and settings; part of the table in `errors.ts`. */
import type { Definition } from "./definition.ts";

export const tenantsErrors = {
  // Tenants and their people
  tenant_not_found: 404,
  user_not_found: { status: 404, fields: ["field"] },
  user_already_member: 409,
  user_being_added: 409,
  account_exists: { status: 409, fields: ["field"] },
  account_not_confirmed: 409,
  invitation_not_found: 404,
  invitation_not_pending: { status: 409, fields: ["status"] },
  mailbox_not_proven: 403,
  user_field_fixed: { status: 409, fields: ["field"] },
  invalid_roles: { status: 400, fields: ["field"] },
  weak_password: { status: 400, fields: ["field"] },
  cannot_deactivate_self: 409,
  api_key_not_found: 404,
  api_key_scope_not_held: { status: 403, fields: ["field", "scopes"] },
  api_key_expiry_past: { status: 400, fields: ["field"] },
  api_key_expiry_too_far: { status: 400, fields: ["field"] },
  api_key_ended: 409,
  api_key_limit_reached: { status: 409, fields: ["max"] },
  api_key_not_a_person: 403,
  last_tenant_admin: 409,

  // The administration of tenants
  tenant_slug_taken: { status: 400, fields: ["field"] },
  invalid_tenant_slug: { status: 400, fields: ["field"] },
  tenant_name_required: { status: 400, fields: ["field"] },
  rbac_forbidden: 403,
  subscription_required: { status: 400, fields: ["field"] },
  subscription_not_found: 404,
  tenant_subscription_disabled: 403,

  // Settings
  manifest_workflow_required: { status: 400, fields: ["field"] },
  currency_in_use: { status: 409, fields: ["field"] },
} as const satisfies Record<string, Definition>;
