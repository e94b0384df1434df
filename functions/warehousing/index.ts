import { feature, serve } from "../../shared/http/serve.ts";

export default serve("warehousing", [
  feature(
    { "receiving-orders": "Receipts of parcels and goods that are expected." },
    async () => (await import("./receiving-orders/routes.ts")).receivingOrders,
  ),
  feature({ warehouses: "Warehouses, their bins and staff." }, async () => [
    ...(await import("./warehouses/routes.ts")).warehouses,
    ...(await import("./warehouses/places.ts")).warehousePlaces,
  ]),
  feature({
    "inventory-items": "Items that a company keeps in stock.",
    inventory: "Stock by place: receipts, moves, adjustments, counts, returns, write-offs.",
  }, async () => [
    ...(await import("./inventory/routes.ts")).inventory,
    ...(await import("./inventory-counts/routes.ts")).inventoryCounts,
  ]),
  feature(
    { "inventory-transfers": "Transfers of stock between bins and warehouses." },
    async () => (await import("./inventory-transfers/routes.ts")).inventoryTransfers,
  ),
  feature(
    { "picking-orders": "Picking of goods, from the order to the driver." },
    async () => (await import("./picking-orders/routes.ts")).pickingOrders,
  ),
  feature(
    { "stock-reconciliation": "Stock, movements and orders compared: differences by name." },
    async () => (await import("./stock-reconciliation/routes.ts")).stockReconciliation,
  ),
  feature(
    { dashboard: "A warehouse's figures of today." },
    async () => (await import("./dashboard/routes.ts")).dashboard,
  ),
  feature(
    { "sorting-sessions": "Sorting of parcels into cages by destination." },
    async () => (await import("./sorting-sessions/routes.ts")).sortingSessions,
  ),
  feature(
    { "package-transfers": "Transfers of parcels between warehouses, with their waybills." },
    async () => (await import("./package-transfers/routes.ts")).packageTransfers,
  ),
  feature(
    { waybills: "Waybills from draft to receipt." },
    async () => (await import("./waybills/routes.ts")).waybills,
  ),
  feature(
    { "package-scan": "Everything about a scanned parcel, and what to do with it next." },
    async () => (await import("./package-scan/routes.ts")).packageScan,
  ),
], async () => (await import("../../shared/dispatch/jobs.ts")).dispatchJobs);
