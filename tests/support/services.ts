/** Delivery services for tests, made by the API and looked at in the database. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { sql } from "./db.ts";
import type { Tenant } from "./people.ts";

export const services = "/delivery/services";

/** A delivery type straight in the database. */
export async function newType(tenant: { id: string }, code?: string): Promise<string> {
  const [row] = await sql`insert into delivery.delivery_types (tenant_id, code, name)
    values (${tenant.id}, ${code ?? "T" + randomUUID().slice(0, 8)}, ${
    sql.json({ en: "Parcel", ar: "طرد" })
  }) returning id`;
  return row.id;
}

/** A zone tag straight in the database, on these zones. */
export async function newTag(tenant: { id: string }, ...zones: string[]): Promise<string> {
  const [row] = await sql`insert into delivery.zone_tags (tenant_id, name)
    values (${tenant.id}, ${"Tag " + randomUUID()}) returning id`;
  for (const zone of zones) {
    await sql`insert into delivery.zone_tag_map (tenant_id, zone_id, tag_id)
      values (${tenant.id}, ${zone}, ${row.id})`;
  }
  return row.id;
}

let serial = 0;

/** The fields that creating a service needs. */
export function serviceBody(type: string, more: Record<string, unknown> = {}) {
  return {
    name: "Express",
    code: `EXP-${++serial}`,
    service_level: "express",
    unit_min: 1,
    unit_max: 50,
    delivery_type_id: type,
    ...more,
  };
}

/** A service added by operations staff. */
export async function addService(
  tenant: Tenant,
  type: string,
  more: Record<string, unknown> = {},
): Promise<string> {
  const answer = await tenant.ops.post(services, serviceBody(type, more));
  expect(answer).toSucceed(201);
  return answer.body.id;
}

/** The row and everything that hangs on it. */
export async function storedService(id: string) {
  const [row] = await sql`select s.*,
      (select coalesce(array_agg(u.user_id order by u.user_id), '{}') from delivery.delivery_service_users u where u.service_id = s.id) as users,
      (select coalesce(array_agg(z.zone_id order by z.zone_id), '{}') from delivery.delivery_service_zones z where z.service_id = s.id) as zones,
      (select coalesce(array_agg(t.tag_id order by t.tag_id), '{}') from delivery.delivery_service_zone_tags t where t.service_id = s.id) as tags
    from delivery.delivery_services s where s.id = ${id}`;
  return row;
}

/** How many services a tenant has ever had. */
export async function countServices(tenant: { id: string }): Promise<number> {
  const [row] = await sql`select count(*)::int as n from delivery.delivery_services
    where tenant_id = ${tenant.id}`;
  return row.n;
}
