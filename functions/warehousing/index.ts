import { feature, serve } from "../../shared/serve.ts";

export default serve("warehousing", [
  feature("warehouses", async () => [
    ...(await import("./warehouses/routes.ts")).warehouses,
    ...(await import("./warehouses/places.ts")).warehousePlaces,
  ]),
  feature(["inventory-items", "inventory"], async () => [
    ...(await import("./inventory/routes.ts")).inventory,
  ]),
  feature(
    "inventory-transfers",
    async () => (await import("./inventory-transfers/routes.ts")).inventoryTransfers,
  ),
  feature(
    "picking-orders",
    async () => (await import("./picking-orders/routes.ts")).pickingOrders,
  ),
  feature("dashboard", async () => (await import("./dashboard/routes.ts")).dashboard),
]);
