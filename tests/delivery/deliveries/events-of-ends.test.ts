/** Subscribers get one event for each assignment and pick that ends early, whichever call ended it. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  deliveryIn,
  type Ground,
  handedTo,
  move,
  moves,
  newDelivery,
  newGround,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

const eventsOf = (type: string, thing: string) =>
  sql`select event_data from integration.system_events
    where tenant_id = ${tenant.id} and event_type = ${type} and entity_id = ${thing}`;

/** The one event of an assignment that ended. */
const ended = (assignment: string, delivery: string, actor: { id: string }) => [{
  event_data: {
    assignment_ids: [assignment],
    delivery_ids: [delivery],
    delivery_id: delivery,
    driver_id: tenant.driver.id,
    status: "returned",
    actor_id: actor.id,
  },
}];

test("an assignment that is cancelled, handed over, or returned with its parcel", async () => {
  const { id: back } = await newDelivery(ground);
  const taken = await assign(tenant, back);
  expect(await tenant.ops.post(`/delivery/assignments/${taken}/unassign`, {})).toSucceed(200);
  expect(await eventsOf("assignment.returned", taken)).toEqual(ended(taken, back, tenant.ops));

  const { id: over } = await newDelivery(ground);
  const handed = await assign(tenant, over);
  const given = await tenant.ops.post(
    `/delivery/assignments/driver/${tenant.driver.id}/hand-over`,
    { to_driver_id: tenant.driver2.id, delivery_ids: [over] },
  );
  expect(given).toSucceed(201);
  expect(await eventsOf("assignment.returned", handed)).toEqual(ended(handed, over, tenant.ops));

  const { id: off } = await newDelivery(ground);
  const freed = await assign(tenant, off);
  expect(await move(tenant.ops, off, "cancel", { reason: "changed" })).toSucceed(200);
  expect(await eventsOf("assignment.returned", freed)).toEqual(ended(freed, off, tenant.ops));

  const { id: refused } = await deliveryIn(ground, "in_transit");
  const [{ id: carried }] =
    await sql`select id from delivery.assignments where delivery_id = ${refused}`;
  await moves(tenant.driver, refused, ["return", { reason: "refused" }]);
  expect(await eventsOf("assignment.returned", carried)).toEqual(
    ended(carried, refused, tenant.driver),
  );
});

test("a pick of a parcel that is cancelled", async () => {
  const { id } = await deliveryIn(ground, "failed");
  const { receiving_order_id } = await moves(tenant.driver, id, ["return", {
    warehouse_id: ground.warehouse,
  }]);
  expect(
    await tenant.warehouse.put(`/warehousing/receiving-orders/${receiving_order_id}`, {
      status: "received",
    }),
  ).toSucceed();
  const sent = await move(tenant.warehouse, id, "operational-return", { reason: "refused" });
  expect(sent).toSucceed(201);
  const leg: string = sent.body.delivery.id;
  await handedTo(ground, leg);
  const [pick] = await sql`select id, reference_number from warehousing.picking_orders
    where delivery_id = ${leg}`;
  expect(await move(tenant.ops, leg, "cancel", { reason: "changed" })).toSucceed(200);
  expect(await eventsOf("picking_order.cancelled", pick.id)).toEqual([{
    event_data: {
      picking_order_id: pick.id,
      reference_number: pick.reference_number,
      warehouse_id: ground.warehouse,
      delivery_id: leg,
      from: "completed",
      to: "cancelled",
      actor_id: tenant.ops.id,
    },
  }]);
});
