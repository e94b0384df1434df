import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused, expectReplayed } from "../../support/promises.ts";
import {
  countServices,
  newTag,
  newType,
  serviceBody,
  storedService,
} from "../../support/services.ts";
import { newZone, square } from "../../support/zones.ts";

const path = "/delivery/services";

let tenant: Tenant;
let other: Tenant;
let type: string;
let zone: string;
let tag: string;
let foreign: { type: string; zone: string; tag: string };

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  type = await newType(tenant);
  zone = await newZone(tenant, square(44.3, 33.3, 0.5));
  tag = await newTag(tenant, zone);
  foreign = {
    type: await newType(other),
    zone: await newZone(other, square(44.3, 33.3, 0.5)),
    tag: await newTag(other),
  };
});

const wanted = (more: Record<string, unknown> = {}) => serviceBody(type, more);

describe("adding a service", () => {
  test("with what is required takes the defaults and answers the documented message and id", async () => {
    const body = wanted();
    const answer = await tenant.ops.in("ar").post(path, body);
    expect(answer).toSucceed(201);
    expect(answer.body).toEqual({
      success: true,
      message: "service_created_successfully",
      id: expect.any(String),
    });
    expect(await storedService(answer.body.id)).toMatchObject({
      tenant_id: tenant.id,
      code: body.code,
      name: { ar: "Express" },
      description: {},
      default_price: 0,
      price_per_km: 0,
      allowed_delivery_attempts: 1,
      active: true,
      allow_returns: false,
      access_mode: "all_users",
      zone_access_mode: "all_zones",
      zone_selector_type: "zone",
      service_options: {},
      deleted_at: null,
    });
  });

  test("with everything keeps everything", async () => {
    const body = wanted({
      name: { en: "Same day", ar: "اليوم نفسه", ku: "هەمان ڕۆژ" },
      description: { en: "Before nine" },
      image_url: "https://example.com/a.png",
      priority: -3,
      default_price: 2500.125,
      price_per_km: 50,
      free_km: 10,
      estimated_delivery_time_min: 60,
      estimated_delivery_time_max: 90.5,
      allowed_delivery_attempts: 3,
      service_options: { tracking: true },
      active: false,
      allow_returns: true,
      access_mode: "select_users",
      user_ids: [tenant.customer.id, tenant.institution.id, tenant.customer.id],
      zone_access_mode: "exclude_zones",
      zone_ids: [zone],
      zone_tag_ids: [tag],
      policy_mode: "custom",
      policy_overrides: { payment_policies: { refund_delivery_fee_on_return: true } },
    });
    const answer = await tenant.dispatcher.post(path, body);
    expect(answer).toSucceed(201);
    const { user_ids, zone_ids, zone_tag_ids: _unused, ...columns } = body as Record<
      string,
      unknown
    >;
    expect(await storedService(answer.body.id)).toMatchObject({
      ...columns,
      users: [...new Set(user_ids as string[])].sort(),
      zones: zone_ids,
      tags: [],
    });
  });

  test("a null is as good as nothing sent", async () => {
    const optional = [
      "description",
      "image_url",
      "priority",
      "default_price",
      "price_per_km",
      "free_km",
      "estimated_delivery_time_min",
      "estimated_delivery_time_max",
      "allowed_delivery_attempts",
      "service_options",
      "active",
      "allow_returns",
      "access_mode",
      "user_ids",
      "zone_access_mode",
      "zone_selector_type",
      "zone_ids",
      "zone_tag_ids",
      "policy_mode",
      "policy_overrides",
    ];
    const nothing = Object.fromEntries(optional.map((name) => [name, null]));
    const made = await tenant.ops.post(path, wanted(nothing));
    expect(made).toSucceed(201);
    const plain = await tenant.ops.post(path, wanted());
    const shape = async (id: string) => {
      const { id: _id, code: _code, created_at: _at, updated_at: _then, ...rest } =
        await storedService(id);
      return rest;
    };
    expect(await shape(made.body.id)).toEqual(await shape(plain.body.id));
    const kept = {
      default_price: 500,
      access_mode: "select_users",
      user_ids: [tenant.customer.id],
    };
    const one = `${path}/${made.body.id}`;
    expect(await tenant.ops.put(one, kept)).toSucceed(200);
    expect(
      await tenant.ops.put(one, { default_price: null, access_mode: null, user_ids: null }),
    ).toSucceed(200);
    expect(await storedService(made.body.id)).toMatchObject({
      default_price: 500,
      access_mode: "select_users",
      users: [tenant.customer.id],
    });
  });

  test("ids of the selected people, zones and tags are required, and must be the tenant's own", async () => {
    const before = await countServices(tenant);
    const users = (user_ids?: unknown, access_mode = "select_users") =>
      wanted({ access_mode, user_ids });
    const zones = (zone_ids?: unknown, zone_access_mode = "select_zones") =>
      wanted({ zone_access_mode, zone_ids });
    const tags = (zone_tag_ids?: unknown) =>
      wanted({ zone_access_mode: "exclude_zones", zone_selector_type: "tag", zone_tag_ids });
    const usersNeeded = "customer_ids_required_for_selected_access_mode";
    const zonesNeeded = "zone_ids_required_for_selected_zone_mode";
    const tagsNeeded = "zone_tag_ids_required_for_tag_selector";
    await expectRefused(tenant.ops, { method: "POST", path }, [
      [users(), "user_ids", usersNeeded],
      [users([], "exclude_users"), "user_ids", usersNeeded],
      [users([tenant.customer.id, other.customer.id]), "user_ids", "invalid_customer_ids"],
      [users([randomUUID()], "exclude_users"), "user_ids", "invalid_customer_ids"],
      [users(["x"]), "user_ids.0", "invalid_customer_ids"],
      [zones(), "zone_ids", zonesNeeded],
      [zones([], "exclude_zones"), "zone_ids", zonesNeeded],
      [zones([zone, foreign.zone]), "zone_ids", "invalid_zone_ids"],
      [zones([randomUUID()]), "zone_ids", "invalid_zone_ids"],
      [zones(["\u0000"]), "zone_ids.0", "invalid_zone_ids"],
      // Also where the mode does not ask for them.
      [wanted({ user_ids: [other.customer.id] }), "user_ids", "invalid_customer_ids"],
      [wanted({ zone_ids: [foreign.zone] }), "zone_ids", "invalid_zone_ids"],
      [wanted({ zone_tag_ids: [foreign.tag] }), "zone_tag_ids", "invalid_zone_tag_ids"],
      [tags(), "zone_tag_ids", tagsNeeded],
      [{ ...tags(), zone_ids: [zone] }, "zone_tag_ids", tagsNeeded],
      [tags([foreign.tag]), "zone_tag_ids", "invalid_zone_tag_ids"],
      [tags([7]), "zone_tag_ids.0", "invalid_zone_tag_ids"],
    ]);
    const lost = await tenant.ops.post(path, wanted({ delivery_type_id: foreign.type }));
    expect(lost).toFailWith(404, "delivery_type_not_found");
    expect(lost.body.field).toBe("delivery_type_id");
    expect(await countServices(tenant)).toBe(before);
    expect(await tenant.ops.post(path, tags([tag]))).toSucceed(201);
  });

  test("a code is taken once per tenant, also when many ask at once", async () => {
    const body = wanted();
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => tenant.ops.post(path, body)),
    );
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1);
    for (const answer of answers.filter((each) => each.status !== 201)) {
      expect(answer).toFailWith(409, "service_code_already_exists");
    }
    const [row] = await sql`select count(*)::int as n from delivery.delivery_services
      where tenant_id = ${tenant.id} and code = ${body.code}`;
    expect(row.n).toBe(1);
    expect(await other.ops.post(path, { ...body, delivery_type_id: foreign.type })).toSucceed(201);
  });

  test("with an Idempotency-Key is done once", async () => {
    await expectReplayed(tenant.ops, path, wanted(), wanted());
  });

  test("is for operations staff only", async () => {
    const before = await countServices(tenant);
    const { staff, warehouse, driver, institution, customer } = tenant;
    await expectGuarded({ method: "POST", path, body: wanted() }, {
      denied: [staff, warehouse, driver, institution, customer],
    });
    expect(await countServices(tenant)).toBe(before);
  });
});

test("a service is deleted as it was read, and not after somebody changed it", async () => {
  const { body } = await tenant.ops.post(path, wanted());
  const one = `${path}/${body.id}`;
  const tag = (await tenant.ops.get(one)).headers.get("etag")!;
  expect(await tenant.dispatcher.put(one, { name: "Changed" })).toSucceed(200);
  const remove = (seen: string) => tenant.ops.delete(one, { headers: { "if-match": seen } });
  expect(await remove(tag)).toFailWith(412, "version_conflict");
  expect((await storedService(body.id)).deleted_at).toBeNull();
  expect(await remove((await tenant.ops.get(one)).headers.get("etag")!)).toSucceed(200);
});
