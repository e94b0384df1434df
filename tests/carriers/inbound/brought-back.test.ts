/** A booking whose carrier has brought the parcel back into a warehouse binds nobody: it is booked again, or goes another way. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { change } from "../../support/amount-changes.ts";
import { booked, collectionsOf, enable, givenToCarrier, report } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  move,
  newDelivery,
  path,
  stagedInWarehouse,
  statusOf,
} from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { newAddress } from "../../support/make.ts";
import { newYard, whereIs, type Yard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { redirect } from "../../support/redirects.ts";
import { broughtInto, received } from "../../support/send-back.ts";
import { waybillSteps } from "../../support/waybills.ts";

let tenant: Tenant;
let yard: Yard;
let secret: string;
beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
  secret = (await enable(tenant)).secret;
});
afterAll(() => checkAll(tenant));

const says = async (tracking_number: string, status: string) =>
  (await report(tenant, secret, { tracking_number, status })).body.outcome;
const bookingsOf = async (id: string) =>
  (await sql`select status from integration.carrier_shipments
    where delivery_id = ${id} order by created_at`).map(({ status }) => status);
const ended = async (id: string) =>
  (await sql`select from integration.system_events
    where entity_id = ${id} and event_type = 'shipment.cancelled'`).length;

/** Cash that a carrier may hold, of a delivery that it reports in vain. */
const unbooked = async (id: string) =>
  (await sql`select event_data -> 'amount' as amount from integration.system_events
    where entity_id = ${id} and event_type = 'carrier_cash.unbooked'`).map(({ amount }) => amount);

/** Brought back by its carrier and received: it waits in the warehouse. */
async function back(id: string): Promise<string> {
  const number = await givenToCarrier(tenant, id);
  for (const status of ["picked_up", "returned"]) {
    expect(await says(number, status)).toBe("applied");
  }
  const [receipt] = await sql`select id from warehousing.receiving_orders
    where delivery_id = ${id} and status = 'pending'`;
  await received(yard, receipt.id);
  expect(await whereIs(id)).toMatchObject({ status: "pending", at: yard.warehouse });
  return number;
}

const kinds = {
  "the leg of a staged parcel": async () => {
    const { b: id } = await stagedInWarehouse(yard, { cod_amount: 7_000 });
    await ready(id);
    return id as string;
  },
  "a parcel that waited on its way": async () => {
    const { id } = await newDelivery(yard, { cod_amount: 7_000, payer_type: "receiver" });
    await received(yard, await broughtInto(yard, id, yard.warehouse));
    return id as string;
  },
};

/** A leg is prepared anew by its warehouse; the other kind is not. */
async function ready(id: string): Promise<void> {
  const [{ leg }] = await sql`select leg from delivery.deliveries where id = ${id}`;
  if (leg) expect(await move(tenant.ops, id, "execute")).toSucceed(200);
}

describe.each(Object.keys(kinds) as (keyof typeof kinds)[])("%s", (kind) => {
  test("is booked again, once", async () => {
    const id = await kinds[kind]();
    await back(id);
    await ready(id);
    const book = () => tenant.ops.post(`/carriers/shipments/${id}`, { carrier_code: "simulated" });
    for (const answer of await Promise.all([book(), book(), book()])) {
      if (answer.status === 409) expect(answer).toFailWith(409, "shipment_in_progress");
      else expect(answer).toSucceed(200);
    }
    const number = await booked(tenant, id);
    expect(await bookingsOf(id)).toEqual(["cancelled", "booked"]);
    expect(await ended(id)).toBe(1);
    for (const status of ["picked_up", "delivered"]) {
      expect(await says(number, status)).toBe("applied");
    }
    expect(await statusOf(id)).toBe("delivered");
    const [{ parcel }] = await sql`select coalesce(parent_id, id) as parcel
      from delivery.deliveries where id = ${id}`;
    expect(await collectionsOf(parcel)).toHaveLength(1);
  });

  test("goes with a driver of the company", async () => {
    const id = await kinds[kind]();
    await back(id);
    expect(await tenant.ops.patch(`${path}/${id}/carrier`, { carrier_type: "internal" }))
      .toSucceed(200);
    expect(await bookingsOf(id)).toEqual(["cancelled"]);
    expect(await ended(id)).toBe(1);
    await ready(id);
    const given = { delivery_id: id, driver_id: tenant.driver.id };
    expect(await tenant.ops.post("/delivery/assignments", given)).toSucceed(201);
  });

  test("leaves on a waybill, which ends its booking", async () => {
    const id = await kinds[kind]();
    const [{ parcel }] = await sql`select coalesce(parent_id, id) as parcel
      from delivery.deliveries where id = ${id}`;
    const { draft, step } = waybillSteps(tenant, yard);
    // Of a parcel in legs after the carrier; what goes as a whole with a carrier is put on none.
    const before = parcel === id ? await draft(parcel) : null;
    const number = await back(id);
    const { id: waybill } = before ?? await draft(parcel);
    expect(await step(waybill, "seal")).toSucceed(200);
    expect(await bookingsOf(id)).toEqual(["booked"]);
    const hand = () => step(waybill, "driver-handover", { driver_id: tenant.driver.id });
    const answers = await Promise.all([hand(), hand()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(await bookingsOf(id)).toEqual(["cancelled"]);
    expect(await ended(id)).toBe(1);
    expect(await says(number, "picked_up")).toBe("unknown_shipment");
    expect(await step(waybill, "receive")).toSucceed(200);
    expect(await whereIs(id)).toMatchObject({ status: "pending", at: yard.there });
    expect(await says(number, "delivered")).toBe("unknown_shipment");
  });

  test("goes to another address", async () => {
    const id = await kinds[kind]();
    await givenToCarrier(tenant, id);
    const to = await newAddress(tenant);
    expect(await redirect(tenant.ops, id, to)).toFailWith(409, "shipment_booked");
    const other = await kinds[kind]();
    const number = await back(other);
    expect(await redirect(tenant.ops, other, to)).toSucceed(200);
    expect([await bookingsOf(other), await ended(other)]).toEqual([["cancelled"], 1]);
    expect(await says(number, "delivered")).toBe("unknown_shipment");
    expect(await statusOf(other)).toBe("pending");
  });

  test("owes another amount, which its carrier was not asked for", async () => {
    const id = await kinds[kind]();
    const number = await back(id);
    expect(await change(tenant.ops, id, 5_000)).toSucceed(201);
    expect([await bookingsOf(id), await ended(id)]).toEqual([["cancelled"], 1]);
    await ready(id);
    for (const status of ["in_transit", "delivered"]) {
      expect(await says(number, status)).toBe("unknown_shipment");
    }
    expect(await statusOf(id)).toBe("pending");
    expect(await unbooked(id)).toEqual([9_000]);
  });
});

describe("a waybill", () => {
  test("does not leave with a parcel that a carrier is to fetch", async () => {
    const { id: parcel } = await newDelivery(yard, { cod_amount: 0, payer_type: "receiver" });
    await received(yard, await broughtInto(yard, parcel, yard.warehouse));
    const { draft, step } = waybillSteps(tenant, yard);
    const { id: waybill } = await draft(parcel);
    expect(await step(waybill, "seal")).toSucceed(200);
    await givenToCarrier(tenant, parcel);
    const hand = () => step(waybill, "driver-handover", { driver_id: tenant.driver.id });
    const refused = await hand();
    expect(refused).toFailWith(409, "waybill_delivery_not_ready");
    expect(refused.body).toMatchObject({ delivery_id: parcel, status: "pending" });
    expect(refused.body.message).toContain("booked with a carrier");
    expect(await tenant.ops.post(`/carriers/shipments/${parcel}/cancel`)).toSucceed(200);
    expect(await hand()).toSucceed(200);
    expect(await step(waybill, "receive")).toSucceed(200);
    expect(await whereIs(parcel)).toMatchObject({ status: "pending", at: yard.there });
  });
});
