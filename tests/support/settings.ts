/** Settings of tenants, as they are sent, read and kept. */
import type { Body } from "./api.ts";
import { sql } from "./db.ts";
import type { Tenant } from "./people.ts";

export const settingsOf = (tenant: { id: string }) => `/tenants/${tenant.id}/settings`;

/** The body that changes settings of transfer manifests. */
export const manifest = (settings: Record<string, unknown>) => ({
  delivery: { transfer_manifest: { settings } },
});
/** The body that changes a group of the general settings. */
export const general = (group: string, settings: Record<string, unknown>) => ({
  general: { [group]: { settings } },
});

export const readSettings = async (tenant: Tenant, keys?: string): Promise<Body> =>
  (await tenant.admin.get(settingsOf(tenant), { query: { keys } })).body;

/** A group as it is kept; nothing where it never was saved. */
export const storedSettings = async (tenant: { id: string }, module: string, group: string) =>
  (await sql`select settings from tenancy.tenant_settings
    where tenant_id = ${tenant.id} and module = ${module} and group_key = ${group}`)[0]?.settings;
