import { listResponse } from "../../../shared/schemas/schemas.ts";
import { z } from "zod";

/** A module as subscriptions name it (`module.key`). */
const Module = z.enum(["delivery", "cod", "warehousing", "storefront", "carriers", "webhooks"]);

export const EventTypesQuery = z.object({
  module: Module.optional().meta({
    description: "What a subscription of this module can hear of",
  }),
  search: z.string().trim().max(200).optional().meta({
    description: "A part of the name, or of the description in the caller's language",
  }),
});

const EventType = z.strictObject({
  event_type: z.string(),
  module: Module.nullable().meta({
    description: "Whose subscription hears of it; null: that of whichever module it is about",
  }),
  entity_type: z.string(),
  description: z.string(),
  event_data: z.record(z.string(), z.string()).meta({
    description:
      "Each field of `data` with its type: uuid, string, integer, number, boolean, object, array or timestamp; with `?` it may be null",
  }),
}).meta({ id: "EventType" });

export const EventTypesResponse = listResponse(EventType);
