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
  cod_amount: Money.describe("The COD from now on; the fee is due beside it as before"),
  reason: Text,
  kept_items: z.array(KeptItem).min(1).max(500).nullish().describe(
    "The part that the receiver keeps for this amount, not all of it; the whole parcel when left out",
  ),
}).meta({ id: "ChangeAmount" });

export const DeclineAmountChange = z.object({ reason: LongText.nullish() })
  .meta({ id: "DeclineAmountChange" });

/** A change of what a parcel owes at the door. */
export const AmountChange = z.object({
  id: Id,
  delivery_id: Id.describe("The parcel, also where a leg was named"),
  old_cod_amount: z.number().describe("The COD before this change"),
  new_cod_amount: z.number().describe("The COD that was set or is asked for"),
  currency: z.string(),
  reason: z.string(),
  kept_items: z.array(KeptItem).nullable(),
  status: z.enum(changeStatuses).describe("`lapsed`: the delivery ended before anybody decided"),
  requested_by: Person.nullable(),
  requested_at: Timestamp,
  decided_by: Person.nullable(),
  decided_at: Timestamp.nullable(),
  decline_reason: z.string().nullable(),
}).meta({ id: "AmountChange" });

export const AmountChangeResponse = z.object({
  data: z.object({ amount_change: AmountChange, delivery: DeliveryRow }),
});

export const pageSize = { default: 20, max: 100 };
export const AmountChangesQuery = z.object(pageParameters(pageSize));
export const AmountChangesResponse = listResponse(AmountChange);
