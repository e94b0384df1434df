import { z } from "zod";
import { AsOf, Id, Timestamp } from "../../../shared/schemas/schemas.ts";

export const ReconciliationQuery = z.object({ as_of: AsOf });

export const ReconciliationResponse = z.object({
  as_of: Timestamp,
  reconciled: z.boolean(),
  warehouses: z.array(z.object({
    warehouse_id: Id,
    warehouse_name: z.string(),
    received: z.number().describe("With opening stock"),
    returned: z.number().describe("Without a delivery; what a delivery brings back is received"),
    transferred_in: z.number(),
    transferred_out: z.number(),
    picked: z.number(),
    adjusted: z.number().describe("More (positive) or less (negative) than was thought"),
    counted: z.number(),
    written_off: z.number(),
    movements: z.number(),
    in_stock: z.number(),
  })).describe(
    "In units, as of that moment. What came in less what left is `movements`; `in_stock` is what the rows of stock hold",
  ),
  orders: z.object({
    orders: z.int(),
    ordered: z.number(),
    to_reserve: z.number(),
    reserved: z.number(),
    picked: z.number(),
    out: z.number(),
    delivered: z.number(),
    back: z.number(),
    short: z.number(),
    released: z.number(),
    lost: z.number(),
  }).describe(
    "Units of the orders that were placed by then, by the one state each is in now; together they are `ordered`",
  ),
  difference_count: z.int(),
  differences: z.array(z.object({
    kind: z.string(),
    warehouse_id: Id.nullable(),
    item_id: Id.nullable(),
    stock_id: Id.nullable(),
    movement_id: Id.nullable(),
    picking_order_id: Id.nullable(),
    order_id: Id.nullable(),
    waybill_id: Id.nullable(),
    expected: z.number().nullable(),
    found: z.number().nullable(),
  })).describe("The first 1,000"),
});
