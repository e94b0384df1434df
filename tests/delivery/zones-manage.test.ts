import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../support/db.ts";
import { newTenant, type Tenant } from "../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectPaged,
  expectRefused,
  expectReplayed,
} from "../support/promises.ts";
import { newZone, square } from "../support/zones.ts";

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
      [{ name: "x".repeat(501) }, "name"],
    ]);
    await expectReplayed(listed.ops, tagsPath, { name: "Keyed" }, { name: "Other" });
    const { warehouse, driver, institution, customer } = listed;
    await expectGuarded({ method: "POST", path: tagsPath, body: { name: "X" } }, {
      denied: [warehouse, driver, institution, customer],
    });
    await expectGuarded({ method: "GET", path: tagsPath }, { denied: [institution, customer] });
  });
});
