/** A row in every table of events, carriers and webhooks. */
import { randomUUID } from "node:crypto";
import { newWebhookSecret, seal } from "../../../shared/outbound/secrets.ts";
import type { Added, Adding } from "./rows.ts";

export async function addIntegration({ tenant, tx, one, made, next }: Adding): Added {
  const event = await one("integration.system_events", {
    event_type: "delivery.created",
    source_module: "delivery",
    entity_type: "delivery",
    entity_id: made.delivery,
  });
  const subscription = await subscriptionOf({ tenant, tx, one, made });
  const own_subscription = await subscriptionOf({ tenant, tx, one, made }, made.institution);
  const sentTo = async (subscription_id: string) => {
    const id = await one("integration.webhook_events", {
      subscription_id,
      system_event_id: event,
      event_type: "delivery.created",
      entity_key: `delivery/${made.delivery}`,
      body: JSON.stringify({ data: { n: next() } }),
      status: "success",
      next_attempt_at: null,
    });
    await one("integration.webhook_attempts", { event_id: id, latency_ms: 1 });
    return id;
  };
  const webhook_event = await sentTo(subscription);
  const own_webhook_event = await sentTo(own_subscription);
  await one("integration.tenant_carriers", { carrier_code: "simulated", is_enabled: true });
  const shipment = await one("integration.carrier_shipments", {
    delivery_id: made.delivery,
    carrier_code: "simulated",
    status: "booked",
    tracking_number: `SIM-${next()}`,
  });
  const owed = {
    carrier_code: "simulated",
    currency: "IQD",
    amount: 100,
    cod_amount: 90,
    delivery_fee_amount: 10,
  };
  const remittance = await one("money.carrier_remittances", {
    ...owed,
    collections: 1,
    reference: `payment-${next()}`,
    actor_id: tenant.admin.id,
  });
  const carrier_collection = await one("money.carrier_collections", {
    ...owed,
    delivery_id: made.delivery,
    shipment_id: shipment,
    delivery_code: next(),
  });
  await one("money.carrier_remittance_items", {
    remittance_id: remittance,
    carrier_collection_id: carrier_collection,
    amount: owed.amount,
    cod_amount: owed.cod_amount,
    delivery_fee_amount: owed.delivery_fee_amount,
  }, "remittance_id");
  await one("integration.carrier_events", {
    carrier_code: "simulated",
    carrier_event_id: `event-${next()}`,
    outcome: "unchanged",
  });
  return {
    event,
    subscription,
    webhook_event,
    own_subscription,
    own_webhook_event,
    shipment,
    remittance,
    carrier_collection,
    carrier: "simulated",
  };
}

/** Sealed as the functions would, so that it can be sent to; nobody listens at its address. */
async function subscriptionOf(
  { tenant, tx, one, made }: Pick<Adding, "tenant" | "tx" | "one" | "made">,
  merchant: string | null = null,
) {
  const id = randomUUID();
  const added = await one("integration.webhook_subscriptions", {
    id,
    module_id: made.module,
    url: "http://127.0.0.1:9/hook",
    event_types: ["delivery.*"],
    is_active: false,
    secret: await seal(newWebhookSecret(), `webhook/${id}`),
    owner_user_id: merchant,
  });
  // A module has one, and a merchant: adding everything twice finds it there.
  return added ?? (await tx`select id from integration.webhook_subscriptions
    where tenant_id = ${tenant.id} and module_id = ${made.module} and owner_user_id is not distinct from ${merchant}::uuid`)[
    0
  ].id;
}
