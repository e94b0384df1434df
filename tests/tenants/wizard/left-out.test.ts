/** Input that the wizard accepts although a new tenant cannot have it: empty addresses, and services. */
import { beforeAll, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { newSystemAdmin, newTenant } from "../../support/people.ts";
import { brand, general, wizardBody } from "../../support/wizard.ts";

let system: Person;
beforeAll(async () => {
  system = await newSystemAdmin();
});
const saved = async (tenant: string, group: string) =>
  (await sql`select settings from tenancy.tenant_settings
    where tenant_id = ${tenant} and group_key = ${group}`)[0]?.settings;

test("a service for returns is left out and named, in the repeated answer too; the rest is saved", async () => {
  const { return_requests, ...others } = general.delivery;
  const body = wizardBody({
    general_config: {
      delivery: {
        ...others,
        return_requests: { ...return_requests, default_delivery_service_id: crypto.randomUUID() },
      },
    },
  });
  const options = { headers: { "idempotency-key": crypto.randomUUID() } };
  const answer = await system.post("/tenants/wizard", body, options);
  expect(answer).toSucceed(201);
  expect(answer.body.steps[1]).toEqual({
    step: "settings",
    status: "done",
    left_out: ["general_config.delivery.return_requests.default_delivery_service_id"],
  });
  expect(await saved(answer.body.tenant_id, "delivery")).toEqual(general.delivery);
  expect((await system.post("/tenants/wizard", body, options)).body).toEqual(answer.body);
});

test("an empty address of a logo is none", async () => {
  const body = wizardBody({
    brand_settings: { ...brand, assets: { logo: { light: "", dark: "" }, favicon: "" } },
  });
  body.tenant.logo_url = "";
  const answer = await system.post("/tenants/wizard", body);
  expect(answer).toSucceed(201);
  const tenant = answer.body.tenant_id;
  const [row] = await sql`select logo_url from tenancy.tenants where id = ${tenant}`;
  expect(row.logo_url).toBeNull();
  expect((await saved(tenant, "brand_settings")).assets).toEqual({ logo: {} });
});

test("and clears the one there was, of a tenant and of its settings", async () => {
  const { id, admin } = await newTenant();
  const put = async (logo_url: string) =>
    (await admin.put(`/tenants/${id}`, { logo_url })).body.tenant.logo_url;
  expect(await put("https://example.test/logo.png")).toBe("https://example.test/logo.png");
  expect(await put("")).toBeNull();
  const assets = (favicon: string) =>
    admin.put(`/tenants/${id}/settings`, {
      general: { brand_settings: { settings: { assets: { favicon } } } },
    });
  expect(await assets("https://example.test/f.ico")).toSucceed(200);
  expect(await assets("")).toSucceed(200);
  expect((await saved(id, "brand_settings")).assets).toEqual({});
});
