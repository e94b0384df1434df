/** A row in every table of events, carriers and webhooks. */
import type { Added, Adding } from "./rows.ts";

export async function addIntegration({ one, made, next }: Adding): Added {
  const event = await one("integration.system_events", {
    event_type: "delivery.created",
    source_module: "delivery",
    entity_type: "delivery",
    entity_id: made.delivery,
  });
  const subscription = await one("integration.webhook_subscriptions", {
    module_id: made.module,
    url: "https://subscriber.invalid/hook",
    event_types: ["delivery.*"],
    is_active: false,
    secret: "s1.none.none",
  });
  const webhook_event = await one("integration.webhook_events", {
    subscription_id: subscription,
    system_event_id: event,
    event_type: "delivery.created",
    entity_key: `delivery/${made.delivery}`,
    body: JSON.stringify({ data: { n: next() } }),
    status: "success",
    next_attempt_at: null,
  });
  await one("integration.webhook_attempts", { event_id: webhook_event, latency_ms: 1 });
  await one("integration.tenant_carriers", { carrier_code: "simulated", is_enabled: true });
  const shipment = await one("integration.carrier_shipments", {
    delivery_id: made.delivery,
    carrier_code: "simulated",
    status: "booked",
    tracking_number: `SIM-${next()}`,
  });
  await one("integration.carrier_events", {
    carrier_code: "simulated",
    carrier_event_id: `event-${next()}`,
    outcome: "unchanged",
  });
  return { event, subscription, webhook_event, shipment, carrier: "simulated" };
}
