/** Drivers with vehicles, and deliveries that wait for one. */
import { randomUUID } from "node:crypto";
import { type Answer, Person } from "./api.ts";
import { sql } from "./db.ts";
import { newAddress } from "./make.ts";
import { newService } from "./money.ts";
import { newPerson, type Tenant } from "./people.ts";

let serial = 100_000_000 + Date.now() % 100_000_000;

/** A driver of the tenant who may go everywhere, in a van for so many units. */
export async function equip(
  tenant: { id: string },
  driver: string,
  options: { capacity?: number | null; zones?: string[] } = {},
): Promise<string | null> {
  const { capacity = 50, zones } = options;
  let vehicle: string | null = null;
  if (capacity !== null) {
    const [row] = await sql`insert into delivery.vehicles (tenant_id, name, unit_capacity)
      values (${tenant.id}, 'Van', ${capacity}) returning id`;
    vehicle = row.id;
  }
  await sql`insert into delivery.drivers (tenant_id, user_id, vehicle_id, all_zones)
    values (${tenant.id}, ${driver}, ${vehicle}, ${zones === undefined})
    on conflict (tenant_id, user_id) do update set vehicle_id = excluded.vehicle_id, all_zones = excluded.all_zones`;
  for (const zone of zones ?? []) {
    await sql`insert into delivery.driver_zones (tenant_id, driver_id, zone_id)
      values (${tenant.id}, ${driver}, ${zone}) on conflict do nothing`;
  }
  return vehicle;
}

export async function newDriver(
  tenant: { id: string },
  options: { capacity?: number | null; zones?: string[] } = {},
): Promise<Person> {
  const person = await newPerson(tenant.id, "driver", "driver");
  await equip(tenant, person.id, options);
  return person;
}

export type DeliveryColumns = Record<string, unknown>;

const ground = new Map<string, { address: string; service: string }>();
async function groundOf(tenant: Tenant) {
  const known = ground.get(tenant.id);
  if (known) return known;
  const made = { address: await newAddress(tenant), service: await newService(tenant) };
  ground.set(tenant.id, made);
  return made;
}

/** Deliveries of one unit that wait for a driver, unless said otherwise. */
export async function newDeliveries(
  tenant: Tenant,
  count: number,
  columns: DeliveryColumns = {},
): Promise<string[]> {
  const { address, service } = await groundOf(tenant);
  const place = sql.json({ full_address: "Street", latitude: 33.31, longitude: 44.36 });
  const rows = Array.from({ length: count }, () => ({
    id: randomUUID(),
    tenant_id: tenant.id,
    delivery_code: ++serial,
    barcode: `A-${serial}`,
    customer_id: tenant.customer.id,
    delivery_service_id: service,
    payer_type: "sender",
    payment_method: "wallet",
    delivery_fee: 1000,
    currency: "IQD",
    unit_size: 1,
    unit_size_source: "unit_size",
    pickup_address_id: address,
    dropoff_address_id: address,
    pickup_snapshot: place,
    dropoff_snapshot: place,
    service_snapshot: sql.json({}),
    ...columns,
  }));
  await sql`insert into delivery.deliveries ${sql(rows as never)}`;
  return rows.map(({ id }) => id);
}

export async function newDelivery(tenant: Tenant, columns: DeliveryColumns = {}): Promise<string> {
  return (await newDeliveries(tenant, 1, columns))[0];
}

/** A staged parcel with its two legs; the statuses are A's and B's. */
export async function newStaged(
  tenant: Tenant,
  statuses: [string, string] = ["pending", "draft"],
  columns: DeliveryColumns = {},
): Promise<{ parent: string; a: string; b: string; warehouse: string }> {
  const address = await newAddress(tenant);
  const [{ id: warehouse }] =
    await sql`insert into warehousing.warehouses (tenant_id, name, code, address_id)
    values (${tenant.id}, 'Warehouse', ${"W" + ++serial}, ${address}) returning id`;
  const parent = await newDelivery(tenant, { ...columns, delivery_flow: "pnd_parent" });
  const [{ barcode }] = await sql`select barcode from delivery.deliveries where id = ${parent}`;
  const leg = (name: string, plan: number, flow: string, status: string, more: DeliveryColumns) =>
    newDelivery(tenant, {
      ...columns,
      parent_id: parent,
      barcode,
      leg: name,
      sequence_plan: plan,
      delivery_flow: flow,
      status,
      delivery_fee: 0,
      ...more,
    });
  const a = await leg("A", 1, "pnd_inbound", statuses[0], { dropoff_warehouse_id: warehouse });
  const b = await leg("B", 2, "pnd_outbound", statuses[1], { pickup_warehouse_id: warehouse });
  return { parent, a, b, warehouse };
}

export async function statusOf(delivery: string): Promise<string> {
  const [row] = await sql`select status from delivery.deliveries where id = ${delivery}`;
  return row.status;
}

/** Moves a delivery along, as the cores of deliveries do. */
export async function move(delivery: string, ...statuses: string[]): Promise<void> {
  for (const status of statuses) {
    await sql`update delivery.deliveries set status = ${status},
      picked_up_at = case when ${status} = 'picked_up' then now() else picked_up_at end,
      delivered_at = case when ${status} = 'delivered' then now() else delivered_at end where id = ${delivery}`;
  }
}

export async function rowsOf(delivery: string) {
  return await sql`select * from delivery.assignments where delivery_id = ${delivery}
    order by assignment_time, id`;
}

export async function usedBy(tenant: { id: string }, driver: string): Promise<number> {
  const [row] = await sql`select capacity_used from delivery.drivers
    where tenant_id = ${tenant.id} and user_id = ${driver}`;
  return Number(row.capacity_used);
}

/** Asks for deliveries of one driver to be handed over to another. */
export const handOver = (
  by: Person,
  from: { id: string },
  to: { id: string },
  delivery_ids: string[],
  more: Record<string, unknown> = {},
): Promise<Answer> =>
  by.post(`/delivery/assignments/driver/${from.id}/hand-over`, {
    to_driver_id: to.id,
    delivery_ids,
    ...more,
  });
