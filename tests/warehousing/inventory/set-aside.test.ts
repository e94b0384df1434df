/** The picking list of an order: which lots and pieces are set aside for it, and where they lie. */
import { expect, test } from "vitest";
import { newPicking, pickingOrders } from "../../support/picking.ts";
import { newItem, newShelf, stockIn } from "../../support/warehouses.ts";

test("stock is listed by whom it is set aside for", async () => {
  const { tenant, newOrder } = await newPicking();
  const at = await newShelf(tenant, 0);
  const piece = await newItem(tenant, { is_serialized: true });
  const place = { warehouse_id: at.warehouse, bin_id: at.bin };
  for (const lot_number of ["L1", "L2"]) {
    await stockIn(tenant, { ...place, item_id: at.item, quantity: 3, lot_number });
  }
  for (const serial_number of ["S1", "S2"]) {
    await stockIn(tenant, { ...place, item_id: piece, quantity: 1, serial_number });
  }
  const lines = [
    { item_id: at.item, bin_id: at.bin, quantity: 4 },
    { item_id: piece, bin_id: at.bin, quantity: 1 },
  ];
  const order = await newOrder({ item_details: lines, status: "in_progress" }, at);
  await newOrder({ item_details: [{ ...lines[1] }], status: "in_progress" }, at);
  const path = "/warehousing/inventory";
  const list = async () =>
    (await tenant.ops.get(path, {
      query: { reserved_for_id: order.id, sort_by: "quantity", sort_order: "desc" },
    })).body;
  const { data, pagination } = await list();
  expect(pagination.total).toBe(3);
  expect(data.map((row: Record<string, unknown>) => row.quantity)).toEqual([3, 1, 1]);
  expect(data).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        lot_number: "L1",
        quantity: 3,
        reserved_for_type: "picking_order",
      }),
      expect.objectContaining({ lot_number: "L2", quantity: 1 }),
      expect.objectContaining({
        serial_number: "S1",
        bin: expect.objectContaining({ id: at.bin }),
      }),
    ]),
  );
  const file = await tenant.ops.get(path, { query: { reserved_for_id: order.id, format: "csv" } });
  expect(file.status).toBe(200);
  expect(await tenant.ops.put(`${pickingOrders}/${order.id}`, { status: "completed" })).toSucceed(
    200,
  );
  expect((await list()).data).toEqual([]);
  const wrong = await tenant.ops.get(path, { query: { reserved_for_id: "x" } });
  expect(wrong).toFailWith(400, "invalid_uuid");
});
