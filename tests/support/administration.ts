/** Tenants that the system administrator makes, and what is kept about them. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { Body, Person } from "./api.ts";
import { sql } from "./db.ts";

/** A slug that no tenant has. */
export const newSlug = () => `s-${randomUUID()}`;

/** Makes a tenant that is valid; returns it. */
export async function makeTenant(
  system: Person,
  more: Record<string, unknown> = {},
): Promise<Body> {
  const answer = await system.post("/tenants", { name: { en: "Made" }, slug: newSlug(), ...more });
  expect(answer).toSucceed(201);
  return answer.body.tenant;
}

export const tenantRow = async (id: string): Promise<Body> =>
  (await sql`select * from tenancy.tenants where id = ${id}`)[0];

/** The events of a tenant, oldest first. */
export const tenantEvents = async (id: string): Promise<Body[]> =>
  await sql`select event_type, event_data from integration.system_events
    where tenant_id = ${id} and source_module = 'tenants' order by position`;
