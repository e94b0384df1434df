/** Automatic assignment as tests see it: settings, drivers on duty, and a clock that is moved by hand. */
import { expect } from "vitest";
import type { Body, Person } from "./api.ts";
import { newDriver } from "./assignments.ts";
import { sql } from "./db.ts";
import { type Ground, newDelivery } from "./deliveries.ts";
import { jobsDone } from "./jobs.ts";
import { newTenant, saveSettings, type Tenant } from "./people.ts";
import { newAddress, newProcessingPoint } from "./make.ts";
import { newService } from "./money.ts";

/** A tenant that assigns automatically, whose only drivers are those that the test makes. */
export async function newSearching(settings: Record<string, unknown> = {}): Promise<Ground> {
  const tenant = await newTenant();
  await auto(tenant, settings);
  const [service, from, to] = [
    await newService(tenant),
    await newAddress(tenant),
    await newAddress(tenant),
  ];
  for (const address of [from, to]) await newProcessingPoint(tenant, address);
  return { tenant, service, from, to, warehouse: "", bin: null };
}

/** Sets automatic assignment; on unless said otherwise. */
export const auto = (tenant: { id: string }, settings: Record<string, unknown> = {}) =>
  saveSettings(tenant.id, "general.delivery", {
    on_demand_auto_assignment: { enabled: true, ...settings },
  });

/** An order, with its first search done. */
export async function ordered(ground: Ground, more: Record<string, unknown> = {}): Promise<Body> {
  const made = await newDelivery(ground, more);
  await jobsDone(ground.tenant.id);
  return made;
}

/** The search of a delivery as the office reads it. */
export async function searchOf(tenant: Tenant, delivery: string): Promise<Body> {
  const answer = await tenant.ops.get(`/delivery/deliveries/${delivery}`);
  expect(answer).toSucceed(200);
  return answer.body.delivery.auto_assignment;
}

export const autoAssign = (delivery: string) => `/delivery/deliveries/${delivery}/auto-assign`;

/** The ranking of drivers for a delivery. */
export async function ranking(tenant: Tenant, delivery: string): Promise<Body[]> {
  const answer = await tenant.dispatcher.post(autoAssign(delivery), { dry_run: true });
  expect(answer).toSucceed(200);
  return answer.body.data.candidates;
}

/** The driver who was asked, or has it; null: nobody. */
export async function driverOf(delivery: string): Promise<string | null> {
  const [row] = await sql`select driver_id from delivery.assignments
    where delivery_id = ${delivery} and status in ('pending', 'assigned', 'accepted')`;
  return row?.driver_id ?? null;
}

/** The driver answers what is asked about a delivery, and the search continues. */
export async function answers(
  tenant: Tenant,
  driver: Person,
  delivery: string,
  status: "accepted" | "rejected",
): Promise<void> {
  const [{ id }] = await sql`select id from delivery.assignments
    where delivery_id = ${delivery} and driver_id = ${driver.id} and status = 'pending'`;
  expect(await driver.put(`/delivery/assignments/${id}`, { status })).toSucceed(200);
  await jobsDone(tenant.id);
}

/** The time of the next step has come: the sweep finds it, and the job does it. */
export async function timePasses(tenant: Tenant, delivery?: string): Promise<void> {
  await sql`update delivery.driver_searches set next_attempt_at = now() - interval '1 second'
    where tenant_id = ${tenant.id} and next_attempt_at is not null
      and (${delivery ?? null}::uuid is null or delivery_id = ${delivery ?? null})`;
  await sql`select delivery.searches_sweep()`;
  await runSearches(tenant);
}

/** Does what the clock would have the functions do. */
export async function runSearches(tenant: Tenant): Promise<void> {
  // Any write of the tenant that queues a job makes its function run what is due.
  for (let due = true; due;) {
    const ids = (await sql`select delivery.searches_due(${tenant.id}) as ids`)[0].ids as string[];
    for (const id of ids) await sql`select delivery.search_step(${tenant.id}, ${id})`;
    due = ids.length > 0;
  }
}

/** A driver on duty, heard of now, at a place when one is given. */
export async function onDuty(
  tenant: Tenant,
  options: Parameters<typeof newDriver>[1] & { at?: [latitude: number, longitude: number] } = {},
): Promise<Person> {
  const driver = await newDriver(tenant, options);
  expect(await driver.post("/delivery/drivers/me/duty", { on_duty: true })).toSucceed(200);
  if (options.at) await seenAt(driver, ...options.at);
  return driver;
}

export async function seenAt(driver: Person, latitude: number, longitude: number): Promise<void> {
  const positions = [{ latitude, longitude, recorded_at: new Date().toISOString() }];
  expect(await driver.post("/delivery/drivers/me/positions", { positions })).toSucceed(202);
}
