/** The adapter of EasyPost against the service as its documentation describes it. */
import { http, HttpResponse } from "msw";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Parcel } from "../../../functions/carriers/adapters/adapter.ts";
import { CarrierSilent } from "../../../functions/carriers/adapters/adapter.ts";
import { easypost } from "../../../functions/carriers/adapters/easypost.ts";
import { easyPost, refusesShipments } from "../../support/outside/easypost.ts";

const service = easyPost();
const server = setupServer(...service.handlers);
const adapter = easypost();
const lines = () => service.asked.map(({ line }) => line);
beforeAll(() => server.listen({ onUnhandledRequest: "error" }));
afterAll(() => server.close());
afterEach(() => {
  server.resetHandlers();
  service.reset();
});

const parcel: Parcel = {
  id: "d1",
  delivery_code: 7,
  barcode: "B7",
  recipient: { name: "Sara", phone: "+9647700000009" },
  pickup: {
    full_address: "Street 1",
    city: "Baghdad",
    country: "IQ",
    contact_info: { phone: "+9641" },
  },
  dropoff: { full_address: "Street 2", city: "Erbil", country: "IQ" },
  package_details: { items: [{ quantity: 2, weight: 1, length: 10, width: 20, height: 30 }] },
  unit_size: 1,
  cash_due: 0,
  currency: "IQD",
  notes: null,
};
const key = { initial_token: "EZTK" };
const made = {
  id: "shp_9",
  reference: "ref-1",
  rates: [{ id: "rate_dear", rate: "9.50" }, { id: "rate_cheap", rate: "5.82" }],
};
const bought = { ...made, tracking_code: "9400" };

test("a shipment is made with a reference and its cheapest rate is bought", async () => {
  expect(await adapter.bookShipment(parcel, "ref-1", { ...key, login_id: "ca_1" })).toEqual({
    tracking_number: "9400",
    carrier_reference: "shp_1",
    label_url: "https://label.example/1.png",
  });
  expect(lines()).toEqual([
    "GET /v2/shipments/ref-1",
    "POST /v2/shipments",
    "POST /v2/shipments/shp_1/buy",
  ]);
  const [, making, buying] = service.asked;
  expect(making.headers.get("authorization"))
    .toBe(`Basic ${Buffer.from("EZTK:").toString("base64")}`);
  expect(making.body.shipment).toEqual({
    reference: "ref-1",
    carrier_accounts: ["ca_1"],
    to_address: {
      name: "Sara",
      phone: "+9647700000009",
      street1: "Street 2",
      city: "Erbil",
      country: "IQ",
    },
    from_address: { phone: "+9641", street1: "Street 1", city: "Baghdad", country: "IQ" },
    parcel: { weight: 70.5, length: 3.9, width: 7.9, height: 11.8 },
  });
  expect(buying.body).toEqual({ rate: { id: "rate_cheap" } });
});

test("rates of another currency are not compared with the first", async () => {
  service.rates = [
    { id: "rate_us", rate: "10.00", currency: "USD" },
    { id: "rate_ca", rate: "8.00", currency: "CAD" },
    { id: "rate_us_cheap", rate: "9.50", currency: "USD" },
  ];
  await adapter.bookShipment(parcel, "ref-1", key);
  expect(service.asked.at(-1)!.body).toEqual({ rate: { id: "rate_us_cheap" } });
});

test("what an earlier, lost call bought or made is found and not made twice", async () => {
  service.shipments = [bought];
  expect((await adapter.bookShipment(parcel, "ref-1", key)).tracking_number).toBe("9400");
  expect(lines()).toEqual(["GET /v2/shipments/ref-1"]);
  service.reset();
  service.shipments = [{ ...made }];
  expect((await adapter.bookShipment(parcel, "ref-1", key)).carrier_reference).toBe("shp_9");
  expect(lines()).toEqual(["GET /v2/shipments/ref-1", "POST /v2/shipments/shp_9/buy"]);
});

test("the same booking twice makes one shipment", async () => {
  const first = await adapter.bookShipment(parcel, "ref-1", key);
  expect(await adapter.bookShipment(parcel, "ref-1", key)).toEqual(first);
  expect(service.shipments).toHaveLength(1);
});

test("a refusal carries the carrier's words; an error of its own is silence", async () => {
  server.use(
    refusesShipments(422, { error: { code: "ADDRESS", message: "Street not found" } }),
  );
  await expect(adapter.bookShipment(parcel, "ref-1", key)).rejects.toMatchObject({
    code: "carrier_refused",
    params: { reason: "Street not found" },
  });
  await expect(adapter.bookShipment(parcel, "ref-1", {})).rejects.toMatchObject({
    code: "carrier_refused",
  });
  server.resetHandlers();
  service.rates = [];
  await expect(adapter.bookShipment(parcel, "ref-1", key)).rejects.toMatchObject({
    code: "carrier_refused",
  });
  service.reset();
  server.use(refusesShipments(500, {}));
  await expect(adapter.bookShipment(parcel, "ref-1", key)).rejects.toThrow(CarrierSilent);
  expect(service.shipments).toEqual([]);
});

test("a carrier that cannot be reached is silent", async () => {
  server.use(http.all("*/v2/*", () => HttpResponse.error()));
  await expect(adapter.bookShipment(parcel, "ref-1", key)).rejects.toThrow(CarrierSilent);
});

test("what a lost call bought is found by its reference; what it only made brings nobody", async () => {
  service.shipments = [bought];
  expect(await adapter.findShipment!("ref-1", key)).toEqual({
    tracking_number: "9400",
    carrier_reference: "shp_9",
    label_url: undefined,
  });
  service.shipments = [{ ...made }];
  expect(await adapter.findShipment!("ref-1", key)).toBeNull();
  service.shipments = [];
  expect(await adapter.findShipment!("ref-1", key)).toBeNull();
  await expect(adapter.findShipment!("ref-1", {})).rejects.toMatchObject({
    code: "carrier_refused",
  });
});

test("cancelling asks for the money back", async () => {
  const shipment = { tracking_number: "9400", carrier_reference: "shp_9" };
  service.shipments = [{ ...bought }];
  expect(await adapter.cancelShipment(shipment, key)).toBe(true);
  service.refundStatus = "rejected";
  expect(await adapter.cancelShipment(shipment, key)).toBe(false);
  expect(lines()).toEqual(Array(2).fill("POST /v2/shipments/shp_9/refund"));
});

test("a tracker's event is a report; other events concern no shipment; every status has a meaning or none", () => {
  const event = {
    id: "evt_1",
    object: "Event",
    description: "tracker.updated",
    result: {
      object: "Tracker",
      tracking_code: "9400",
      status: "out_for_delivery",
      updated_at: "2026-01-02T03:04:05Z",
    },
  };
  expect(adapter.parseWebhook(event)).toEqual({
    event_id: "evt_1",
    tracking_number: "9400",
    carrier_status: "out_for_delivery",
    occurred_at: "2026-01-02T03:04:05Z",
  });
  expect(adapter.parseWebhook({ id: "evt_2", result: { object: "Batch" } })).toBeNull();
  expect(() => adapter.parseWebhook({ id: "evt_3" })).toThrow();
  expect(adapter.statusMap).toMatchObject({
    delivered: "delivered",
    failure: "failed",
    return_to_sender: "returned",
  });
  for (const silent of ["unknown", "pre_transit", "error"]) {
    expect(adapter.statusMap[silent]).toBeUndefined();
  }
});
