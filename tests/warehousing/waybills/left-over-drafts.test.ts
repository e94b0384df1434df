/** A draft that was left over from a cancelled waybill stands for its piece of inventory only where it goes, and while that is there. */
import { beforeAll, expect, test } from "vitest";
import { checkAll } from "../../support/deliveries.ts";
import { newPackage } from "../../support/packages.ts";
import { checkStock, newItem, newWarehouse, stockIn, unitsOf } from "../../support/warehouses.ts";
import { type Hauling, newHauling } from "../../support/waybills.ts";

let { tenant, yard, create, step, new_delivery_defaults } = {} as Hauling;
let third: string;
beforeAll(async () => {
  ({ tenant, yard, create, step, new_delivery_defaults } = await newHauling());
  third = await newWarehouse(tenant);
});

/** So many units in the first warehouse, and a draft of one of them that is on no waybill any more. */
async function leftOver(quantity: number) {
  const item = await newItem(tenant, { name: "Kettle" });
  await stockIn(tenant, {
    item_id: item,
    warehouse_id: yard.warehouse,
    bin_id: yard.bin!,
    quantity,
  });
  const made = await create({ inventory_item_ids: [item], new_delivery_defaults });
  expect(made).toSucceed(201);
  expect(await step(made.body.waybill_id, "cancel")).toSucceed(200);
  return { item, draft: made.body.delivery_ids[0] as string };
}

const elsewhere = (item: string) => ({
  destination_warehouse_id: third,
  inventory_item_ids: [item],
  new_delivery_defaults,
});
const checked = async (more: object) => {
  const answer = await tenant.warehouse.post("/warehousing/package-transfers/validate", {
    source_warehouse_id: yard.warehouse,
    destination_warehouse_id: yard.there,
    ...more,
  });
  expect(answer).toSucceed(200);
  return answer.body;
};

test("for another warehouse the piece gets a draft of its own, and for the same one its draft is taken", async () => {
  const { item, draft } = await leftOver(2);
  expect(await checked(elsewhere(item))).toMatchObject({ rejected: [], can_create: true });
  const other = await create(elsewhere(item));
  expect(other).toSucceed(201);
  expect(other.body.operation_result).toMatchObject({ reused_delivery_ids: [], rejected: [] });
  expect(other.body.delivery_ids).not.toContain(draft);
  for (const destination_warehouse_id of [yard.there, undefined]) {
    const same = await create({ destination_warehouse_id, inventory_item_ids: [item] });
    expect(same).toSucceed(201);
    expect(same.body.operation_result.reused_delivery_ids).toEqual([draft]);
    expect(await step(same.body.waybill_id, "cancel")).toSucceed(200);
  }
  expect(await unitsOf(item)).toEqual({ available: 1, reserved: 1 });
  await checkStock(tenant);
  await checkAll(tenant);
});

test("named itself for another warehouse it is refused as before", async () => {
  const { draft } = await leftOver(1);
  const answer = await create({ destination_warehouse_id: third, delivery_ids: [draft] });
  expect(answer).toFailWith(400, "no_transferable_packages");
  expect(answer.body.rejected).toMatchObject([{ reason: "destination_mismatch" }]);
});

test("whose goods have left is not available, and what is there travels without it", async () => {
  const { item, draft } = await leftOver(1);
  expect(await create(elsewhere(item))).toSucceed(201);
  const parcel = await newPackage(yard);
  for (const named of [{ inventory_item_ids: [item] }, { delivery_ids: [draft] }]) {
    const alone = await create(named);
    expect(alone).toFailWith(400, "no_transferable_packages");
    expect(alone.body.rejected).toMatchObject([{ reason: "not_available" }]);
  }
  const both = { inventory_item_ids: [item], delivery_ids: [parcel.id] };
  expect(await checked(both)).toMatchObject({ rejected: [{ reason: "not_available" }] });
  const made = await create(both);
  expect(made).toSucceed(201);
  expect(made.body.delivery_ids).toEqual([parcel.id]);
  expect(made.body.rejected).toMatchObject([{ value: item, reason: "not_available" }]);
  await checkStock(tenant);
  await checkAll(tenant);
});
