/** Transfers of stock between two warehouses. */
import type { Tenant } from "./people.ts";
import { newBin, newShelf, newWarehouse } from "./warehouses.ts";

/** Two warehouses, ten units in the first and none in the second, and a transfer between them. */
export async function newRoute(tenant: Tenant, quantity = 10) {
  const { warehouse: source, bin: source_bin_id, item: item_id } = await newShelf(tenant, quantity);
  const destination = await newWarehouse(tenant);
  const destination_bin_id = await newBin(tenant, destination);
  const line = (more: object = {}) => ({
    item_id,
    quantity: 4,
    source_bin_id,
    destination_bin_id,
    ...more,
  });
  const body = (more: object = {}, ...lines: object[]) => ({
    source_warehouse_id: source,
    destination_warehouse_id: destination,
    items: lines.length ? lines : [line()],
    ...more,
  });
  return { source, destination, source_bin_id, destination_bin_id, item_id, line, body };
}
