import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch } from "../../support/promises.ts";
import { addService, newTag, newType } from "../../support/services.ts";

const path = "/delivery/services";

let tenant: Tenant;
let other: Tenant;
let type: string;
let tag: string;
let foreignService: string;

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  type = await newType(tenant);
  tag = await newTag(tenant);
  foreignService = await addService(other, await newType(other));
});

describe("reading a service", () => {
  const basic = {
    id: expect.any(String),
    code: expect.any(String),
    name: "Same day",
    name_translations: { en: "Same day", ar: "اليوم نفسه" },
    description: null,
    description_translations: {},
    image_url: null,
    priority: null,
    service_level: "express",
    default_price: 1500,
    price_per_km: 0,
    free_km: 0,
    estimated_delivery_time_min: null,
    estimated_delivery_time_max: null,
    allowed_delivery_attempts: 1,
    unit_min: 1,
    unit_max: 50,
    service_options: { tracking: false, signature_required: true, insurance_available: false },
    delivery_type: { id: expect.any(String), code: expect.any(String), name: "Parcel" },
    active: true,
    allow_returns: false,
    access_mode: "exclude_users",
    user_ids: [expect.any(String)],
    user_count: 1,
    zone_access_mode: "select_zones",
    zone_selector_type: "tag",
    created_at: expect.any(String),
    updated_at: expect.any(String),
  };
  let id: string;
  beforeAll(async () => {
    id = await addService(tenant, type, {
      name: { en: "Same day", ar: "اليوم نفسه" },
      default_price: 1500,
      service_options: { signature_required: true },
      access_mode: "exclude_users",
      user_ids: [tenant.institution2.id],
      zone_access_mode: "select_zones",
      zone_selector_type: "tag",
      zone_tag_ids: [tag],
    });
  });

  test("basic is the record with its type, in the request's language", async () => {
    const query = { response_type: "basic" };
    const answer = await tenant.staff.get(`${path}/${id}`, { query });
    expect(answer).toSucceed(200);
    expect(answer.body).toEqual({
      success: true,
      message: "service_retrieved_successfully",
      service: basic,
    });
    const arabic = await tenant.staff.in("ar").get(`${path}/${id}`, { query });
    expect(arabic.body.service).toMatchObject({
      name: "اليوم نفسه",
      delivery_type: { name: "طرد" },
    });
    expect(arabic.body.message).toBe("service_retrieved_successfully");
    const kurdish = await tenant.staff.in("ku").get(`${path}/${id}`, { query });
    expect(kurdish.body.service.name).toBe("Same day");
  });

  test("full, which is the default, adds zones, teams, vehicles and the policy in force", async () => {
    const [team] = await sql`insert into delivery.teams (tenant_id, name)
      values (${tenant.id}, 'Night') returning id`;
    const [vehicle] = await sql`insert into delivery.vehicles (tenant_id, name, unit_capacity)
      values (${tenant.id}, 'Van', 9) returning id`;
    const whole = async () => {
      const answer = await tenant.ops.get(`${path}/${id}`);
      expect(answer).toSucceed(200);
      return answer.body.service;
    };
    const [{ name: tagName }] = await sql`select name from delivery.zone_tags where id = ${tag}`;
    const expected = {
      ...basic,
      zone_ids: [],
      zones: [],
      zone_tag_ids: [tag],
      zone_tags: [{ id: tag, name: tagName }],
      all_teams: true,
      teams: [],
      vehicle_ids: [],
      vehicles: [],
      policy_mode: "tenant",
      policy_overrides: {},
      effective_policy: {
        source: "tenant",
        payment_policies: {
          refund_delivery_fee_on_cancel: true,
          refund_delivery_fee_on_return: false,
        },
      },
    };
    expect(await whole()).toEqual(expected);
    await sql`insert into delivery.delivery_service_teams values (${tenant.id}, ${id}, ${team.id})`;
    await sql`insert into delivery.delivery_service_vehicles
      values (${tenant.id}, ${id}, ${vehicle.id})`;
    expect(await whole()).toEqual({
      ...expected,
      all_teams: false,
      teams: [{ id: team.id, name: "Night" }],
      vehicle_ids: [vehicle.id],
      vehicles: [{ id: vehicle.id, name: "Van", image_url: null }],
    });
  });

  test("the policy in force: custom over profile over the tenant's setting over the defaults", async () => {
    const own = await newTenant();
    const ownType = await newType(own);
    const service = await addService(own, ownType, {
      policy_mode: "custom",
      policy_overrides: { payment_policies: { refund_delivery_fee_on_cancel: false } },
    });
    const policy = async () => {
      const { effective_policy } = (await own.ops.get(`${path}/${service}`)).body.service;
      const { refund_delivery_fee_on_cancel, refund_delivery_fee_on_return } =
        effective_policy.payment_policies;
      return [
        effective_policy.source,
        refund_delivery_fee_on_cancel,
        refund_delivery_fee_on_return,
      ];
    };
    expect(await policy()).toEqual(["custom", false, false]);
    await saveSettings(own.id, "delivery.fulfillment_policy", {
      payment_policies: { refund_delivery_fee_on_return: true },
    });
    expect(await policy()).toEqual(["custom", false, true]);
    await own.ops.put(`${path}/${service}`, { policy_mode: "tenant" });
    expect(await policy()).toEqual(["tenant", true, true]);
    const [profile] = await sql`insert into delivery.policy_profiles (tenant_id, name, policy)
      values (${own.id}, 'Strict', ${
      sql.json({ payment_policies: { refund_delivery_fee_on_return: false } })
    }) returning id`;
    await sql`update delivery.delivery_services set policy_mode = 'profile',
      policy_profile_id = ${profile.id} where id = ${service}`;
    expect(await policy()).toEqual(["profile", true, false]);
    await sql`update delivery.policy_profiles set is_active = false where id = ${profile.id}`;
    expect(await policy()).toEqual(["tenant", true, true]);
  });

  test("is for every member; what a customer may not use does not exist for them", async () => {
    for (const person of [tenant.staff, tenant.driver, tenant.institution, tenant.customer]) {
      expect(await person.get(`${path}/${id}`)).toSucceed(200);
    }
    // The people of a service are nobody else's business.
    expect((await tenant.customer.get(`${path}/${id}`)).body.service.user_ids).toEqual([]);
    expect(await tenant.institution2.get(`${path}/${id}`)).toFailWith(404, "service_not_found");
    await expectGuarded({ method: "GET", path: `${path}/${id}` }, { denied: [] });
    expect(await other.ops.get(`${path}/${id}`)).toFailWith(404, "service_not_found");
    await expectNoSuch(
      tenant.ops,
      { method: "GET", path: `${path}/{id}` },
      "serviceId",
      "service_not_found",
      foreignService,
    );
    const wrong = await tenant.ops.get(`${path}/${id}`, { query: { response_type: "tiny" } });
    expect(wrong).toFailWith(400, "validation_failed");
    expect(wrong.body.field).toBe("response_type");
  });
});
