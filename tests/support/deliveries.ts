/** Deliveries for tests: made by the API, given to drivers as assignments would give them. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { Answer, Body, Person } from "./api.ts";
import { sql } from "./db.ts";
import { newAddress, newProcessingPoint } from "./make.ts";
import { newService } from "./money.ts";
import type { Tenant } from "./people.ts";
import { booksOf, cashOf, stockOf } from "./reconciled.ts";

export const path = "/delivery/deliveries";

export interface Ground {
  tenant: Tenant;
  service: string;
  from: string;
  to: string;
  warehouse: string;
  bin: string | null;
}

/** A tenant's service, two addresses, two drivers with vans, and a warehouse that receives into a bin. */
export async function newGround(tenant: Tenant, options: { bin?: boolean } = {}): Promise<Ground> {
  const [service, from, to, stands] = await Promise.all([
    newService(tenant),
    newAddress(tenant),
    newAddress(tenant),
    newAddress(tenant),
  ]);
  // Places of the company, which everybody may order from and to.
  for (const address of [from, to]) await newProcessingPoint(tenant, address);
  for (const driver of [tenant.driver, tenant.driver2]) {
    const [vehicle] = await sql`insert into delivery.vehicles (tenant_id, name, unit_capacity)
      values (${tenant.id}, 'Van', 1000) returning id`;
    await sql`insert into delivery.drivers (tenant_id, user_id, vehicle_id, all_zones)
      values (${tenant.id}, ${driver.id}, ${vehicle.id}, true)
      on conflict (tenant_id, user_id) do nothing`;
  }
  const { warehouse, bin } = await newWarehouse(tenant, stands, options.bin !== false);
  return { tenant, service, from, to, warehouse, bin };
}

export async function newWarehouse(tenant: { id: string }, address: string, withBin = true) {
  const [{ id: warehouse }] =
    await sql`insert into warehousing.warehouses (tenant_id, name, code, address_id)
    values (${tenant.id}, 'Central', ${"W" + randomUUID().slice(0, 8)}, ${address}) returning id`;
  let bin: string | null = null;
  if (withBin) {
    const [row] = await sql`insert into warehousing.bins
      (tenant_id, warehouse_id, code, name, location_type, is_default_receiving)
      values (${tenant.id}, ${warehouse}, 'R1', 'Receiving', 'RECEIVING', true) returning id`;
    bin = row.id;
  }
  return { warehouse: warehouse as string, bin };
}

/** The records that ordering a delivery needs; by default the recipient pays in cash. */
export function order(ground: Ground, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    customer_id: ground.tenant.customer.id,
    delivery_service_id: ground.service,
    pickup_address_id: ground.from,
    dropoff_address_id: ground.to,
    payer_type: "receiver",
    payment_method: "cash",
    unit_size: 2,
    recipient: { name: "Recipient", phone: "+9647701234567" },
    ...more,
  };
}

/** A delivery ordered by operations. */
export async function newDelivery(
  ground: Ground,
  more: Record<string, unknown> = {},
): Promise<Body> {
  const answer = await ground.tenant.ops.post(path, order(ground, more));
  expect(answer).toSucceed(201);
  return answer.body.delivery;
}

/** Gives a delivery to a driver, as assigning does: the row, the status, and the handoff of what was picked. */
export async function assign(
  tenant: Tenant,
  deliveryId: string,
  driver: Person = tenant.driver,
  status: "pending" | "assigned" | "accepted" = "accepted",
): Promise<string> {
  return await sql.begin(async (tx) => {
    // Before its search for a driver, which follows the assignment: the search itself takes them in this order.
    await tx`select from delivery.deliveries p join delivery.deliveries d on p.id = coalesce(d.parent_id, d.id)
      where d.id = ${deliveryId} for no key update of p`;
    const [d] =
      await tx`select * from delivery.deliveries where id = ${deliveryId} for no key update`;
    const [row] =
      await tx`insert into delivery.assignments (tenant_id, delivery_id, driver_id, status, units)
      values (${tenant.id}, ${deliveryId}, ${driver.id}, ${status}, ${d.unit_size}) returning id`;
    await tx`update delivery.deliveries set status = ${
      status === "accepted" ? "accepted" : "assigned"
    }
      where id = ${deliveryId}`;
    await tx`insert into delivery.package_handoffs
      (tenant_id, delivery_id, picking_order_id, warehouse_id, assignment_id, driver_id)
      select tenant_id, delivery_id, id, warehouse_id, ${row.id}, ${driver.id} from warehousing.picking_orders
      where tenant_id = ${tenant.id} and delivery_id = ${deliveryId} and status = 'completed'
        and order_id is null`;
    return row.id as string;
  });
}

/** One move of a delivery. */
export function move(
  person: Person,
  id: string,
  step: string,
  body: Record<string, unknown> = {},
): Promise<Answer> {
  return person.post(`${path}/${id}/${step}`, body);
}

/** Moves that all succeed, in their order; answers the last body. */
export async function moves(
  person: Person,
  id: string,
  ...steps: (string | [string, Record<string, unknown>])[]
): Promise<Body> {
  let body: Body;
  for (const step of steps) {
    const [name, input] = typeof step === "string" ? [step, {}] : step;
    const answer = await move(
      person,
      id,
      name,
      name === "fail" ? { reason: "absent", ...input } : input,
    );
    expect(answer, name).toSucceed(200);
    body = answer.body;
  }
  return body;
}

/** A delivery brought to a status by its driver. */
export async function deliveryIn(
  ground: Ground,
  status: string,
  more: Record<string, unknown> = {},
): Promise<Body> {
  const { tenant } = ground;
  const made = await newDelivery(ground, status === "draft" ? { ...more, status } : more);
  if (["draft", "pending"].includes(status)) return made;
  if (status === "cancelled") {
    await moves(tenant.ops, made.id, ["cancel", { reason: "no" }]);
    return made;
  }
  await assign(tenant, made.id, tenant.driver, status === "assigned" ? "assigned" : "accepted");
  const steps: Record<string, string[]> = {
    picked_up: ["pickup"],
    in_transit: ["pickup", "depart"],
    delivered: ["pickup", "depart", "complete"],
    failed: ["pickup", "depart", "fail"],
    returned: ["pickup", "depart", "return"],
  };
  await moves(tenant.driver, made.id, ...steps[status] ?? []);
  return made;
}

/** A staged delivery whose parcel lies in the warehouse; its outbound leg waits to be prepared. */
export async function stagedInWarehouse(
  ground: Ground,
  more: Record<string, unknown> = {},
): Promise<{ parent: Body; a: string; b: string }> {
  const parent = await newDelivery(ground, {
    staged: true,
    warehouse_id: ground.warehouse,
    ...more,
  });
  const [a, b] = parent.legs.map(({ id }: { id: string }) => id);
  await assign(ground.tenant, a);
  await moves(ground.tenant.driver, a, "pickup", "depart", "complete");
  return { parent, a, b };
}

/** The same, picked and given to the driver; the handoff's id. */
export async function handedTo(ground: Ground, leg: string, driver = ground.tenant.driver) {
  expect(await move(ground.tenant.ops, leg, "execute")).toSucceed(200);
  await assign(ground.tenant, leg, driver);
  const [{ id }] = await sql`select id from delivery.package_handoffs
    where delivery_id = ${leg} and status = 'pending'`;
  return id as string;
}

/** The same, and the driver has taken it over. */
export async function takenOver(ground: Ground, leg: string, driver = ground.tenant.driver) {
  const handoff = await handedTo(ground, leg, driver);
  expect(await driver.post(`/delivery/handoffs/${handoff}/pickup`)).toSucceed(200);
}

/** A staged delivery whose outbound leg is on the road. */
export async function outboundOnRoad(ground: Ground, more: Record<string, unknown> = {}) {
  const made = await stagedInWarehouse(ground, more);
  await takenOver(ground, made.b);
  await moves(ground.tenant.driver, made.b, "depart");
  return made;
}

export async function statusOf(id: string): Promise<string> {
  const [row] = await sql`select status from delivery.deliveries where id = ${id}`;
  return row.status;
}

/** Units in any stock that a parcel became, by their state there. */
export async function parcelStock(parcel: string): Promise<Record<string, number>> {
  const rows = await sql`select s.status, sum(s.quantity)::int as units from warehousing.stock s
    join warehousing.inventory_items i on i.tenant_id = s.tenant_id and i.id = s.item_id
    where i.parcel_delivery_id = ${parcel} and s.quantity > 0 group by s.status`;
  return Object.fromEntries(rows.map(({ status, units }) => [status, units]));
}

/** Nothing wrong with the books, the cash, the stock and the drivers' loads of a tenant. */
export async function checkAll(tenant: { id: string }): Promise<void> {
  expect(await booksOf(tenant)).toEqual([]);
  expect(await stockOf(tenant)).toEqual([]);
  expect(await cashOf(tenant)).toEqual([]);
  const loads = await sql`select d.user_id from delivery.drivers d
    where d.tenant_id = ${tenant.id} and d.capacity_used <> coalesce((select sum(a.units) from delivery.assignments a where a.tenant_id = d.tenant_id
      and a.driver_id = d.user_id and a.status in ('pending', 'assigned', 'accepted')), 0)`;
  expect(loads).toEqual([]);
}

/** The balance of a book of the tenant. */
export async function bookOf(
  tenant: { id: string },
  kind: string,
  owner: string | null = null,
): Promise<number> {
  const [row] = await sql`select coalesce(sum(balance), 0) as balance from money.accounts
    where tenant_id = ${tenant.id} and kind = ${kind} and owner_user_id is not distinct from ${owner}`;
  return row.balance;
}
