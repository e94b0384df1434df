/** The booking of a parcel's first leg binds the parcel until its carrier has brought that leg into a warehouse. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { change } from "../../support/amount-changes.ts";
import { booked, bookedCash, enable, givenToCarrier, report } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  move,
  moves,
  newDelivery,
  path,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { newAddress } from "../../support/make.ts";
import { report as outcome, undo } from "../../support/outcomes.ts";
import { newYard, whereIs, type Yard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { redirect } from "../../support/redirects.ts";
import { received } from "../../support/send-back.ts";
import { answerBy, follow, offerTracking, tokenOf } from "../../support/tracking.ts";
import { waybillSteps } from "../../support/waybills.ts";

let tenant: Tenant;
let yard: Yard;
let secret: string;
beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
  secret = (await enable(tenant)).secret;
  await offerTracking(yard);
});
afterAll(() => checkAll(tenant));

const says = async (tracking_number: string, ...statuses: string[]) => {
  for (const status of statuses) {
    const { body } = await report(tenant, secret, { tracking_number, status });
    expect(body.outcome, status).toBe("applied");
  }
};
const bookingOf = async (id: string) =>
  (await tenant.ops.get(`/carriers/shipments/${id}`)).body.shipment;
const followed = async (token: string) => (await follow(token)).body.data;
const shown = async (id: string) => (await tenant.ops.get(`${path}/${id}`)).body.delivery;
const note = "Ring the bell twice";

/** A staged parcel whose first leg the carrier is to bring, with the link of its recipient. */
async function firstLegGiven() {
  const { id, legs } = await newDelivery(yard, {
    staged: true,
    warehouse_id: yard.warehouse,
    payer_type: "receiver",
    cod_amount: 7_000,
  });
  const [a, b] = legs.map((leg: { id: string }) => leg.id);
  const number = await givenToCarrier(tenant, a);
  return { id, a, b, number, token: await tokenOf(tenant.ops, id) };
}

/** The same, and the carrier has brought it into the warehouse, where its last leg waits. */
async function firstLegBrought() {
  const made = await firstLegGiven();
  await says(made.number, "picked_up", "delivered");
  const [receipt] = await sql`select id from warehousing.receiving_orders
    where delivery_id = ${made.a} and status = 'pending'`;
  if (receipt) await received(yard, receipt.id);
  expect(await whereIs(made.id)).toMatchObject({ at: yard.warehouse });
  expect(await statusOf(made.b)).toBe("pending");
  return made;
}

test("while the carrier brings it, amount and address are fixed, and its recipient sees the carrier", async () => {
  const { id, b, number, token } = await firstLegGiven();
  await says(number, "picked_up");
  for (const  of of[id, b]) {
    expect(await change(tenant.ops, of, 5_000)).toFailWith(409, "shipment_booked");
  }
  expect(await redirect(tenant.ops, id, await newAddress(tenant)))
    .toFailWith(409, "shipment_booked");
  expect(await answerBy(token, { note })).toFailWith(409, "tracking_answers_closed");
  expect(await followed(token)).toMatchObject({
    carrier: { code: "simulated", tracking_number: number },
    wanted_days: null,
  });
});

test("in the warehouse amount and address change, and its recipient answers and sees no carrier", async () => {
  const { id, a, number, token } = await firstLegBrought();
  expect((await followed(token)).wanted_days).toEqual({
    first: expect.any(String),
    last: expect.any(String),
  });
  expect((await followed(token)).carrier).toBeNull();
  expect(await answerBy(token, { note })).toSucceed(200);
  expect(await change(tenant.ops, id, 5_000)).toSucceed(201);
  const to = await newAddress(tenant);
  expect(await redirect(tenant.ops, id, to)).toSucceed(200);
  expect(await shown(id)).toMatchObject({ cod_amount: 5_000, dropoff_address_id: to });
  // It was carried out, so it is no cancelled booking, and another booking of the leg finds it.
  expect(await booked(tenant, a)).toBe(number);
  expect(await bookingOf(a)).toMatchObject({ status: "booked", tracking_number: number });
  expect(
    await sql`select from integration.system_events
    where entity_id = ${a} and event_type = 'shipment.cancelled'`,
  ).toHaveLength(0);
  const again = await report(tenant, secret, { tracking_number: number, status: "delivered" });
  expect(again.body.outcome).toBe("unchanged");
});

test("its driver delivers it for what was asked at the door, and its recipient sees no carrier", async () => {
  const { id, b, token } = await firstLegBrought();
  const from = (await shown(id)).dropoff_address_id;
  await takenOver(yard, b);
  await moves(tenant.driver, b, "depart");
  const occurred_at = new Date().toISOString();
  expect(await change(tenant.ops, id, 5_000)).toSucceed(201);
  expect(await redirect(tenant.ops, id, await newAddress(tenant))).toSucceed(200);
  expect((await followed(token)).carrier).toBeNull();
  const done = await outcome(tenant.driver, b, { result: "delivered", occurred_at });
  expect(done).toSucceed(200);
  expect(done.body.data.cash.collected.cod).toBe(7_000);
  expect(await shown(id)).toMatchObject({ cod_amount: 7_000, dropoff_address_id: from });
  expect(await followed(token)).toMatchObject({ status: "delivered", carrier: null });
});

test("a waybill takes it to another warehouse", async () => {
  const { id, a } = await firstLegBrought();
  const { onTheRoad, step } = waybillSteps(tenant, yard);
  expect(await step(await onTheRoad(id), "receive")).toSucceed(200);
  expect(await whereIs(id)).toMatchObject({ at: yard.there });
  expect((await bookingOf(a)).status).toBe("booked");
});

test("booked for its last leg too, it is bound again, and its recipient sees that carrier to the end", async () => {
  const { id, b, token } = await firstLegBrought();
  expect(await move(tenant.ops, b, "execute")).toSucceed(200);
  const number = await givenToCarrier(tenant, b);
  const carrier = { code: "simulated", tracking_number: number };
  expect(await change(tenant.ops, id, 5_000)).toFailWith(409, "shipment_booked");
  expect((await followed(token)).carrier).toEqual(carrier);
  await says(number, "picked_up", "delivered");
  expect(await followed(token)).toMatchObject({ status: "delivered", carrier });
});

test("a report `delivered` that was wrong is undone, and the booking binds again", async () => {
  const { id, tracking_number } = await bookedCash(yard);
  const token = await tokenOf(tenant.ops, id);
  const carrier = { code: "simulated", tracking_number };
  await says(tracking_number, "picked_up", "delivered");
  expect((await followed(token)).carrier).toEqual(carrier);
  expect(await undo(tenant.ops, id)).toSucceed(200);
  expect(await change(tenant.ops, id, 5_000)).toFailWith(409, "shipment_booked");
  expect(await answerBy(token, { note })).toFailWith(409, "tracking_answers_closed");
  expect((await followed(token)).carrier).toEqual(carrier);
});

test("brought back to its sender it ends the parcel, and what was to follow is not to come", async () => {
  const { id, a, b, number } = await firstLegGiven();
  await says(number, "picked_up", "returned");
  expect([await statusOf(a), await statusOf(id), await statusOf(b)])
    .toEqual(["returned", "returned", "cancelled"]);
});
