/** Waybills from one warehouse of a yard to the other, drafted and on the road. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { Body } from "./api.ts";
import { sql } from "./db.ts";
import { newYard, type Yard } from "./packages.ts";
import { newTenant, type Tenant } from "./people.ts";

export const waybills = "/warehousing/waybills";

/** The common fields of every waybill. */
export const withKey = () => ({ headers: { "idempotency-key": randomUUID() } });

/** The steps of waybills of one yard, by the warehouse's manager unless said. */
export function waybillSteps(tenant: Tenant, yard: Yard) {
  const create = (more: object = {}) =>
    tenant.warehouse.post(waybills, {
      source_warehouse_id: yard.warehouse,
      destination_warehouse_id: yard.there,
      ...more,
    }, withKey());
  const step = (id: string, name: string, body: object = {}, person = tenant.warehouse) =>
    person.post(`${waybills}/${id}/${name}`, body);
  /** The order of a delivery that a piece of inventory becomes when it travels. */
  const new_delivery_defaults = {
    customer_id: tenant.customer.id,
    delivery_service_id: yard.service,
    payer_type: "sender",
    payment_method: "cash",
  };
  async function draft(...deliveries: string[]): Promise<Body> {
    const answer = await create({ delivery_ids: deliveries });
    expect(answer).toSucceed(201);
    return answer.body.waybill;
  }
  async function onTheRoad(...deliveries: string[]): Promise<string> {
    const { id } = await draft(...deliveries);
    expect(await step(id, "seal")).toSucceed(200);
    expect(await step(id, "driver-handover", { driver_id: tenant.driver.id })).toSucceed(200);
    return id;
  }
  return { create, step, new_delivery_defaults, draft, onTheRoad };
}

export type Hauling = Awaited<ReturnType<typeof newHauling>>;

/** A tenant with a yard, and the steps of its waybills. */
export async function newHauling() {
  const tenant = await newTenant();
  const yard = await newYard(tenant);
  return { tenant, yard, ...waybillSteps(tenant, yard) };
}

/** The one thing in a parcel. */
export async function itemOf(parcel: string): Promise<string> {
  const [row] =
    await sql`select item_id from delivery.delivery_items where delivery_id = ${parcel}`;
  return row.item_id;
}
