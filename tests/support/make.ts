/** Makes what tests need, straight in the database. */
import { sql } from "./db.ts";
import type { Tenant } from "./people.ts";

let serial = Date.now() % 1_000_000;
const next = () => ++serial;

/** An address of the tenant; Baghdad unless said otherwise. */
export async function newAddress(
  tenant: { id: string },
  at: { latitude?: number | null; longitude?: number | null; city?: string; phone?: string } = {},
): Promise<string> {
  const { latitude = 33.31, longitude = 44.36, city = "Baghdad", phone = "+9647700000000" } = at;
  const [row] =
    await sql`insert into delivery.addresses (tenant_id, title, full_address, city, country, latitude, longitude, contact_info)
    values (${tenant.id}, ${sql.json({ en: "Place" })}, ${
      "Street " + next()
    }, ${city}, 'IQ', ${latitude}, ${longitude}, ${sql.json({ phone })}) returning id`;
  return row.id;
}

export async function newProcessingPoint(
  tenant: { id: string },
  addressId?: string,
): Promise<string> {
  const address = addressId ?? await newAddress(tenant);
  const [row] =
    await sql`insert into delivery.transfer_processing_points (tenant_id, name, code, address_id)
    values (${tenant.id}, ${"Point " + next()}, ${"PP" + next()}, ${address}) returning id`;
  return row.id;
}

/** A branch of the tenant's institution, with a default processing point. */
export async function newBranch(
  tenant: Tenant,
  options: { institution?: string; point?: string; address?: string; code?: string } = {},
): Promise<string> {
  const address = options.address ?? await newAddress(tenant);
  const point = options.point ?? await newProcessingPoint(tenant);
  const [row] = await sql`insert into delivery.institution_branches
    (tenant_id, institution_user_id, name, code, address_id, default_processing_point_id, contact_info)
    values (${tenant.id}, ${options.institution ?? tenant.institution.id}, ${"Branch " + next()}, ${
    options.code ?? "BR" + next()
  }, ${address}, ${point}, ${sql.json({ phone: "+9647711111111" })}) returning id`;
  return row.id;
}
