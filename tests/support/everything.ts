/** A tenant with at least one row in every table of tenants, and the ids a request may name. */
import { randomBytes } from "node:crypto";
import { sql } from "./db.ts";
import { jobsDone } from "./jobs.ts";
import { newAddress, newBranch, newProcessingPoint } from "./make.ts";
import { newBarcode, newManifest } from "./manifests.ts";
import { fundWallet, newService } from "./money.ts";
import { addDeliveries } from "./everything/deliveries.ts";
import { addIntegration } from "./everything/integration.ts";
import { addMoney } from "./everything/money.ts";
import type { Adding } from "./everything/rows.ts";
import { addStorefront } from "./everything/storefront.ts";
import { addTenancy } from "./everything/tenancy.ts";
import { addWarehousing } from "./everything/warehousing.ts";
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

let code = 700_000_000 + Date.now() % 100_000_000;

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
  const rest = await addTheRest(tenant, { address, point, branch, service, wallet, made });
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

interface Made {
  address: string;
  point: string;
  branch: string;
  service: string;
  wallet: string;
  made: { id: string; number: string; itemIds: string[]; barcodes: string[] };
}

async function addTheRest(tenant: Tenant, made: Made) {
  const { id, ...people } = tenant;
  const { address, branch, service, wallet } = made;
  const institution = people.institution.id;
  const driver = people.driver.id;
  return await sql.begin(async (tx) => {
    const one = async (table: string, row: Record<string, unknown>, answer = "id") => {
      const [written] = await tx`insert into ${tx(table)} ${tx({ tenant_id: id, ...row })}
        on conflict do nothing returning ${tx(answer)} as answer`;
      return written?.answer as string;
    };
    const json = (value: unknown) => tx.json(value as never);
    const square = [[[40, 30], [48, 30], [48, 37], [40, 37], [40, 30]]];
    const zone = await one("delivery.zones", { name: `Zone ${++code}`, polygon: json(square) });
    const tag = await one("delivery.zone_tags", { name: `Tag ${++code}` });
    await one("delivery.zone_tag_map", { zone_id: zone, tag_id: tag }, "zone_id");
    await one("delivery.addresses", {
      full_address: "At home",
      owner_user_id: people.customer.id,
    });
    const vehicle = await one("delivery.vehicles", { name: "Van", unit_capacity: 10 });
    await one("delivery.drivers", { user_id: driver, vehicle_id: vehicle }, "user_id");
    const seen = { driver_id: driver, latitude: 33.3, longitude: 44.4, recorded_at: new Date() };
    await one("delivery.driver_presence", { ...seen, on_duty: true }, "driver_id");
    await one("delivery.driver_positions", seen, "driver_id");
    await one("delivery.position_broadcasts", {}, "tenant_id");
    await one("delivery.driver_zones", { driver_id: driver, zone_id: zone }, "zone_id");
    const team = await one("delivery.teams", { name: `Team ${++code}` });
    await one("delivery.team_members", { team_id: team, user_id: driver }, "user_id");
    await one("delivery.delivery_service_teams", { service_id: service, team_id: team }, "team_id");
    await one(
      "delivery.delivery_service_vehicles",
      { service_id: service, vehicle_id: vehicle },
      "vehicle_id",
    );
    const profile = await one("delivery.policy_profiles", { name: `Profile ${++code}` });
    const [{ delivery_type_id: delivery_type }] =
      await tx`select delivery_type_id from delivery.delivery_services where id = ${service}`;
    const warehouse = await one("warehousing.warehouses", {
      name: "Warehouse",
      code: `WH${++code}`,
      address_id: address,
    });
    for (
      const [table, column, value] of [["users", "user_id", institution], [
        "zones",
        "zone_id",
        zone,
      ], ["zone_tags", "tag_id", tag]]
    ) {
      await one(
        `delivery.delivery_service_${table}`,
        { service_id: service, [column]: value },
        column,
      );
    }
    const batch = await one("delivery.transfer_barcode_batches", {
      batch_number: `BB-${++code}`,
      quantity: 1,
      service_indicator: "DM",
      issuer: "IQ",
      institution_user_id: institution,
      branch_id: branch,
      first_serial: 1,
    });
    await one("delivery.transfer_barcodes", {
      barcode: newBarcode(),
      batch_id: batch,
      position: 1,
    }, "barcode");
    await one("delivery.transfer_manifest_events", {
      manifest_id: made.made.id,
      event_type: "manifest_created",
    });
    const delivery_code = ++code;
    await one("delivery.delivery_code_reservations", {
      manifest_item_id: made.made.itemIds[1],
      delivery_code: ++code,
    }, "delivery_code");
    const place = json({ full_address: "Street 1", city: "Baghdad" });
    const delivery = await one("delivery.deliveries", {
      delivery_code,
      barcode: `D-${delivery_code}`,
      institution_user_id: institution,
      delivery_service_id: service,
      payer_type: "sender",
      payment_method: "wallet",
      delivery_fee: 1000,
      currency: "IQD",
      unit_size: 1,
      unit_size_source: "service_min",
      pickup_address_id: address,
      dropoff_address_id: address,
      pickup_snapshot: place,
      dropoff_snapshot: place,
      recipient: json({ name: "Recipient", phone: "+9647700000001" }),
      service_snapshot: json({ name: { en: "Standard" } }),
    });
    await one("money.payments", {
      category: "DELIVERY",
      type: "DELIVERY_FEE",
      status: "SUCCESS",
      payment_method: "wallet",
      amount: 1000,
      currency: "IQD",
      account_id: wallet,
      delivery_id: delivery,
    });
    await one("delivery.driver_searches", { delivery_id: delivery, status: "off" }, "delivery_id");
    const notification = await one("tenancy.notifications", {
      user_id: people.customer.id,
      type: "assignment_created",
    });
    const invitation = await one("tenancy.invitations", {
      email: `invited-${id}@barid.test`,
      person: json({ full_name: "Invited", tenant_user_type: "staff", roles: ["dispatcher"] }),
      expires_at: "2099-01-01T00:00:00Z",
    });
    const api_key = await one("tenancy.api_keys", {
      name: "Key",
      key_hash: randomBytes(32),
      scopes: ["view:tenant"],
      created_by: people.admin.id,
      expires_at: "2099-01-01T00:00:00Z",
    });
    await one("app.counters", { counter: "delivery_code", value: code }, "counter");
    await one("app.jobs", { kind: "none.none", run_at: "9999-01-01T00:00:00Z" });
    await one("app.audit_log", { entity: "none", action: "insert" });
    const [exception] = await tx`select id from delivery.transfer_manifest_exceptions
      where tenant_id = ${id} and manifest_id = ${made.made.id}`;
    const [place_code] =
      await tx`select code from delivery.institution_branches where id = ${branch}`;
    const adding: Adding = {
      tenant,
      tx,
      one,
      json,
      next: () => ++code,
      made: { address, service, wallet, institution, driver, zone, vehicle, warehouse, delivery },
    };
    // Each section adds its own rows; later ones may build on what earlier ones made.
    const sections: Record<string, string> = {};
    for (
      const add of [
        addTenancy,
        addWarehousing,
        addDeliveries,
        addMoney,
        addStorefront,
        addIntegration,
      ]
    ) {
      Object.assign(sections, await add({ ...adding, made: { ...adding.made, ...sections } }));
    }
    return {
      ...sections,
      notification,
      api_key,
      invitation,
      zone,
      tag,
      delivery_type: delivery_type as string,
      vehicle,
      team,
      profile,
      warehouse,
      batch,
      delivery,
      delivery_code,
      exception: exception.id as string,
      branch_code: place_code.code as string,
    };
  });
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
