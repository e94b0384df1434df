/** A parcel that a waybill has on the road is expected where the waybill ends, and nowhere else. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Answer } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { checkAll, move, moves, parcelStock } from "../../support/deliveries.ts";
import { newPackage, newStagedPackage, whereIs } from "../../support/packages.ts";
import { checkStock, inTenant, unitsOf } from "../../support/warehouses.ts";
import { type Hauling, itemOf, newHauling } from "../../support/waybills.ts";

const receipts = "/warehousing/receiving-orders";
let { tenant, yard, step, onTheRoad } = {} as Hauling;

beforeAll(async () => {
  ({ tenant, yard, step, onTheRoad } = await newHauling());
});

/** A staged parcel whose outbound leg `b` is on the road by a waybill. */
async function staged() {
  const { parent, b } = await newStagedPackage(yard);
  const item = await itemOf(parent.id);
  return { parcel: parent.id as string, b, item, waybill: await onTheRoad(parent.id) };
}

const pendingOf = (delivery: string) =>
  sql`select id, warehouse_id from warehousing.receiving_orders
    where delivery_id = ${delivery} and status = 'pending'`;

/** Refused with the waybill and the warehouse that it goes to. */
function expectOnRoad(answer: Answer, waybill: string) {
  expect(answer).toFailWith(409, "invalid_status_transition");
  expect(answer.body).toMatchObject({
    waybill_id: waybill,
    transfer_id: expect.any(String),
    destination_warehouse_id: yard.there,
  });
}

describe("while a waybill has a parcel on the road", () => {
  test("an exception is recorded, and nothing is expected back", async () => {
    const { b, item, waybill } = await staged();
    const recorded = await move(tenant.ops, b, "exceptions", { type: "damaged" });
    expect(recorded).toSucceed(201);
    expect(recorded.body.receiving_order_id).toBeNull();
    expect(await pendingOf(b)).toEqual([]);

    expect(await step(waybill, "receive")).toSucceed(200);
    expect(await whereIs(b)).toMatchObject({ status: "pending", at: yard.there, from: yard.there });
    expect(await unitsOf(item)).toEqual({ available: 1 });
    expect(await unitsOf(item, yard.thereBin)).toEqual({ available: 1 });
    const exception = `/delivery/delivery-exceptions/${recorded.body.exception.id}/resolve`;
    expect(await tenant.ops.post(exception, { resolution: "repacked" })).toSucceed(200);
    expect(await move(tenant.ops, b, "execute")).toSucceed(200);
    await checkStock(tenant);
    await checkAll(tenant);
  });

  test("it is neither failed, returned nor delivered, and the refusal names the transfer", async () => {
    const { parcel, b, item, waybill } = await staged();
    const plain = await newPackage(yard);
    const other = await onTheRoad(plain.id);
    for (const [id, by] of [[b, waybill], [parcel, waybill], [plain.id, other]] as const) {
      expectOnRoad(await move(tenant.ops, id, "fail", { reason: "absent" }), by);
      expectOnRoad(await move(tenant.ops, id, "return"), by);
      expectOnRoad(await move(tenant.ops, id, "complete"), by);
    }
    expect(await whereIs(b)).toMatchObject({ status: "in_transit", at: null });
    expect(await pendingOf(b)).toEqual([]);

    const missing = await step(waybill, "receive", { missing_delivery_ids: [parcel] });
    expect(missing).toSucceed(200);
    // Nobody has said yet what became of it.
    expectOnRoad(await move(tenant.ops, b, "return"), waybill);
    const [{ id: discrepancy }] = missing.body.waybill.discrepancies;
    const found = `discrepancies/${discrepancy}/resolve`;
    expect(await step(waybill, found, { resolution: "found" })).toSucceed(200);
    expect(await unitsOf(item)).toEqual({ available: 1 });
    expect(await step(other, "receive")).toSucceed(200);
    await checkStock(tenant);
    await checkAll(tenant);
  });

  test("it arrives once, whatever is reported of it at the same moment", async () => {
    const { parcel, b, item, waybill } = await staged();
    const [arrived, recorded, ...moved] = await Promise.all([
      step(waybill, "receive"),
      move(tenant.ops, b, "exceptions", { type: "damaged" }),
      move(tenant.ops, b, "fail", { reason: "absent" }),
      move(tenant.ops, parcel, "return"),
      move(tenant.ops, b, "complete"),
    ]);
    expect(arrived).toSucceed(200);
    expect(recorded).toSucceed(201);
    for (const answer of moved) expect(answer).toFailWith(409, "invalid_status_transition");
    expect(await whereIs(b)).toMatchObject({ status: "pending", at: yard.there });
    expect(await pendingOf(b)).toEqual([]);
    expect(await unitsOf(item)).toEqual({ available: 1 });
    await checkStock(tenant);
    await checkAll(tenant);
  });

  test("what was lost on the way can come back, once", async () => {
    const { parcel, b, item, waybill } = await staged();
    const missing = await step(waybill, "receive", { missing_delivery_ids: [parcel] });
    const [{ id: discrepancy }] = missing.body.waybill.discrepancies;
    const lost = `discrepancies/${discrepancy}/resolve`;
    expect(await step(waybill, lost, { resolution: "lost" })).toSucceed(200);
    const { receiving_order_id } = await moves(tenant.ops, b, "return");
    const back = await tenant.warehouse.put(`${receipts}/${receiving_order_id}`, {
      status: "received",
    });
    expect(back).toSucceed(200);
    expect(await unitsOf(item)).toEqual({ available: 1 });
    expect(await parcelStock(parcel)).toEqual({ available: 1 });
    await checkStock(tenant);
    await checkAll(tenant);
  });
});

describe("what an older version left", () => {
  test.each(["failed", "returned"] as const)(
    "a parcel that was %s on the road waits where its waybill brought it",
    async (status) => {
      const { parcel, b, item, waybill } = await staged();
      await sql`update delivery.deliveries set status = ${status} where id = ${b}`;
      const [receipt] = await inTenant<{ id: string }>(
        tenant,
        `select warehousing.receipt_open(d, $2, 'failed_delivery_return') as id
          from delivery.deliveries d where d.id = $1`,
        [b, yard.warehouse],
      );
      const taken = await tenant.warehouse.put(`${receipts}/${receipt!.id}`, {
        status: "received",
      });
      expectOnRoad(taken, waybill);
      if (status === "failed") expectOnRoad(await move(tenant.ops, b, "return"), waybill);

      expect(await step(waybill, "receive")).toSucceed(200);
      expect(await whereIs(b)).toMatchObject({ status: "pending", at: yard.there });
      expect(await whereIs(parcel)).toMatchObject({ status: "in_transit", at: yard.there });
      expect(await pendingOf(b)).toEqual([]);
      expect(await unitsOf(item)).toEqual({ available: 1 });
      expect(await move(tenant.ops, b, "execute")).toSucceed(200);
      await checkStock(tenant);
      await checkAll(tenant);
    },
  );
});
