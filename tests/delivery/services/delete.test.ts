/** Services that are deleted. */
import { beforeAll, describe, expect, test } from "vitest";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch } from "../../support/promises.ts";
import { addService, newType, serviceBody, storedService } from "../../support/services.ts";
import { newZone, square } from "../../support/zones.ts";

const path = "/delivery/services";

let tenant: Tenant;
let other: Tenant;
let type: string;
let zone: string;
let foreign: { type: string; service: string };

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  type = await newType(tenant);
  zone = await newZone(tenant, square(44.3, 33.3, 0.5));
  const foreignType = await newType(other);
  foreign = { type: foreignType, service: await addService(other, foreignType) };
});

const add = (more?: Record<string, unknown>) => addService(tenant, type, more);
const put = (id: string, body: Record<string, unknown>) => tenant.ops.put(`${path}/${id}`, body);

describe("deleting a service", () => {
  test("is for good: gone from every call, its code free, its row kept for deliveries", async () => {
    const id = await add({
      access_mode: "select_users",
      user_ids: [tenant.customer.id],
      zone_access_mode: "select_zones",
      zone_ids: [zone],
    });
    const { code } = await storedService(id);
    const answer = await tenant.ops.delete(`${path}/${id}`);
    expect(answer).toSucceed(200);
    expect(answer.body).toEqual({ success: true, message: "service_deactivated_successfully" });
    const row = await storedService(id);
    expect(row.deleted_at).not.toBeNull();
    expect(row).toMatchObject({ code, users: [], zones: [], tags: [] });
    for (
      const gone of [
        await tenant.ops.get(`${path}/${id}`),
        await put(id, { name: "X" }),
        await tenant.ops.delete(`${path}/${id}`),
        await tenant.ops.post("/delivery/price", { delivery_service_id: id, unit_size: 1 }),
      ]
    ) expect(gone).toFailWith(404, "service_not_found");
    const listed = await tenant.ops.get(path, { query: { search: code } });
    expect(listed.body.deliveryServices).toEqual([]);
    expect(await tenant.ops.post(path, serviceBody(type, { code }))).toSucceed(201);
  });

  test("by many at once happens once", async () => {
    const id = await add();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => tenant.ops.delete(`${path}/${id}`)),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    for (const answer of answers.filter((each) => each.status !== 200)) {
      expect(answer).toFailWith(404, "service_not_found");
    }
  });

  test("is for operations staff of the same tenant: insufficient_permissions otherwise", async () => {
    const id = await add();
    const { staff, warehouse, driver, institution, customer } = tenant;
    await expectGuarded({ method: "DELETE", path: `${path}/${id}` }, {
      denied: [staff, warehouse, driver, institution, customer],
      code: "insufficient_permissions",
    });
    await expectNoSuch(
      tenant.ops,
      { method: "DELETE", path: `${path}/{id}` },
      "serviceId",
      "service_not_found",
      foreign.service,
    );
    expect((await storedService(id)).deleted_at).toBeNull();
    expect((await storedService(foreign.service)).deleted_at).toBeNull();
  });
});
