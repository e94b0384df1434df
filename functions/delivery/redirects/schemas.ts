import { z } from "zod";
import { Id } from "../../../shared/schemas/schemas.ts";
import { DeliveryRow } from "../deliveries/answer-schemas.ts";
import { Place, Recipient } from "../deliveries/schemas.ts";

const oneOf = ["dropoff_address_id", "dropoff_address"] as const;

export const Redirect = z.object({
  dropoff_address_id: Id.nullish(),
  dropoff_address: Place.nullish().describe("A place that is written down as an address"),
  recipient: Recipient.nullish().describe("The person there; the same as before when left out"),
  charge: z.literal("wallet").nullish().describe(
    "For the office: prices a cash fee anew that was taken already, and books the difference with the owner's wallet",
  ),
  dry_run: z.boolean().optional().describe("Checks and prices, and changes nothing"),
}).superRefine((body, context) => {
  const sent = oneOf.filter((field) => body[field]);
  if (sent.length === 1) return;
  const field = sent.length ? "dropoff_address" : "dropoff_address_id";
  context.issues.push({ code: "custom", path: [field], input: body });
}).transform(({ dropoff_address, ...body }) =>
  dropoff_address ? { ...body, dropoff: dropoff_address } : body
).meta({ id: "RedirectDelivery" });

export const RedirectResponse = z.object({
  data: z.object({
    delivery: DeliveryRow,
    price: z.object({
      before: z.number().describe("The fee until now"),
      after: z.number(),
      difference: z.number().describe("Below 0 it is given back, or less is due"),
      currency: z.string(),
      charged: z.enum(["wallet", "cash", "none"]).describe(
        "`wallet`: booked at once; `cash`: due with the fee; `none`: nothing changes",
      ),
    }),
    driver_unassigned: z.boolean().describe(
      "A driver who may not go there no longer has it; it waits for another one",
    ),
    dry_run: z.boolean(),
  }),
});
