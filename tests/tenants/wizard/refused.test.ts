/** Wizards that are refused, and make nothing. */
import { beforeAll, expect, test } from "vitest";
import { type Body, type Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newSystemAdmin } from "../../support/people.ts";
import { wizardBody } from "../../support/wizard.ts";

const path = "/tenants/wizard";
let system: Person;
beforeAll(async () => {
  system = await newSystemAdmin();
});

const tenantsWith = (slug: string) => sql`select * from tenancy.tenants where slug = ${slug}`;
const usersWith = (email: string) => sql`select id from auth.users where email = ${email}`;

const bad: [string, (body: Body) => void, string, string][] = [
  ["no tenant", (b) => delete b.tenant, "validation_failed", "tenant"],
  ["no name", (b) => (b.tenant.name = {}), "tenant_name_required", "tenant.name"],
  ["a bad slug", (b) => (b.tenant.slug = "A B"), "invalid_tenant_slug", "tenant.slug"],
  ["no password", (b) => delete b.admin_user.password, "validation_failed", "admin_user.password"],
  [
    "a short password",
    (b) => (b.admin_user.password = "short"),
    "validation_failed",
    "admin_user.password",
  ],
  [
    "no e-mail",
    (b) => delete b.tenant.contact_info,
    "validation_failed",
    "tenant.contact_info.email",
  ],
  [
    "a module that is no id",
    (b) => (b.modules = { enabled_module_ids: ["x"] }),
    "invalid_uuid",
    "modules.enabled_module_ids.0",
  ],
  [
    "a module of nothing",
    (b) => (b.modules = { enabled_module_ids: [crypto.randomUUID()] }),
    "invalid_reference",
    "modules.enabled_module_ids",
  ],
  [
    "a group nobody knows",
    (b) => (b.general_config = { units: {} }),
    "validation_failed",
    "general_config.units",
  ],
  [
    "a misspelt setting",
    (b) => (b.general_config = { mobile: { show: true } }),
    "validation_failed",
    "general_config.mobile.show",
  ],
  [
    "a latitude off the earth",
    (b) => (b.general_config = { location: { latitude: 91 } }),
    "validation_failed",
    "general_config.location.latitude",
  ],
  [
    "a currency of nothing",
    (b) => (b.general_config = { currency: { currency_code: "XXX" } }),
    "invalid_reference",
    "general_config.currency.currency_code",
  ],
  [
    "a service that is none by its form",
    (b) => (b.general_config = {
      delivery: { return_requests: { default_delivery_service_id: "x" } },
    }),
    "invalid_uuid",
    "general_config.delivery.return_requests.default_delivery_service_id",
  ],
  [
    "colours in a list",
    (b) => (b.brand_settings = { colors: [] }),
    "validation_failed",
    "brand_settings.colors",
  ],
];
test.each(bad)(
  "%s is refused with the field, and nothing is made",
  async (_, spoil, code, field) => {
    const body = wizardBody();
    const { slug } = body.tenant;
    const { email } = body.tenant.contact_info;
    spoil(body);
    const answer = await system.post(path, body);
    expect(answer).toFailWith(400, code);
    expect(answer.body.field).toBe(field);
    expect(await tenantsWith(slug)).toHaveLength(0);
    expect(await usersWith(email)).toHaveLength(0);
  },
);
