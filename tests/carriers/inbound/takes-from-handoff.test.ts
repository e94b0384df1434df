/** A parcel that waits to be handed to a driver, and is given to another company after all. */
import { beforeAll, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { enable, external, givenToCarrier, report } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { checkAll, move, moves, path, stagedInWarehouse } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { newYard, type Yard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { fromSender, received, sentBackBy } from "../../support/send-back.ts";

let tenant: Tenant;
let yard: Yard;
let secret: string;
beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
  secret = (await enable(tenant)).secret;
});

const handoffsOf = async (delivery: string) =>
  (await sql`select status from delivery.package_handoffs where delivery_id = ${delivery}
    order by created_at`).map(({ status }) => status);

async function pending(): Promise<string[]> {
  const answer = await tenant.ops.get("/delivery/handoffs?status=pending&limit=100");
  expect(answer).toSucceed(200);
  return answer.body.data.map((row: { delivery_id: string }) => row.delivery_id);
}

/** Assigned by the office; answers the assignment. */
async function assigned(delivery_id: string, driver: Person): Promise<string> {
  const made = await tenant.ops.post("/delivery/assignments", {
    delivery_id,
    driver_id: driver.id,
  });
  expect(made).toSucceed(201);
  return made.body.id;
}

/** Prepared for a driver, who rejects it: its handoff waits for the next. */
async function rejected(id: string): Promise<void> {
  expect(await move(tenant.ops, id, "execute")).toSucceed(200);
  const assignment = await assigned(id, tenant.driver);
  const answer = await tenant.driver.put(`/delivery/assignments/${assignment}`, {
    status: "rejected",
  });
  expect(answer).toSucceed(200);
  expect(await pending()).toContain(id);
}

/** Fetched in the warehouse by the second driver. */
async function fetched(id: string): Promise<void> {
  expect(await move(tenant.ops, id, "execute")).toSucceed(200);
  const assignment = await assigned(id, tenant.driver2);
  expect(
    await tenant.driver2.put(`/delivery/assignments/${assignment}`, { status: "accepted" }),
  ).toSucceed(200);
  const [handoff] = await sql`select id from delivery.package_handoffs
    where delivery_id = ${id} and status = 'pending'`;
  expect(await tenant.driver2.post(`/delivery/handoffs/${handoff.id}/pickup`)).toSucceed(200);
}

/** Taken by the carrier as it reports, or as the office says. */
async function taken(id: string, by: "report" | "hand"): Promise<void> {
  if (by === "hand") {
    expect(await tenant.ops.patch(`${path}/${id}/carrier`, external)).toSucceed(200);
    await moves(tenant.ops, id, "depart");
    return;
  }
  const tracking_number = await givenToCarrier(tenant, id);
  expect((await report(tenant, secret, { tracking_number, status: "picked_up" })).body)
    .toMatchObject({ outcome: "applied" });
}

test.each(["hand", "report"] as const)(
  "a leg that a carrier takes by %s waits for no driver any more; brought back, the next driver fetches it",
  async (by) => {
    const { b } = await stagedInWarehouse(yard);
    await rejected(b);
    await taken(b, by);
    expect(await pending()).not.toContain(b);
    expect(await handoffsOf(b)).toEqual(["cancelled"]);
    await moves(tenant.ops, b, "fail", "return");
    const [receipt] = await sql`select id from warehousing.receiving_orders
      where delivery_id = ${b} and status = 'pending'`;
    await received(yard, receipt.id);
    expect(await tenant.ops.patch(`${path}/${b}/carrier`, { carrier_type: "internal" }))
      .toSucceed(200);
    await fetched(b);
    expect(await handoffsOf(b)).toEqual(["cancelled", "completed"]);
    await checkAll(tenant);
  },
);

test("an operational return that a carrier takes waits for no driver any more", async () => {
  const parcel = await fromSender(yard);
  const back = await sentBackBy(yard, parcel.id, "operational-return");
  await rejected(back.id);
  await taken(back.id, "hand");
  expect(await pending()).not.toContain(back.id);
  expect(await handoffsOf(back.id)).toEqual(["cancelled"]);
  await checkAll(tenant);
});
