/** Pushes, as the database gave it to Realtime. */
import type { Body } from "./api.ts";
import { sql } from "./db.ts";

export const boardOf = (tenant: { id: string }) => `tenant:${tenant.id}:board`;
export const driverTopic = (driver: { id: string }) => `driver:${driver.id}`;

/** The payloads of an event that went to a topic, in their order. */
export async function pushesTo(topic: string, event: string): Promise<Body[]> {
  const rows = await sql`select payload from realtime.messages
    where topic = ${topic} and event = ${event} order by inserted_at, ctid`;
  return rows.map(({ payload }) => payload);
}

/** The lines of delivery.status about one delivery. */
export async function statusPushes(topic: string, delivery: string): Promise<Body[]> {
  const lines = (await pushesTo(topic, "delivery.status")).flatMap(({ deliveries }) => deliveries);
  return lines.filter(({ id }) => id === delivery);
}
