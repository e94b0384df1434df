import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { overlapping } from "../../support/overlapping.ts";
import { newService } from "../../support/money.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectPaged,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";
import { newZone, square } from "../../support/zones.ts";

const path = "/delivery/zones";
const tagsPath = "/delivery/zone-tags";

let tenant: Tenant;
let other: Tenant;
let foreignZone: string;

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  foreignZone = await newZone(other, square(44.36, 33.31, 1));
});

async function newTag(name: string): Promise<string> {
  const answer = await tenant.ops.post(tagsPath, { name });
  expect(answer).toSucceed(201);
  return answer.body.data.id;
}

async function stored(id: string) {
  const [row] =
    await sql`select z.*, (select array_agg(m.tag_id) from delivery.zone_tag_map m where m.zone_id = z.id) as tags
    from delivery.zones z where z.id = ${id}`;
  return row;
}

describe("changing a zone", () => {
  test("takes what is sent; tag_ids replaces the tags", async () => {
    const id = await newZone(tenant, square(1, 1, 1));
    const [a, b, c] = [await newTag("A"), await newTag("B"), await newTag("C")];
    const set = async (change: Record<string, unknown>) =>
      (await tenant.ops.patch(`${path}/${id}`, change)).body.data;
    const tagsOf = (zone: { tags: { name: string }[] }) => zone.tags.map((tag) => tag.name);
    expect(tagsOf(await set({ tag_ids: [a, b] }))).toEqual(["A", "B"]);
    expect(tagsOf(await set({ tag_ids: [c, b] }))).toEqual(["B", "C"]);
    const renamed = await set({ name: "Renamed" });
    expect(renamed).toMatchObject({ id, name: "Renamed", is_active: true });
    expect(tagsOf(renamed)).toEqual(["B", "C"]);
    expect(renamed.polygon.coordinates).toEqual([square(1, 1, 1)]);
    expect(tagsOf(await set({ tag_ids: [] }))).toEqual([]);
  });

  test("is refused for wrong input, wrong people and other tenants' ids, and leaves it alone", async () => {
    const id = await newZone(tenant, square(1, 1, 1));
    const second = await stored(await newZone(tenant, square(1, 1, 1)));
    const before = await stored(id);
    const call = { method: "PATCH", path: `${path}/${id}`, body: { name: "X" } } as const;
    await expectRefused(tenant.ops, call, [
      [{ name: "" }, "name"],
      [{ polygon: null }, "polygon"],
      [{ polygon: { type: "Polygon", coordinates: [[]] } }, "polygon.coordinates.0"],
      [{ tag_ids: [7] }, "tag_ids.0", "invalid_uuid"],
      [{ is_active: "no" }, "is_active"],
    ]);
    expect(await tenant.ops.patch(call.path, { name: second.name })).toFailWith(
      409,
      "zone_name_exists",
    );
    const lost = { name: "Y", tag_ids: [randomUUID()] };
    expect(await tenant.ops.patch(call.path, lost)).toFailWith(404, "zone_tag_not_found");
    const { warehouse, driver, institution, customer } = tenant;
    await expectGuarded(call, { denied: [warehouse, driver, institution, customer] });
    await expectNoSuch(
      tenant.ops,
      { ...call, path: `${path}/{id}` },
      "zone_id",
      "zone_not_found",
      foreignZone,
    );
    expect(await other.ops.patch(call.path, { name: "Z" })).toFailWith(404, "zone_not_found");
    expect(await stored(id)).toEqual(before);
  });
});

describe("zones and tags are listed", () => {
  test("for staff and drivers, the tenant's only", async () => {
    const listed = await newTenant();
    for (let i = 0; i < 5; i++) await newZone(listed, square(i, i, 1));
    const answer = await listed.driver.get(path);
    expect(answer).toSucceed(200);
    expect(answer.body.data[0]).toEqual({
      id: expect.any(String),
      name: expect.any(String),
      tags: [],
      is_active: true,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const one = await listed.driver.get(`${path}/${answer.body.data[0].id}`);
    expect(one).toSucceed(200);
    expect(one.body.data).toEqual({
      ...answer.body.data[0],
      polygon: { type: "Polygon", coordinates: [square(4, 4, 1)] },
    });
    await expectGuarded({ method: "GET", path: `${path}/${one.body.data.id}` }, {
      denied: [listed.customer, listed.institution],
    });
    await expectNoSuch(
      listed.staff,
      { method: "GET", path: `${path}/{id}` },
      "zone_id",
      "zone_not_found",
      foreignZone,
    );
    await expectPaged(listed.staff, path, "name");
    await expectGuarded({ method: "GET", path }, {
      denied: [listed.customer, listed.institution],
    });
  });

  test("tags too, and a tag's name is taken once", async () => {
    const listed = await newTenant();
    for (const name of ["North", "South", "East"]) {
      const made = await listed.ops.post(tagsPath, { name });
      expect(made).toSucceed(201);
      expect(made.body.data).toEqual({
        id: expect.any(String),
        name,
        created_at: expect.any(String),
      });
    }
    expect(await listed.ops.post(tagsPath, { name: "North" })).toFailWith(
      409,
      "zone_tag_name_exists",
    );
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => listed.ops.post(tagsPath, { name: "Same" })),
    );
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1);
    await expectPaged(listed.driver, tagsPath, "name");
    await expectRefused(listed.ops, { method: "POST", path: tagsPath }, [
      [{}, "name"],
      [{ name: " " }, "name"],
      [{ name: 7 }, "name"],
      [{ name: "x".repeat(101) }, "name"],
    ]);
    await expectReplayed(listed.ops, tagsPath, { name: "Keyed" }, { name: "Other" });
    const { warehouse, driver, institution, customer } = listed;
    await expectGuarded({ method: "POST", path: tagsPath, body: { name: "X" } }, {
      denied: [warehouse, driver, institution, customer],
    });
    await expectGuarded({ method: "GET", path: tagsPath }, { denied: [institution, customer] });
  });
});

describe("removing a tag", () => {
  const made = async (who: Tenant, name: string) =>
    (await who.ops.post(tagsPath, { name })).body.data.id as string;

  test("takes it off its zones; one that services choose by stays", async () => {
    const mine = await newTenant();
    const [loose, used] = [await made(mine, "Loose"), await made(mine, "Used")];
    const zone = await mine.ops.post(path, {
      name: "Z",
      polygon: { type: "Polygon", coordinates: [square(1, 1, 1)] },
      tag_ids: [loose, used],
    });
    const service = await newService(mine);
    await sql`insert into delivery.delivery_service_zone_tags (tenant_id, service_id, tag_id)
      values (${mine.id}, ${service}, ${used})`;

    const gone = await mine.ops.delete(`${tagsPath}/${loose}`);
    expect(gone).toSucceed(200);
    expect(gone.body.data).toEqual({ id: loose });
    const { body } = await mine.ops.get(`${path}/${zone.body.data.id}`);
    expect(body.data.tags).toEqual([{ id: used, name: "Used" }]);
    expect(await mine.ops.delete(`${tagsPath}/${loose}`)).toFailWith(404, "zone_tag_not_found");

    const kept = await mine.ops.delete(`${tagsPath}/${used}`);
    expect(kept).toFailWith(409, "zone_tag_in_use");
    expect(kept.body.services).toHaveLength(1);
    expect(kept.body.message).toContain(kept.body.services[0]);
    await sql`update delivery.delivery_services set deleted_at = now() where id = ${service}`;
    expect(await mine.ops.delete(`${tagsPath}/${used}`)).toSucceed(200);
  });

  test("and a service that takes it at the same moment: one of them comes too late", async () => {
    const mine = await newTenant();
    const [tag, service] = [await made(mine, "Wanted"), await newService(mine)];
    const taken = await overlapping(
      (session) =>
        session`insert into delivery.delivery_service_zone_tags (tenant_id, service_id, tag_id)
          values (${mine.id}, ${service}, ${tag})`,
      () => mine.ops.delete(`${tagsPath}/${tag}`),
    );
    expect(taken).toFailWith(409, "zone_tag_in_use");

    const gone = await made(mine, "Gone");
    const late = await overlapping(
      async (session) => {
        await session`select from delivery.zone_tags where id = ${gone} for update`;
        await session`delete from delivery.zone_tags where id = ${gone}`;
      },
      () =>
        mine.ops.put(`/delivery/services/${service}`, {
          zone_access_mode: "select_zones",
          zone_selector_type: "tag",
          zone_tag_ids: [gone],
        }),
    );
    expect(late.status).toBeGreaterThanOrEqual(400);
    expect(late.status).toBeLessThan(500);
    expect(
      await sql`select from delivery.delivery_services
      where id = ${service} and zone_access_mode = 'select_zones'`,
    ).toHaveLength(0);
  });

  test("is the office's, of its own tags", async () => {
    const mine = await newTenant();
    const tag = await made(mine, "Mine");
    const { driver, institution, customer } = mine;
    await expectGuarded({ method: "DELETE", path: `${tagsPath}/${tag}` }, {
      denied: [driver, institution, customer],
    });
    expect(await other.ops.delete(`${tagsPath}/${tag}`)).toFailWith(404, "zone_tag_not_found");
    expect(await mine.ops.delete(`${tagsPath}/x`)).toFailWith(400, "invalid_uuid");
  });

  test("two at once: one removes it", async () => {
    const mine = await newTenant();
    const tag = await made(mine, "Once");
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => mine.ops.delete(`${tagsPath}/${tag}`)),
    );
    const codes = answers.map(({ status }) => status);
    expect(codes.every((status) => status === 200 || status === 404)).toBe(true);
    expect(codes).toContain(200);
    expect(await sql`select from delivery.zone_tags where id = ${tag}`).toHaveLength(0);
  });
});
