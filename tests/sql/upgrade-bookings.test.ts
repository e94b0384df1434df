/** Bookings of deliveries that were cancelled before that told their carriers: the upgrade has the recent ones cancelled, and no other. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OwnDatabase } from "../support/database.ts";
import { releasedDatabase, upgrade } from "../support/released-database.ts";

let old: OwnDatabase;
beforeAll(async () => {
  old = await releasedDatabase("1.6.0");
}, 300_000);
afterAll(() => old.close());

test(
  "one job each for those that live, also while they are being booked; none for what has ended, is on its way, or is old",
  async () => {
    const { sql } = old;
    const deliveries = await sql`select d.tenant_id, d.id from delivery.deliveries d
      where not exists (select from integration.carrier_shipments s where s.delivery_id = d.id)
      order by d.id limit 5`;
    expect(deliveries).toHaveLength(5);
    const made = await sql.begin(async (tx) => {
      await tx`set local session_replication_role = replica`;
      const cases = [
        { delivery: "cancelled", booking: "booked", days: 1 },
        { delivery: "cancelled", booking: "booking", days: 1 },
        { delivery: "cancelled", booking: "cancelled", days: 1 },
        { delivery: "pending", booking: "booked", days: 1 },
        { delivery: "cancelled", booking: "booked", days: 31 },
      ];
      const ids: string[] = [];
      for (const [place, { delivery, booking, days }] of cases.entries()) {
        const { tenant_id, id } = deliveries[place]!;
        await tx`update delivery.deliveries set status = ${delivery} where id = ${id}`;
        const [shipment] = await tx`
          insert into integration.carrier_shipments (tenant_id, delivery_id, carrier_code, status, tracking_number, created_at)
          values (${tenant_id}, ${id}, 'simulated', ${booking}, ${`T-${place}`}, now() - ${days} * interval '1 day')
          returning id`;
        ids.push(shipment!.id);
      }
      return ids;
    });
    await upgrade(old);
    const jobs =
      await sql`select payload ->> 'shipment_id' as shipment, entity_key, status from app.jobs
      where kind = 'carriers.shipment_withdraw' and payload ->> 'shipment_id' in ${sql(made)}`;
    const wanted = made.slice(0, 2).map((id) => ({
      shipment: id,
      entity_key: id,
      status: "queued",
    }));
    const byShipment = (one: { shipment: string }, other: { shipment: string }) =>
      one.shipment.localeCompare(other.shipment);
    expect(jobs.map((job) => ({ ...job }) as typeof wanted[number]).sort(byShipment))
      .toEqual(wanted.sort(byShipment));
  },
  300_000,
);
