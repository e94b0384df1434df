/** An exception that was opened while the parcel waited for its driver does on the road what one does that is opened there. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { enable, external } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  type Ground,
  handedTo,
  move,
  moves,
  newDelivery,
  newGround,
  path,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { received } from "../../support/send-back.ts";

let tenant: Tenant;
let ground: Ground;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

const open = async (id: string) => {
  const answer = await move(tenant.ops, id, "exceptions", { type: "damaged" });
  expect(answer).toSucceed(201);
  return answer.body.exception.id as string;
};
const resolve = async (exception: string) =>
  expect(
    await tenant.ops.post(`/delivery/delivery-exceptions/${exception}/resolve`, {
      resolution: "fine",
    }),
  ).toSucceed();
const pickup = async (handoff: string, key?: string) => {
  const answer = await tenant.driver.post(`/delivery/handoffs/${handoff}/pickup`, {}, {
    headers: key ? { "idempotency-key": key } : {},
  });
  expect(answer).toSucceed(200);
  return answer;
};
const receiptsOf = async (id: string) =>
  await sql`select id, status, source, custody, exception_id, warehouse_id from warehousing.receiving_orders
    where delivery_id = ${id} order by created_at, id`;

/** A leg out of the warehouse that was given to the driver, and an exception of it, or of its parcel. */
async function inQuestion(of: "leg" | "parcel" = "leg") {
  const { parent, b } = await stagedInWarehouse(ground);
  const handoff = await handedTo(ground, b);
  const exception = await open(of === "leg" ? b : parent.id);
  expect(await receiptsOf(b)).toEqual([]);
  return { parent, b, handoff, exception };
}

test("the driver of a leg reads the exception of its parcel, open and resolved", async () => {
  const { parent, exception } = await inQuestion("parcel");
  const [parcel] = await sql`select delivery_code, status from delivery.deliveries
    where id = ${parent.id}`;
  const seen = async () => {
    const answer = await tenant.driver.get("/delivery/delivery-exceptions", {
      query: { limit: 100 },
    });
    expect(answer).toSucceed(200);
    return answer.body.data.find(({ id }: { id: string }) => id === exception);
  };
  expect(await seen()).toMatchObject({
    delivery_id: parent.id,
    delivery_code: Number(parcel!.delivery_code),
    delivery_status: parcel!.status,
    delivery: { id: parent.id, parent_id: null },
  });
  await resolve(exception);
  expect(await seen()).toMatchObject({ status: "resolved", delivery_status: parcel!.status });
});

describe.each(["leg", "parcel"] as const)("opened of the %s before the pickup", (of) => {
  test("it makes the warehouse expect the parcel back from the pickup on", async () => {
    const { parent, b, handoff, exception } = await inQuestion(of);
    await pickup(handoff);
    const [receipt, ...more] = await receiptsOf(b);
    expect(more).toEqual([]);
    expect(receipt).toMatchObject({
      status: "pending",
      source: "failed_delivery_return",
      custody: "awaiting_warehouse_receipt",
      exception_id: exception,
      warehouse_id: ground.warehouse,
    });
    const scan = await tenant.warehouse.get(`/warehousing/package-scan/${parent.barcode}`);
    expect(scan.body).toMatchObject({
      action: "open_receiving_order",
      entity_id: receipt.id,
      reason: "failed_delivery_return_ready_to_receive",
    });
    // The return that follows is the same receipt.
    expect((await moves(tenant.driver, b, "return")).receiving_order_id).toBe(receipt.id);
    await received(ground, receipt.id);
    expect([await statusOf(b), await statusOf(parent.id)]).toEqual(["pending", "in_transit"]);
    await resolve(exception);
    await takenOver(ground, b, tenant.driver2);
    await moves(tenant.driver2, b, "depart", "complete");
  });

  test("resolved before the pickup, it makes nobody expect anything; on the road, nobody any more", async () => {
    const first = await inQuestion(of);
    await resolve(first.exception);
    await pickup(first.handoff);
    expect(await receiptsOf(first.b)).toEqual([]);
    await moves(tenant.driver, first.b, "complete");
    const second = await inQuestion(of);
    await pickup(second.handoff);
    await resolve(second.exception);
    expect(await receiptsOf(second.b)).toMatchObject([{ status: "cancelled" }]);
    await moves(tenant.driver, second.b, "complete");
  });
});

test("delivered in spite of it, the parcel is expected nowhere", async () => {
  const { b, handoff } = await inQuestion();
  await pickup(handoff);
  await moves(tenant.driver, b, "depart", "complete");
  expect(await receiptsOf(b)).toMatchObject([{ status: "cancelled" }]);
});

test("a pickup that is sent again expects the parcel once", async () => {
  const { b, handoff } = await inQuestion();
  const first = await pickup(handoff, handoff);
  expect((await pickup(handoff, handoff)).body).toEqual(first.body);
  expect(await receiptsOf(b)).toHaveLength(1);
});

test("opened at the moment of the pickup, it makes the warehouse expect the parcel once", async () => {
  for (let round = 0; round < 4; round++) {
    const { b } = await stagedInWarehouse(ground);
    const handoff = await handedTo(ground, b);
    await Promise.all([pickup(handoff), open(b)]);
    expect(await receiptsOf(b)).toMatchObject([{ status: "pending" }]);
  }
});

test("a carrier that takes such a parcel brings it back, too", async () => {
  await enable(tenant);
  const { b } = await stagedInWarehouse(ground);
  expect(await tenant.ops.patch(`${path}/${b}/carrier`, external)).toSucceed(200);
  const exception = await open(b);
  await moves(tenant.ops, b, "depart");
  expect(await receiptsOf(b)).toMatchObject([{ status: "pending", exception_id: exception }]);
});

test("of a parcel that is fetched at a door nothing is expected, as on the road", async () => {
  const { id } = await newDelivery(ground);
  await open(id);
  await sql`insert into delivery.assignments (tenant_id, delivery_id, driver_id, status, units)
    values (${tenant.id}, ${id}, ${tenant.driver.id}, 'accepted', 2)`;
  await sql`update delivery.deliveries set status = 'accepted' where id = ${id}`;
  await moves(tenant.driver, id, "pickup");
  await open(id);
  expect(await receiptsOf(id)).toEqual([]);
});
