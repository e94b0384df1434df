import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newService } from "../../support/money.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { item, newMeasuring, pricePath as path } from "../../support/price.ts";
import { expectGuarded, expectRefused } from "../../support/promises.ts";
import { newTag } from "../../support/services.ts";
import { newZone, square } from "../../support/zones.ts";

let tenant: Tenant;
let other: Tenant;
/** 1,000 a unit, 2 to 40 units. */
let service: string;
let foreignService: string;

beforeAll(async () => {
  ({ tenant, service } = await newMeasuring());
  other = await newTenant();
  foreignService = await newService(other);
});

const ask = (more: Record<string, unknown> = {}, language: "en" | "ar" | "ku" = "en") =>
  tenant.staff.in(language).post(path, { delivery_service_id: service, ...more });
const packed = (...items: object[]) => ask({ package: { items } });

describe("the units of a preview", () => {
  test("are measured when every item is, whatever unit_size says", async () => {
    // 10 kg x 2 + 5 kg = 25 kg, 5 kg a unit.
    const items = [item({ quantity: 2 }), item({ weight: 5 })];
    const answer = await ask({ package: { items }, unit_size: 7 });
    expect(answer).toSucceed(200);
    expect(answer.body).toEqual({
      success: true,
      message: "Price calculated.",
      price: 5000,
      unit_size: 5,
      unit_size_source: "package_details",
    });
    for (const unit_size of [0, -1]) {
      const unsaid = await ask({ package: { items }, unit_size });
      expect(unsaid.body).toMatchObject({ unit_size: 5, unit_size_source: "package_details" });
    }
  });

  test.each(
    [
      ["the longest side, once for all items", [item({ length: 151, quantity: 3, weight: 1 })], 4],
      [
        "the volume of the largest sides",
        [item({ length: 40, weight: 1 }), item({ width: 45, height: 50, weight: 1 })],
        4,
      ],
      ["numbers written as text", [item({ weight: "17.5", length: " 20 ", quantity: "1" })], 4],
      ["quantities left empty as one", [item({ quantity: "" }), item({ quantity: null })], 4],
    ] as const,
  )("count %s", async (_what, items, units) => {
    const { body } = await packed(...items);
    expect(body).toMatchObject({ unit_size: units, unit_size_source: "package_details" });
  });

  test.each(
    [
      ["nothing", undefined],
      ["no items", { items: [] }],
      ["a package without items", {}],
      ["a zero weight", { items: [item(), item({ weight: 0 })] }],
      ["a missing height", { items: [item({ height: undefined })] }],
      ["an empty width", { items: [item({ width: "" })] }],
      ["a null length", { items: [item({ length: null })] }],
    ],
  )("are those submitted when %s is measured", async (_what, box) => {
    const answer = await ask({ package: box, unit_size: 2.5 });
    expect(answer).toSucceed(200);
    expect(answer.body).toMatchObject({
      price: 2500,
      unit_size: 2.5,
      unit_size_source: "unit_size",
    });
    expect((await ask({ package: box, unit_size: "3" })).body.unit_size).toBe(3);
    // Neither measured nor submitted, and the tenant has no fallback.
    for (const unit_size of [undefined, null, ""]) {
      expect(await ask({ package: box, unit_size })).toFailWith(
        400,
        "unit_size_or_dimensions_required",
      );
    }
  });

  test.each([["service_min", 2], ["service_half", 21], ["service_max", 40]] as const)(
    "fall back to %s when the tenant says so",
    async (fallback, units) => {
      const own = await newTenant({
        settings: { "general.unit_size": { missing_unit_size_fallback: fallback } },
      });
      const its = await newService(own, { unit_min: 2, unit_max: 40 });
      const answer = await own.ops.post(path, { delivery_service_id: its });
      expect(answer.body).toMatchObject({
        price: units * 1000,
        unit_size: units,
        unit_size_source: fallback,
      });
    },
  );

  test("of the two packages package_details counts", async () => {
    const answer = await ask({
      package: { items: [item({ weight: 100 })] },
      package_details: { items: [item({ weight: 15 })] },
    });
    expect(answer.body.unit_size).toBe(3);
    expect((await ask({ package: { items: [item()] }, package_details: null })).body.unit_size)
      .toBe(2);
  });

  test.each(
    [
      { weight: -1 },
      { length: "-2" },
      { width: "wide" },
      { height: true },
      { weight: [1] },
      { weight: {} },
      { quantity: 0 },
      { quantity: -1 },
      { quantity: 1.5 },
      { quantity: "two" },
      { quantity: true },
    ],
  )("are refused for %j before anything else, naming the package used", async (wrong) => {
    const box = { items: [item({ weight: 0 }), item(wrong)] };
    for (
      const [body, field] of [
        [{ package: box, unit_size: 3 }, "package"],
        [{ package_details: box }, "package_details"],
        [{ package: { items: [item()] }, package_details: box }, "package_details"],
      ] as const
    ) {
      const answer = await ask(body);
      expect(answer).toFailWith(400, "invalid_package");
      expect(answer.body.field).toBe(field);
    }
    // Values that are not used are not validated.
    expect(await ask({ package: box, package_details: { items: [item()] } })).toSucceed(200);
  });

  test("outside the service's range are refused with the range", async () => {
    const over = await ask({ package: { items: [item({ weight: 201 })] }, unit_size: 3 });
    expect(over).toFailWith(400, "can_not_use_this_delivery_for_this_unit_size");
    expect(over.body).toEqual({
      success: false,
      code: "can_not_use_this_delivery_for_this_unit_size",
      message: expect.any(String),
      calculated_unit_size: 41,
      allowed_unit_min: 2,
      allowed_unit_max: 40,
      violation: "above_maximum",
    });
    for (const unit_size of [1.999, 0, -1]) {
      const under = await ask({ unit_size });
      expect(under).toFailWith(400, "can_not_use_this_delivery_for_this_unit_size");
      expect(under.body).toMatchObject({
        calculated_unit_size: unit_size,
        violation: "below_minimum",
      });
    }
    // As they are sent, not as they would be kept.
    for (const unit_size of [1.9996, 40.0004]) {
      const beside = await ask({ unit_size });
      expect(beside).toFailWith(400, "can_not_use_this_delivery_for_this_unit_size");
      expect(beside.body.calculated_unit_size).toBe(unit_size);
    }
    for (const unit_size of [2, 40, 40 + 1e-9]) expect(await ask({ unit_size })).toSucceed(200);
    const legacy = await tenant.staff.get(path, {
      query: { delivery_service_id: service, units: 41 },
    });
    expect(legacy).toFailWith(400, "can_not_use_this_delivery_for_this_unit_size");
    expect(legacy.body.violation).toBe("above_maximum");
  });
});

describe("a preview", () => {
  test("of input that is none names the field", async () => {
    await expectRefused(tenant.staff, { method: "POST", path }, [
      [{}, "delivery_service_id", "validation_failed"],
      [{ delivery_service_id: 7 }, "delivery_service_id", "invalid_uuid"],
      ...["x", true, {}, 1e12, -1e12].map((unit_size) =>
        [{ delivery_service_id: service, unit_size }, "unit_size"] as const
      ),
      ...["box", [], { items: "x" }, { items: [7] }, { items: [null] }].map((box) =>
        [{ delivery_service_id: service, package: box }, "package", "invalid_package"] as const
      ),
      [
        { delivery_service_id: service, package_details: { items: {} } },
        "package_details",
        "invalid_package",
      ],
    ]);
  });

  test("of a service that is unknown, foreign, deleted, off or not for the caller has no price", async () => {
    const of = (delivery_service_id: string, person = tenant.customer) =>
      person.post(path, { delivery_service_id, unit_size: 3 });
    for (const id of [randomUUID(), foreignService]) {
      const answer = await of(id);
      expect(answer).toFailWith(404, "service_not_found");
      expect(answer.body.field).toBe("delivery_service_id");
    }
    expect(await of(await newService(tenant, { active: false }))).toFailWith(
      400,
      "delivery_service_not_available",
    );
    const chosen = await newService(tenant, { access_mode: "select_users" });
    await sql`insert into delivery.delivery_service_users
      values (${tenant.id}, ${chosen}, ${tenant.institution.id})`;
    expect(await of(chosen)).toFailWith(404, "service_not_found");
    expect(await of(chosen, tenant.institution)).toSucceed(200);
    expect(await of(chosen, tenant.staff)).toSucceed(200);
    expect((await of(randomUUID(), tenant.staff.in("ku"))).body.message).toBe(
      "ئەم خزمەتگوزاری گەیاندنە بوونی نییە.",
    );
    expect((await ask({ unit_size: 3 }, "ar")).body.message).toBe("تم حساب السعر.");
  });

  test("keeps to the zones of the service", async () => {
    const zone = await newZone(tenant, square(10, 10, 1));
    const inside = { latitude: 10.5, longitude: 10.5 };
    const outside = { latitude: 20, longitude: 20 };
    const tag = await newTag(tenant, zone);
    const available = async (its: string, delivery_location: object) =>
      (await tenant.staff.post(path, { delivery_service_id: its, unit_size: 3, delivery_location }))
        .body.code ?? "yes";
    const selected = await newService(tenant, { zone_access_mode: "select_zones" });
    await sql`insert into delivery.delivery_service_zones values (${tenant.id}, ${selected}, ${zone})`;
    expect(await available(selected, inside)).toBe("yes");
    expect(await available(selected, outside)).toBe("delivery_service_not_available");
    await sql`update delivery.delivery_services set zone_access_mode = 'exclude_zones'
      where id = ${selected}`;
    expect(await available(selected, inside)).toBe("delivery_service_not_available");
    expect(await available(selected, outside)).toBe("yes");
    await sql`update delivery.delivery_services set zone_selector_type = 'tag' where id = ${selected}`;
    expect(await available(selected, inside)).toBe("yes");
    await sql`insert into delivery.delivery_service_zone_tags values (${tenant.id}, ${selected}, ${tag})`;
    expect(await available(selected, inside)).toBe("delivery_service_not_available");
  });

  test("is for every member of the tenant, and writes nothing", async () => {
    for (const person of [tenant.driver, tenant.institution, tenant.customer, tenant.warehouse]) {
      expect(await person.post(path, { delivery_service_id: service, unit_size: 3 })).toSucceed();
    }
    await expectGuarded({ method: "POST", path }, { denied: [] });
    await expectGuarded({ method: "GET", path }, { denied: [] });
    const away = await tenant.customer.post(path, { delivery_service_id: service, unit_size: 3 }, {
      query: { tenant_id: other.id },
    });
    expect(away).toFailWith(403, "forbidden");
  });
});
