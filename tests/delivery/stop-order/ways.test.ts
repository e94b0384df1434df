/** The ways between stops: asked by table, in blocks, kept, and estimated where they cannot be measured. */
import { setupServer } from "msw/node";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Point, Table } from "../../../shared/routing/routing-service.ts";
import type {
  kilometres as Kilometres,
  waysBetween as WaysBetween,
} from "../../../shared/routing/table.ts";
import { sql, stack } from "../../support/db.ts";
import { routingService } from "../../support/outside/routing.ts";

const service = routingService();
const server = setupServer(...service.handlers);
let table: Table;
let waysBetween: typeof WaysBetween;
let kilometres: typeof Kilometres;
beforeAll(async () => {
  server.listen({ onUnhandledRequest: "bypass" });
  const { host, pathname } = new URL(stack.dbUrl);
  // Read once, when the first of these modules is loaded; files after this one load them anew.
  vi.resetModules();
  vi.stubEnv("BARID_DB_URL", `postgresql://barid_api:barid-local@${host}${pathname}`);
  ({ kilometres, waysBetween } = await import("../../../shared/routing/table.ts"));
  const { osrmTable } = await import("../../../shared/routing/routing-service.ts");
  table = osrmTable("https://routing.example");
});
beforeEach(() => {
  service.tables.length = 0;
  service.tableStatus = 200;
  // One-way roads: north is longer than south.
  service.way = (from, to) => ({
    distance: Math.round((to[1] - from[1]) * 1000) + 50_000,
    duration: Math.round((from[1] - to[1]) * 60) + 3_000,
  });
});
afterAll(() => {
  server.close();
  vi.unstubAllEnvs();
  vi.resetModules();
});

/** Places that no other test has. */
const placesAt = (longitude: number, count: number): Point[] =>
  Array.from({ length: count }, (_, index) => [10 + index / 100, longitude]);

describe("ways by road", () => {
  test("are asked for once, and kept", async () => {
    const places = placesAt(101, 4);
    const asked = await waysBetween(places, 0, 1.3, table);
    expect(asked.measured_by).toBe("road");
    expect(service.tables).toHaveLength(1);
    expect(asked.distances[0][3]).toBe(50_030);
    expect(asked.distances[3][0]).toBe(49_970);
    expect(asked.durations[0][3]).toBe(2_998);
    expect(await waysBetween(places, 0, 1.3, table)).toEqual(asked);
    // In another order, and some of them only.
    expect((await waysBetween([places[3], places[0]], 0, 1.3, table)).distances).toEqual([
      [0, 49_970],
      [50_030, 0],
    ]);
    expect(service.tables).toHaveLength(1);
  });

  test("from where the driver is are asked each time, those alone, and not kept", async () => {
    const places = placesAt(102, 3);
    await waysBetween(places.slice(1), 0, 1.3, table);
    for (let i = 1; i <= 2; i++) {
      const { distances } = await waysBetween(places, 1, 1.3, table);
      expect(distances[0].slice(1)).toEqual([50_010, 50_020]);
      expect(service.tables).toHaveLength(1 + i);
      expect(service.tables.at(-1)).toMatch(/&sources=0&destinations=1;2$/);
    }
    const [{ count }] = await sql`select count(*)::int from delivery.road_distances
      where from_longitude = 102`;
    expect(count).toBe(2);
  });

  test("are asked in blocks of 100 places", async () => {
    const places = placesAt(103, 120);
    const { distances } = await table(places, [...places.keys()], [...places.keys()]);
    expect(service.tables).toHaveLength(9);
    const wrong = distances.flatMap((row, from) =>
      row.filter((metres, to) => metres !== (to - from) * 10 + 50_000)
    );
    expect(wrong).toEqual([]);
  });

  test.each<[string, () => void]>([
    ["fails", () => (service.tableStatus = 500)],
    ["knows no way", () => (service.way = () => null)],
  ])("are estimated when the service %s, and nothing is kept", async (_, spoil) => {
    spoil();
    const places = placesAt(104, 3);
    const { distances, durations, measured_by } = await waysBetween(places, 0, 1.5, table);
    expect(measured_by).toBe("estimate");
    const metres = Math.round(kilometres(places[0], places[2]) * 1500);
    expect(distances[0][2]).toBe(metres);
    // At 30 km/h.
    expect(durations[0][2]).toBe(Math.round(metres * 0.12));
    expect(await sql`select from delivery.road_distances where from_longitude = 104`).toHaveLength(
      0,
    );
  });
});

describe("the detour", () => {
  const detour = async (latitude: number) =>
    (await sql`select delivery.detour_factor(${latitude}::double precision) as factor`)[0].factor;

  test("is learned from the ways that are kept nearby, and 1.3 where there are none", async () => {
    expect(await detour(-60)).toBe(1.3);
    const [from, to]: Point[] = [[-60, 105], [-60.1, 105]];
    const km = kilometres(from, to);
    const keep = (factor: number) =>
      sql`select delivery.road_distance_put(${
        JSON.stringify({ from, to, distance_km: km * factor })
      })`;
    await keep(1.7);
    expect(await detour(-60.3)).toBeCloseTo(1.7, 3);
    expect(await detour(-61)).toBe(1.3);
    await keep(9);
    expect(await detour(-60)).toBe(3);
    await sql`update delivery.road_distances set measured_at = now() - interval '31 days'
      where from_longitude = 105`;
    expect(await detour(-60)).toBe(1.3);
  });

  test("ways older than 30 days are forgotten", async () => {
    const way = { from: [-70, 106], to: [-70.1, 106], distance_km: 20 };
    await sql`select delivery.road_distance_put(${JSON.stringify([way])})`;
    const left = async () =>
      (await sql`select from delivery.road_distances where from_longitude = 106`).length;
    await sql`select delivery.road_distances_purge()`;
    expect(await left()).toBe(1);
    await sql`update delivery.road_distances set measured_at = now() - interval '31 days'
      where from_longitude = 106`;
    await sql`select delivery.road_distances_purge()`;
    expect(await left()).toBe(0);
  });
});
