/** Services that differ in all that a list is searched by. */
import { expect } from "vitest";
import type { Person } from "./api.ts";
import { sql } from "./db.ts";
import { newTenant, type Tenant } from "./people.ts";
import { addService, newType, services } from "./services.ts";

/** The names of all, newest first. */
export const everyone = ["Barred", "Chosen", "Delta", "Gamma 100%", "Beta", "Alpha"];

/** Adds them; answers the delivery type of some of them, and the ids by name. */
async function servicesToFind(tenant: Tenant) {
  const parcel = await newType(tenant, "parcel");
  const freight = await newType(tenant, "freight");
  const { customer, institution, institution2 } = tenant;
  const wanted: Record<string, Record<string, unknown>> = {
    Alpha: {
      default_price: 100,
      priority: 3,
      unit_min: 1,
      unit_max: 10,
      estimated_delivery_time_min: 10,
      estimated_delivery_time_max: 20,
      description: "By bicycle",
    },
    Beta: {
      default_price: 500,
      priority: 1,
      service_level: "economy",
      unit_min: 5,
      unit_max: 80,
      estimated_delivery_time_min: 100,
      estimated_delivery_time_max: 200,
      service_options: { signature_required: true },
      allow_returns: true,
    },
    "Gamma 100%": {
      default_price: 300,
      delivery_type_id: freight,
      service_options: { insurance_available: true },
      code: "GAMMA_1",
      allowed_delivery_attempts: 4,
    },
    Delta: { default_price: 300, active: false, delivery_type_id: freight },
    Chosen: { access_mode: "select_users", user_ids: [customer.id, institution.id] },
    Barred: { access_mode: "exclude_users", user_ids: [customer.id, institution2.id] },
  };
  const made: Record<string, string> = {};
  for (const [name, more] of Object.entries(wanted)) {
    made[name] = await addService(tenant, parcel, {
      name: { en: name, ar: `خدمة ${name}` },
      ...more,
    });
  }
  await sql`update delivery.delivery_services set created_at = '2024-05-01T10:00:00Z' where id = ${made.Alpha}`;
  return { freight, made };
}

type Query = Record<string, string | number | boolean | object | undefined>;

export type ServiceList = Awaited<ReturnType<typeof newServiceList>>;

/** A tenant with them, another with one, and the list as the tenant's staff ask for it unless said. */
export async function newServiceList() {
  const [tenant, other] = [await newTenant(), await newTenant()];
  const found = await servicesToFind(tenant);
  await addService(other, await newType(other, "parcel"), { name: "Foreign" });
  async function ask(query: Query = {}, person: Person = tenant.staff) {
    const answer = await person.get(services, { query });
    expect(answer).toSucceed(200);
    return answer.body;
  }
  const names = async (query: Query = {}, person: Person = tenant.staff): Promise<string[]> =>
    (await ask(query, person)).deliveryServices.map((row: { name: string }) => row.name);
  return { tenant, other, ...found, ask, names };
}
