import { beforeAll, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newService } from "../../support/money.ts";
import { locksBefore } from "../../support/overlapping.ts";
import { newSystemAdmin, newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import {
  general,
  manifest,
  readSettings,
  settingsOf,
  storedSettings,
} from "../../support/settings.ts";

let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [a, b] = await Promise.all([newTenant(), newTenant()]);
});

test("the default service is derived in the language asked for, and goes when the service does", async () => {
  const id = await newService(a, { code: "EXP", name: { en: "Express", ar: "خدمة" } });
  const answer = await a.admin.put(settingsOf(a), manifest({ default_delivery_service_id: id }));
  expect(answer).toSucceed(200);
  expect(answer.body.delivery.transfer_manifest.settings.default_delivery_service)
    .toEqual({ id, name: "Express", code: "EXP" });
  const arabic = await a.driver.in("ar").get(settingsOf(a));
  expect(arabic.body.delivery.transfer_manifest.settings.default_delivery_service.name).toBe(
    "خدمة",
  );
  await sql`update delivery.delivery_services set deleted_at = now() where id = ${id}`;
  expect((await readSettings(a)).delivery.transfer_manifest.settings).not.toHaveProperty(
    "default_delivery_service",
  );
  await a.admin.put(settingsOf(a), manifest({ default_delivery_service_id: null }));
});

test("what was read can be sent back whole", async () => {
  const id = await newService(a);
  await a.admin.put(settingsOf(a), manifest({ default_delivery_service_id: id }));
  const { settings } = (await readSettings(a)).delivery.transfer_manifest;
  expect(settings.default_delivery_service).toBeDefined();
  expect(await a.admin.put(settingsOf(a), manifest(settings))).toSucceed(200);
  expect(await storedSettings(a, "delivery", "transfer_manifest")).not.toHaveProperty(
    "default_delivery_service",
  );
});

test("settings merge deep into their group, null removes, lists replace, other groups stay", async () => {
  const tenant = await newTenant();
  await tenant.admin.put(settingsOf(tenant), {
    ...manifest({
      proof_settings: { delivery: { signature_required: false } },
      driver_scan_mode: "manual",
    }),
    ...general("driver", { percentage: { percentage_of_delivery_fee: 12.5 } }),
  });
  const answer = await tenant.admin.put(
    settingsOf(tenant),
    manifest({
      proof_settings: { pickup: { photo_required: false } },
      driver_scan_mode: null,
      reasons: [{ value: "lost", label: { en: "Lost", ar: "مفقود" } }],
    }),
  );
  expect(answer).toSucceed(200);
  expect(Object.keys(answer.body).sort()).toEqual(["delivery", "message", "success"]);
  expect(answer.body.delivery.transfer_manifest.settings).toMatchObject({
    enabled: true,
    driver_scan_mode: "continuous",
    reasons: [{ value: "lost", label: { en: "Lost", ar: "مفقود" } }],
    proof_settings: {
      pickup: { photo_required: false, signature_required: false },
      delivery: { photo_required: true, signature_required: false },
    },
  });
  expect(await storedSettings(tenant, "delivery", "transfer_manifest")).not.toHaveProperty(
    "driver_scan_mode",
  );
  expect(await storedSettings(tenant, "general", "driver")).toEqual({
    percentage: { percentage_of_delivery_fee: 12.5 },
  });
});

test("changes of different keys of one group, sent at the same moment, all hold", async () => {
  const tenant = await newTenant();
  const keys = ["unit_length", "unit_weight", "volumetric_divisor"];
  await Promise.all([
    ...keys.map((key, i) =>
      tenant.admin.put(settingsOf(tenant), general("unit_size", { [key]: i + 1 }))
    ),
    ...Array.from({ length: 12 }, (_, i) =>
      tenant.admin.put(settingsOf(tenant), {
        ...general("user_settings", { heartbeat_interval_seconds: i + 1 }),
        ...manifest({ [i % 2 ? "enabled" : "allow_driver_scan_item_barcode"]: true }),
      })),
    // The other way round: groups are locked in one order, whatever the order they are sent in.
    ...Array.from({ length: 12 }, (_, i) =>
      tenant.admin.put(settingsOf(tenant), {
        ...manifest({ allow_driver_scan_institution_qr: true }),
        ...general("user_settings", { offline_threshold_seconds: i + 1 }),
      })),
  ]).then((answers) => answers.forEach((answer) => expect(answer).toSucceed(200)));
  expect(await storedSettings(tenant, "general", "unit_size")).toEqual({
    missing_unit_size_fallback: "service_min",
    unit_length: 1,
    unit_weight: 2,
    volumetric_divisor: 3,
  });
  expect(await storedSettings(tenant, "delivery", "transfer_manifest")).toMatchObject({
    enabled: true,
    allow_driver_scan_item_barcode: true,
    allow_driver_scan_institution_qr: true,
  });
  expect(Object.keys(await storedSettings(tenant, "general", "user_settings")).sort())
    .toEqual(["heartbeat_interval_seconds", "offline_threshold_seconds"]);
});

test("drivers keep one way to make a manifest, checked on what holds after the change", async () => {
  const tenant = await newTenant();
  const put = (settings: Record<string, unknown>) =>
    tenant.admin.put(settingsOf(tenant), manifest(settings));
  expect(await put({})).toSucceed(200);
  const refused = await put({ allow_driver_create_manifest_from_form: false });
  expect(refused).toFailWith(400, "manifest_workflow_required");
  expect(refused.body.field).toBe("delivery.transfer_manifest.settings");
  expect(await storedSettings(tenant, "delivery", "transfer_manifest"))
    .not.toHaveProperty("allow_driver_create_manifest_from_form");
  expect(
    await put({
      allow_driver_create_manifest_from_form: false,
      allow_driver_scan_item_barcode: true,
    }),
  )
    .toSucceed(200);
  expect(await put({ allow_driver_scan_item_barcode: null })).toFailWith(
    400,
    "manifest_workflow_required",
  );
  expect(
    await put({ allow_driver_scan_item_barcode: null, allow_driver_scan_institution_qr: true }),
  ).toSucceed();
  expect(
    await put({
      allow_driver_create_manifest_from_form: null,
      allow_driver_scan_institution_qr: false,
    }),
  )
    .toSucceed();
});

test("only administrators of the tenant and of the system save", async () => {
  for (
    const person of [a.ops, a.dispatcher, a.warehouse, a.staff, a.driver, a.institution, a.customer]
  ) {
    expect(await person.put(settingsOf(a), manifest({ enabled: false }))).toFailWith(
      403,
      "forbidden",
    );
  }
  expect(await b.admin.put(settingsOf(a), manifest({ enabled: false }))).toFailWith(
    403,
    "forbidden",
  );
  expect(await b.admin.get(settingsOf(a))).toFailWith(403, "forbidden");
  expect(await b.admin.get(settingsOf({ id: crypto.randomUUID() }))).toFailWith(403, "forbidden");
  expect(await nobody.get(settingsOf(a))).toFailWith(401, "unauthorized");
  expect(await nobody.put(settingsOf(a), {})).toFailWith(401, "unauthorized");
  expect((await storedSettings(a, "delivery", "transfer_manifest")).enabled).toBe(true);
  const system = await newSystemAdmin();
  expect(await system.put(settingsOf(a), general("language", { default: "en" }))).toSucceed(200);
  expect(await system.get(settingsOf({ id: crypto.randomUUID() }))).toFailWith(
    404,
    "tenant_not_found",
  );
  expect(await a.admin.get("/tenants/x/settings")).toFailWith(400, "invalid_uuid");
  // A tenant named in the query does not outweigh the one in the path.
  expect(await b.admin.get(settingsOf(a), { query: { tenant_id: b.id } })).toFailWith(
    403,
    "forbidden",
  );
});

test("the currency changes while no money moved in another, and brings wallets along", async () => {
  const tenant = await newTenant();
  const toUsd = () =>
    tenant.admin.put(settingsOf(tenant), general("currency", { currency_code: "USD" }));
  expect(await toUsd()).toSucceed(200);
  const wallets =
    await sql`select id, owner_type from money.accounts where tenant_id = ${tenant.id} and currency = 'USD'`;
  expect(wallets.map((row) => row.owner_type).sort())
    .toEqual(["customer", "driver", "driver", "institution", "institution"]);
  const headers = { "idempotency-key": crypto.randomUUID() };
  const body = { amount: 1.25, direction: "credit", reason: "Cash" };
  expect(await tenant.admin.post(`/delivery/wallets/${wallets[0].id}/adjust`, body, { headers }))
    .toSucceed();
  for (const change of [{ currency_code: "IQD" }, { currency_code: null }]) {
    const answer = await tenant.admin.put(settingsOf(tenant), general("currency", change));
    expect(answer).toFailWith(409, "currency_in_use");
    expect(answer.body.field).toBe("general.currency.settings.currency_code");
  }
  expect(await storedSettings(tenant, "general", "currency")).toEqual({ currency_code: "USD" });
  expect(await tenant.admin.put(settingsOf(tenant), general("currency", { currency_symbol: "$" })))
    .toSucceed();
});

test("a save sent twice under one Idempotency-Key happens once, and messages speak Kurdish", async () => {
  const headers = { "idempotency-key": crypto.randomUUID() };
  const put = (language: string) =>
    a.admin.put(settingsOf(a), general("mobile", { show_tenant_list_page: language === "a" }), {
      headers,
    });
  const first = await put("a");
  const again = await put("a");
  expect(again.body).toEqual(first.body);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(await put("b")).toFailWith(409, "idempotency_conflict");
  const refused = await a.admin.in("ku").put(settingsOf(a), manifest({ driver_scan_mode: "x" }));
  expect(refused.body.message).toContain("continuous, manual");
  expect(refused.body.message).toMatch(/[ەێۆ]/);
});

test("a group that is saved for the first time after waiting for another change is a newer version", async () => {
  const tenant = await newTenant();
  const path = `/tenants/${tenant.id}/settings`;
  await saveSettings(tenant.id, "general.timezone", { name: "Asia/Baghdad" });
  let before = "";
  const saved = await locksBefore(
    (tx) => tx`select from tenancy.tenants where id = ${tenant.id} for update`,
    () =>
      tenant.admin.put(path, {
        general: { user_settings: { settings: { offline_threshold_seconds: 90 } } },
      }),
    async (tx) => {
      await tx`update tenancy.tenant_settings set settings = '{"name": "Asia/Erbil"}' where tenant_id = ${tenant.id}
        and group_key = 'timezone'`;
      [{ at: before }] =
        await tx`select max(updated_at)::text as at from tenancy.tenant_settings where tenant_id = ${tenant.id}` as [
          { at: string },
        ];
    },
  );
  expect(saved).toSucceed(200);
  const [{ newer }] = await sql`select max(updated_at) > ${before}::timestamptz as newer
    from tenancy.tenant_settings where tenant_id = ${tenant.id}`;
  expect(newer).toBe(true);
});
