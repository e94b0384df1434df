/** The fields of a carried delivery that a driver or a warehouse needs, as every function shows them. */
import { z } from "zod";
import { Id, JsonObject } from "./schemas.ts";

/** Cash by what it is for. */
export const CashSplit = z.object({
  cod: z.number(),
  delivery_fee: z.number(),
  currency: z.string(),
}).meta({ id: "CashSplit" });

/** Of a leg it is what its parcel owes on that leg. */
export const carriedFields = {
  cod_amount: z.number(),
  delivery_fee: z.number(),
  currency: z.string(),
  cash_due: z.object({ pickup: CashSplit, delivery: CashSplit }).describe(
    "The cash still to be taken where this delivery begins and where it ends",
  ),
  parcel: z.object({ id: Id, delivery_code: z.int(), barcode: z.string() }).nullable().describe(
    "The parcel of a leg",
  ),
  sender: z.object({ name: z.string().nullable(), phone: z.string().nullable() }).nullable()
    .describe("The person who gives it to the driver; null where that is a warehouse"),
  recipient: JsonObject,
};

/** The fields of a thing in a parcel. */
export const itemFields = {
  id: Id,
  item_id: Id.nullable().describe(
    "The item of a warehouse; null until one has received the parcel",
  ),
  name: z.string(),
  sku: z.string().nullable(),
  quantity: z.int(),
  weight: z.number().nullable(),
  length: z.number().nullable(),
  width: z.number().nullable(),
  height: z.number().nullable(),
};
