import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch, expectRefused } from "../../support/promises.ts";
import { addService, newTag, newType, storedService } from "../../support/services.ts";
import { newZone, square } from "../../support/zones.ts";

const path = "/delivery/services";

let tenant: Tenant;
let other: Tenant;
let type: string;
let secondType: string;
let zone: string;
let foreign: { type: string; service: string };

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  type = await newType(tenant);
  secondType = await newType(tenant);
  zone = await newZone(tenant, square(44.3, 33.3, 0.5));
  const foreignType = await newType(other);
  foreign = { type: foreignType, service: await addService(other, foreignType) };
});

const add = (more?: Record<string, unknown>) => addService(tenant, type, more);
const put = (id: string, body: Record<string, unknown>) => tenant.ops.put(`${path}/${id}`, body);

describe("changing a service", () => {
  test("takes what is sent, leaves the rest, and null empties what may be empty", async () => {
    const id = await add({ priority: 4, image_url: "https://example.com/a.png", default_price: 7 });
    const before = await storedService(id);
    const answer = await put(id, { unit_max: 60, code: `NEW-${id}`, delivery_type_id: secondType });
    expect(answer).toSucceed(200);
    expect(answer.body).toEqual({ success: true, message: "Updated." });
    const { updated_at: _then, ...rest } = before;
    expect(await storedService(id)).toMatchObject({
      ...rest,
      unit_max: 60,
      code: `NEW-${id}`,
      delivery_type_id: secondType,
    });
    await put(id, { priority: null, image_url: null, allow_returns: true, active: false });
    expect(await storedService(id)).toMatchObject({
      priority: null,
      image_url: null,
      allow_returns: true,
      active: false,
      default_price: 7,
    });
    const empty = await storedService(id);
    expect(await put(id, {})).toSucceed(200);
    expect(await storedService(id)).toEqual({ ...empty, updated_at: expect.any(Date) });
  });

  test("a text changes the language of the request, an object all of them", async () => {
    const id = await add({ name: { en: "A", ar: "ب" }, description: "first" });
    await tenant.ops.in("ku").put(`${path}/${id}`, { name: "پ" });
    expect((await storedService(id)).name).toEqual({ en: "A", ar: "ب", ku: "پ" });
    await put(id, { name: { en: "B", ku: "" }, description: null });
    expect(await storedService(id)).toMatchObject({ name: { en: "B" }, description: {} });
    await put(id, { service_options: { tracking: true } });
    await put(id, { service_options: { insurance_available: true } });
    expect((await storedService(id)).service_options).toEqual({
      tracking: true,
      insurance_available: true,
    });
  });

  test("access is validated as it will be: lists stay until replaced, and go with their mode", async () => {
    const id = await add();
    const needed = "customer_ids_required_for_selected_access_mode";
    expect(await put(id, { access_mode: "select_users" })).toFailWith(400, needed);
    expect(await put(id, { user_ids: [tenant.customer.id] })).toSucceed(200);
    expect((await storedService(id)).users).toEqual([]);
    await put(id, { access_mode: "select_users", user_ids: [tenant.customer.id] });
    expect(await put(id, { access_mode: "exclude_users" })).toSucceed(200);
    expect((await storedService(id)).users).toEqual([tenant.customer.id]);
    expect(await put(id, { user_ids: [tenant.institution.id] })).toSucceed(200);
    expect((await storedService(id)).users).toEqual([tenant.institution.id]);
    expect(await put(id, { user_ids: [] })).toFailWith(400, needed);
    expect(await put(id, { user_ids: [other.customer.id] })).toFailWith(
      400,
      "invalid_customer_ids",
    );
    expect((await storedService(id)).users).toEqual([tenant.institution.id]);
    await put(id, { access_mode: "all_users" });
    expect((await storedService(id)).users).toEqual([]);
    expect(await put(id, { access_mode: "select_users" })).toFailWith(400, needed);
  });

  test("zones and tags take each other's place with the selector", async () => {
    const id = await add();
    const tag = await newTag(tenant, zone);
    const zonesNeeded = "zone_ids_required_for_selected_zone_mode";
    const tagsNeeded = "zone_tag_ids_required_for_tag_selector";
    expect(await put(id, { zone_access_mode: "select_zones" })).toFailWith(400, zonesNeeded);
    expect(await put(id, { zone_access_mode: "select_zones", zone_ids: [zone] })).toSucceed(200);
    expect(await storedService(id)).toMatchObject({ zones: [zone], tags: [] });
    expect(await put(id, { zone_selector_type: "tag" })).toFailWith(400, tagsNeeded);
    expect(await put(id, { zone_selector_type: "tag", zone_tag_ids: [tag] })).toSucceed(200);
    expect(await storedService(id)).toMatchObject({ zones: [], tags: [tag] });
    expect(await put(id, { zone_tag_ids: [randomUUID()] })).toFailWith(400, "invalid_zone_tag_ids");
    expect(await put(id, { zone_selector_type: "zone" })).toFailWith(400, zonesNeeded);
    expect(await put(id, { zone_access_mode: "all_zones" })).toSucceed(200);
    expect(await storedService(id)).toMatchObject({ zones: [], tags: [] });
  });

  test("is refused for wrong input, wrong people and other tenants' ids, and leaves it alone", async () => {
    const id = await add({ estimated_delivery_time_min: 5 });
    const taken = await storedService(await add());
    const before = await storedService(id);
    const call = { method: "PUT", path: `${path}/${id}`, body: { name: "X" } } as const;
    const attempts = "allowed_delivery_attempts_must_be_positive_integer";
    await expectRefused(tenant.ops, call, [
      [{ name: null }, "name"],
      [{ code: "" }, "code"],
      [{ service_level: "slow" }, "service_level"],
      [{ unit_min: 51 }, "unit_max", "invalid_unit_range"],
      [{ unit_max: null }, "unit_max"],
      [
        { estimated_delivery_time_max: 4 },
        "estimated_delivery_time_max",
        "invalid_delivery_time_range",
      ],
      [{ allowed_delivery_attempts: 0 }, "allowed_delivery_attempts", attempts],
      [{ delivery_type_id: 7 }, "delivery_type_id", "invalid_uuid"],
    ]);
    expect(await put(id, { code: taken.code })).toFailWith(409, "service_code_already_exists");
    expect(await put(id, { name: "Y", delivery_type_id: foreign.type })).toFailWith(
      404,
      "delivery_type_not_found",
    );
    const { staff, warehouse, driver, institution, customer } = tenant;
    await expectGuarded(call, { denied: [staff, warehouse, driver, institution, customer] });
    await expectNoSuch(
      tenant.ops,
      { ...call, path: `${path}/{id}` },
      "serviceId",
      "service_not_found",
      foreign.service,
    );
    expect(await other.ops.put(call.path, { name: "Z" })).toFailWith(404, "service_not_found");
    expect(await storedService(id)).toEqual(before);
    const changed = await tenant.ops.put(call.path, { name: "X" }, {
      query: { tenant_id: other.id },
    });
    expect(changed).toFailWith(403, "forbidden");
  });

  test("of many who give their service the same code at once, one gets it", async () => {
    const services = await Promise.all(Array.from({ length: 8 }, () => add()));
    const answers = await Promise.all(services.map((id) => put(id, { code: "SAME" })));
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    for (const answer of answers.filter((each) => each.status !== 200)) {
      expect(answer).toFailWith(409, "service_code_already_exists");
    }
  });
});

describe("a service that settings name", () => {
  const references = {
    "delivery.transfer_manifest": (id: string) => ({ default_delivery_service_id: id }),
    "general.delivery": (id: string) => ({ return_requests: { default_delivery_service_id: id } }),
  } as const;

  test.each(
    [
      ["delivery.transfer_manifest", "default_delivery_service_id"],
      ["general.delivery", "return_requests.default_delivery_service_id"],
    ] as const,
  )(
    "in %s keeps its type and cannot be deleted, until it is named no more",
    async (source, setting_key) => {
      const own = await newTenant();
      const [first, second] = [await newType(own), await newType(own)];
      const id = await addService(own, first);
      await saveSettings(own.id, source, references[source](id));
      const before = await storedService(id);

      const blocked = await own.ops.put(`${path}/${id}`, { name: "X", delivery_type_id: second });
      expect(blocked).toFailWith(409, "delivery_service_type_change_blocked_by_settings");
      expect(blocked.body.setting_references).toEqual([{ source, setting_key }]);
      const kept = await own.ops.delete(`${path}/${id}`);
      expect(kept).toFailWith(409, "delivery_service_in_use_by_settings");
      expect(kept.body.setting_references).toEqual([{ source, setting_key }]);
      expect(await storedService(id)).toEqual(before);

      const on = await own.ops.put(`${path}/${id}`, { active: false });
      expect(on).toFailWith(409, "delivery_service_in_use_by_settings");

      // Everything else may change, and the type may be sent as it is.
      expect(await own.ops.put(`${path}/${id}`, { name: "Y", delivery_type_id: first }))
        .toSucceed();
      await sql`update tenancy.tenant_settings set settings = '{}' where tenant_id = ${own.id}`;
      expect(await own.ops.put(`${path}/${id}`, { delivery_type_id: second })).toSucceed(200);
      expect(await own.ops.delete(`${path}/${id}`)).toSucceed(200);
    },
  );

  test("the manifests' allow-list counts as well, and each setting is named", async () => {
    const own = await newTenant();
    const id = await addService(own, await newType(own));
    await saveSettings(own.id, "delivery.transfer_manifest", {
      default_delivery_service_id: id,
      available_delivery_service_ids: [randomUUID(), id],
    });
    const kept = await own.ops.delete(`${path}/${id}`);
    expect(kept.body.setting_references).toEqual([
      { source: "delivery.transfer_manifest", setting_key: "available_delivery_service_ids" },
      { source: "delivery.transfer_manifest", setting_key: "default_delivery_service_id" },
    ]);
  });

  test("waits, before it is deleted, for a setting that is just beginning to name it", async () => {
    const own = await newTenant();
    const id = await addService(own, await newType(own));
    let answer: ReturnType<Tenant["ops"]["delete"]>;
    let answered = false;
    await sql.begin(async (tx) => {
      await tx`update tenancy.tenant_settings set settings = settings || ${
        sql.json({ default_delivery_service_id: id })
      } where tenant_id = ${own.id} and group_key = 'transfer_manifest'`;
      await tx`select from delivery.delivery_services where id = ${id} for share`;
      answer = own.ops.delete(`${path}/${id}`).finally(() => (answered = true));
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(answered).toBe(false);
    });
    expect(await answer!).toFailWith(409, "delivery_service_in_use_by_settings");
    expect((await storedService(id)).deleted_at).toBeNull();
  });

  test("of saving the setting and deleting the service at once, only one happens", async () => {
    const own = await newTenant();
    const ownType = await newType(own);
    for (let round = 0; round < 6; round++) {
      const id = await addService(own, ownType);
      const settings = { transfer_manifest: { settings: { default_delivery_service_id: id } } };
      const [saved, deleted] = await Promise.all([
        own.admin.put(`/tenants/${own.id}/settings`, { delivery: settings }),
        own.ops.delete(`${path}/${id}`),
      ]);
      expect([saved.status, deleted.status].filter((each) => each === 200)).toHaveLength(1);
      const [row] = await sql`select settings ->> 'default_delivery_service_id' as named
        from tenancy.tenant_settings where tenant_id = ${own.id} and group_key = 'transfer_manifest'`;
      const { deleted_at } = await storedService(id);
      expect(row.named === id).toBe(deleted_at === null);
    }
  });
});
