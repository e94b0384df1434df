/** A carrier that cancels ends its booking, and no delivery: all that belongs to it stays as it is. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { enable, external, newBooked, report, statusOf } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { checkAll, path } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { eventsOf, newDestination, ordered } from "../../support/set-destination.ts";

let tenant: Tenant;
let secret: string;
beforeAll(async () => {
  tenant = await newTenant();
  secret = (await enable(tenant)).secret;
});

const reports = (tracking_number: string, status: string, event_id: string = randomUUID()) =>
  report(tenant, secret, { event_id, tracking_number, status });
const book = (id: string) =>
  tenant.ops.post(`/carriers/shipments/${id}`, { carrier_code: "simulated" });
const shipments = (id: string) =>
  sql`select status, cancelled_at is not null as ended from integration.carrier_shipments
    where delivery_id = ${id} order by created_at`;
const cancelledEvents = (id: string) =>
  sql`select event_data ->> 'actor_id' as actor from integration.system_events
    where entity_id = ${id} and event_type = 'shipment.cancelled'`;

test("once, with its event, its reason and a notification, and can be booked anew", async () => {
  const { id, code, tracking_number } = await newBooked(tenant);
  const event = randomUUID();
  const all = await Promise.all([1, 2, 3].map(() => reports(tracking_number, "cancelled", event)));
  expect(all.map(({ body }) => body.outcome)).toEqual(["applied", "applied", "applied"]);
  expect(all.filter(({ body }) => !body.duplicate)).toHaveLength(1);
  expect(await shipments(id)).toEqual([{ status: "cancelled", ended: true }]);
  expect(await cancelledEvents(id)).toEqual([{ actor: null }]);
  const { body } = await tenant.ops.get(`${path}/${id}`);
  expect(body.delivery).toMatchObject({ status: "pending", status_reason: "carrier_cancelled" });
  const { body: notices } = await tenant.admin.get("/tenants/me/notifications", {
    query: { type: "shipment_cancelled" },
  });
  expect(notices.data).toMatchObject([{ payload: { delivery_id: id, delivery_code: code } }]);
  expect(notices.data[0].message).toContain(String(code));
  // Its number means nothing any more.
  expect((await reports(tracking_number, "picked_up")).body.outcome).toBe("unknown_shipment");
  const again = await book(id);
  expect(again).toSucceed(200);
  const { tracking_number: other } = again.body.shipment;
  expect((await reports(other, "delivered")).body.outcome).toBe("applied");
  expect(await statusOf({ id })).toBe("delivered");
  await checkAll(tenant);
});

test("not of a parcel that it has: that is delivered, or comes back", async () => {
  for (const has of ["picked_up", "in_transit", "failed"]) {
    const { id, tracking_number } = await newBooked(tenant);
    await reports(tracking_number, has);
    expect((await reports(tracking_number, "cancelled")).body.outcome).toBe("impossible");
    expect(await statusOf({ id })).toBe(has);
    expect((await reports(tracking_number, "returned")).body.outcome).toBe("applied");
    expect(await cancelledEvents(id)).toEqual([]);
  }
});

test("also of an order that the company has cancelled, without asking anybody to book it", async () => {
  const { id, tracking_number } = await newBooked(tenant);
  const reason = { reason: "changed_mind" };
  expect(await tenant.ops.post(`${path}/${id}/cancel`, reason)).toSucceed(200);
  expect((await reports(tracking_number, "cancelled")).body.outcome).toBe("unchanged");
  expect(await shipments(id)).toEqual([{ status: "cancelled", ended: true }]);
  const notified = await sql`select from tenancy.notifications
    where tenant_id = ${tenant.id} and type = 'shipment_cancelled' and payload ->> 'delivery_id' = ${id}`;
  expect(notified).toHaveLength(0);
});

test("while the office cancels: the booking ends once, in either order", async () => {
  const { id, tracking_number } = await newBooked(tenant);
  // The office has asked the carrier, and its answer is on the way.
  await sql`update integration.carrier_shipments set status = 'cancelling', claim_token = gen_random_uuid(),
    claimed_at = now() where delivery_id = ${id}`;
  const [{ shipment, claim }] = await sql`select id as shipment, claim_token as claim
    from integration.carrier_shipments where delivery_id = ${id}`;
  expect((await reports(tracking_number, "cancelled")).body.outcome).toBe("applied");
  const answer = await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
    const input = { shipment_id: shipment, claim_token: claim, cancelled: false };
    const [row] = await tx`select integration.cancel_finish(${tx.json(input)}) as answer`;
    return row.answer;
  });
  expect(answer.shipment.status).toBe("cancelled");
  expect(await shipments(id)).toEqual([{ status: "cancelled", ended: true }]);
  expect(await cancelledEvents(id)).toHaveLength(1);
});

test("a failed attempt of a carrier uses up an attempt, as a driver's does", async () => {
  const { id, tracking_number } = await newBooked(tenant);
  await reports(tracking_number, "failed");
  const failed = (await tenant.ops.get(`${path}/${id}`)).body.delivery;
  expect(failed).toMatchObject({ status: "failed", attempts_used: 1 });
  expect(await tenant.ops.post(`${path}/${id}/retry`, {}))
    .toFailWith(409, "delivery_attempts_exhausted");
  expect(await tenant.ops.post(`${path}/${id}/retry`, { override_reason: "asked for it" }))
    .toSucceed(200);
  expect((await reports(tracking_number, "failed")).body.outcome).toBe("applied");
  expect((await tenant.ops.get(`${path}/${id}`)).body.delivery.attempts_used).toBe(2);
});

test("the order of a manifest's item stays: it may go by a driver, and the company that cancels it has the item back", async () => {
  const made = await newDestination();
  const { tenant: who } = made;
  const signed = (await enable(who)).secret;
  const { manifest, itemIds, orders } = await ordered(made, 2);
  for (const { id } of orders) {
    expect(await who.ops.patch(`${path}/${id}/carrier`, external)).toSucceed(200);
    const booked = await who.ops.post(`/carriers/shipments/${id}`, { carrier_code: "simulated" });
    const { tracking_number } = booked.body.shipment;
    const notices = await report(who, signed, { tracking_number, status: "cancelled" });
    expect(notices.body.outcome).toBe("applied");
    expect(await who.ops.patch(`${path}/${id}/carrier`, { carrier_type: "internal" }))
      .toSucceed(200);
  }
  const items = () =>
    sql`select status from delivery.transfer_manifest_items where id = any (${itemIds})
      order by position`;
  expect(await items()).toEqual([{ status: "order_created" }, { status: "order_created" }]);
  const [first, second] = orders;
  expect((await who.ops.get(`${path}/${first!.id}`)).body.delivery)
    .toMatchObject({ status: "pending", carrier_type: "internal" });
  expect(await who.ops.post(`${path}/${second!.id}/cancel`, { reason: "changed_mind" }))
    .toSucceed(200);
  expect(await items()).toEqual([{ status: "order_created" }, { status: "received" }]);
  expect(await eventsOf(manifest)).toMatchObject({ order_cancelled: 1 });
  await checkAll(who);
});

test("one that is switched off, or whose company is suspended, reports on what it has", async () => {
  for (const end of ["off", "suspended"]) {
    const who = await newTenant();
    const signed = (await enable(who)).secret;
    const { id, tracking_number } = await newBooked(who);
    const reported = () => report(who, signed, { tracking_number, status: "in_transit" });
    if (end === "off") await who.admin.patch("/carriers/tenant/simulated", { is_enabled: false });
    else await sql`update tenancy.tenants set status = 'suspended' where id = ${who.id}`;
    expect((await reported()).body.outcome).toBe("applied");
    expect(await statusOf({ id })).toBe("in_transit");
  }
});
