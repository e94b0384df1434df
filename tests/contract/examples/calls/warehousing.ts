/** Warehouses: what lies in them, comes in, goes out and moves between them. */
import { sql } from "../../../support/db.ts";
import { newStaff } from "../../../support/packages.ts";
import { newPerson } from "../../../support/people.ts";
import { line, pickingOrders } from "../../../support/picking.ts";
import { newBin, newShelf, newWarehouse } from "../../../support/warehouses.ts";
import type { Call, Calls } from "../call.ts";

/** A shelf with ten of an item, and another one in another warehouse. */
const shelf: Pick<Call, "before"> = {
  before: async ({ tenant }) => {
    const { warehouse, bin, item } = await newShelf(tenant);
    const other_warehouse = await newWarehouse(tenant);
    return {
      things: {
        warehouse,
        bin,
        inventory_item: item,
        near_bin: await newBin(tenant, warehouse),
        other_warehouse,
        other_bin: await newBin(tenant, other_warehouse),
      },
    };
  },
};

const picking: Pick<Call, "before"> = {
  before: async ({ tenant }) => {
    const made = await newShelf(tenant);
    const { body } = await tenant.ops.post(pickingOrders, {
      warehouse_id: made.warehouse,
      order_type: "individual",
      status: "pending",
      item_details: [line(made)],
    });
    return {
      things: { picking_order: body.order.id, inventory_item: made.item, bin: made.bin },
    };
  },
};

const some = (quantity: number) => ({ inventory_item, bin }: Record<string, unknown>) => ({
  item_id: inventory_item,
  bin_id: bin,
  quantity,
});

export const warehousing: Calls = {
  "PUT /warehousing/receiving-orders/:receiving_order_id": {
    alone: "received",
    body: ({ inventory_item, bin }) => ({
      status: "received",
      item_details: [{
        item_id: inventory_item,
        bin_id: bin,
        received_quantity: 1,
        condition: "good",
      }],
    }),
  },
  "POST /warehousing/warehouses": {
    body: ({ address }) => ({
      name: "Kadhimiya warehouse",
      code: "WH-KDM",
      address_id: address,
      total_capacity: 5_000,
      features: { dock_doors: 4, refrigeration: true },
    }),
  },
  "PUT /warehousing/warehouses/:warehouse_id": { body: () => ({ total_capacity: 6_000 }) },
  "DELETE /warehousing/warehouses/:warehouse_id": {
    before: async ({ tenant }) => ({ things: { warehouse: await newWarehouse(tenant) } }),
  },
  "PUT /warehousing/warehouses/:warehouse_id/carriers/:carrier_code": {
    ...carrier(),
    body: () => ({ external_id: "HUB-1", external_name: "Baghdad hub" }),
  },
  "DELETE /warehousing/warehouses/:warehouse_id/carriers/:carrier_code": carrier(),
  "POST /warehousing/warehouses/:warehouse_id/bins": {
    body: () => ({ code: "A-02", name: "Shelf A-02", location_type: "BIN", capacity: 40 }),
  },
  "PUT /warehousing/warehouses/:warehouse_id/bins/:bin_id": {
    body: () => ({ name: "Shelf A-01", capacity: 60 }),
  },
  "POST /warehousing/warehouses/:warehouse_id/staff": {
    before: async ({ tenant }) => ({
      things: { user: (await newPerson(tenant.id, "staff", "warehouse_staff")).id },
    }),
    body: ({ user }) => ({ user_id: user, employee_id: "E-18", role: "picker" }),
  },
  "POST /warehousing/inventory-items": {
    body: () => ({ name: "Bubble wrap", sku: "WRAP-50", brand: "Packwell", unit_size: 1 }),
  },
  "POST /warehousing/inventory-items/import": {
    body: () => ({ name: "Packing tape", sku: "TAPE-48", brand: "Packwell", unit_size: 1 }),
  },
  "PUT /warehousing/inventory-items/:inventory_item_id": { body: () => ({ brand: "Packwell" }) },
  "POST /warehousing/inventory/receipts": {
    ...shelf,
    body: (things) => ({
      warehouse_id: things.warehouse,
      transaction_type: "receive",
      notes: "Delivered by the supplier",
      items: [some(12)(things)],
    }),
  },
  "POST /warehousing/inventory/returns": {
    ...shelf,
    body: (things) => ({
      warehouse_id: things.warehouse,
      reason: "The customer sent it back",
      items: [{ ...some(1)(things), status: "available" }],
    }),
  },
  "POST /warehousing/inventory/write-offs": {
    ...shelf,
    body: (things) => ({
      warehouse_id: things.warehouse,
      reason: "Broken",
      items: [{ ...some(1)(things), note: "Fell from the shelf" }],
    }),
  },
  "POST /warehousing/inventory/moves": {
    ...shelf,
    body: ({ warehouse, inventory_item, bin, near_bin }) => ({
      warehouse_id: warehouse,
      items: [{ item_id: inventory_item, from_bin_id: bin, to_bin_id: near_bin, quantity: 3 }],
    }),
  },
  "POST /warehousing/inventory/adjustments": {
    ...shelf,
    body: ({ warehouse, inventory_item, bin }) => ({
      warehouse_id: warehouse,
      item_id: inventory_item,
      bin_id: bin,
      delta: -1,
      reason: "One less than recorded",
    }),
  },
  "POST /warehousing/inventory/counts": {
    ...shelf,
    body: ({ warehouse, inventory_item, bin }) => ({
      warehouse_id: warehouse,
      notes: "Count of the month",
      items: [{ item_id: inventory_item, bin_id: bin, counted: 9 }],
    }),
  },
  "POST /warehousing/inventory-transfers": {
    ...shelf,
    body: ({ warehouse, other_warehouse, inventory_item, bin, other_bin }) => ({
      source_warehouse_id: warehouse,
      destination_warehouse_id: other_warehouse,
      items: [{
        item_id: inventory_item,
        quantity: 4,
        source_bin_id: bin,
        destination_bin_id: other_bin,
      }],
    }),
  },
  "POST /warehousing/picking-orders": {
    ...shelf,
    body: (things) => ({
      warehouse_id: things.warehouse,
      order_type: "individual",
      status: "pending",
      item_details: [some(2)(things)],
      external_reference: "ORDER-1042",
      priority: 1,
    }),
  },
  "PUT /warehousing/picking-orders/:picking_order_id": {
    ...picking,
    body: () => ({ status: "in_progress", priority: 2 }),
  },
  "POST /warehousing/picking-orders/:picking_order_id/progress": {
    ...picking,
    body: ({ inventory_item, bin }) => ({
      status: "in_progress",
      items: [{ item_id: inventory_item, bin_id: bin, picked_quantity: 1 }],
    }),
  },
  "GET /warehousing/dashboard": {
    by: "staff",
    before: async ({ tenant, things }) => {
      await newStaff(tenant, things.warehouse, tenant.staff.id, "E-19");
      return {};
    },
    query: ({ warehouse }) => ({ warehouse_id: warehouse }),
  },
};

/** A carrier of all tenants, which calls a warehouse by a name of its own. */
function carrier(): Pick<Call, "before"> {
  return {
    before: async ({ tenant }) => {
      const [{ code }] = await sql`select code from integration.carriers
        where is_active and not is_internal and code <> 'simulated' order by position limit 1`;
      const warehouse = await newWarehouse(tenant);
      await tenant.admin.put(`/warehousing/warehouses/${warehouse}/carriers/${code}`, {
        external_id: "HUB-1",
      });
      return { things: { warehouse, carrier: code } };
    },
  };
}
