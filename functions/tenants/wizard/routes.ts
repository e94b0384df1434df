import { z } from "zod";
import { permission, withErrorCode } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { runWizard } from "./run-wizard.ts";
import { wizardReference, WizardResponse } from "./schemas.ts";

/** A whole tenant in one call. */
export const wizard: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/wizard",
    summary: "Make a tenant with its settings, modules and administrator",
    access: withErrorCode(permission("manage:system"), "rbac_forbidden"),
    tenant: "none",
    // A caller who may not create the administrator is refused before the input is checked.
    body: z.unknown().meta(wizardReference),
    response: WizardResponse,
    status: 201,
    idempotency: "handler",
    errors: [
      "tenant_slug_taken",
      "invalid_tenant_slug",
      "tenant_name_required",
      "subscription_required",
      "invalid_reference",
      "weak_password",
      "user_being_added",
    ],
    run: ({ db, body, idempotencyKey }) => runWizard(db, body, idempotencyKey),
  }),
];
