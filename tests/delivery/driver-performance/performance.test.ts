import { beforeAll, describe, expect, test } from "vitest";
import { equip, newDelivery, newDriver, newStaged } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  newEnded,
  refreshPerformance,
  reportOf,
  type ReportQuery,
} from "../../support/driver-performance.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let other: Tenant;

const ended = (driver: string, columns = {}, assignment?: string) =>
  newEnded(tenant, driver, columns, assignment);
const given = (delivery: string, driver: string, status: string, at?: string) =>
  assign(tenant, delivery, driver, status, at);
const refresh = () => refreshPerformance(tenant);
const report = (query: ReportQuery = {}) => reportOf(tenant, query);

const rowOf = async (driver: string, query = {}) =>
  (await report({ ...query, driver_id: driver })).data[0];

beforeAll(async () => {
  tenant = await newTenant({ settings: { "general.timezone": { name: "Asia/Baghdad" } } });
  other = await newTenant();
  await equip(other, other.driver.id);
});

describe("the report of a driver", () => {
  test("counts deliveries, rates and averages in their month and of all time", async () => {
    const { id } = await newDriver(tenant);
    await ended(id, { promised_at: "2026-03-10T12:00:00Z" });
    await ended(id, { promised_at: "2026-03-10T11:15:00Z", delivered_at: "2026-03-10T12:00:00Z" });
    await ended(id);
    for (const status of ["failed", "returned", "cancelled"]) {
      await ended(id, { status, delivered_at: null });
    }
    await ended(id, { created_at: "2026-04-01T10:00:00Z", picked_up_at: null, distance_km: null });
    await sql`update delivery.delivery_status_history set note = null where false`;
    await sql`insert into delivery.delivery_status_history (tenant_id, delivery_id, from_status, to_status)
      select tenant_id, id, 'accepted', 'cancelled' from delivery.deliveries
      where tenant_id = ${tenant.id} and status = 'cancelled'`;
    await refresh();
    const [{ full_name }] = await sql`select full_name from tenancy.profiles where id = ${id}`;
    expect(await rowOf(id, { year: 2026, month: 3 })).toEqual({
      driver_id: id,
      driver_name: full_name,
      period_month: 3,
      period_year: 2026,
      total_deliveries: 6,
      successful_deliveries: 3,
      failed_deliveries: 3,
      on_time_deliveries: 1,
      late_deliveries: 1,
      success_rate: 50,
      on_time_rate: 50,
      average_delivery_time_minutes: 40,
      total_distance_km: 24,
      km_per_delivery: 4,
      total_delivery_value: 4500,
      handled_legs: 0,
    });
    expect(await rowOf(id, { year: 2026, month: 4 })).toMatchObject({
      total_deliveries: 1,
      success_rate: 100,
      on_time_rate: null,
      average_delivery_time_minutes: null,
      km_per_delivery: null,
    });
    expect(await rowOf(id)).toMatchObject({
      period_month: null,
      period_year: null,
      total_deliveries: 7,
      success_rate: 57.14,
    });
  });

  test("counts a delivery once, for the last driver who did not reject it", async () => {
    const [first, second, third] = [
      (await newDriver(tenant)).id,
      (await newDriver(tenant)).id,
      (await newDriver(tenant)).id,
    ];
    const id = await ended(second);
    await given(id, first, "returned", "2026-03-09T10:00:00Z");
    await given(id, third, "rejected", "2026-03-11T10:00:00Z");
    await refresh();
    expect((await rowOf(second)).total_deliveries).toBe(1);
    expect(await rowOf(first)).toBeUndefined();
    expect(await rowOf(third)).toBeUndefined();
  });

  test("credits nobody for a delivery that was cancelled before it was assigned", async () => {
    const { id: driver } = await newDriver(tenant);
    const id = await newDelivery(tenant);
    const made = await tenant.ops.post("/delivery/assignments", {
      delivery_id: id,
      driver_id: driver,
    });
    await tenant.ops.post(`/delivery/assignments/${made.body.id}/unassign`);
    await sql`update delivery.deliveries set status = 'cancelled' where id = ${id}`;
    await refresh();
    expect(await rowOf(driver)).toBeUndefined();
  });

  test("counts a parcel in legs once, for the driver of the last leg; the first leg is work without a delivery", async () => {
    const [one, two] = [(await newDriver(tenant)).id, (await newDriver(tenant)).id];
    const staged = await newStaged(tenant, ["delivered", "delivered"], {
      created_at: "2026-03-10T10:00:00Z",
      picked_up_at: "2026-03-10T11:00:00Z",
      delivered_at: "2026-03-10T12:00:00Z",
      cod_amount: 9000,
    });
    await sql`update delivery.deliveries set promised_at = '2026-03-10T13:00:00Z' where id = ${staged.parent}`;
    await given(staged.a, one, "completed");
    await given(staged.b, two, "completed");
    await refresh();
    expect(await rowOf(one)).toMatchObject({
      total_deliveries: 0,
      successful_deliveries: 0,
      failed_deliveries: 0,
      handled_legs: 1,
      success_rate: null,
      km_per_delivery: null,
      total_delivery_value: 0,
      on_time_rate: null,
    });
    expect(await rowOf(two)).toMatchObject({
      total_deliveries: 1,
      handled_legs: 1,
      total_delivery_value: 10_000,
      on_time_rate: 100,
    });
  });

  test("takes the month of the tenant, not of the server", async () => {
    const { id } = await newDriver(tenant);
    // Half past midnight of the first in Baghdad.
    await ended(id, { created_at: "2026-05-31T21:30:00Z" });
    await refresh();
    expect(await rowOf(id, { year: 2026, month: 5 })).toBeUndefined();
    expect((await rowOf(id, { year: 2026, month: 6 })).total_deliveries).toBe(1);
  });

  test("a delivery that is taken up again no longer counts, and one that ends differently counts so", async () => {
    const { id } = await newDriver(tenant);
    const delivery = await ended(id, { status: "failed", delivered_at: null }, "accepted");
    await refresh();
    expect(await rowOf(id)).toMatchObject({ total_deliveries: 1, failed_deliveries: 1 });
    await sql`update delivery.deliveries set status = 'in_transit' where id = ${delivery}`;
    await refresh();
    expect(await rowOf(id)).toBeUndefined();
    await sql`update delivery.deliveries set status = 'delivered', delivered_at = now() where id = ${delivery}`;
    await refresh();
    expect(await rowOf(id)).toMatchObject({ total_deliveries: 1, failed_deliveries: 0 });
    await sql`update delivery.assignments set status = 'completed' where delivery_id = ${delivery}`;
    await sql`update delivery.assignments set route_details = '{"distance_km": 7.5}' where delivery_id = ${delivery}`;
    await refresh();
    expect((await rowOf(id)).total_distance_km).toBe(7.5);
  });
});
