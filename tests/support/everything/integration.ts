/** A row in every table of events, carriers and webhooks. */
import type { Added, Adding } from "./rows.ts";

export async function addIntegration({ one, made }: Adding): Added {
  const event = await one("integration.system_events", {
    event_type: "delivery.created",
    source_module: "delivery",
    entity_type: "delivery",
    entity_id: made.delivery,
  });
  return { event };
}
