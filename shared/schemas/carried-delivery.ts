/** What a driver or a warehouse has to know of a delivery that is carried, as every function shows it. */
import { z } from "zod";
import { Id, JsonObject } from "./schemas.ts";

/** Cash by what it is for. */
export const CashSplit = z.object({
  cod: z.number(),
  delivery_fee: z.number(),
  currency: z.string(),
});

/** Of a leg it is what its parcel owes on that leg. */
export const carriedFields = {
  cod_amount: z.number(),
  delivery_fee: z.number(),
  currency: z.string(),
  /** What is still to be taken in cash where this delivery begins and where it ends. */
  cash_due: z.object({ pickup: CashSplit, delivery: CashSplit }),
  /** The parcel of a leg. */
  parcel: z.object({ id: Id, delivery_code: z.int(), barcode: z.string() }).nullable(),
  /** Who gives it into the driver's hands; null where that is a warehouse. */
  sender: z.object({ name: z.string().nullable(), phone: z.string().nullable() }).nullable(),
  recipient: JsonObject,
};
