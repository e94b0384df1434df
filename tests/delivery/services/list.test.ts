import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { newTenant } from "../../support/people.ts";
import { everyone, newServiceList, type ServiceList } from "../../support/services-to-find.ts";
import { addService, newType, services as path } from "../../support/services.ts";

let { tenant, freight, made, ask, names } = {} as ServiceList;
beforeAll(async () => {
  ({ tenant, freight, made, ask, names } = await newServiceList());
});

const filtered = (column_filters: object) => names({ column_filters });

describe("the list of services", () => {
  test("answers rows, stats and page, newest first, ten a page", async () => {
    const body = await ask({ search: "gamma" });
    expect(body).toEqual({
      success: true,
      message: "Retrieved.",
      deliveryServices: [{
        id: made["Gamma 100%"],
        code: "GAMMA_1",
        name: "Gamma 100%",
        name_translations: { en: "Gamma 100%", ar: "خدمة Gamma 100%" },
        description: null,
        description_translations: {},
        image_url: null,
        priority: null,
        service_level: "express",
        default_price: 300,
        price_per_km: 0,
        free_km: 0,
        estimated_delivery_time_min: null,
        estimated_delivery_time_max: null,
        allowed_delivery_attempts: 4,
        unit_min: 1,
        unit_max: 50,
        service_options: { tracking: false, signature_required: false, insurance_available: true },
        delivery_type: { id: freight, code: "freight", name: "Parcel" },
        active: true,
        allow_returns: false,
        access_mode: "all_users",
        user_ids: [],
        user_count: 0,
        zone_access_mode: "all_zones",
        zone_selector_type: "zone",
        created_at: expect.any(String),
        updated_at: expect.any(String),
      }],
      stats: expect.any(Object),
      page: 1,
      limit: 10,
      total: 1,
    });
    expect(await names()).toEqual(everyone);
  });

  test("pages with exact totals; limits are clamped", async () => {
    const seen: string[] = [];
    for (let page = 1; page <= 3; page++) {
      const body = await ask({ page, limit: 2 });
      expect(body).toMatchObject({ page, limit: 2, total: 6 });
      seen.push(...body.deliveryServices.map((row: { name: string }) => row.name));
    }
    expect(seen).toEqual(everyone);
    expect(await ask({ page: 4, limit: 2 })).toMatchObject({ deliveryServices: [], total: 6 });
    expect(await ask({ limit: 101 })).toMatchObject({ limit: 100 });
    expect(await ask({ limit: 0, page: -1 })).toMatchObject({ limit: 10, page: 1 });
    const many = await newTenant();
    const type = await newType(many);
    for (let i = 0; i < 12; i++) await addService(many, type);
    const body = await ask({}, many.ops);
    expect(body.deliveryServices).toHaveLength(10);
    expect(body.total).toBe(12);
    expect(body.stats.recentlyAdded).toHaveLength(5);
  });

  test.each(
    [
      ["service_level", "economy", ["Beta"]],
      ["active", "false", ["Delta"]],
      ["allow_returns", "true", ["Beta"]],
      ["delivery_type_code", "freight", ["Delta", "Gamma 100%"]],
      ["delivery_type_code", "FREIGHT", []],
      ["search", "gamma_1", ["Gamma 100%"]],
      ["search", "0%", ["Gamma 100%"]],
      ["search", "ALPH", ["Alpha"]],
      ["search", "%", ["Gamma 100%"]],
      ["search", "bicycle", []],
      ["delivery_type_code", "' or true --", []],
    ] as const,
  )("%s=%s narrows it", async (name, value, expected) => {
    expect(await names({ [name]: value })).toEqual(expected);
  });

  test("delivery_type is an id", async () => {
    expect(await names({ delivery_type: freight })).toEqual(["Delta", "Gamma 100%"]);
    expect(await names({ delivery_type: freight, active: true })).toEqual(["Gamma 100%"]);
    expect(await names({ delivery_type: randomUUID() })).toEqual([]);
  });

  test("search reads the name in every language, a column filter in that of the request", async () => {
    const { staff } = tenant;
    expect(await names({ search: "خدمة Alpha" }, staff.in("ar"))).toEqual(["خدمة Alpha"]);
    expect(await names({ search: "خدمة Alpha" })).toEqual(["Alpha"]);
    expect(await names({ search: "خدمة" })).toEqual(everyone);
    expect(await names({ search: "gamma_1" }, staff.in("ku"))).toEqual(["Gamma 100%"]);
    expect(await names({ search: "خدمة", active: false })).toEqual(["Delta"]);
    // The object that holds the names is not a name itself.
    expect(await names({ search: "en" })).not.toContain("Alpha");
    expect(await names({ column_filters: { name: "خدمة" } })).toEqual([]);
    expect(await names({ column_filters: { name: "خدمة Alpha" } }, staff.in("ar")))
      .toEqual(["خدمة Alpha"]);
  });

  test("column_filters: text, exact, boolean, numbers and dates, all joined", async () => {
    expect(await filtered({ name: "eta" })).toEqual(["Beta"]);
    expect(await filtered({ name: "_" })).toEqual([]);
    expect(await filtered({ code: "gamma_" })).toEqual(["Gamma 100%"]);
    expect(await filtered({ description: "BICYCLE" })).toEqual(["Alpha"]);
    expect(await filtered({ service_level: "economy" })).toEqual(["Beta"]);
    expect(await filtered({ delivery_type_code: "freight" })).toEqual(["Delta", "Gamma 100%"]);
    expect(await filtered({ active: false })).toEqual(["Delta"]);
    expect(await filtered({ allow_returns: "true" })).toEqual(["Beta"]);
    expect(await filtered({ default_price: 300 })).toEqual(["Delta", "Gamma 100%"]);
    expect(await filtered({ default_price: { min: 301 } })).toEqual(["Beta"]);
    expect(await filtered({ default_price: { min: "100", max: 299 } })).toEqual(["Alpha"]);
    expect(await filtered({ unit_min: 5 })).toEqual(["Beta"]);
    expect(await filtered({ unit_max: { max: 10 } })).toEqual(["Alpha"]);
    expect(await filtered({ estimated_delivery_time_min: { min: 50 } })).toEqual(["Beta"]);
    expect(await filtered({ estimated_delivery_time_max: 20 })).toEqual(["Alpha"]);
    expect(await filtered({ signature_required: true })).toEqual(["Beta"]);
    expect(await filtered({ insurance_available: "true" })).toEqual(["Gamma 100%"]);
    expect(await filtered({ insurance_available: false })).not.toContain("Gamma 100%");
    expect(await filtered({ insurance_available: false })).toHaveLength(5);
    expect(await filtered({ created_at: { from: "2024-05-01", to: "2024-05-01" } })).toEqual([
      "Alpha",
    ]);
    expect(await filtered({ created_at: { from: "2024-05-02" } })).not.toContain("Alpha");
    expect(await filtered({ default_price: 300, active: true, nonsense: [1] })).toEqual([
      "Gamma 100%",
    ]);
    // Joined with the direct parameters, not instead of them.
    expect(await names({ active: true, column_filters: { active: false } })).toEqual([]);
  });

  test.each(
    [
      ["{", "column_filters"],
      ["[]", "column_filters"],
      ['{"active":"maybe"}', "column_filters.active"],
      ['{"default_price":{"min":"x"}}', "column_filters.default_price"],
      ['{"created_at":{"from":"soon"}}', "column_filters.created_at"],
      ['{"service_level":"slow"}', "column_filters.service_level"],
    ],
  )("column_filters %s is refused", async (column_filters, field) => {
    const answer = await tenant.staff.get(path, { query: { column_filters } });
    expect(answer).toFailWith(400, "invalid_column_filters");
    expect(answer.body.field).toBe(field);
  });

  test.each(
    [
      ["service_level", "slow", "validation_failed"],
      ["active", "maybe", "validation_failed"],
      ["allow_returns", "1", "validation_failed"],
      ["delivery_type", "x", "invalid_uuid"],
      ["customer_id", "x", "invalid_uuid"],
      ["context", "b2b", "validation_failed"],
      ["include_stats", "no", "validation_failed"],
      ["price_order", "up", "validation_failed"],
      ["sort_by", "tenant_id", "validation_failed"],
      ["sort_order", "up", "validation_failed"],
      ["search", "x".repeat(201), "validation_failed"],
    ],
  )("%s=%s is refused", async (name, value, code) => {
    const answer = await tenant.staff.get(path, { query: { [name]: value } });
    expect(answer).toFailWith(400, code);
    expect(answer.body.field).toBe(name);
  });

  test.each([
    "name",
    "code",
    "default_price",
    "unit_min",
    "unit_max",
    "service_level",
    "estimated_delivery_time_min",
    "estimated_delivery_time_max",
    "priority",
    "created_at",
    "updated_at",
  ])("sorts by %s both ways, what has none last", async (column) => {
    const values = async (sort_order?: string) =>
      (await ask({ sort_by: column, sort_order })).deliveryServices
        .map((row: Record<string, unknown>) => row[column]);
    const upwards = await values("asc");
    const known = upwards.filter((value: unknown) => value !== null);
    expect(upwards.slice(0, known.length)).toEqual(known);
    const sorted = [...known].sort((a, b) => typeof a === "number" ? a - b : a < b ? -1 : 1);
    expect(known).toEqual(sorted);
    const downwards = await values();
    expect(downwards.slice(0, known.length)).toEqual([...sorted].reverse());
    expect(await values("desc")).toEqual(downwards);
  });

  test("price_order sorts by price unless sort_by is there", async () => {
    const prices = async (query: Parameters<typeof ask>[0]) =>
      (await ask(query)).deliveryServices.map((row: { default_price: number }) =>
        row.default_price
      );
    expect(await prices({ price_order: "asc" })).toEqual([0, 0, 100, 300, 300, 500]);
    expect(await prices({ price_order: "desc" })).toEqual([500, 300, 300, 100, 0, 0]);
    expect(await names({ price_order: "asc", sort_by: "name", sort_order: "asc" })).toEqual(
      [...everyone].sort(),
    );
  });
});
