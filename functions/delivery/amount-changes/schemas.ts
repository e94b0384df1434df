import { z } from "zod";
import { pageParameters } from "../../../shared/api/list.ts";
import {
  Id,
  listResponse,
  LongText,
  Money,
  Person,
  Text,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { DeliveryRow } from "../deliveries/answer-schemas.ts";

export const changeStatuses = ["pending", "approved", "declined", "lapsed"] as const;

const KeptItem = z.object({
  delivery_item_id: Id.describe("One of the delivery's `items`"),
  quantity: z.int().min(1).max(1_000_000),
}).meta({ id: "KeptItem" });

export const ChangeAmount = z.object({
  cod_amount: Money.describe("The new COD; the delivery fee does not change and is not part of it"),
  reason: Text,
  kept_items: z.array(KeptItem).min(1).max(500).nullish().describe(
    "The items that the receiver keeps for this amount, fewer than all; without, the amount is for the whole parcel",
  ),
}).meta({ id: "ChangeAmount" });

export const DeclineAmountChange = z.object({ reason: LongText.nullish() })
  .meta({ id: "DeclineAmountChange" });

/** A change of a delivery's COD. */
export const AmountChange = z.object({
  id: Id,
  delivery_id: Id.describe("The whole delivery's id, also where the call named one of its legs"),
  old_cod_amount: z.number().describe("The COD before this change"),
  new_cod_amount: z.number().describe("The COD that was set or is asked for"),
  currency: z.string(),
  reason: z.string(),
  kept_items: z.array(KeptItem).nullable(),
  status: z.enum(changeStatuses).describe("`lapsed`: the delivery ended before anybody decided"),
  requested_by: Person.nullable().describe("Who changed it, or asked for it"),
  requested_at: Timestamp,
  decided_by: Person.nullable().describe(
    "The same person where the office or the owner changed it at once; null while nobody has decided",
  ),
  decided_at: Timestamp.nullable(),
  decline_reason: z.string().nullable(),
}).meta({ id: "AmountChange" });

export const AmountChangeResponse = z.object({
  data: z.object({ amount_change: AmountChange, delivery: DeliveryRow }),
});

export const pageSize = { default: 20, max: 100 };
export const AmountChangesQuery = z.object(pageParameters(pageSize));
export const AmountChangesResponse = listResponse(AmountChange);
