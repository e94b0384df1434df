import { z } from "zod";
import { DayOrInstant, Id, Timestamp } from "../../../shared/schemas/schemas.ts";

export const ReconciliationQuery = z.object({
  /** A day (to its end, in the tenant's time zone) or an instant; now unless said. */
  as_of: DayOrInstant.optional(),
});

export const ReconciliationResponse = z.object({
  as_of: Timestamp,
  reconciled: z.boolean(),
  /** In units, as of that moment. What came in less what left is `movements`; `in_stock` is what the rows of stock hold. */
  warehouses: z.array(z.object({
    warehouse_id: Id,
    warehouse_name: z.string(),
    /** With opening stock. */
    received: z.number(),
    /** Without a delivery; what a delivery brings back is received. */
    returned: z.number(),
    transferred_in: z.number(),
    transferred_out: z.number(),
    picked: z.number(),
    /** More (positive) or less (negative) than was thought. */
    adjusted: z.number(),
    counted: z.number(),
    written_off: z.number(),
    movements: z.number(),
    in_stock: z.number(),
  })),
  /** Units of the orders that were placed by then, by the one state each is in now; together they are `ordered`. */
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
  }),
  difference_count: z.int(),
  /** The first 1,000. */
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
  })),
});
