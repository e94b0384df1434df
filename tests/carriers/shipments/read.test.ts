/** Bookings as the office reads them: that of one delivery, and the list. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { enable, newBooked, newExternal } from "../../support/carriers.ts";
import { path } from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  await enable(tenant);
});

const read = (id: string, who = tenant.ops) => who.get(`/carriers/shipments/${id}`);
const list = (query: Record<string, string>, who = tenant.ops) =>
  who.get("/carriers/shipments", { query });
const off = (is_enabled: boolean) =>
  tenant.admin.patch("/carriers/tenant/simulated", { is_enabled });

test("the booking of a delivery is read as it was answered, also while its carrier is off", async () => {
  const delivery = await newExternal(tenant);
  const booked = await tenant.ops.post(`/carriers/shipments/${delivery.id}`, {
    carrier_code: "simulated",
  });
  const answer = await read(delivery.id);
  expect(answer).toSucceed(200);
  expect(answer.body.shipment).toEqual(booked.body.shipment);
  await off(false);
  expect((await read(delivery.id)).body.shipment).toEqual(booked.body.shipment);
  await off(true);
});

test("a booking that ended is read until there is another", async () => {
  const { id } = await newBooked(tenant);
  const ended = await tenant.ops.post(`/carriers/shipments/${id}/cancel`);
  expect((await read(id)).body.shipment).toEqual(ended.body.shipment);
  const again = await tenant.ops.post(`/carriers/shipments/${id}`, { carrier_code: "simulated" });
  expect((await read(id)).body.shipment).toEqual(again.body.shipment);
});

test("a delivery without a booking has none, and only those who book read one", async () => {
  const delivery = await newExternal(tenant);
  expect(await read(delivery.id)).toFailWith(404, "shipment_not_found");
  expect(await read(randomUUID())).toFailWith(404, "delivery_not_found");
  expect(await read("x")).toFailWith(400, "invalid_uuid");
  const { id } = await newBooked(tenant);
  expect(await read(id, other.ops)).toFailWith(404, "delivery_not_found");
  for (const who of [tenant.staff, tenant.driver, tenant.customer]) {
    expect(await read(id, who)).toFailWith(403, "forbidden");
    expect(await list({}, who)).toFailWith(403, "forbidden");
  }
  expect(await read(id, nobody)).toFailWith(401, "unauthorized");
  expect(await list({}, nobody)).toFailWith(401, "unauthorized");
});

test("the office lists bookings newest first, and finds those of cancelled deliveries", async () => {
  const office = await newTenant();
  await enable(office);
  const first = await newBooked(office);
  const second = await newBooked(office);
  const ended = await newBooked(office);
  await office.ops.post(`/carriers/shipments/${ended.id}/cancel`);
  expect(await office.ops.post(`${path}/${first.id}/cancel`, { reason: "changed_mind" }))
    .toSucceed(200);
  const all = await list({}, office.ops);
  expect(all).toSucceed(200);
  expect(all.body.data.map((row: { delivery_id: string }) => row.delivery_id))
    .toEqual([ended.id, second.id, first.id]);
  const found = await list({ status: "booked", delivery_status: "cancelled" }, office.ops);
  expect(found.body.data).toEqual([{
    id: expect.any(String),
    delivery_id: first.id,
    delivery_code: first.code,
    delivery_status: "cancelled",
    carrier_code: "simulated",
    status: "booked",
    tracking_number: first.tracking_number,
    label_url: null,
    cash_due: 0,
    currency: "IQD",
    booked_at: expect.any(String),
    cancelled_at: null,
    created_at: expect.any(String),
  }]);
  const one = await list({ carrier_code: "simulated", delivery_id: second.id }, office.ops);
  expect(one.body.data).toMatchObject([{ delivery_id: second.id }]);
  expect((await list({ carrier_code: "easypost" }, office.ops)).body.pagination.total).toBe(0);
  expect((await list({ limit: "1", page: "2" }, office.ops)).body.data)
    .toMatchObject([{ delivery_id: second.id }]);
  expect((await list({}, other.ops)).body.data).toEqual([]);
  expect(await list({ status: "lost" }, office.ops)).toFailWith(400, "validation_failed");
});
