/** Settings that are refused: each names its field, and nothing is saved. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newService } from "../../support/money.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { general, manifest, settingsOf, storedSettings } from "../../support/settings.ts";

let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [a, b] = await Promise.all([newTenant(), newTenant()]);
});

const wrong: [Record<string, unknown>, string][] = [
  [{}, "body"],
  [{ billing: {} }, "billing"],
  [{ delivery: { teleport: { settings: {} } } }, "delivery.teleport"],
  [{ delivery: { transfer_manifest: { enabled: true } } }, "delivery.transfer_manifest.settings"],
  [manifest({ enable: true }), "delivery.transfer_manifest.settings.enable"],
  [manifest({ enabled: "true" }), "delivery.transfer_manifest.settings.enabled"],
  [
    manifest({ driver_scan_mode: "sideways" }),
    "delivery.transfer_manifest.settings.driver_scan_mode",
  ],
  [
    manifest({ delivery_fee_origin: "moon" }),
    "delivery.transfer_manifest.settings.delivery_fee_origin",
  ],
  [manifest({ receiving_mode: "bulk" }), "delivery.transfer_manifest.settings.receiving_mode"],
  [manifest({ reasons: [{ label: "x" }] }), "delivery.transfer_manifest.settings.reasons.0.value"],
  [
    manifest({ reasons: [{ value: "a", label: "x" }, { value: "a", label: "y" }] }),
    "delivery.transfer_manifest.settings.reasons",
  ],
  [
    manifest({ proof_settings: { pickup: { photo_required: 1 } } }),
    "delivery.transfer_manifest.settings.proof_settings.pickup.photo_required",
  ],
  [
    manifest({ proof_settings: { return: {} } }),
    "delivery.transfer_manifest.settings.proof_settings.return",
  ],
  [
    general("unit_size", { missing_unit_size_fallback: "huge" }),
    "general.unit_size.settings.missing_unit_size_fallback",
  ],
  [general("unit_size", { unit_length: -1 }), "general.unit_size.settings.unit_length"],
  [general("currency", { currency_code: "dinar" }), "general.currency.settings.currency_code"],
  [general("currency", { decimals: 4 }), "general.currency.settings.decimals"],
  [general("language", { default: "fr" }), "general.language.settings.default"],
  [general("location", { latitude: 91 }), "general.location.settings.latitude"],
  [
    general("domestic_country", { name: "x".repeat(501) }),
    "general.domestic_country.settings.name",
  ],
  [general("domestic_country", { code: "IRQ" }), "general.domestic_country.settings.code"],
];
test.each(wrong)("%j is refused and names the field", async (body, field) => {
  const before =
    await sql`select * from tenancy.tenant_settings where tenant_id = ${b.id} order by 1, 2, 3`;
  const answer = await b.admin.put(settingsOf(b), body);
  expect(answer).toFailWith(400, "validation_failed");
  expect(answer.body.field).toBe(field);
  expect(
    await sql`select * from tenancy.tenant_settings where tenant_id = ${b.id} order by 1, 2, 3`,
  ).toEqual(before);
});

test("a country is its two letters, as barcodes end with them", async () => {
  expect(await b.admin.put(settingsOf(b), general("domestic_country", { code: " jo " })))
    .toSucceed();
  expect(await storedSettings(b, "general", "domestic_country")).toEqual({ code: "JO" });
});

test("what has to be more than a bound is not said to be allowed at it", async () => {
  const { body } = await b.admin.put(
    settingsOf(b),
    general("unit_size", { volumetric_divisor: 0 }),
  );
  expect(body.message).toBe(
    "general.unit_size.settings.volumetric_divisor must be more than 0.",
  );
});

test("a malformed id is refused as one, a NUL as wrong input", async () => {
  const answer = await b.admin.put(settingsOf(b), manifest({ default_delivery_service_id: "x" }));
  expect(answer).toFailWith(400, "invalid_uuid");
  expect(answer.body.field).toBe("delivery.transfer_manifest.settings.default_delivery_service_id");
  expect(await b.admin.put(settingsOf(b), general("driver", { mode: "a\u0000" }))).toFailWith(
    400,
    "validation_failed",
  );
});

test("ids must exist in this tenant, nothing of another tenant can be named", async () => {
  const theirs = await newService(b);
  const mine = await newService(a);
  const gone = await newService(a);
  await sql`update delivery.delivery_services set deleted_at = now() where id = ${gone}`;
  await sql`insert into delivery.drivers (tenant_id, user_id) values (${b.id}, ${b.driver.id})`;
  const cases: [Record<string, unknown>, string][] = [
    ...[theirs, gone, crypto.randomUUID()].map((id): [Record<string, unknown>, string] => [
      manifest({ default_delivery_service_id: id }),
      "delivery.transfer_manifest.settings.default_delivery_service_id",
    ]),
    [
      manifest({ available_delivery_service_ids: [mine, theirs] }),
      "delivery.transfer_manifest.settings.available_delivery_service_ids",
    ],
    [
      {
        delivery: { assignment_change_settings: { settings: { default_driver_id: b.driver.id } } },
      },
      "delivery.assignment_change_settings.settings.default_driver_id",
    ],
    [
      general("delivery", { return_requests: { default_delivery_service_id: theirs } }),
      "general.delivery.settings.return_requests.default_delivery_service_id",
    ],
    [
      general("warehouse", { default_warehouse_id: crypto.randomUUID() }),
      "general.warehouse.settings.default_warehouse_id",
    ],
    [general("timezone", { name: "Mars/Olympus" }), "general.timezone.settings.name"],
    [general("timezone", { name: "Factory" }), "general.timezone.settings.name"],
    [general("currency", { currency_code: "ZZZ" }), "general.currency.settings.currency_code"],
  ];
  for (const [body, field] of cases) {
    const answer = await a.admin.put(settingsOf(a), body);
    expect(answer).toFailWith(400, "invalid_reference");
    expect(answer.body.field).toBe(field);
  }
  await sql`insert into delivery.drivers (tenant_id, user_id) values (${a.id}, ${a.driver.id})`;
  expect(
    await a.admin.put(settingsOf(a), {
      delivery: {
        assignment_change_settings: { settings: { default_driver_id: a.driver.id } },
        transfer_manifest: {
          settings: { default_delivery_service_id: mine, available_delivery_service_ids: [mine] },
        },
      },
      general: { timezone: { settings: { name: "Asia/Baghdad" } } },
    }),
  ).toSucceed(200);
});
