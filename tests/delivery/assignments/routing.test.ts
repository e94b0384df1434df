import { setupServer } from "msw/node";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { measureWays } from "../../../functions/delivery/assignments/routing.ts";
import { osrm } from "../../../shared/routing/routing-service.ts";
import { equip, newDeliveries, newDelivery } from "../../support/assignments.ts";
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
});

describe("the way of an assignment", () => {
  test("is what the routing service says", async () => {
    service.answer = () => foundRoute(15_678.4, 1_234);
    expect(await measureWays([way("a")], osrm(url))).toEqual([{
      ...way("a"),
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
    "stays straight when the service %s, which is not asked over and over",
    async (_, answer) => {
      service.answer = answer;
      const ways = Array.from({ length: 40 }, (_, index) => way(String(index)));
      // Only silence ends by the time limit: on a busy machine an answer may take longer than a short one.
      const timeoutMs = answer("") ? 10_000 : 300;
      expect(await measureWays(ways, osrm(url, timeoutMs))).toEqual([]);
      expect(service.asked.length).toBeLessThanOrEqual(4);
    },
  );

  test("keeps what was measured before the service failed", async () => {
    service.answer = (path) => path.includes("44.9") ? { status: 503 } : foundRoute(1_000, 60);
    const found = await measureWays([way("a"), way("b", 44.9)], osrm(url));
    expect(found.map(({ id }) => id)).toEqual(["a"]);
  });

  test("is straight with the answer, also of a bulk, and by road once that is measured", async () => {
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
    const routes = async () =>
      (await sql`select a.route_details from delivery.assignments a
        where a.tenant_id = ${tenant.id} order by a.sequence_number`).map((row) =>
        row.route_details
      );
    const straight = { distance_km: 111.195, source: "haversine" };
    expect(await routes()).toEqual([
      straight,
      straight,
      straight,
      { distance_km: 0, source: "haversine" },
    ]);
    const shown = await tenant.ops.get("/delivery/assignments", { query: { include: "route" } });
    expect(shown.body.assignments[1].route).toEqual(straight);

    const asked = JSON.stringify(made.body.assignment_ids);
    const waysNow = async () =>
      (await sql`select delivery.routes_to_measure(${tenant.id}, ${asked}) as ways`)[0].ways;
    const store = async () => {
      const found = JSON.stringify(await measureWays(await waysNow(), osrm(url)));
      await sql`select delivery.routes_store(${tenant.id}, ${found})`;
    };
    service.answer = () => ({ status: 503 });
    await store();
    expect((await routes())[0]).toEqual(straight);
    service.answer = () => foundRoute(120_500, 5_400);
    await store();
    const byRoad = { distance_km: 120.5, duration_minutes: 90, source: "routing" };
    expect(await routes()).toEqual([byRoad, byRoad, byRoad, byRoad]);
    expect(await waysNow()).toEqual([]);
    const logged = await sql`select from app.audit_log where tenant_id = ${tenant.id}
      and entity = 'delivery.assignments' and after ? 'route_details' and action = 'update'`;
    expect(logged).toHaveLength(4);
  });

  test("leads to the old place no more when the delivery was redirected meanwhile", async () => {
    const tenant = await newTenant();
    await equip(tenant, tenant.driver.id);
    const id = await newDelivery(tenant);
    const made = await tenant.ops.post("/delivery/assignments", {
      delivery_id: id,
      driver_id: tenant.driver.id,
    });
    expect(made).toSucceed(201);
    const asked = JSON.stringify([made.body.id]);
    const [{ ways }] = await sql`select delivery.routes_to_measure(${tenant.id}, ${asked}) as ways`;
    service.answer = () => foundRoute(1_000, 60);
    const found = JSON.stringify(await measureWays(ways, osrm(url)));
    const far = await newAddress(tenant, { latitude: 34.31, longitude: 44.36 });
    await sql`update delivery.deliveries set dropoff_address_id = ${far} where id = ${id}`;
    const store = async (routes: string) =>
      (await sql`select delivery.routes_store(${tenant.id}, ${routes}) as count`)[0].count;
    expect(await store(found)).toBe(0);
    const [again] = await sql`select delivery.routes_to_measure(${tenant.id}, ${asked}) as ways`;
    expect(await store(JSON.stringify(await measureWays(again.ways, osrm(url))))).toBe(1);
  });

  test("has none without coordinates", async () => {
    const tenant = await newTenant();
    const nowhere = await newAddress(tenant, { latitude: null, longitude: null });
    const id = await newDelivery(tenant, { dropoff_address_id: nowhere });
    const [{ route }] =
      await sql`select delivery.straight_route(d, null, null) as route from delivery.deliveries d where id = ${id}`;
    expect(route).toBeNull();
  });
});
