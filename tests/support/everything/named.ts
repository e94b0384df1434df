/** The records that a request can name. */
import { randomBytes } from "node:crypto";
import { sql } from "../db.ts";
import { newBarcode } from "../manifests.ts";
import { type Tenant } from "../people.ts";
import { addDeliveries } from "./deliveries.ts";
import { addIntegration } from "./integration.ts";
import { addMoney } from "./money.ts";
import type { Adding } from "./rows.ts";
import { addStorefront } from "./storefront.ts";
import { addTenancy } from "./tenancy.ts";
import { addWarehousing } from "./warehousing.ts";

let code = 700_000_000 + Date.now() % 100_000_000;

/** Made already: the manifest and where it goes. */
export interface Made {
  address: string;
  point: string;
  branch: string;
  service: string;
  wallet: string;
  made: { id: string; number: string; itemIds: string[]; barcodes: string[] };
}

/** The records that a request can name beside the manifest, and what each section adds to them. */
export async function addNamed(tenant: Tenant, made: Made) {
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
