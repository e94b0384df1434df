/** Prices and orders of stops by road: preview and order agree, and a service that fails changes nothing but the length. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Stack } from "../../supabase/local/stack.ts";
import type { Body } from "../support/api.ts";
import { startOwnStack } from "../support/own-stack.ts";
import { optimizer } from "../support/outside/optimizer.ts";
import { foundRoute, routingService } from "../support/outside/routing.ts";
import { type ServedHandlers, serveHandlers } from "../support/outside/serve.ts";

const service = routingService();
const { asked } = service;
const engine = optimizer("*/optimize");
let routing: ServedHandlers;
let stack: Stack;
let headers: Record<string, string>;
let road: string;
let addresses: { id: string; latitude: number; longitude: number }[];

beforeAll(async () => {
  routing = await serveHandlers([...service.handlers, ...engine.handlers]);
  stack = await startOwnStack({
    seed: true,
    env: {
      BARID_STRICT: "1",
      BARID_LOG_LEVEL: "error",
      BARID_ROUTING_URL: routing.url,
      BARID_OPTIMIZER_URL: `${routing.url}/optimize`,
    },
  });
  const { sql } = stack;
  const [ops] = await sql`select u.user_id, u.tenant_id from tenancy.tenant_users u
    join tenancy.profiles p on p.id = u.user_id where p.email = 'dispatcher@demo.test'`;
  const token = await stack.jwtSign({
    sub: ops.user_id,
    app_metadata: { tenant_id: ops.tenant_id },
  });
  headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const [type] =
    await sql`select id from delivery.delivery_types where tenant_id = ${ops.tenant_id} limit 1`;
  [{ id: road }] =
    await sql`insert into delivery.delivery_services (tenant_id, code, name, service_level, default_price, price_per_km,
      unit_min, unit_max, delivery_type_id)
    values (${ops.tenant_id}, 'ROAD', '{"en": "By road"}', 'standard', 1000, 10, 1, 100, ${type.id}) returning id`;
  addresses =
    await sql`insert into delivery.addresses (tenant_id, full_address, latitude, longitude)
    values (${ops.tenant_id}, 'A', 33.3, 44.3), (${ops.tenant_id}, 'B', 33.4, 44.4), (${ops.tenant_id}, 'C', 33.5, 44.5)
    returning id, latitude, longitude`;
}, 120_000);

afterAll(async () => {
  await stack?.stop();
  routing?.close();
});

async function post(path: string, body: unknown, as = headers): Promise<Body> {
  const response = await fetch(`${stack.apiUrl}/${path}`, {
    method: "POST",
    headers: as,
    body: JSON.stringify(body),
  });
  return await response.json();
}

const preview = (from: number, to: number) =>
  post("delivery/price", {
    delivery_service_id: road,
    pickup_location: addresses[from],
    delivery_location: addresses[to],
    unit_size: 1,
  });
const order = (from: number, to: number) =>
  post("delivery/deliveries", {
    delivery_service_id: road,
    pickup_address_id: addresses[from].id,
    dropoff_address_id: addresses[to].id,
    unit_size: 1,
    payer_type: "receiver",
    payment_method: "cash",
    recipient: { name: "R", phone: "+9647700000000" },
  });

test("a way is asked for once; the preview, the order and the next preview say the same price", async () => {
  const { price } = await preview(0, 1);
  expect(price).toBe(1000 + 1234);
  expect((await order(0, 1)).delivery.price).toBe(price);
  expect((await preview(0, 1)).price).toBe(price);
  expect(asked).toEqual(["/route/v1/driving/44.3,33.3;44.4,33.4?overview=false"]);
});

test("an order without a price preview is measured as well", async () => {
  asked.length = 0;
  expect((await order(1, 2)).delivery.price).toBe(2234);
  expect(asked).toHaveLength(1);
});

test("what the store charges for bringing an order is what was shown before, and measured as well", async () => {
  const { sql } = stack;
  const [shop] =
    await sql`select m.id as market, m.tenant_id as tenant, c.user_id as customer, v.id as variant,
      i.unit_size as units, a.latitude, a.longitude
    from storefront.markets m
    join tenancy.tenant_users c on c.tenant_id = m.tenant_id and c.tenant_user_type = 'customer'
    join storefront.product_variants v on v.tenant_id = m.tenant_id and v.sku = 'TEA-450'
    join warehousing.inventory_items i on i.id = v.inventory_item_id
    join warehousing.stock s on s.item_id = i.id and s.status = 'available' and s.quantity > 0
    join warehousing.warehouses w on w.id = s.warehouse_id
    join delivery.addresses a on a.id = w.address_id
    where m.store_name = 'suq-dijla' order by s.quantity desc limit 1`;
  const [{ cart }] = await sql`with cart as (
      insert into storefront.carts (tenant_id, market_id, customer_id)
      values (${shop.tenant}, ${shop.market}, ${shop.customer}) returning tenant_id, id)
    insert into storefront.cart_items (tenant_id, cart_id, variant_id, quantity)
    select tenant_id, id, ${shop.variant}, 1 from cart returning cart_id as cart`;
  const token = await stack.jwtSign({
    sub: shop.customer,
    app_metadata: { tenant_id: shop.tenant },
  });
  const buyer = { ...headers, authorization: `Bearer ${token}` };
  const home = { full_address: "Far away", city: "Mosul", lat: 36.34, long: 43.13 };
  const shown = () =>
    post("delivery/price", {
      delivery_service_id: road,
      pickup_location: { latitude: shop.latitude, longitude: shop.longitude },
      delivery_location: { latitude: home.lat, longitude: home.long },
      unit_size: shop.units,
    }, buyer);
  asked.length = 0;
  const { order } = await post("storefront/orders/confirm", {
    cartId: cart,
    marketId: shop.market,
    deliveryServiceId: road,
    paymentMethodTypeId: "5a1e0000-0000-4000-8000-000000000001",
    address: home,
  }, buyer);
  expect(asked).toHaveLength(1);
  expect(order.deliveryFee % 1000).toBe(234);
  expect(order.deliveryFee).toBe((await shown()).price);
  expect(asked).toHaveLength(1);
});

test("while the service fails, prices go as the crow flies, preview and order alike", async () => {
  service.answer = () => ({ status: 503 });
  const { price } = await preview(0, 2);
  expect(price).toBeGreaterThan(1200);
  expect(price).toBeLessThan(1400);
  expect((await order(0, 2)).delivery.price).toBe(price);
});

test("an order of stops is measured by the service's table, and left to the engine that is set", async () => {
  const { sql } = stack;
  const [driver] = await sql`select d.user_id as id from delivery.drivers d
    join tenancy.tenant_users u on u.tenant_id = d.tenant_id
    join tenancy.profiles p on p.id = u.user_id and p.email = 'dispatcher@demo.test'
    where d.vehicle_id is not null order by d.user_id limit 1`;
  await sql`update delivery.drivers set all_zones = true where user_id = ${driver.id}`;
  const made = [await order(0, 1), await order(1, 2)];
  const given = await post("delivery/assignments/bulk", {
    driver_id: driver.id,
    delivery_ids: made.map(({ delivery }) => delivery.id),
  });
  expect(given).toMatchObject({ success: true });
  const suggest = () =>
    post(`delivery/assignments/driver/${driver.id}/sequence/suggest`, {
      latitude: 33.3,
      longitude: 44.4,
    });
  service.way = () => ({ distance: 7_000, duration: 600 });
  const { stops, ...proposed } = await suggest();
  expect(stops.length).toBeGreaterThan(1);
  expect(proposed).toMatchObject({ success: true, measured_by: "road" });
  expect(proposed.distance_km % 7).toBe(0);
  expect(service.tables).toHaveLength(1);
  expect(engine.asked).toHaveLength(1);
  // The ways between the stops are kept; the one from the driver's place is asked again.
  expect((await suggest()).distance_km).toBe(proposed.distance_km);
  expect(service.tables).toHaveLength(2);
  expect(service.tables[1]).toContain("&sources=0&");
});

/** A way that no other test has had measured, and addresses at its ends. */
let further = 0;
async function newWay(): Promise<[string, string, string]> {
  const { sql } = stack;
  further += 0.01;
  const made =
    await sql`insert into delivery.addresses (tenant_id, full_address, latitude, longitude)
    select tenant_id, 'E', 34 + ${further}::float8 + n * 0.1, 43 + n * 0.1
    from delivery.delivery_services cross join generate_series(0, 2) n where id = ${road} order by n returning id`;
  const [from, to, elsewhere] = made.map(({ id }) => id);
  return [from, to, elsewhere];
}

/** How often the ways of newWay() were asked for; jobs measure others meanwhile. */
const asks = () => asked.filter((line) => /driving\/43[^,]*,34/.test(line)).length;

const terms = {
  unit_size: 1,
  payer_type: "receiver",
  payment_method: "cash",
  recipient: { name: "R", phone: "+9647700000000" },
};
const orderOf = async (more: Body): Promise<Body> =>
  (await post("delivery/deliveries", { delivery_service_id: road, ...terms, ...more })).delivery;
const draftOf = ([from, to]: string[], more: Body = {}) =>
  orderOf({ pickup_address_id: from, dropoff_address_id: to, status: "draft", ...more });

async function changed(draft: Body, change: Body, method = "PATCH"): Promise<Body> {
  const response = await fetch(`${stack.apiUrl}/delivery/deliveries/${draft.id}`, {
    method,
    headers,
    body: JSON.stringify(change),
  });
  return (await response.json()).delivery;
}

async function newWarehouse(code: string, address: string): Promise<string> {
  const [{ id }] = await stack
    .sql`insert into warehousing.warehouses (tenant_id, name, code, address_id)
    select tenant_id, ${code}, ${code}, id from delivery.addresses where id = ${address} returning id`;
  return id;
}

async function newServiceByWay(more: Body = {}): Promise<string> {
  const { sql } = stack;
  const service = { code: `WAY-${further}`, default_price: 2000, price_per_km: 20, ...more };
  const [{ id }] =
    await sql`insert into delivery.delivery_services (tenant_id, name, service_level, unit_min, unit_max, delivery_type_id,
      code, default_price, price_per_km)
    select tenant_id, '{"en": "Way"}', 'standard', 1, 100, delivery_type_id, ${service.code}, ${service.default_price},
      ${service.price_per_km} from delivery.delivery_services where id = ${road} returning id`;
  return id;
}

describe("by road as well, where nobody asked for the price first,", () => {
  beforeEach(() => {
    service.answer = () => foundRoute(123_400, 600);
    asked.length = 0;
  });

  test.each(["PATCH", "PUT"])("is the price of a draft that %s sends elsewhere", async (method) => {
    const way = await newWay();
    const draft = await draftOf(way);
    service.answer = () => foundRoute(50_000, 600);
    expect((await changed(draft, { dropoff_address_id: way[2] }, method)).price).toBe(1500);
    expect(asks()).toBe(2);
  });

  test("and a change that is repeated with its key gets its first answer, whatever the tag is now", async () => {
    const way = await newWay();
    const draft = await draftOf(way);
    const at = `${stack.apiUrl}/delivery/deliveries/${draft.id}`;
    const tag = (await fetch(at, { headers })).headers.get("etag")!;
    const change = () =>
      fetch(at, {
        method: "PATCH",
        headers: { ...headers, "if-match": tag, "idempotency-key": `once-${draft.id}` },
        body: JSON.stringify({ dropoff_address_id: way[2] }),
      });
    const [first, again] = [await change(), await change()];
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await again.json()).toEqual(await first.json());
  });

  test("is the price of a draft that takes another service", async () => {
    service.answer = () => ({ status: 503 });
    const draft = await draftOf(await newWay());
    expect(draft.price).toBeLessThan(1200);
    service.answer = () => foundRoute(123_400, 600);
    const other = await newServiceByWay();
    expect((await changed(draft, { delivery_service_id: other })).price).toBe(2000 + 2468);
  });

  test("is the price of an order from one warehouse to another", async () => {
    const [from, to] = await newWay();
    const ends = {
      pickup_warehouse_id: await newWarehouse("ROAD-1", from),
      dropoff_warehouse_id: await newWarehouse("ROAD-2", to),
    };
    expect((await orderOf(ends)).price).toBe(2234);
    expect(asks()).toBe(1);
  });

  test("is the price of what a customer sends back", async () => {
    const { sql } = stack;
    const [from, to] = await newWay();
    const sent = await orderOf({ pickup_address_id: from, dropoff_address_id: to });
    for (const status of ["assigned", "accepted", "picked_up", "in_transit", "delivered"]) {
      await sql`update delivery.deliveries set status = ${status} where id = ${sent.id}`;
    }
    await sql`update delivery.delivery_services set allow_returns = true where id = ${road}`;
    const back = { delivery_flow: "customer_return", original_delivery_id: sent.id };
    expect((await orderOf(back)).price).toBe(2234);
    expect(asks()).toBe(2);
  });

  test("is the price that a draft is refused for whose address was corrected", async () => {
    const way = await newWay();
    const draft = await draftOf(way);
    await stack.sql`update delivery.addresses set latitude = latitude + 0.05 where id = ${way[1]}`;
    service.answer = () => foundRoute(50_000, 600);
    expect(await post(`delivery/deliveries/${draft.id}/submit`, {}))
      .toMatchObject({ code: "delivery_price_changed", price_after: 1500 });
  });
});

test("a draft keeps its price when its notes are changed after the measure of its way has expired", async () => {
  service.answer = () => foundRoute(123_400, 600);
  const draft = await draftOf(await newWay());
  expect(draft.price).toBe(2234);
  await stack.sql`update delivery.road_distances set measured_at = now() - interval '31 days'`;
  asked.length = 0;
  expect((await changed(draft, { notes: "Ring twice" })).price).toBe(2234);
  expect(asks()).toBe(0);
});

test("nobody is asked for the way of a draft or an order between warehouses whose service has no price per km", async () => {
  const way = await newWay();
  const free = await newServiceByWay({ price_per_km: 0 });
  const draft = await draftOf(way, { delivery_service_id: free });
  asked.length = 0;
  expect((await changed(draft, { dropoff_address_id: way[2] })).price).toBe(2000);
  const order = await orderOf({
    delivery_service_id: free,
    pickup_warehouse_id: await newWarehouse("FREE-1", way[1]),
    dropoff_address_id: way[2],
  });
  expect(order.price).toBe(2000);
  expect(asks()).toBe(0);
});
