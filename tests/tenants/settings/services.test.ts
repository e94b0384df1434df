/** The delivery services that settings of transfer manifests name: the default must be one that can be used. */
import { beforeEach, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newBranch } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import { fundWallet, newService } from "../../support/money.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { setDestination } from "../../support/set-destination.ts";
import { general, manifest, settingsOf, storedSettings } from "../../support/settings.ts";

let tenant: Tenant;
beforeEach(async () => {
  tenant = await newTenant();
});

const field = (key: string) => `delivery.transfer_manifest.settings.${key}`;
const put = (settings: Record<string, unknown>) =>
  tenant.admin.put(settingsOf(tenant), manifest(settings));
const stored = async (key: string) =>
  (await storedSettings(tenant, "delivery", "transfer_manifest"))[key] ?? null;

describe("the default service", () => {
  test("must be switched on", async () => {
    const off = await newService(tenant, { active: false } as never);
    const refused = await put({ default_delivery_service_id: off });
    expect(refused).toFailWith(400, "delivery_service_not_available");
    expect(refused.body.field).toBe(field("default_delivery_service_id"));
    expect(await stored("default_delivery_service_id")).toBeNull();
  });

  test("must be among the services made available, whichever of the two changes", async () => {
    const [a, b] = [await newService(tenant), await newService(tenant)];
    const both = await put({
      default_delivery_service_id: a,
      available_delivery_service_ids: [b],
    });
    expect(both).toFailWith(400, "delivery_service_not_available");
    expect(both.body.field).toBe(field("default_delivery_service_id"));
    expect(await put({ default_delivery_service_id: a })).toSucceed();
    const list = await put({ available_delivery_service_ids: [b] });
    expect(list).toFailWith(400, "delivery_service_not_available");
    expect(list.body.field).toBe(field("available_delivery_service_ids"));
    expect(list.body.message).toContain("default service for manifests is not among these");
    expect(await put({ available_delivery_service_ids: [b, a] })).toSucceed();
    expect(await put({ default_delivery_service_id: b })).toSucceed();
    expect(await put({ default_delivery_service_id: null, available_delivery_service_ids: [a] }))
      .toSucceed();
    expect(await put({ default_delivery_service_id: b })).toFailWith(
      400,
      "delivery_service_not_available",
    );
    expect(await put({ default_delivery_service_id: b, available_delivery_service_ids: [] }))
      .toSucceed();
  });

  test("that was switched off since is in nobody's way who changes something else", async () => {
    const a = await newService(tenant);
    expect(await put({ default_delivery_service_id: a })).toSucceed();
    await sql`update delivery.delivery_services set active = false where id = ${a}`;
    expect(await put({ driver_scan_mode: "manual" })).toSucceed();
    expect(await put({ default_delivery_service_id: a, driver_scan_mode: "continuous" }))
      .toSucceed();
  });
});

describe("the service of returns that name none", () => {
  const of = (id: string | null, more: Record<string, unknown> = {}) =>
    general("delivery", { return_requests: { default_delivery_service_id: id, ...more } });
  const save = (body: Record<string, unknown>) => tenant.admin.put(settingsOf(tenant), body);
  const kept = async () =>
    (await storedSettings(tenant, "general", "delivery"))?.return_requests
      ?.default_delivery_service_id ?? null;

  test("must be switched on, and may be one that only returns made at a door can use", async () => {
    const service = await newService(tenant, { active: false });
    for (const id of [service, service.toUpperCase()]) {
      const refused = await save(of(id));
      expect(refused).toFailWith(400, "delivery_service_not_available");
      expect(refused.body.field).toBe(
        "general.delivery.settings.return_requests.default_delivery_service_id",
      );
    }
    expect(await kept()).toBeNull();
    await sql`update delivery.delivery_services set active = true, allow_returns = false where id = ${service}`;
    expect(await save(of(service))).toSucceed();
    expect(await kept()).toBe(service);
  });

  test("that is switched off since is in nobody's way who changes something else", async () => {
    const service = await newService(tenant);
    expect(await save(of(service))).toSucceed();
    await sql`update delivery.delivery_services set active = false where id = ${service}`;
    expect(await save(of(service, { auto_approval: false }))).toSucceed();
    expect(await save(general("delivery", { return_requests: { destination_mode: "choose" } })))
      .toSucceed();
    expect(await kept()).toBe(service);
    expect(await save(of(null))).toSucceed();
    expect(await save(of(service))).toFailWith(400, "delivery_service_not_available");
  });
});

describe("ids in capitals", () => {
  test("are kept and compared as any others", async () => {
    const [service, branch] = [await newService(tenant), await newBranch(tenant)];
    await fundWallet(tenant, "institution", tenant.institution.id, 10_000);
    const answer = await put({
      default_delivery_service_id: service.toUpperCase(),
      available_delivery_service_ids: [service.toUpperCase()],
    });
    expect(answer).toSucceed();
    expect(await stored("default_delivery_service_id")).toBe(service);
    expect(await stored("available_delivery_service_ids")).toEqual([service]);
    const manifest = await newManifest(tenant, { items: 1 });
    const ordered = await tenant.dispatcher.post(setDestination, {
      item_ids: manifest.itemIds.map((id) => id.toUpperCase()),
      destination_branch_id: branch.toUpperCase(),
      delivery_service_id: service.toUpperCase(),
    });
    expect(ordered).toSucceed();
    expect(ordered.body.data.created_count).toBe(1);
    const kept = await tenant.ops.delete(`/delivery/services/${service.toUpperCase()}`);
    expect(kept).toFailWith(409, "delivery_service_in_use_by_settings");
    expect(kept.body.setting_references).toHaveLength(2);
  });

  test("name the default driver", async () => {
    await sql`insert into delivery.drivers (tenant_id, user_id) values (${tenant.id}, ${tenant.driver.id})
      on conflict do nothing`;
    const saved = await tenant.admin.put(`/tenants/${tenant.id}/settings`, {
      delivery: {
        assignment_change_settings: {
          settings: { default_driver_id: tenant.driver.id.toUpperCase() },
        },
      },
    });
    expect(saved).toSucceed();
    const list = await tenant.ops.get("/delivery/drivers", { query: { limit: 100 } });
    expect(JSON.stringify(list.body)).toContain('"is_default":true');
  });
});
