/** The places of a price preview, in every spelling that clients use. */
import { beforeAll, expect, test } from "vitest";
import { newService } from "../../support/money.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { pricePath as path } from "../../support/price.ts";

let tenant: Tenant;
let service: string;

beforeAll(async () => {
  tenant = await newTenant();
  // Nothing but the distance costs: one unit is free, a kilometre is a thousand.
  service = await newService(tenant, { default_price: 0, price_per_km: 1000 });
});

const ask = (places: Record<string, unknown>) =>
  tenant.customer.post(path, { delivery_service_id: service, unit_size: 1, ...places });

// A tenth of a degree of latitude.
const price = 11_120;

test.each<[string, Record<string, unknown>]>([
  ["locations", {
    pickup_location: { latitude: 33.3, longitude: 44.3 },
    delivery_location: { latitude: 33.4, longitude: 44.3 },
  }],
  ["addresses with lat and lng", {
    pickup_address: { lat: 33.3, lng: 44.3 },
    delivery_address: { lat: 33.4, lng: 44.3 },
  }],
  ["lat and long as text", {
    pickup_location: { lat: "33.3", long: "44.3" },
    delivery_location: { lat: " 33.4 ", long: "44.30" },
  }],
  ["flat short fields", {
    pickup_lat: 33.3,
    pickup_lng: 44.3,
    delivery_lat: 33.4,
    delivery_lng: 44.3,
  }],
  ["flat long fields", {
    pickup_latitude: 33.3,
    pickup_longitude: 44.3,
    dropoff_latitude: 33.4,
    dropoff_longitude: 44.3,
  }],
  ["flat fields with long", {
    pickup_lat: "33.3",
    pickup_long: 44.3,
    dropoff_lat: "33.4",
    dropoff_long: 44.3,
  }],
  ["one of each", {
    pickup_address: { latitude: 33.3, long: 44.3 },
    dropoff_lat: 33.4,
    delivery_longitude: 44.3,
  }],
  ["two of each: the location counts", {
    pickup_location: { latitude: 33.3, longitude: 44.3, lat: 1, lng: 1 },
    pickup_address: { latitude: 2, longitude: 2 },
    pickup_lat: 3,
    pickup_lng: 3,
    delivery_location: { latitude: 33.4, longitude: 44.3 },
    dropoff_lat: 4,
  }],
  ["an empty location beside flat fields", {
    pickup_location: null,
    pickup_lat: 33.3,
    pickup_lng: 44.3,
    delivery_location: { latitude: 33.4, longitude: 44.3 },
  }],
])("%s are understood", async (_spelling, places) => {
  const answer = await ask(places);
  expect(answer).toSucceed(200);
  expect(answer.body.price).toBe(price);
});

const good = { latitude: 33.3, longitude: 44.3 };

test.each<[Record<string, unknown>, string]>([
  [{}, "pickup_location"],
  [{ pickup_location: good }, "delivery_location"],
  [{ delivery_location: good }, "pickup_location"],
  [{ pickup_location: "Baghdad", delivery_location: good }, "pickup_location"],
  [{ pickup_address: [33, 44], delivery_location: good }, "pickup_address"],
  [{ pickup_location: {}, delivery_location: good }, "pickup_location.latitude"],
  [{ pickup_location: { latitude: 33 }, delivery_location: good }, "pickup_location.longitude"],
  [
    { pickup_location: { lat: 90.1, lng: 44 }, delivery_location: good },
    "pickup_location.lat",
  ],
  [
    { pickup_location: { lat: 33, long: -181 }, delivery_location: good },
    "pickup_location.long",
  ],
  [
    { pickup_location: good, delivery_address: { latitude: true, longitude: 44 } },
    "delivery_address.latitude",
  ],
  [
    { pickup_location: good, delivery_address: { latitude: "north", longitude: 44 } },
    "delivery_address.latitude",
  ],
  [{ pickup_location: good, dropoff_lat: 33 }, "dropoff_lng"],
  [{ pickup_lng: 44, delivery_location: good }, "pickup_lat"],
])("%j is no pair of places", async (places, field) => {
  const answer = await ask(places);
  expect(answer).toFailWith(400, "invalid_coordinates");
  expect(answer.body.field).toBe(field);
});

test("a service that does not charge by distance needs no places", async () => {
  const flat = await newService(tenant);
  const answer = await tenant.customer.post(path, { delivery_service_id: flat, unit_size: 2 });
  expect(answer.body.price).toBe(2000);
});

test("kilometres within free_km cost nothing", async () => {
  const near = await newService(tenant, { price_per_km: 1000, free_km: 11.2 });
  const between = {
    pickup_location: good,
    delivery_location: { latitude: 33.4, longitude: 44.3 },
  };
  const of = async (delivery_service_id: string) =>
    (await ask({ delivery_service_id, ...between })).body.price;
  expect(await of(near)).toBe(1000);
  expect(await of(await newService(tenant, { price_per_km: 1000, free_km: 10 }))).toBe(2120);
});
