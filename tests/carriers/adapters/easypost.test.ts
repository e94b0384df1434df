/** The adapter of EasyPost against a server that answers as its documentation says. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Adapter, Parcel } from "../../../functions/carriers/adapters/adapter.ts";
import { CarrierSilent } from "../../../functions/carriers/adapters/adapter.ts";
import { easypost } from "../../../functions/carriers/adapters/easypost.ts";
import type { Body } from "../../support/api.ts";

interface Asked {
  what: string;
  auth: string | undefined;
  body: Body;
}
let asked: Asked[] = [];
let answers: Record<string, [number, Body]> = {};
let adapter: Adapter;
const server = createServer(async (request: IncomingMessage, response) => {
  let raw = "";
  for await (const chunk of request) raw += chunk;
  const what = `${request.method} ${request.url}`;
  asked.push({ what, auth: request.headers.authorization, body: raw && JSON.parse(raw) });
  const [status, body] = answers[what] ??
    [404, { error: { code: "NOT_FOUND", message: "not found" } }];
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
});
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  adapter = easypost(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v2`);
});
afterAll(() => void server.close());
beforeEach(() => {
  asked = [];
  answers = {};
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
  id: "shp_1",
  reference: "ref-1",
  rates: [{ id: "rate_dear", rate: "9.50" }, { id: "rate_cheap", rate: "5.82" }],
};
const bought = {
  ...made,
  tracking_code: "9400",
  postage_label: { label_url: "https://label.example/1.png" },
};

test("a shipment is made with a reference and its cheapest rate is bought", async () => {
  answers = { "POST /v2/shipments": [201, made], "POST /v2/shipments/shp_1/buy": [200, bought] };
  expect(await adapter.bookShipment(parcel, "ref-1", { ...key, login_id: "ca_1" })).toEqual({
    tracking_number: "9400",
    carrier_reference: "shp_1",
    label_url: "https://label.example/1.png",
  });
  expect(asked.map(({ what }) => what)).toEqual([
    "GET /v2/shipments/ref-1",
    "POST /v2/shipments",
    "POST /v2/shipments/shp_1/buy",
  ]);
  expect(asked[1].auth).toBe(`Basic ${Buffer.from("EZTK:").toString("base64")}`);
  expect(asked[1].body.shipment).toEqual({
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
  expect(asked[2].body).toEqual({ rate: { id: "rate_cheap" } });
});

test("what an earlier, lost call bought or made is found and not made twice", async () => {
  answers = { "GET /v2/shipments/ref-1": [200, bought] };
  expect((await adapter.bookShipment(parcel, "ref-1", key)).tracking_number).toBe("9400");
  expect(asked).toHaveLength(1);
  answers = {
    "GET /v2/shipments/ref-1": [200, made],
    "POST /v2/shipments/shp_1/buy": [200, bought],
  };
  await adapter.bookShipment(parcel, "ref-1", key);
  expect(asked.map(({ what }) => what)).not.toContain("POST /v2/shipments");
});

test("a refusal carries the carrier's words; an error of its own is silence", async () => {
  answers = {
    "POST /v2/shipments": [422, { error: { code: "ADDRESS", message: "Street not found" } }],
  };
  await expect(adapter.bookShipment(parcel, "ref-1", key)).rejects.toMatchObject({
    code: "carrier_refused",
    params: { reason: "Street not found" },
  });
  await expect(adapter.bookShipment(parcel, "ref-1", {})).rejects.toMatchObject({
    code: "carrier_refused",
  });
  answers = { "POST /v2/shipments": [201, { ...made, rates: [] }] };
  await expect(adapter.bookShipment(parcel, "ref-1", key)).rejects.toMatchObject({
    code: "carrier_refused",
  });
  answers = { "POST /v2/shipments": [500, {}] };
  await expect(adapter.bookShipment(parcel, "ref-1", key)).rejects.toThrow(CarrierSilent);
  await expect(easypost("http://127.0.0.1:9/v2").bookShipment(parcel, "ref-1", key)).rejects
    .toThrow(CarrierSilent);
});

test("cancelling asks for the money back", async () => {
  const shipment = { tracking_number: "9400", carrier_reference: "shp_1" };
  answers = { "POST /v2/shipments/shp_1/refund": [200, { ...bought, refund_status: "submitted" }] };
  expect(await adapter.cancelShipment(shipment, key)).toBe(true);
  answers = { "POST /v2/shipments/shp_1/refund": [200, { ...bought, refund_status: "rejected" }] };
  expect(await adapter.cancelShipment(shipment, key)).toBe(false);
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
