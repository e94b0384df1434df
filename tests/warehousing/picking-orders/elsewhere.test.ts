/** A picker who works in another warehouse finds what they are to pick, and nothing else. */
import { beforeAll, expect, test } from "vitest";
import { newStaff } from "../../support/packages.ts";
import { newPerson } from "../../support/people.ts";
import { line, newPicking, type Picking, pickingOrders as path } from "../../support/picking.ts";
import { newShelf, stockIn } from "../../support/warehouses.ts";

let { tenant, shelf, newOrder } = {} as Picking;
beforeAll(async () => {
  ({ tenant, shelf, newOrder } = await newPicking());
});

test("reads the picking list of their order, while it is theirs and in progress", async () => {
  const clerk = await newPerson(tenant.id, "staff", "warehouse_staff");
  const home = await newShelf(tenant, 3);
  await newStaff(tenant, home.warehouse, clerk.id);
  const far = await newShelf(tenant, 0);
  const place = { warehouse_id: far.warehouse, bin_id: far.bin, item_id: far.item };
  await stockIn(tenant, { ...place, quantity: 4, lot_number: "L1" });
  const wanted = { status: "in_progress", item_details: [line(far)] };
  const { id } = await newOrder({ ...wanted, assigned_to: clerk.id }, far);
  const others = await newOrder(wanted, far);
  const stock = async (query: object) => {
    const answer = await clerk.get("/warehousing/inventory", { query: { ...query } });
    expect(answer).toSucceed();
    return answer.body;
  };
  const list = await stock({ reserved_for_id: id });
  expect(list.data).toMatchObject([{
    quantity: 2,
    lot_number: "L1",
    item: { id: far.item, name: expect.any(String) },
    bin: { id: far.bin, code: expect.any(String) },
    warehouse: { id: far.warehouse, name: expect.any(String) },
  }]);
  expect((await stock({ reserved_for_id: others.id })).data).toEqual([]);
  const all = await stock({});
  expect(all.pagination.total).toBe(2);
  expect(new Set(all.data.map(({ item_id }: { item_id: string }) => item_id)))
    .toEqual(new Set([home.item, far.item]));
  expect((await stock({ item_id: shelf.item })).data).toEqual([]);

  expect(await tenant.ops.put(`${path}/${id}`, { assigned_to: null })).toSucceed();
  expect((await stock({ reserved_for_id: id })).data).toEqual([]);
});
