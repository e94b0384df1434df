import { feature, serve } from "../../shared/http/serve.ts";

export default serve("warehousing", [
  feature(
    "receiving-orders",
    async () => (await import("./receiving-orders/routes.ts")).receivingOrders,
  ),
  feature("warehouses", async () => [
    ...(await import("./warehouses/routes.ts")).warehouses,
    ...(await import("./warehouses/places.ts")).warehousePlaces,
  ]),
  feature(["inventory-items", "inventory"], async () => [
    ...(await import("./inventory/routes.ts")).inventory,
    ...(await import("./inventory-counts/routes.ts")).inventoryCounts,
  ]),
  feature(
    "inventory-transfers",
    async () => (await import("./inventory-transfers/routes.ts")).inventoryTransfers,
  ),
  feature(
    "picking-orders",
    async () => (await import("./picking-orders/routes.ts")).pickingOrders,
  ),
  feature(
    "stock-reconciliation",
    async () => (await import("./stock-reconciliation/routes.ts")).stockReconciliation,
  ),
  feature("dashboard", async () => (await import("./dashboard/routes.ts")).dashboard),
  feature(
    "sorting-sessions",
    async () => (await import("./sorting-sessions/routes.ts")).sortingSessions,
  ),
  feature(
    "package-transfers",
    async () => (await import("./package-transfers/routes.ts")).packageTransfers,
  ),
  feature("waybills", async () => (await import("./waybills/routes.ts")).waybills),
  feature("package-scan", async () => (await import("./package-scan/routes.ts")).packageScan),
]);
