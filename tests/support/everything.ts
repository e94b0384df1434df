/** A tenant with at least one row in every table of tenants, and the ids a request may name. */
import { sql } from "./db.ts";
import { addNamed } from "./everything/named.ts";
import { jobsDone } from "./jobs.ts";
import { newAddress, newBranch, newProcessingPoint } from "./make.ts";
import { newManifest } from "./manifests.ts";
import { fundWallet, newService } from "./money.ts";
import { newTenant, type Tenant } from "./people.ts";

/** The records that a request can name, by the suffix of its fields. */
export interface Things {
  tenant: string;
  user: string;
  institution: string;
  driver: string;
  address: string;
  zone: string;
  tag: string;
  point: string;
  branch: string;
  branch_code: string;
  batch: string;
  manifest: string;
  item: string;
  barcode: string;
  exception: string;
  service: string;
  delivery_type: string;
  vehicle: string;
  team: string;
  profile: string;
  warehouse: string;
  wallet: string;
  delivery: string;
  delivery_code: number;
  [more: string]: string | number;
}

export interface Everything {
  tenant: Tenant;
  things: Things;
}

/** A new tenant with everything once; the manifest is a draft or has been received, as asked. */
export async function newEverything(manifest: "draft" | "received" = "draft"): Promise<Everything> {
  return await addEverything(await newTenant(), manifest);
}

/** Everything once more, for the driver, the institution and the customer that are given. */
export async function addEverything(
  tenant: Tenant,
  manifest: "draft" | "received" = "draft",
): Promise<Everything> {
  const address = await newAddress(tenant);
  const point = await newProcessingPoint(tenant, address);
  const branch = await newBranch(tenant, { point, address });
  const made = await newManifest(tenant, {
    branch,
    point,
    status: manifest,
    items: [{}, { exception: "damaged" }],
    proof: { pickup: ["photo"], delivery: ["photo"] },
  });
  const service = await newService(tenant);
  const wallet = await fundWallet(tenant, "institution", tenant.institution.id, 500_000);
  const rest = await addNamed(tenant, { address, point, branch, service, wallet, made });
  return {
    tenant,
    things: {
      tenant: tenant.id,
      user: tenant.customer.id,
      institution: tenant.institution.id,
      driver: tenant.driver.id,
      address,
      point,
      branch,
      manifest: made.id,
      item: made.itemIds[0],
      barcode: made.barcodes[0],
      service,
      wallet,
      ...rest,
    },
  };
}

/** Every table that keeps rows of tenants, with its schema. */
export async function tenantTables(): Promise<string[]> {
  const rows = await sql`
    select c.oid::regclass::text as name from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
    where c.relkind in ('r', 'p') and c.relnamespace::regnamespace::text
      in ('app', 'private', 'tenancy', 'money', 'delivery', 'warehousing', 'storefront', 'integration', 'public')
    order by 1`;
  return rows.map(({ name }) => name);
}

/** A fingerprint of each table's rows of a tenant; and of the tenant itself with its people's profiles. */
export async function fingerprintOf(tenantId: string): Promise<Record<string, string>> {
  await jobsDone(tenantId);
  // Kept totals are folded by the clock, which changes their rows and nothing they say.
  const tables = (await tenantTables()).filter((table) => table !== "app.tallies");
  const parts = tables.map((table) =>
    `select '${table}' as name, count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as print
      from ${table} t where t.tenant_id = $1${
      // Every night's checks tell of what a fixture made up; cron's tests run them at any time.
      table === "integration.system_events" ? " and t.event_type not like '%.mismatch'" : ""}`
  );
  const rows = await sql.unsafe(
    [
      ...parts,
      "select 'tenancy.tenants', md5(t::text) from tenancy.tenants t where t.id = $1",
      `select 'tenancy.profiles', md5(string_agg(p::text, '|' order by p.id)) from tenancy.profiles p
        where p.id in (select u.user_id from tenancy.tenant_users u where u.tenant_id = $1)`,
    ].join(" union all "),
    [tenantId],
  );
  return Object.fromEntries(rows.map(({ name, print }) => [name, print]));
}
