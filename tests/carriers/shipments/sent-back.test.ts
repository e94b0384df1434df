/** Bookings of parcels that are sent back: their carriers do not come, and move nothing that its sender has. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectionsOf, enable, external, givenToCarrier, report } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  move,
  moves,
  path,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { runJobs as runJobsOf } from "../../support/jobs.ts";
import { newYard, type Yard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let yard: Yard;
let secret: string;
beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
  secret = (await enable(tenant)).secret;
});
afterAll(() => checkAll(tenant));

const answers = async (login_id: string) =>
  expect(await tenant.admin.patch("/carriers/tenant/simulated", { credentials: { login_id } }))
    .toSucceed(200);
const bookingOf = async (id: string) =>
  (await tenant.ops.get(`/carriers/shipments/${id}`)).body.shipment.status;
const cancel = (id: string) => tenant.ops.post(`/carriers/shipments/${id}/cancel`);
const says = async (tracking_number: string, status: string) =>
  (await report(tenant, secret, { tracking_number, status })).body.outcome;
/** As the schedule of each minute does; what waits to be tried again is due. */
async function runJobs() {
  await sql`update app.jobs set run_at = now() where tenant_id = ${tenant.id} and status = 'queued'`;
  await runJobsOf("carriers", tenant.id);
}

/** A booked leg out of the warehouse, its parcel, and the return that brings it to its sender. */
async function sentBack() {
  const { parent, b } = await stagedInWarehouse(yard, {
    cod_amount: 7_000,
    payer_type: "receiver",
  });
  expect(await move(tenant.ops, b, "execute")).toSucceed(200);
  const number = await givenToCarrier(tenant, b);
  const answer = await move(tenant.ops, parent.id, "operational-return");
  expect(answer).toSucceed(201);
  return {
    parcel: parent.id as string,
    leg: b as string,
    number,
    back: answer.body.delivery.id as string,
  };
}
async function broughtHome(back: string) {
  await takenOver(yard, back, tenant.driver);
  await moves(tenant.driver, back, "depart", "complete");
}

test("the carrier hears of it", async () => {
  const { leg } = await sentBack();
  await runJobs();
  expect(await bookingOf(leg)).toBe("cancelled");
});

test("a return that is cancelled before the carrier heard leaves the booking as it was", async () => {
  const { leg, back } = await sentBack();
  expect(await move(tenant.ops, back, "cancel", { reason: "kept" })).toSucceed(200);
  await runJobs();
  expect(await bookingOf(leg)).toBe("booked");
});

test("a carrier that refuses is to be called, its reports move nothing once the parcel is back, and the office ends the booking", async () => {
  const { parcel, leg, number, back } = await sentBack();
  await answers("refuse");
  await runJobs();
  expect(await bookingOf(leg)).toBe("booked");
  const { body } = await tenant.admin.get("/tenants/me/notifications", {
    query: { type: "shipment_not_cancelled" },
  });
  expect(body.data.map((one: { payload: { delivery_id: string } }) => one.payload.delivery_id))
    .toContain(leg);
  await broughtHome(back);
  expect([await statusOf(leg), await statusOf(parcel)]).toEqual(["returned", "returned"]);
  for (const status of ["in_transit", "delivered"]) {
    expect(await says(number, status)).toBe("impossible");
  }
  expect([await statusOf(leg), await collectionsOf(parcel)]).toEqual(["returned", []]);
  await answers("fine");
  expect(await cancel(leg)).toSucceed(200);
  expect(await bookingOf(leg)).toBe("cancelled");
});

test("a parcel that its carrier brought back before is no longer booked", async () => {
  const { parent, b } = await stagedInWarehouse(yard);
  expect(await move(tenant.ops, b, "execute")).toSucceed(200);
  const number = await givenToCarrier(tenant, b);
  for (const status of ["picked_up", "returned"]) {
    expect(await says(number, status)).toBe("applied");
  }
  const [receipt] = await sql`select id from warehousing.receiving_orders
    where delivery_id = ${b} and status = 'pending'`;
  expect(
    await tenant.ops.put(`/warehousing/receiving-orders/${receipt.id}`, {
      status: "received",
      item_details: [{ bin_id: yard.bin }],
    }),
  ).toSucceed(200);
  expect(await bookingOf(b)).toBe("booked");
  expect(await move(tenant.ops, parent.id, "operational-return")).toSucceed(201);
  expect(await bookingOf(b)).toBe("cancelled");
  expect((await tenant.ops.get(`${path}/${b}`)).body.delivery.carrier_type).toBe(
    external.carrier_type,
  );
});
