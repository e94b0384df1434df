/** A row in every table of warehouses. */
import { randomUUID } from "node:crypto";
import type { Added, Adding } from "./rows.ts";

export async function addWarehousing({ tenant, one, next, made }: Adding): Added {
  const { warehouse, address } = made;
  const bin = await one("warehousing.bins", {
    warehouse_id: warehouse,
    code: `B${next()}`,
    name: "Bin",
  });
  const other_warehouse = await one("warehousing.warehouses", {
    name: "Other",
    code: `WO${next()}`,
    address_id: address,
  });
  const inventory_item = await one("warehousing.inventory_items", {
    name: "Box",
    sku: `SKU-${next()}`,
  });
  const stock = await one("warehousing.stock", {
    warehouse_id: warehouse,
    bin_id: bin,
    item_id: inventory_item,
    quantity: 5,
  });
  await one("warehousing.inventory_transactions", {
    transaction_type: "initial_stock",
    item_id: inventory_item,
    warehouse_id: warehouse,
    quantity: 6,
    to_stock_id: stock,
    to_bin_id: bin,
    to_status: "available",
  });
  const write_off = await one("warehousing.inventory_transactions", {
    transaction_type: "write_off",
    item_id: inventory_item,
    warehouse_id: warehouse,
    quantity: 1,
    from_stock_id: stock,
    from_bin_id: bin,
    from_status: "available",
    reference_type: "write_off",
    reference_id: randomUUID(),
    reason: "Broken",
    note: "Fell down",
    performed_by: tenant.admin.id,
  }, "reference_id");
  await one("warehousing.warehouse_users", {
    warehouse_id: warehouse,
    user_id: tenant.customer.id,
  }, "user_id");
  await one("warehousing.carrier_warehouses", {
    warehouse_id: warehouse,
    carrier_code: "none",
    external_id: "1",
  }, "warehouse_id");
  const other_bin = await one("warehousing.bins", {
    warehouse_id: other_warehouse,
    code: `B${next()}`,
    name: "Other bin",
  });
  const inventory_transfer = await one("warehousing.inventory_transfers", {
    reference_number: `INT-${next()}`,
    source_warehouse_id: warehouse,
    destination_warehouse_id: other_warehouse,
  });
  await one("warehousing.inventory_transfer_items", {
    transfer_id: inventory_transfer,
    position: 1,
    item_id: inventory_item,
    quantity: 1,
    source_warehouse_id: warehouse,
    source_bin_id: bin,
    destination_warehouse_id: other_warehouse,
    destination_bin_id: other_bin,
  });
  const inventory_count = await one("warehousing.inventory_counts", {
    warehouse_id: warehouse,
    lines: 1,
    differences: 0,
    units_found: 0,
    units_missing: 0,
  });
  await one("warehousing.inventory_count_lines", {
    count_id: inventory_count,
    position: 1,
    warehouse_id: warehouse,
    bin_id: bin,
    item_id: inventory_item,
    status: "available",
    expected: 5,
    reserved: 0,
    counted: 5,
  }, "count_id");
  const staff = await one("warehousing.warehouse_staff", {
    warehouse_id: warehouse,
    user_id: tenant.admin.id,
  });
  const picking_order = await one("warehousing.picking_orders", {
    reference_number: `PKO-${next()}`,
    warehouse_id: warehouse,
    order_type: "individual",
  });
  await one("warehousing.picking_order_items", {
    picking_order_id: picking_order,
    position: 1,
    warehouse_id: warehouse,
    item_id: inventory_item,
    bin_id: bin,
    quantity: 1,
  });
  const receiving_order = await one("warehousing.receiving_orders", {
    reference_number: `RCV-${next()}`,
    warehouse_id: warehouse,
    source: "supplier",
  });
  await one("warehousing.receiving_order_items", {
    receiving_order_id: receiving_order,
    position: 1,
    warehouse_id: warehouse,
    item_id: inventory_item,
    quantity: 1,
  });
  const waybill = await one("warehousing.waybills", {
    waybill_number: `WB-${next()}`,
    source_warehouse_id: warehouse,
    destination_warehouse_id: other_warehouse,
    driver_id: made.driver,
  });
  await one("warehousing.waybill_deliveries", {
    waybill_id: waybill,
    delivery_id: made.delivery,
    position: 1,
    is_open: false,
  }, "delivery_id");
  const discrepancy = await one("warehousing.waybill_discrepancies", {
    waybill_id: waybill,
    delivery_id: made.delivery,
    status: "resolved",
  });
  await one("warehousing.waybill_items", {
    waybill_id: waybill,
    delivery_id: made.delivery,
    item_id: inventory_item,
    quantity: 1,
  });
  const package_transfer = await one("warehousing.package_transfers", {
    mode: "system_only",
    source_warehouse_id: warehouse,
    destination_warehouse_id: other_warehouse,
  });
  await one("warehousing.package_transfer_deliveries", {
    transfer_id: package_transfer,
    delivery_id: made.delivery,
    position: 1,
  }, "delivery_id");
  const sorting_session = await one("warehousing.sorting_sessions", { warehouse_id: warehouse });
  const cage = await one("warehousing.bins", {
    warehouse_id: warehouse,
    code: `CAGE-${next()}`,
    name: "Cage",
    location_type: "CAGE",
    capacity: 10,
    is_temporary: true,
  });
  const sorting_assignment = await one("warehousing.sorting_assignments", {
    session_id: sorting_session,
    warehouse_id: warehouse,
    staff_id: staff,
    destination_type: "city",
    destination_value: "Baghdad",
    destination_key: "baghdad",
    cage_location_id: cage,
  });
  await one("warehousing.sorting_scans", {
    session_id: sorting_session,
    assignment_id: sorting_assignment,
    delivery_id: made.delivery,
  });
  return {
    bin,
    package_transfer,
    sorting_session,
    sorting_assignment,
    inventory_item,
    stock,
    staff,
    picking_order,
    receiving_order,
    waybill,
    discrepancy,
    other_warehouse,
    other_bin,
    inventory_transfer,
    inventory_count,
    write_off,
  };
}
