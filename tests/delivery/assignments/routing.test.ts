import { setupServer } from "msw/node";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { measureWays } from "../../../functions/delivery/assignments/routing.ts";
import { osrm } from "../../../shared/routing/routing-service.ts";
import { equip, newDeliveries, newDelivery, rowsOf } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import { newAddress } from "../../support/make.ts";
import { foundRoute, type Route, routingService } from "../../support/outside/routing.ts";
import { newTenant } from "../../support/people.ts";

const url = "https://routing.example";
const service = routingService();
const server = setupServer(...service.handlers);
// Requests to the stack pass through.
beforeAll(() => server.listen({ onUnhandledRequest: "bypass" }));
beforeEach(() => void (service.asked.length = 0));
afterAll(() => server.close());

const way = (id: string, to = 44.5) => ({
  id,
  from: [33.1, 44.1] as const,
  to: [33.2, to] as const,
  haversine_km: 12.345,
});

describe("the way of an assignment", () => {
  test("is what the routing service says", async () => {
    service.answer = () => foundRoute(15_678.4, 1_234);
    expect(await measureWays([way("a")], osrm(url))).toEqual([{
      id: "a",
      route_details: { distance_km: 15.678, duration_minutes: 20.6, source: "routing" },
    }]);
    expect(service.asked).toEqual(["/route/v1/driving/44.1,33.1;44.5,33.2?overview=false"]);
  });

  test.each<[string, Route]>([
    ["refuses", () => ({ status: 500 })],
    ["knows no way", () => ({ body: { code: "NoRoute", routes: [] } })],
    ["answers nonsense", () => ({ body: { routes: [{ distance: "far" }] } })],
    ["is silent", () => undefined],
  ])(
    "is measured as the crow flies when the service %s, which is not asked over and over",
    async (_, answer) => {
      service.answer = answer;
      const ways = Array.from({ length: 40 }, (_, index) => way(String(index)));
      // Only silence ends by the time limit: on a busy machine an answer may take longer than a short one.
      const timeoutMs = answer("") ? 10_000 : 300;
      const found = await measureWays(ways, osrm(url, timeoutMs));
      expect(found).toEqual(ways.map(({ id }) => ({
        id,
        route_details: { distance_km: 12.345, source: "haversine" },
      })));
      expect(service.asked.length).toBeLessThanOrEqual(4);
    },
  );

  test("keeps what was measured before the service failed", async () => {
    service.answer = (path) => path.includes("44.9") ? { status: 503 } : foundRoute(1_000, 60);
    const found = await measureWays([way("a"), way("b", 44.9)], osrm(url));
    expect(found.map(({ route_details }) => route_details.source)).toEqual([
      "routing",
      "haversine",
    ]);
  });

  test("is kept after the answer, also of a bulk; without coordinates there is none", async () => {
    const tenant = await newTenant();
    await equip(tenant, tenant.driver.id);
    const far = await newAddress(tenant, { latitude: 34.31, longitude: 44.36 });
    const ids = await newDeliveries(tenant, 3, { dropoff_address_id: far });
    const near = await newDelivery(tenant);
    const made = await tenant.ops.post("/delivery/assignments/bulk", {
      driver_id: tenant.driver.id,
      delivery_ids: [...ids, near],
    });
    expect(made).toSucceed(201);
    const details = async () =>
      await sql`select a.route_details from delivery.assignments a
      where a.tenant_id = ${tenant.id} order by a.sequence_number`;
    for (let i = 0; i < 50 && (await details()).some((row) => !row.route_details); i++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const measured = (await details()).map((row) => row.route_details);
    expect(measured[0]).toEqual({ distance_km: 111.195, source: "haversine" });
    expect(measured[3]).toEqual({ distance_km: 0, source: "haversine" });
    expect((await rowsOf(ids[0]))[0].status).toBe("pending");
    const shown = await tenant.ops.get("/delivery/assignments", { query: { include: "route" } });
    expect(shown.body.assignments[1].route.distance_km).toBe(111.195);
  });
});
