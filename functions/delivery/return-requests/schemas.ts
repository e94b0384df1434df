import { z } from "zod";
import { Id, Person, Text, Timestamp } from "../../../shared/schemas/schemas.ts";

export const requestStatuses = ["requested", "approved", "declined", "cancelled"] as const;

/** The request of an owner for a customer return. */
export const ReturnRequest = z.object({
  status: z.enum(requestStatuses),
  reason: z.string().nullable().describe("Why it was declined"),
  requested_at: Timestamp,
  decided_at: Timestamp.nullable().describe(
    "Null while it waits for the office; of one that was cancelled, when its draft was",
  ),
  decided_by: Person.nullable(),
}).meta({
  id: "ReturnRequest",
  description: "Of a customer return that the office has to approve, or had to; else null",
});

export const Decline = z.object({ reason: Text }).meta({ id: "DeclineReturnRequest" });

/** Where an operational return goes, unless the setting says it. */
export const returnsTo = {
  dropoff_address_id: Id.nullish().describe(
    "Where the parcel goes back to, if it goes back; where `general.delivery.return_requests.destination_mode` says when left out",
  ),
  dropoff_warehouse_id: Id.nullish().describe("The same, as a warehouse"),
};
export const oneDestination = (
  { dropoff_address_id, dropoff_warehouse_id }: Record<string, unknown>,
  context: z.RefinementCtx,
) => {
  if (!dropoff_address_id || !dropoff_warehouse_id) return;
  context.issues.push({
    code: "custom",
    path: ["dropoff_warehouse_id"],
    input: dropoff_warehouse_id,
  });
};
