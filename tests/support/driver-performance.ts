/** Deliveries that ended, and the report of their drivers' performance. */
import { expect } from "vitest";
import { newDelivery } from "./assignments.ts";
import { sql } from "./db.ts";
import type { Tenant } from "./people.ts";

/** The parameters of the report. */
export type ReportQuery = Record<string, string | number | object>;

/** A delivery that ended, straight in the database, with the driver it ended with. */
export async function newEnded(
  tenant: Tenant,
  driver: string,
  columns: Record<string, unknown> = {},
  assignment = "completed",
): Promise<string> {
  const id = await newDelivery(tenant, {
    status: "delivered",
    created_at: "2026-03-10T10:00:00Z",
    picked_up_at: "2026-03-10T11:00:00Z",
    delivered_at: "2026-03-10T11:30:00Z",
    distance_km: 4,
    cod_amount: 500,
    ...columns,
  });
  await assign(tenant, id, driver, assignment);
  // No move wrote this row, so the change is recorded by hand.
  await sql`insert into delivery.performance_changes (tenant_id, delivery_id) values (${tenant.id}, ${id})`;
  return id;
}

/** An assignment of a delivery, straight in the database, as long as what was ordered. */
export function assign(
  tenant: { id: string },
  delivery: string,
  driver: string,
  status: string,
  at = "2026-03-10T10:30:00Z",
) {
  return sql`insert into delivery.assignments (tenant_id, delivery_id, driver_id, status, units, assignment_time, route_details)
    select tenant_id, id, ${driver}, ${status}, 1, ${at}, jsonb_build_object('distance_km', distance_km)
    from delivery.deliveries where tenant_id = ${tenant.id} and id = ${delivery}`;
}

/** Counts what changed since the last time. */
export function refreshPerformance(tenant: { id: string }) {
  return sql`select delivery.performance_refresh(${tenant.id})`;
}

/** The report as operations read it. */
export async function reportOf(tenant: Tenant, query: ReportQuery = {}) {
  const answer = await tenant.ops.get("/delivery/driver-performance", { query });
  expect(answer).toSucceed(200);
  return answer.body;
}
