/** New services that are refused, and make nothing. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectRefused } from "../../support/promises.ts";
import { countServices, newType, serviceBody } from "../../support/services.ts";

const path = "/delivery/services";

let tenant: Tenant;
let type: string;

beforeAll(async () => {
  tenant = await newTenant();
  type = await newType(tenant);
});

const wanted = (more: Record<string, unknown> = {}) => serviceBody(type, more);

describe("adding a service", () => {
  test("wrong input is refused with the field's name", async () => {
    const before = await countServices(tenant);
    const attempts = "allowed_delivery_attempts_must_be_positive_integer";
    await expectRefused(tenant.ops, { method: "POST", path }, [
      [{}, "name"],
      [[], "body"],
      [wanted({ name: "" }), "name"],
      [wanted({ name: "a\u0000b" }), "name"],
      [wanted({ name: {} }), "name"],
      [wanted({ name: 7 }), "name"],
      [wanted({ name: "x".repeat(501) }), "name"],
      [wanted({ code: undefined }), "code"],
      [wanted({ code: " " }), "code"],
      [wanted({ code: "x".repeat(65) }), "code"],
      [wanted({ service_level: "slow" }), "service_level"],
      [wanted({ service_level: undefined }), "service_level"],
      [wanted({ unit_min: undefined }), "unit_min"],
      [wanted({ unit_min: -1 }), "unit_min"],
      [wanted({ unit_min: "1" }), "unit_min"],
      [wanted({ unit_max: 0 }), "unit_max"],
      [wanted({ unit_max: 1e12 }), "unit_max"],
      [wanted({ unit_min: 1.0001 }), "unit_min"],
      [wanted({ unit_min: 60 }), "unit_max", "invalid_unit_range"],
      [wanted({ delivery_type_id: "x" }), "delivery_type_id", "invalid_uuid"],
      [wanted({ description: 7 }), "description"],
      [wanted({ description: "x".repeat(2001) }), "description"],
      [wanted({ image_url: "javascript:alert(1)" }), "image_url"],
      [wanted({ image_url: "no url" }), "image_url"],
      [wanted({ priority: 1.5 }), "priority"],
      [wanted({ priority: 2 ** 31 }), "priority"],
      [wanted({ default_price: -1 }), "default_price"],
      [wanted({ default_price: 1.0001 }), "default_price"],
      [wanted({ estimated_delivery_time_min: -1 }), "estimated_delivery_time_min"],
      [
        wanted({ estimated_delivery_time_min: 5, estimated_delivery_time_max: 4 }),
        "estimated_delivery_time_max",
        "invalid_delivery_time_range",
      ],
      ...[0, -1, 1.5, "2", 2 ** 31].map((value) =>
        [
          wanted({ allowed_delivery_attempts: value }),
          "allowed_delivery_attempts",
          attempts,
        ] as const
      ),
      [wanted({ service_options: { tracking: "yes" } }), "service_options.tracking"],
      [wanted({ active: "yes" }), "active"],
      [wanted({ allow_returns: 1 }), "allow_returns"],
      [wanted({ access_mode: "some" }), "access_mode"],
      [wanted({ user_ids: "all" }), "user_ids"],
      [wanted({ zone_access_mode: "some" }), "zone_access_mode"],
      [wanted({ zone_selector_type: "city" }), "zone_selector_type"],
      [wanted({ policy_mode: "profile" }), "policy_mode"],
    ]);
    expect(await countServices(tenant)).toBe(before);
  });

  test("says why in the language asked for", async () => {
    const body = { ...wanted(), delivery_type_id: randomUUID() };
    const messages = await Promise.all(
      (["en", "ar", "ku"] as const).map(async (language) =>
        (await tenant.ops.in(language).post(path, body)).body.message
      ),
    );
    expect(messages).toEqual([
      "This delivery type does not exist.",
      "نوع التوصيل هذا غير موجود.",
      "ئەم جۆرەی گەیاندن بوونی نییە.",
    ]);
  });
});
