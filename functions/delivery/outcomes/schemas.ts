import { z } from "zod";
import { listResponse, LongText, Text, Timestamp } from "../../../shared/schemas/schemas.ts";
import { CashSplit } from "../../../shared/schemas/carried-delivery.ts";
import { bothOrNone, cash, DeliveryRow, proof, reported } from "../deliveries/schemas.ts";

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

export const results = ["delivered", "failed", "refused"] as const;

export const Outcome = z.object({
  result: z.enum(results).describe("How the attempt ended"),
  reason_code: Text.nullish().describe(
    "One of `GET /delivery/attempt-reasons` whose `kind` is the result; of what is not delivered",
  ),
  note: LongText.nullish(),
  cash_collected: cash.describe("Of what is delivered: all that is due there"),
  recipient_name: z.string().trim().max(200).nullish().describe("Of what is delivered"),
  proofs: proof.describe("Of what is not delivered they prove the attempt"),
  ...reported,
}).superRefine((body, context) => {
  bothOrNone(body, context);
  const others = body.result === "delivered"
    ? ["reason_code"] as const
    : ["cash_collected", "recipient_name"] as const;
  for (const field of others) {
    if (body[field] != null) {
      context.addIssue({
        code: "custom",
        path: [field],
        input: undefined,
        message: `does not belong to ${body.result}`,
      });
    }
  }
}).meta({ id: "DeliveryOutcome" });

export const OutcomeResponse = z.object({
  data: z.object({
    delivery: DeliveryRow,
    returns: z.array(DeliveryRow).describe("Deliveries that were made of what goes back"),
    cash: z.object({ due: CashSplit, collected: CashSplit }),
    undo_until: Timestamp.describe("Until then the caller may undo it"),
  }),
});

export const Undo = z.object({ reason: Text }).meta({ id: "OutcomeUndo" });

export const UndoResponse = z.object({
  data: z.object({
    delivery: DeliveryRow,
    cash: CashSplit.describe("What counts as not collected any more"),
  }),
});
