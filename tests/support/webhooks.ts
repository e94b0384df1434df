/** Subscriptions and events, for tests of what is told to whom. */
import { randomUUID } from "node:crypto";
import type { Body, Person } from "./api.ts";
import { sql, stack } from "./db.ts";
import type { Tenant } from "./people.ts";

/** The system itself, with the project's secret key. */
export const systemKey = { headers: { apikey: stack.secretKey } };

/** A module by its key. */
export async function moduleId(key: string): Promise<string> {
  return (await sql`select id from tenancy.modules where key = ${key}`)[0].id;
}

/** A saved subscription with its secret. */
export async function subscribe(
  tenant: Tenant,
  url: string,
  options: { module?: string; event_types?: string[] } = {},
): Promise<{ id: string; secret: string }> {
  const { module = "delivery", event_types = ["*"] } = options;
  const { status, body } = await tenant.admin.post("/webhooks/subscriptions", {
    module_id: await moduleId(module),
    url,
    event_types,
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return { id: body.subscription.id, secret: body.secret };
}

/** A saved subscription of a merchant with its secret. */
export async function subscribeMerchant(
  merchant: Person,
  url: string,
  event_types: string[] = ["*"],
): Promise<{ id: string; secret: string }> {
  const { status, body } = await merchant.post("/webhooks/own/subscriptions", {
    module_id: await moduleId("delivery"),
    url,
    event_types,
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return { id: body.subscription.id, secret: body.secret };
}

/** An event published by the system; answers its id. */
export async function publish(
  nobody: Person,
  tenant: { id: string } | null,
  event: { event_type?: string; entity_id?: string; event_data?: Body; source_module?: string } =
    {},
): Promise<string> {
  const { status, body } = await nobody.post("/system/events", {
    event_type: "delivery.delivered",
    source_module: "delivery",
    entity_type: "delivery",
    entity_id: randomUUID(),
    event_data: { n: 1 },
    tenant_id: tenant?.id,
    ...event,
  }, systemKey);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.event.id;
}

/** Deliveries of a subscription as the database has them, in order. */
export async function deliveriesOf(subscription: string): Promise<Body[]> {
  return await sql`select * from integration.webhook_events where subscription_id = ${subscription} order by position`;
}

/** How each of them stands, in order. */
export async function statusesOf(subscription: string): Promise<string[]> {
  return (await deliveriesOf(subscription)).map(({ status }) => status);
}

/** Runs the sender, as the clock does. */
export async function wake(nobody: Person): Promise<void> {
  await nobody.post("/webhooks/internal/dispatch", {}, systemKey);
}
