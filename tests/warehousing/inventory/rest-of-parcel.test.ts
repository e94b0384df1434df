/** The units that an adjustment may add to a parcel: the rest of what was sent, where the parcel is. */
import { expect, test } from "vitest";
import "../../support/expect.ts";
import { tries } from "../../prove/proof.ts";
import { sql } from "../../support/db.ts";
import { checkAll, handedTo, moves, parcelStock, takenOver } from "../../support/deliveries.ts";
import { newStagedPackage, newYard, type Yard } from "../../support/packages.ts";
import { newTenant } from "../../support/people.ts";
import { queuedBehind } from "../../support/overlapping.ts";
import { tally } from "../../support/races.ts";
import { sentBack } from "../../support/short-parcels.ts";
import { unitsOf } from "../../support/warehouses.ts";
import { itemOf } from "../../support/waybills.ts";

async function waiting() {
  const yard = await newYard(await newTenant());
  const { parent, b } = await newStagedPackage(yard);
  const item = await itemOf(parent.id);
  return { yard, b, item, adjust: adjusting(yard, item) };
}

const adjusting = (yard: Yard, item_id: string) => (delta: number, there = false) =>
  yard.tenant.warehouse.post("/warehousing/inventory/adjustments", {
    warehouse_id: there ? yard.there : yard.warehouse,
    bin_id: there ? yard.thereBin : yard.bin,
    item_id,
    delta,
    reason: "Counted",
  });

test("more than was sent is refused, the rest is taken", async () => {
  const { yard, item, adjust } = await waiting();
  const refused = await adjust(1);
  expect(refused).toFailWith(409, "item_of_parcel");
  expect(refused.body).toMatchObject({ field: "delta", item_id: item });
  expect(await adjust(-1)).toSucceed(201);
  expect(await adjust(2)).toFailWith(409, "item_of_parcel");
  expect(await adjust(1)).toSucceed(201);
  expect(await unitsOf(item)).toMatchObject({ available: 1 });
  await checkAll(yard.tenant);
});

test("where the parcel is not, nothing is taken", async () => {
  const { yard, b, item, adjust } = await waiting();
  expect(await adjust(-1)).toSucceed(201);
  expect(await adjust(1, true)).toFailWith(409, "item_of_parcel");
  expect(await adjust(1)).toSucceed(201);
  await takenOver(yard, b);
  expect(await adjust(1)).toFailWith(409, "item_of_parcel");
  await moves(yard.tenant.driver, b, "depart", "complete");
  expect(await adjust(1)).toFailWith(409, "item_of_parcel");
  expect(await unitsOf(item)).toEqual({});
  await checkAll(yard.tenant);
});

test("found by four at the same moment, the rest is taken once", async () => {
  const { yard, item, adjust } = await waiting();
  expect(await adjust(-1)).toSucceed(201);
  // All who have looked by then wait for this row.
  const answers = await queuedBehind(
    (session) => session`select from warehousing.stock where item_id = ${item} for update`,
    Array.from({ length: 4 }, () => () => adjust(1)),
  );
  expect(tally(answers)).toEqual({ "201": 1, "409 item_of_parcel": 3 });
  expect(await unitsOf(item)).toEqual({ available: 1 });
  await checkAll(yard.tenant);
});

test("found while its parcel leaves, the rest goes along, waits with it, or is refused", async () => {
  const yard = await newYard(await newTenant());
  for (let round = 0; round < tries(6, 2); round++) {
    const { parcel, back } = await sentBack(yard, "short");
    const handoff = await handedTo(yard, back);
    const [{ item_id }] = await sql`select item_id from delivery.delivery_items
      where delivery_id = ${parcel} order by position limit 1`;
    const [pickup, found] = await Promise.all([
      yard.tenant.driver.post(`/delivery/handoffs/${handoff}/pickup`),
      adjusting(yard, item_id)(1),
    ]);
    if (pickup.status === 200) {
      expect(await parcelStock(parcel)).toEqual({});
    } else {
      expect(pickup).toFailWith(409, "warehouse_preparation_inconsistent");
      expect(found).toSucceed(201);
      expect(await parcelStock(parcel)).toEqual({ reserved: 1, available: 1 });
    }
    if (found.status !== 201) expect(found).toFailWith(409, "item_of_parcel");
    await checkAll(yard.tenant);
  }
});
