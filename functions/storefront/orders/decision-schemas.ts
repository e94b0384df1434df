/** Decisions of an administrator about an order: approve, cancel, refund, accept a short pick. */
import { z } from "zod";
import {
  DayOrKeptInstant,
  Id,
  LongText,
  Money,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { Deliveries, Order, reasons } from "./schemas.ts";

export const Approve = z.object({
  admin_notes: LongText.nullish(),
  estimated_delivery_date: DayOrKeptInstant.nullish(),
}).meta({ id: "ApproveOrder" });
export const ApproveResponse = z.object({
  data: z.object({
    order: Order,
    inventory_reserved: z.boolean(),
    deliveries: Deliveries,
    delivery_assigned: z.object({
      delivery_id: Id.nullable(),
      driver_assigned: z.boolean(),
      tracking_number: z.string().nullable(),
    }).describe("The first of them"),
    message: z.string(),
  }),
});

const Refund = z.object({
  processed: z.boolean(),
  amount: z.number(),
  method: z.string(),
  payment_id: Id,
}).meta({ id: "OrderRefund" });
export const Cancel = z.object({
  reason: z.enum(reasons),
  admin_notes: LongText.nullish(),
  refund_required: z.boolean().nullish(),
}).meta({ id: "CancelOrder" });
export const CancelResponse = z.object({
  data: z.object({
    order: z.object({
      id: Id,
      order_number: z.string(),
      status: z.literal("cancelled"),
      cancelled_at: Timestamp,
      cancel_reason: z.enum(reasons),
      admin_notes: z.string().nullable(),
    }),
    inventory_released: z.boolean(),
    refund: Refund.nullable(),
    delivery_cancelled: z.boolean(),
  }),
});
export const Note = z.object({ note: LongText.nullish() }).meta({ id: "OrderNote" });
export const RefundOrder = z.strictObject({
  amount: Money.refine((amount) => amount > 0, { error: "more than nothing" }).nullish().describe(
    "Left out: what is due to the customer, and where nothing is, all that is left of the payment",
  ),
  note: LongText.nullish(),
}).meta({ id: "RefundOrder" });
export const RefundResponse = z.object({ data: z.object({ order: Order, refund: Refund }) });
/** `refund`: what was paid too much. */
export const AcceptShortResponse = z.object({
  data: z.object({ order: Order, refund: Refund.nullable() }),
});
