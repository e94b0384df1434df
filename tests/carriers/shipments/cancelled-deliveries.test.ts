/** Bookings of deliveries that are cancelled: the carrier hears of it, or the administrators do. */
import { randomUUID } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import {
  booked,
  enable,
  givenToCarrier,
  newBooked,
  newExternal,
  report,
} from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { path } from "../../support/deliveries.ts";
import { runJobs as runJobsOf } from "../../support/jobs.ts";
import { split } from "../../support/order-fees.ts";
import { locksBefore } from "../../support/overlapping.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { until } from "../../support/receiver.ts";

let tenant: Tenant;
let secret: string;
beforeEach(async () => {
  tenant = await newTenant();
  secret = (await enable(tenant)).secret;
});

const answers = (login_id: string) =>
  tenant.admin.patch("/carriers/tenant/simulated", { credentials: { login_id } });
const cancelDelivery = async (id: string) =>
  expect(await tenant.ops.post(`${path}/${id}/cancel`, { reason: "changed_mind" })).toSucceed(200);
const statusOf = async (id: string) =>
  (await tenant.ops.get(`/carriers/shipments/${id}`)).body.shipment.status;
const notices = async (type = "shipment_not_cancelled") =>
  (await tenant.admin.get("/tenants/me/notifications", { query: { type } })).body.data;
const jobs = () =>
  sql`select status, attempts, attempts_max from app.jobs
    where tenant_id = ${tenant.id} and kind = 'carriers.shipment_withdraw' order by id`;
/** As the schedule of each minute does; what waits to be tried again is due. */
async function runJobs() {
  await sql`update app.jobs set run_at = now() where tenant_id = ${tenant.id} and status = 'queued'`;
  await runJobsOf("carriers", tenant.id);
}

test("a booking is cancelled at its carrier after its delivery was, and nobody has to call", async () => {
  const { id } = await newBooked(tenant);
  await cancelDelivery(id);
  await runJobs();
  expect(await statusOf(id)).toBe("cancelled");
  expect(await notices()).toEqual([]);
  expect(
    await sql`select event_data ->> 'actor_id' as actor from integration.system_events
      where entity_id = ${id} and event_type = 'shipment.cancelled'`,
  ).toEqual([{ actor: null }]);
  await runJobs();
  expect((await jobs()).map(({ status }) => status)).toEqual(["done"]);
});

test("also one that its owner cancelled, who sees no bookings", async () => {
  const { id } = await newExternal(tenant, { customer_id: tenant.customer.id });
  await booked(tenant, id);
  expect(await tenant.customer.post(`${path}/${id}/cancel`, { reason: "changed_mind" }))
    .toSucceed(200);
  await runJobs();
  expect(await statusOf(id)).toBe("cancelled");
});

test("also one of a store's order that was cancelled", async () => {
  const order = await split();
  ({ tenant } = order);
  await enable(tenant);
  await givenToCarrier(tenant, order.second);
  expect(await tenant.admin.put(`/storefront/orders/${order.id}/cancel`, { reason: "other" }))
    .toSucceed(200);
  await runJobs();
  expect(await statusOf(order.second)).toBe("cancelled");
});

test("a carrier that refuses keeps its booking, and the administrators hear of it once", async () => {
  const { id, code, tracking_number } = await newBooked(tenant);
  await answers("refuse");
  await cancelDelivery(id);
  await runJobs();
  await runJobs();
  expect(await statusOf(id)).toBe("booked");
  const [notice, ...more] = await notices();
  expect(more).toEqual([]);
  expect(notice.payload).toMatchObject({
    delivery_id: id,
    delivery_code: code,
    carrier_code: "simulated",
    tracking_number,
  });
  expect(notice.message).toContain(tracking_number);
  // After the call the office ends it.
  await answers("fine");
  expect(await tenant.ops.post(`/carriers/shipments/${id}/cancel`)).toSucceed(200);
});

test("a silent carrier is asked again, and its administrators hear of it after the last try", async () => {
  const { id } = await newBooked(tenant);
  await answers("silent");
  await cancelDelivery(id);
  await runJobs();
  expect(await statusOf(id)).toBe("booked");
  expect(await notices()).toEqual([]);
  const [{ status, attempts_max }] = await jobs();
  expect(status).toBe("queued");
  await sql`update app.jobs set attempts = ${attempts_max - 1} where tenant_id = ${tenant.id}
    and kind = 'carriers.shipment_withdraw'`;
  await runJobs();
  expect((await jobs()).map((job) => job.status)).toEqual(["done"]);
  expect(await notices()).toHaveLength(1);
});

test("a booking of a carrier that was switched off is cancelled all the same", async () => {
  const { id } = await newBooked(tenant);
  await tenant.admin.patch("/carriers/tenant/simulated", { is_enabled: false });
  await cancelDelivery(id);
  await runJobs();
  expect(await statusOf(id)).toBe("cancelled");
});

test("a booking that succeeds after its delivery was cancelled is cancelled as well", async () => {
  const { id } = await newExternal(tenant);
  const claimed = await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
    const asked = { delivery_id: id, carrier_code: "simulated", collects_cash: true };
    return (await tx`select integration.shipment_begin(${tx.json(asked)}) as claim`)[0].claim;
  });
  await cancelDelivery(id);
  await runJobs();
  expect((await jobs()).map(({ status }) => status)).toEqual(["queued"]);
  await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
    const { shipment_id, claim_token } = claimed;
    const booked = { shipment_id, claim_token, tracking_number: "T-1" };
    await tx`select integration.shipment_booked(${tx.json(booked)})`;
  });
  expect(await statusOf(id)).toBe("booked");
  await runJobs();
  expect(await statusOf(id)).toBe("cancelled");
});

test("many at once that book and cancel leave no booking of a cancelled delivery", async () => {
  const deliveries = await Promise.all([1, 2, 3, 4].map(() => newExternal(tenant)));
  await Promise.all(deliveries.flatMap(({ id }) => [
    tenant.ops.post(`/carriers/shipments/${id}`, { carrier_code: "simulated" }),
    tenant.ops.post(`${path}/${id}/cancel`, { reason: "changed_mind" }),
  ]));
  await until(async () => {
    await runJobs();
    const left = await sql`select from integration.carrier_shipments
      where tenant_id = ${tenant.id} and status <> 'cancelled'`;
    return left.length === 0;
  });
});

test("a booking that never came back is looked for, and ends here when its carrier never answers", async () => {
  await answers("silent");
  const { id } = await newExternal(tenant);
  await tenant.ops.post(`/carriers/shipments/${id}`, { carrier_code: "simulated" });
  await cancelDelivery(id);
  await runJobs();
  expect(await statusOf(id)).toBe("booking");
  await sql`update app.jobs set attempts = attempts_max - 1 where tenant_id = ${tenant.id}
    and kind = 'carriers.shipment_withdraw'`;
  await runJobs();
  expect(await statusOf(id)).toBe("cancelled");
  expect(await notices()).toMatchObject([{ payload: { delivery_id: id, tracking_number: null } }]);
});

test("that the carrier has the parcel of a cancelled delivery, the administrators hear once", async () => {
  const { id, code, tracking_number } = await newBooked(tenant);
  await answers("refuse");
  await cancelDelivery(id);
  const reports = (status: string) => report(tenant, secret, { tracking_number, status });
  for (const status of ["picked_up", "in_transit", "delivered"]) {
    expect((await reports(status)).body.outcome).toBe("impossible");
  }
  const [notice, ...more] = await notices("shipment_of_cancelled");
  expect(more).toEqual([]);
  expect(notice.payload).toMatchObject({ delivery_id: id, delivery_code: code, tracking_number });
  expect(notice.message).toContain(String(code));
});

test("also of a booking that its carrier had cancelled; of a parcel that goes its way nobody hears", async () => {
  const gone = await newBooked(tenant);
  await cancelDelivery(gone.id);
  await runJobs();
  const event_id = randomUUID();
  const { tracking_number } = gone;
  for (let twice = 0; twice < 2; twice++) {
    const told = await report(tenant, secret, { event_id, tracking_number, status: "picked_up" });
    expect(told.body.outcome).toBe("unknown_shipment");
  }
  const going = await newBooked(tenant);
  await report(tenant, secret, { tracking_number: going.tracking_number, status: "delivered" });
  expect(await notices("shipment_of_cancelled")).toHaveLength(1);
});

test("the job takes the delivery before its booking", async () => {
  const { id } = await newBooked(tenant);
  await cancelDelivery(id);
  const [{ shipment }] = await sql`select id as shipment from integration.carrier_shipments
    where delivery_id = ${id}`;
  await locksBefore(
    (tx) => tx`select from delivery.deliveries where id = ${id} for no key update`,
    () => sql`select integration.withdraw_begin(${shipment})`,
    (tx) => tx`select from integration.carrier_shipments where id = ${shipment} for update nowait`,
  );
});
