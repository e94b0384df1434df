import { beforeAll, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newSystemAdmin, newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { readSettings, settingsOf } from "../../support/settings.ts";

let a: Tenant;
beforeAll(async () => {
  a = await newTenant();
});

const defaults = {
  enabled: false,
  receiving_mode: "item_scan",
  allow_driver_select_processing_point: false,
  allow_driver_create_manifest_from_form: true,
  allow_driver_scan_institution_qr: false,
  allow_driver_scan_item_barcode: false,
  allow_warehouse_staging_without_assigned_driver: false,
  driver_scan_mode: "continuous",
  available_delivery_service_ids: [],
  delivery_fee_origin: "processing_point",
  reasons: [],
  proof_settings: {
    pickup: { photo_required: true, signature_required: false },
    delivery: { photo_required: true, signature_required: true },
  },
};

test("transfer_manifest never saved is read with its defaults, by every member", async () => {
  const tenant = await newTenant({ settings: {} });
  await sql`delete from tenancy.tenant_settings where tenant_id = ${tenant.id}`;
  for (
    const person of [tenant.admin, tenant.staff, tenant.driver, tenant.institution, tenant.customer]
  ) {
    const answer = await person.get(settingsOf(tenant), { query: { keys: "transfer_manifest" } });
    expect(answer).toSucceed(200);
    expect(answer.body).toEqual({
      success: true,
      message: "Retrieved.",
      delivery: { transfer_manifest: { settings: defaults } },
    });
  }
});

test("reading needs no switched-on feature, and a system administrator may read any tenant", async () => {
  const tenant = await newTenant({
    settings: { "delivery.transfer_manifest": { enabled: false } },
  });
  const system = await newSystemAdmin();
  expect((await system.get(settingsOf(tenant))).body.delivery.transfer_manifest.settings.enabled)
    .toBe(
      false,
    );
  expect(await tenant.driver.get(settingsOf(tenant))).toSucceed(200);
});

test("what drivers earn and how much cash they carry is shown to those who work for the tenant", async () => {
  const cod = { driver_self_remit: "require_receiver", cash_ceiling: 500_000 };
  const pay = { mode: "per_delivery", per_delivery: { base_amount: 1_500 } };
  const rules = { driver_can_self_assign: true };
  const tenant = await newTenant({
    settings: { "delivery.cod": cod, "general.driver": { ...pay, ...rules } },
  });
  for (const query of [{}, { keys: "delivery.cod,general.driver" }]) {
    for (const person of [tenant.admin, tenant.ops, tenant.staff, tenant.driver]) {
      const { body } = await person.get(settingsOf(tenant), { query });
      expect(body.delivery.cod.settings).toEqual(cod);
      expect(body.general.driver.settings).toEqual({ ...pay, ...rules });
    }
    for (const person of [tenant.institution, tenant.customer]) {
      const { body } = await person.get(settingsOf(tenant), { query });
      expect(body.delivery.cod.settings).toEqual({});
      expect(body.general.driver.settings).toEqual(rules);
    }
  }
});

test("keys name groups alone or with their module; unknown ones are passed over", async () => {
  const shape = (body: Body) =>
    Object.fromEntries(
      ["delivery", "general"].filter((m) => body[m]).map((m) => [m, Object.keys(body[m]).sort()]),
    );
  expect(shape(await readSettings(a, "transfer_manifest,nonsense, general.unit_size")))
    .toEqual({ delivery: ["transfer_manifest"], general: ["unit_size"] });
  expect((await readSettings(a, "general.unit_size")).general)
    .toEqual({ unit_size: { settings: { missing_unit_size_fallback: "service_min" } } });
  expect((await readSettings(a, "assignment_change_settings")).delivery)
    .toEqual({ assignment_change_settings: { settings: {} } });
  expect(shape(await readSettings(a, "nonsense"))).toEqual({});
  expect(shape(await readSettings(a))).toEqual({
    delivery: ["transfer_manifest"],
    general: ["currency", "unit_size"],
  });
});

test("invalid stored words are read as the default, valid ones as they are", async () => {
  const tenant = await newTenant();
  await saveSettings(tenant.id, "delivery.transfer_manifest", {
    driver_scan_mode: "sideways",
    receiving_mode: 7,
    delivery_fee_origin: null,
  });
  expect((await readSettings(tenant)).delivery.transfer_manifest.settings).toMatchObject({
    driver_scan_mode: "continuous",
    receiving_mode: "item_scan",
    delivery_fee_origin: "processing_point",
  });
  await saveSettings(tenant.id, "delivery.transfer_manifest", { driver_scan_mode: "manual" });
  expect((await readSettings(tenant)).delivery.transfer_manifest.settings.driver_scan_mode).toBe(
    "manual",
  );
});
