/** A parcel that its driver or carrier brings into a warehouse stays expected there when its exception is resolved on the way. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { enable, givenToCarrier, report as carrierReport } from "../../support/carriers.ts";
import { newReturning, returning } from "../../support/customer-returns.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  deliveryIn,
  moves,
  newDelivery,
  outboundOnRoad,
  statusOf,
} from "../../support/deliveries.ts";
import { cash, onItsWay, report } from "../../support/outcomes.ts";
import type { Yard } from "../../support/packages.ts";
import type { Tenant } from "../../support/people.ts";
import { broughtInto, received } from "../../support/send-back.ts";

let tenant: Tenant;
let yard: Yard;
beforeAll(async () => {
  yard = await newReturning();
  ({ tenant } = yard);
});
afterAll(() => checkAll(tenant));

async function opened(id: string): Promise<string> {
  const answer = await tenant.driver.post(`/delivery/deliveries/${id}/exceptions`, {
    type: "other",
    notes: "The address is closed",
  });
  expect(answer).toSucceed(201);
  return answer.body.exception.id;
}

async function resolved(exception: string): Promise<void> {
  const at = `/delivery/delivery-exceptions/${exception}/resolve`;
  expect(await tenant.ops.post(at, { resolution: "other" })).toSucceed(200);
}

const receiptsOf = (id: string) =>
  sql`select id, warehouse_id, status from warehousing.receiving_orders
    where delivery_id = ${id} order by created_at desc, id`;

async function atDoor(): Promise<string> {
  const parcel = await onItsWay(yard, "in_transit");
  const answer = await report(tenant.driver, parcel, {
    result: "exchanged",
    taken_back: [{ name: "Old phone", quantity: 1 }],
    cash_collected: cash,
  });
  expect(answer).toSucceed(200);
  return answer.body.data.returns[0].id;
}

const onTheRoad: Record<string, () => Promise<string>> = {
  "a parcel from door to door": async () =>
    ((await deliveryIn(yard, "in_transit")) as Body).id as string,
  "a customer's return": async () => (await returning(yard)).id,
  "a return made at the door": atDoor,
};

test.each(Object.keys(onTheRoad))("%s, by its driver", async (kind) => {
  const id = await onTheRoad[kind]();
  const exception = await opened(id);
  const { receiving_order_id } = await moves(tenant.driver, id, [
    "return",
    { warehouse_id: yard.there },
  ]);
  expect(await statusOf(id)).toBe("in_transit");
  await resolved(exception);
  expect(await receiptsOf(id)).toEqual([
    { id: receiving_order_id, warehouse_id: yard.there, status: "pending" },
  ]);
  await received(yard, receiving_order_id);
  expect(await statusOf(id)).toBe("pending");
});

test("a parcel that lay in a warehouse, by its carrier", async () => {
  const { secret } = await enable(tenant);
  const { id } = await newDelivery(yard, { payer_type: "sender", cod_amount: 0 });
  await received(yard, await broughtInto(yard, id, yard.warehouse));
  const tracking_number = await givenToCarrier(tenant, id);
  const says = async (status: string) =>
    (await carrierReport(tenant, secret, { event_id: randomUUID(), tracking_number, status })).body
      .outcome;
  expect(await says("in_transit")).toBe("applied");
  const answer = await tenant.ops.post(`/delivery/deliveries/${id}/exceptions`, { type: "other" });
  expect(answer).toSucceed(201);
  expect(await says("returned")).toBe("applied");
  expect(await statusOf(id)).toBe("in_transit");
  const before = await receiptsOf(id);
  expect(before[0]).toMatchObject({ warehouse_id: yard.warehouse, status: "pending" });
  await resolved(answer.body.exception.id);
  expect(await receiptsOf(id)).toEqual(before);
  await received(yard, before[0].id);
});

test("what the exception alone made expected is not expected any more", async () => {
  const { b } = await outboundOnRoad(yard);
  const exception = await opened(b);
  expect(await receiptsOf(b)).toMatchObject([{ warehouse_id: yard.warehouse, status: "pending" }]);
  await resolved(exception);
  expect(await receiptsOf(b)).toMatchObject([{ status: "cancelled" }]);
});
