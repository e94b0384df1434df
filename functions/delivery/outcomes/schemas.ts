import { z } from "zod";
import {
  Day,
  Id,
  listResponse,
  LongText,
  Text,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { CashSplit } from "../../../shared/schemas/carried-delivery.ts";
import { DeliveryRow } from "../deliveries/answer-schemas.ts";
import { bothOrNone, cash, proof, reported } from "../deliveries/schemas.ts";

export const reasonKinds = ["failed", "postponed", "refused"] as const;

export const AttemptReasonsQuery = z.object({ kind: z.enum(reasonKinds).optional() });

/** Why an attempt did not deliver. */
export const AttemptReason = z.object({
  value: z.string().describe("What `reason_code` names"),
  label: z.string().describe("In the language asked for"),
  label_translations: z.record(z.string(), z.string().nullable()).describe("By language"),
  kind: z.enum(reasonKinds),
  counts: z.boolean().describe("Whether it uses up one of the attempts that the service allows"),
  needs: z.object({
    photo: z.boolean().describe("A picture of the attempt"),
    note: z.boolean(),
    place: z.boolean().describe("Where it was, by the device"),
  }).describe("What has to be reported with it"),
}).meta({ id: "AttemptReason" });

export const AttemptReasonsResponse = listResponse(AttemptReason);

export const results = [
  "delivered",
  "partial",
  "exchanged",
  "failed",
  "refused",
  "postponed",
] as const;
const handedOver = ["delivered", "partial", "exchanged"] as const;

/** Fields of some results alone. */
const belongsTo = {
  reason_code: ["failed", "refused", "postponed"],
  items: ["partial"],
  taken_back: ["exchanged"],
  cash_collected: handedOver,
  recipient_name: handedOver,
  postponed_to: ["postponed"],
} as const satisfies Record<string, readonly typeof results[number][]>;

/** The field without which a result says nothing. */
const needed = { partial: "items", exchanged: "taken_back", postponed: "postponed_to" } as const;

export const Outcome = z.object({
  result: z.enum(results).describe("How the attempt ended"),
  reason_code: Text.nullish().describe(
    "One of `GET /delivery/attempt-reasons` whose `kind` is the result; of what is not delivered",
  ),
  note: LongText.nullish(),
  items: z.array(z.object({ delivery_item_id: Id, quantity: z.int().min(1).max(1_000_000) }))
    .max(500).nullish().describe(
      "Of what is delivered in part: the `items` of the parcel that the receiver kept",
    ),
  taken_back: z.array(
    z.object({
      name: z.string().trim().min(1).max(200),
      quantity: z.int().min(1).max(1_000_000),
    }),
  ).min(1).max(100).nullish().describe("Of what is exchanged: the goods that the receiver gave"),
  postponed_to: Day.nullish().describe(
    "Of what is postponed: from tomorrow to 30 days on, in the company's time zone",
  ),
  cash_collected: cash.describe(
    "Of what is delivered: all that is due there, of a part what is due for it",
  ),
  recipient_name: z.string().trim().max(200).nullish().describe("Of what is delivered"),
  proofs: proof.describe("Of what is not delivered they prove the attempt"),
  ...reported,
}).superRefine((body, context) => {
  bothOrNone(body, context);
  const refuse = (field: string, message: string, params?: { reason_key: string }) =>
    context.issues.push({ code: "custom", path: [field], input: undefined, message, params });
  for (const [field, of] of Object.entries(belongsTo)) {
    if (body[field as keyof typeof belongsTo] != null && !of.some((one) => one === body.result)) {
      refuse(field, `does not belong to ${body.result}`);
    }
  }
  for (const [result, field] of Object.entries(needed)) {
    if (body.result === result && body[field] == null) {
      refuse(field, "is required", { reason_key: "reason_required" });
    }
  }
}).meta({ id: "DeliveryOutcome" });

export const OutcomeResponse = z.object({
  data: z.object({
    delivery: DeliveryRow,
    returns: z.array(DeliveryRow).describe("Deliveries that were made of what goes back"),
    cash: z.object({ due: CashSplit, collected: CashSplit }),
    undo_until: Timestamp.nullable().describe(
      "Until then the caller may undo it; null for what is no outcome: a parcel that was brought to another warehouse and continues from there",
    ),
  }),
});

export const Undo = z.object({ reason: Text }).meta({ id: "OutcomeUndo" });

export const UndoResponse = z.object({
  data: z.object({
    delivery: DeliveryRow,
    cash: CashSplit.describe("What counts as not collected any more"),
  }),
});
