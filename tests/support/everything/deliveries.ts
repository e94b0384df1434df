/** A row in every table of deliveries and of those who carry them. */
import { randomBytes } from "node:crypto";
import type { Added, Adding } from "./rows.ts";

export async function addDeliveries({ one, made, tenant }: Adding): Added {
  const { delivery, driver, vehicle } = made;
  const delivery_item = await one("delivery.delivery_items", {
    delivery_id: delivery,
    position: 1,
    name: "Shoes",
  });
  await one("delivery.delivery_proofs", {
    delivery_id: delivery,
    stage: "delivery",
    kind: "photo",
    url: "proofs/photo.jpg",
  });
  const delivery_exception = await one("delivery.delivery_exceptions", {
    delivery_id: delivery,
    type: "damaged",
  });
  await one("delivery.return_requests", {
    delivery_id: delivery,
    requested_by: tenant.customer.id,
  });
  const amount_change = await one("delivery.amount_changes", {
    delivery_id: delivery,
    old_cod_amount: 2,
    new_cod_amount: 1,
    currency: "IQD",
    reason: "Agreed",
    status: "declined",
    requested_by: tenant.customer.id,
    decided_by: tenant.admin.id,
    decided_at: new Date(),
  });
  await one("delivery.tracking_links", {
    delivery_id: delivery,
    created_by: tenant.customer.id,
  });
  await one("delivery.recipient_answers", {
    delivery_id: delivery,
    wanted_day: "2031-01-02",
    note: "The blue door",
    latitude: 36.19,
    longitude: 44.01,
  });
  await one("delivery.redirects", {
    delivery_id: delivery,
    before: { recipient: { name: "Before" } },
    charged: "cash",
    difference: 1,
    redirected_by: tenant.admin.id,
  });
  const imported = await one("delivery.delivery_imports", {
    content_hash: randomBytes(32),
    created_by: tenant.customer.id,
  });
  await one(
    "delivery.delivery_import_lines",
    { delivery_id: delivery, import_id: imported, line: 2 },
    "delivery_id",
  );
  const bulk = await one("delivery.bulk_assignments", {
    driver_id: driver,
    assignment_count: 1,
    total_units: 1,
  });
  const assignment = await one("delivery.assignments", {
    delivery_id: delivery,
    driver_id: driver,
    vehicle_id: vehicle,
    bulk_assignment_id: bulk,
    status: "accepted",
    units: 1,
  });
  await one("delivery.outcomes", {
    delivery_id: delivery,
    result: "failed",
    from_status: "in_transit",
    assignment_id: assignment,
    driver_id: driver,
    before: {},
    last_move_id: 1,
    reported_by: driver,
  });
  const driver2 = tenant.driver2.id;
  await one("delivery.drivers", { user_id: driver2 }, "user_id");
  await one("public.delivery_realtime_assignments", {
    driver_id: driver,
    bulk_assignment_id: bulk,
    is_bulk: true,
    assignment_status: "returned",
    total_units: 1,
  });
  const handoff = await one("delivery.package_handoffs", {
    delivery_id: delivery,
    picking_order_id: made.picking_order,
    warehouse_id: made.warehouse,
    assignment_id: assignment,
    driver_id: driver,
    status: "cancelled",
  });
  await one("delivery.performance_changes", { delivery_id: delivery });
  const period = { driver_id: driver, period_year: 2026, period_month: 1 };
  await one(
    "delivery.performance_deliveries",
    { ...period, delivery_id: delivery, successful: false, value: 0 },
    "delivery_id",
  );
  await one("delivery.driver_performance", {
    ...period,
    total_deliveries: 1,
    successful_deliveries: 0,
    failed_deliveries: 1,
    on_time_deliveries: 0,
    late_deliveries: 0,
    timed_deliveries: 0,
    total_minutes: 0,
    measured_deliveries: 0,
    total_distance_km: 0,
    total_delivery_value: 0,
  }, "driver_id");
  await one("delivery.performance_state", {}, "tenant_id");
  return {
    import: imported,
    driver2,
    delivery_item,
    amount_change,
    delivery_exception,
    bulk,
    assignment,
    handoff,
  };
}
