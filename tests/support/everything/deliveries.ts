/** A row in every table of deliveries and of those who carry them. */
import type { Added, Adding } from "./rows.ts";

export async function addDeliveries({ one, made }: Adding): Added {
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
    status: "returned",
    units: 1,
  });
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
  return { delivery_item, delivery_exception, bulk, assignment, handoff };
}
