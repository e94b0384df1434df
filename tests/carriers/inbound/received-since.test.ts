/** A carrier's report from before our warehouse received the parcel back comes too late: it moves nothing. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { collectionsOf, enable, external, givenToCarrier, report } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  move,
  newDelivery,
  parcelStock,
  stagedInWarehouse,
  statusOf,
} from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { newYard, whereIs, type Yard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { fromWarehouse, received } from "../../support/send-back.ts";

let tenant: Tenant;
let yard: Yard;
let secret: string;
beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
  secret = (await enable(tenant)).secret;
});
afterAll(() => checkAll(tenant));

/** Gives it to the carrier and books it; returns a function that reports what happened so many minutes ago. */
async function given(id: string) {
  const tracking_number = await givenToCarrier(tenant, id);
  return async (status: string, minutesAgo?: number) => {
    const at = minutesAgo === undefined ? {} : {
      occurred_at: new Date(Date.now() - minutesAgo * 60_000).toISOString(),
    };
    return (await report(tenant, secret, { tracking_number, status, ...at })).body.outcome;
  };
}

/** A parcel that lies in the warehouse, where it was received when its carrier had brought it back: the leg from there, and its parcel. */
async function back() {
  const { parent, b: id } = await stagedInWarehouse(yard, { cod_amount: 7_000 });
  const prepared = async () => expect(await move(tenant.ops, id, "execute")).toSucceed(200);
  await prepared();
  const reports = await given(id);
  expect(await reports("picked_up", 60)).toBe("applied");
  expect(await reports("returned", 50)).toBe("applied");
  const [receipt] = await sql`select id from warehousing.receiving_orders
    where delivery_id = ${id} and status = 'pending'`;
  await received(yard, receipt.id);
  await lies(id, parent.id);
  return { id, parcel: parent.id as string, reports, prepared };
}

/** It waits in the warehouse, and is stock there. */
async function lies(id: string, parcel: string): Promise<void> {
  expect(await whereIs(id)).toMatchObject({ status: "pending", at: yard.warehouse });
  expect(await parcelStock(parcel)).toEqual({ available: 1 });
}

describe("a report of what was before a warehouse received the parcel", () => {
  test.each(["in_transit", "picked_up", "failed", "returned"])(
    "%s is too late: the parcel lies where it lies",
    async (status) => {
      const { id, parcel, reports } = await back();
      expect(await reports(status, 40)).toBe("too_late");
      await lies(id, parcel);
    },
  );

  test("delivered is too late and books no cash, and an event says so", async () => {
    const { id, parcel, reports } = await back();
    expect(await reports("delivered", 40)).toBe("too_late");
    await lies(id, parcel);
    expect(await collectionsOf(parcel)).toEqual([]);
    const [event] = await sql`select event_data from integration.system_events
      where entity_id = ${id} and event_type = 'carrier_cash.unbooked'`;
    expect(event.event_data).toMatchObject({ outcome: "too_late", status: "pending" });
  });

  test("a second trip has a later time: it is taken, to its end", async () => {
    const { id, parcel, reports, prepared } = await back();
    expect(await reports("in_transit", 40)).toBe("too_late");
    await prepared();
    expect(await reports("in_transit", 0)).toBe("applied");
    expect(await whereIs(id)).toMatchObject({ status: "in_transit", at: null });
    expect(await reports("delivered")).toBe("applied");
    expect(await collectionsOf(parcel)).toHaveLength(1);
  });

  test("what was to come back, and was received nowhere, is reported as before", async () => {
    const { id } = await fromWarehouse(yard, { cod_amount: 0 });
    const reports = await given(id);
    expect(await reports("picked_up", 60)).toBe("applied");
    expect(await reports("returned", 50)).toBe("applied");
    expect(await reports("failed", 40)).toBe("applied");
    expect(await reports("in_transit", 30)).toBe("applied");
    expect(await statusOf(id)).toBe("in_transit");
  });

  test("another parcel's receipt is nothing to it", async () => {
    await back();
    const { id } = await newDelivery(yard, external);
    const booked = await tenant.ops.post(`/carriers/shipments/${id}`, {
      carrier_code: "simulated",
    });
    const { tracking_number } = booked.body.shipment;
    const occurred_at = new Date(Date.now() - 40 * 60_000).toISOString();
    const told = await report(tenant, secret, {
      tracking_number,
      status: "picked_up",
      occurred_at,
    });
    expect(told.body.outcome).toBe("applied");
    expect(await statusOf(id)).toBe("picked_up");
  });
});
