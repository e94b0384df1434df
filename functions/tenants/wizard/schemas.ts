import { z } from "zod";
import { jsonSchemaOf } from "../../../shared/schemas/json-schema.ts";
import { Id } from "../../../shared/schemas/schemas.ts";
import { ContactInfo, EnabledModules, Slug, TenantName, Url } from "../administration/schemas.ts";
import { groups } from "../settings/groups.ts";
import { Password } from "../password.ts";

const { brand_settings: BrandSettings, ...general } = groups.general;

const asked = Object.fromEntries(
  Object.entries(general).map(([group, settings]) => [group, settings.nullish()]),
);

export const Wizard = z.object({
  tenant: z.object({
    name: TenantName,
    slug: Slug,
    contact_info: ContactInfo.optional(),
    logo_url: Url.nullish(),
  }),
  admin_user: z.object({ create: z.boolean().default(false), password: Password.optional() })
    .nullish(),
  modules: z.object({ enabled_module_ids: EnabledModules.optional() }).nullish(),
  // Looked at only while the system asks for subscriptions: otherwise whatever stands here is ignored.
  subscription: z.unknown().optional().meta({
    description: "`type` (MONTHLY, ANNUAL, UNLIMITED), `amount`, `note_public`, `note_internal`",
  }),
  brand_settings: BrandSettings.nullish(),
  general_config: z.strictObject(asked).nullish(),
}).superRefine((wizard, context) => {
  if (!wizard.admin_user?.create) return;
  const need = (value: unknown, ...path: string[]) => {
    if (!value) {
      context.addIssue({ code: "invalid_type", expected: "string", input: undefined, path });
    }
  };
  need(wizard.admin_user.password, "admin_user", "password");
  need(wizard.tenant.contact_info?.email, "tenant", "contact_info", "email");
});

/** The schema as the reference shows it; the endpoint itself checks its input after the permission. */
export const wizardReference = jsonSchemaOf(Wizard, "input");

export const WizardResponse = z.object({
  tenant_id: Id,
  steps: z.array(z.object({
    step: z.enum(["tenant", "settings", "modules", "subscription", "admin_user", "activation"]),
    status: z.enum(["done", "skipped", "invited", "pending"]).meta({
      description:
        "`invited`: the administrator's address has an account, whose owner has yet to " +
        "accept; `POST /tenants/{tenantId}/users` invites again, or another person",
    }),
    left_out: z.array(z.string()).optional().meta({
      description:
        "Fields of the body that were not saved, such as: a new tenant has no services, so " +
        "`default_delivery_service_id` of `return_requests` is set later, by its settings",
    }),
  })),
});
