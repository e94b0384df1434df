/** A parcel that waits for another driver while the first one has it still is not cancelled as if nobody had it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  deliveryIn,
  type Ground,
  move,
  moves,
  newGround,
  path,
  statusOf,
} from "../../support/deliveries.ts";
import { sendFile } from "../../support/files.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { newDriver } from "../../support/assignments.ts";
import { order } from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { newChange, ordered } from "../../support/set-destination.ts";

let ground: Ground;
let tenant: Tenant;
beforeAll(async () => {
  ground = await newGround(await newTenant());
  tenant = ground.tenant;
});
afterAll(() => checkAll(tenant));

/** Its driver could not deliver it, and the office looks for another one. */
async function reassigned(by: Tenant, id: string) {
  await assign(by, id);
  await moves(by.driver, id, "pickup", "depart", "fail");
  expect(await move(by.ops, id, "retry", { reassign: true, override_reason: "Ill" })).toSucceed(
    200,
  );
}
const cancel = (by: Tenant["ops"], id: string) => by.post(`${path}/${id}/cancel`, { reason: "no" });
const refusal = "A driver has this parcel still. Assign it, and cancel it once a warehouse has it.";

test("neither who ordered it nor the office, also when another driver is to fetch it", async () => {
  const wallet = await fundWallet(tenant, "customer", tenant.customer.id, 10_000);
  const { id } = await deliveryIn(ground, "pending", {
    payer_type: "sender",
    payment_method: "wallet",
  });
  const before = await balanceOf(wallet);
  await reassigned(tenant, id);
  for (const by of [tenant.customer, tenant.ops]) {
    const answer = await cancel(by, id);
    expect(answer).toFailWith(409, "invalid_status_transition");
    expect(answer.body.message).toBe(refusal);
  }
  const second = await newDriver(tenant);
  await assign(tenant, id, second);
  expect(await cancel(tenant.ops, id)).toFailWith(409, "invalid_status_transition");
  expect([await statusOf(id), await balanceOf(wallet)]).toEqual(["accepted", before]);

  // Handed to the second driver, and brought into a warehouse, it goes back to who sent it.
  await moves(second, id, "pickup", "depart", ["return", { warehouse_id: ground.warehouse }]);
  const [receipt] = await sql`select id from warehousing.receiving_orders
    where delivery_id = ${id} and status = 'pending'`;
  expect(
    await tenant.ops.put(`/warehousing/receiving-orders/${receipt.id}`, { status: "received" }),
  )
    .toSucceed(200);
  const answer = await cancel(tenant.ops, id);
  expect(answer).toSucceed(200);
  expect(answer.body.operational_return).toMatchObject({ status: "pending" });
});

test("nor the cancellation of its file, which does not count it", async () => {
  const { recipient: _, ...line } = order(ground, {
    "recipient.name": "Sara",
    "recipient.phone": "+9647701234567",
  });
  const sent = await sendFile(tenant.ops, "/delivery/deliveries/import", [line, line]);
  expect(sent).toSucceed(201);
  const { import_id } = sent.body;
  const [{ delivery_id: id }] = await sql`select delivery_id from delivery.delivery_import_lines
    where import_id = ${import_id} order by line`;
  await reassigned(tenant, id);
  const listed = await tenant.ops.get("/delivery/deliveries/imports?limit=1");
  expect(listed.body.data[0]).toMatchObject({ id: import_id, imported: 2, cancellable: 1 });
  const { body } = await tenant.ops.post(`/delivery/deliveries/imports/${import_id}/cancel`, {
    reason: "no",
  });
  expect(body).toMatchObject({
    cancelled: 1,
    left: [{ delivery_id: id, code: "invalid_status_transition" }],
  });
});

test("nor does the order of a manifest go elsewhere, or its item become received", async () => {
  const { made, tenant: own, change } = await newChange();
  await newGround(own);
  const { itemIds: [item], orders: [{ id }] } = await ordered(made, 1);
  await reassigned(own, id);
  const { body } = await change([item]);
  expect(body.data.failed).toMatchObject([{
    item_id: item,
    error_key: "delivery_already_picked_up",
  }]);
  expect(await cancel(own.ops, id)).toFailWith(409, "invalid_status_transition");
  const [{ status }] =
    await sql`select status from delivery.transfer_manifest_items where id = ${item}`;
  expect(status).toBe("order_created");
});
