import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { tries } from "../../prove/proof.ts";
import { sql } from "../../support/db.ts";
import { newAddress } from "../../support/make.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused, expectReplayed } from "../../support/promises.ts";
import { newZone, type Ring, square } from "../../support/zones.ts";

const path = "/delivery/zones";
const tagsPath = "/delivery/zone-tags";

let tenant: Tenant;
let other: Tenant;
let foreignTag: string;

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  foreignTag = (await other.ops.post(tagsPath, { name: "Far" })).body.data.id;
});

const polygon = (...rings: unknown[]) => ({ type: "Polygon", coordinates: rings });
let serial = 0;
const wanted = (more: Record<string, unknown> = {}) => ({
  name: `Zone ${++serial}`,
  polygon: polygon(square(20, 20, 1)),
  ...more,
});

async function made(person: Tenant["ops"], ...rings: Ring[]): Promise<string> {
  const answer = await person.post(path, wanted({ polygon: polygon(...rings) }));
  expect(answer).toSucceed(201);
  return answer.body.data.id;
}

async function zoneOf(address: string): Promise<string | null> {
  const [row] = await sql`select zone_id from delivery.addresses where id = ${address}`;
  return row.zone_id;
}

async function zoneCount(): Promise<number> {
  const [row] =
    await sql`select count(*)::int as n from delivery.zones where tenant_id = ${tenant.id}`;
  return row.n;
}

/** A ring of many positions around a middle. */
function circle(positions: number, longitude = 20, latitude = 20, radius = 1): Ring {
  const ring = Array.from({ length: positions - 1 }, (_, i): [number, number] => {
    const angle = 2 * Math.PI * i / (positions - 1);
    return [longitude + radius * Math.cos(angle), latitude + radius * Math.sin(angle)];
  });
  return [...ring, ring[0]];
}

describe("adding a zone", () => {
  test("answers it with its tags, the polygon as it was sent", async () => {
    const tags = [];
    for (const name of ["West", "Centre"]) {
      tags.push((await tenant.ops.post(tagsPath, { name })).body.data);
    }
    const body = wanted({
      polygon: polygon(square(20, 20, 1), square(20, 20, 0.5)),
      tag_ids: [tags[0].id, tags[1].id, tags[0].id],
    });
    const answer = await tenant.dispatcher.post(path, body);
    expect(answer).toSucceed(201);
    expect(answer.body.data).toEqual({
      id: expect.any(String),
      name: body.name,
      polygon: body.polygon,
      tags: [{ id: tags[1].id, name: "Centre" }, { id: tags[0].id, name: "West" }],
      is_active: true,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const [row] = await sql`select * from delivery.zones where id = ${answer.body.data.id}`;
    expect(row).toMatchObject({ west: 19, south: 19, east: 21, north: 21, area: 3 });
  });

  test("takes 2,000 positions, and drops heights", async () => {
    const many = await tenant.ops.post(path, wanted({ polygon: polygon(circle(2000)) }));
    expect(many).toSucceed(201);
    const high = square(20, 20, 1).map((position) => [...position, 34.5]);
    const flat = await tenant.ops.post(path, wanted({ polygon: polygon(high) }));
    expect(flat.body.data.polygon.coordinates).toEqual([square(20, 20, 1)]);
  });

  test("a polygon that is none is refused, naming the place", async () => {
    const before = await zoneCount();
    const ring = square(20, 20, 1);
    const at = (coordinates: unknown, type = "Polygon") =>
      wanted({ polygon: { type, coordinates } });
    await expectRefused(tenant.ops, { method: "POST", path }, [
      [wanted({ polygon: undefined }), "polygon"],
      [wanted({ polygon: "x" }), "polygon"],
      [at([ring], "MultiPolygon"), "polygon.type"],
      [at([]), "polygon.coordinates"],
      [at("x"), "polygon.coordinates"],
      [at([ring.slice(0, 4)]), "polygon.coordinates.0"],
      [at([[ring[0], ring[1], ring[0]]]), "polygon.coordinates.0"],
      [at([ring, ring.slice(1)]), "polygon.coordinates.1"],
      [at([circle(2001)]), "polygon.coordinates.0"],
      [at([circle(1500), circle(501)]), "polygon.coordinates"],
      [at([[[181, 0], [1, 0], [1, 1], [181, 0]]]), "polygon.coordinates.0.0.0"],
      [at([[[0, -91], [1, 0], [1, 1], [0, -91]]]), "polygon.coordinates.0.0.1"],
      [at([[[0], [1, 0], [1, 1], [0]]]), "polygon.coordinates.0.0"],
      [at([[["0", "0"], [1, 0], [1, 1], ["0", "0"]]]), "polygon.coordinates.0.0"],
      [at([[[0, 0, 0, 0], [1, 0], [1, 1], [0, 0, 0, 0]]]), "polygon.coordinates.0.0"],
      [wanted({ name: "" }), "name"],
      [wanted({ name: "x".repeat(501) }), "name"],
      [wanted({ tag_ids: "x" }), "tag_ids"],
      [wanted({ tag_ids: ["x"] }), "tag_ids.0", "invalid_uuid"],
      [wanted({ tag_ids: Array(101).fill(randomUUID()) }), "tag_ids"],
    ]);
    expect(await zoneCount()).toBe(before);
  });

  test("a name is taken once, and a tag must be the tenant's", async () => {
    const body = wanted();
    expect(await tenant.ops.post(path, body)).toSucceed(201);
    const before = await zoneCount();
    expect(await tenant.ops.post(path, body)).toFailWith(409, "zone_name_exists");
    for (const tag of [randomUUID(), foreignTag]) {
      const answer = await tenant.ops.post(path, wanted({ tag_ids: [tag] }));
      expect(answer).toFailWith(404, "zone_tag_not_found");
    }
    expect(await zoneCount()).toBe(before);
    await expectReplayed(tenant.ops, path, wanted(), wanted());
    const { warehouse, driver, institution, customer } = tenant;
    await expectGuarded({ method: "POST", path, body: wanted() }, {
      denied: [warehouse, driver, institution, customer],
    });
    const kurdish = await tenant.ops.in("ku").post(path, body);
    expect(kurdish.body.message).toBe("ناوچەیەکی تر هەمان ناوی هەیە.");
    const arabic = await tenant.ops.in("ar").post(path, body);
    expect(arabic.body.message).toBe("توجد منطقة أخرى بالاسم نفسه.");
  });
});

describe("an outline", () => {
  const bow: Ring = [[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]];
  const line: Ring = [[0, 0], [1, 1], [2, 2], [0, 0]];
  const point: Ring = [[1, 1], [1, 1], [1, 1], [1, 1]];
  const spike: Ring = [[0, 0], [4, 0], [4, 4], [2, 0], [0, 4], [0, 0]];
  const lopsided: Ring = [[0, 0], [6, 6], [6, 0], [0, 2], [0, 0]];
  test.each([
    ["that crosses itself", [lopsided], "polygon.coordinates.0", /cross or touch itself/],
    ["like a bow", [bow], "polygon.coordinates.0", /enclose an area/],
    ["that touches itself", [spike], "polygon.coordinates.0", /cross or touch itself/],
    ["that is a line", [line], "polygon.coordinates.0", /enclose an area/],
    ["that is a point", [point], "polygon.coordinates.0", /enclose an area/],
    [
      "with a hole that crosses itself",
      [square(3, 3, 9), lopsided],
      "polygon.coordinates.1",
      /cross/,
    ],
    [
      "that is nothing but a hole",
      [square(1, 1, 1), square(1, 1, 1)],
      "polygon.coordinates",
      /area/,
    ],
  ])("%s is refused, also where a zone is redrawn", async (_, rings, field, says) => {
    const zone = await made(tenant.ops, square(20, 20, 1));
    for (
      const answer of [
        await tenant.ops.post(path, wanted({ polygon: polygon(...rings) })),
        await tenant.ops.patch(`${path}/${zone}`, { polygon: polygon(...rings) }),
      ]
    ) {
      expect(answer).toFailWith(400, "validation_failed");
      expect(answer.body.field).toBe(field);
      expect(answer.body.message).toMatch(says);
    }
  });

  test("with a position that is repeated at once, or in either direction, is taken", async () => {
    const twice: Ring = [[0, 0], [2, 0], [2, 0], [2, 2], [0, 2], [0, 0]];
    for (const ring of [twice, twice.toReversed()]) await made(tenant.ops, ring);
  });
});

describe("an address lies in", () => {
  test("the smallest active zone around it, its edges included, its holes not", async () => {
    const own = await newTenant();
    const large = await newZone(own, square(10, 10, 4), square(12, 12, 1));
    const small = await newZone(own, square(9, 9, 2));
    const place = (longitude: number, latitude: number) => newAddress(own, { longitude, latitude });
    expect(await zoneOf(await place(9, 9))).toBe(small);
    expect(await zoneOf(await place(13.5, 13.5))).toBe(large);
    expect(await zoneOf(await place(14, 10))).toBe(large);
    expect(await zoneOf(await place(11, 8))).toBe(small);
    expect(await zoneOf(await place(12, 12.5))).toBeNull();
    expect(await zoneOf(await place(14.1, 10))).toBeNull();
    await sql`update delivery.zones set is_active = false where id = ${small}`;
    expect(await zoneOf(await place(9, 9))).toBe(large);
  });

  test("the zone whose outline holds it, not only the box: hollow and slanted shapes", async () => {
    const own = await newTenant();
    const horseshoe: Ring = [[0, 0], [6, 0], [6, 6], [4, 6], [4, 2], [2, 2], [2, 6], [0, 6], [
      0,
      0,
    ]];
    const triangle: Ring = [[10, 0], [14, 0], [10, 4], [10, 0]];
    const [u, t] = [await newZone(own, horseshoe), await newZone(own, triangle)];
    const place = (longitude: number, latitude: number) => newAddress(own, { longitude, latitude });
    expect(await zoneOf(await place(1, 5))).toBe(u);
    expect(await zoneOf(await place(5, 5))).toBe(u);
    expect(await zoneOf(await place(3, 1))).toBe(u);
    expect(await zoneOf(await place(3, 4))).toBeNull();
    expect(await zoneOf(await place(11, 1))).toBe(t);
    expect(await zoneOf(await place(13, 3))).toBeNull();
    // Level with corners, where a careless ray counts an edge twice or not at all.
    expect(await zoneOf(await place(-1, 2))).toBeNull();
    expect(await zoneOf(await place(1, 2))).toBe(u);
    expect(await zoneOf(await place(3, 6))).toBeNull();
  });

  test("the same zone as ray casting by hand says, for random places", async () => {
    const own = await newTenant();
    const star = Array.from({ length: 24 }, (_, i): [number, number] => {
      const angle = 2 * Math.PI * i / 24;
      const radius = i % 2 ? 1 : 3;
      return [30 + radius * Math.cos(angle), 30 + radius * Math.sin(angle)];
    });
    const zone = await newZone(own, [...star, star[0]]);
    const places = Array.from(
      { length: 400 },
      () => [27 + 6 * Math.random(), 27 + 6 * Math.random()] as const,
    );
    const rows = await sql`select p.longitude, p.latitude,
        delivery.zone_at(${own.id}, p.latitude, p.longitude) as zone
      from unnest(${places.map((p) => p[0])}::float8[], ${
      places.map((p) => p[1])
    }::float8[]) p (longitude, latitude)`;
    const expected = (x: number, y: number) =>
      star.reduce((odd, [ax, ay], i) => {
        const [bx, by] = star[(i + 1) % star.length];
        const crosses = (ay > y) !== (by > y) && x < ax + (y - ay) / (by - ay) * (bx - ax);
        return crosses ? !odd : odd;
      }, false);
    const inside = rows.filter((row) => expected(row.longitude, row.latitude)).length;
    expect(inside).toBeGreaterThan(40);
    expect(inside).toBeLessThan(360);
    for (const row of rows) {
      expect(row.zone).toBe(expected(row.longitude, row.latitude) ? zone : null);
    }
  });
});

describe("when the map changes", () => {
  test("addresses in the old and the new area find their zones again at once", async () => {
    const own = await newTenant();
    const early = await newAddress(own, { longitude: 10, latitude: 10 });
    const east = await newAddress(own, { longitude: 20, latitude: 10 });
    const far = await newAddress(own, { longitude: -60, latitude: 10 });
    const zone = await made(own.ops, square(10, 10, 1));
    expect(await zoneOf(early)).toBe(zone);
    const large = await made(own.ops, square(10, 10, 5));
    expect(await zoneOf(early)).toBe(zone);
    const moved = await own.ops.patch(`${path}/${zone}`, { polygon: polygon(square(20, 10, 1)) });
    expect(moved).toSucceed(200);
    expect(await zoneOf(early)).toBe(large);
    expect(await zoneOf(east)).toBe(zone);
    await own.ops.patch(`${path}/${zone}`, { is_active: false });
    expect(await zoneOf(east)).toBeNull();
    await own.ops.patch(`${path}/${zone}`, { is_active: true });
    expect(await zoneOf(east)).toBe(zone);
    expect(await zoneOf(far)).toBeNull();
  });

  test("a zone that somebody named stays", async () => {
    const own = await newTenant();
    const named = await made(own.ops, square(50, 10, 1));
    const body = { full_address: "X", longitude: 10, latitude: 10, zone_id: named };
    const address = (await own.ops.post("/delivery/addresses", body)).body.data.id;
    const around = await made(own.ops, square(10, 10, 1));
    expect(await zoneOf(address)).toBe(named);
    await own.ops.patch(`/delivery/addresses/${address}`, { zone_id: null });
    expect(await zoneOf(address)).toBe(around);
  });

  test("addresses written meanwhile get the new map too", async () => {
    const own = await newTenant();
    const zone = await made(own.ops, square(10, 10, 1));
    const write = (i: number) =>
      own.ops.post("/delivery/addresses", { full_address: `A${i}`, longitude: 20, latitude: 10 });
    const first = Array.from({ length: 10 }, (_, i) => write(i));
    const move = own.ops.patch(`${path}/${zone}`, { polygon: polygon(square(20, 10, 1)) });
    const rest = Array.from({ length: 10 }, (_, i) => write(10 + i));
    for (const answer of await Promise.all([...first, move, ...rest])) expect(answer).toSucceed();
    const rows = await sql`select zone_id from delivery.addresses where tenant_id = ${own.id}`;
    expect(rows.map((row) => row.zone_id)).toEqual(Array(20).fill(zone));
  });

  test("an address not yet committed holds the map still", async () => {
    const own = await newTenant();
    let answered = false;
    let answer: ReturnType<typeof own.ops.post>;
    let address = "";
    await sql.begin(async (tx) => {
      const [row] =
        await tx`insert into delivery.addresses (tenant_id, full_address, longitude, latitude)
        values (${own.id}, 'X', 10, 10) returning id`;
      address = row.id;
      answer = own.ops.post(path, wanted({ polygon: polygon(square(10, 10, 1)) }))
        .finally(() => (answered = true));
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(answered).toBe(false);
    });
    const made = await answer!;
    expect(await zoneOf(address)).toBe(made.body.data.id);
  });

  const side = tries(100, 30);
  test(`${side ** 2} addresses around 2,000 positions find their zone in one call`, async () => {
    const own = await newTenant();
    await sql`insert into delivery.addresses (tenant_id, full_address, longitude, latitude)
      select ${own.id}, 'A' || n, 20 + 2.4 * (n % ${side}::int) / ${side}::float8 - 1.2, 20 + 2.4 * (n / ${side}::int) / ${side}::float8 - 1.2
      from generate_series(0, ${side ** 2 - 1}::int) n`;
    const zone = await made(own.ops, circle(2000));
    const [row] =
      await sql`select count(*)::int as n from delivery.addresses where zone_id = ${zone}`;
    expect(row.n / side ** 2).toBeCloseTo(Math.PI / 2.4 ** 2, 1);
  });
});
