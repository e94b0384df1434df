import { feature, serve } from "../../shared/http/serve.ts";

export default serve("delivery", [
  feature(
    ["transfer-manifest-items", "transfer-manifest-exceptions", "internal"],
    async () => [
      ...(await import("./manifest-items/routes.ts")).manifestItems,
      ...(await import("./manifest-exceptions/routes.ts")).manifestExceptions,
    ],
  ),
  feature("transfer-manifests", async () => [
    ...(await import("./manifests/routes.ts")).manifests,
    ...(await import("./manifests/steps.ts")).manifestSteps,
    ...(await import("./manifests/proofs.ts")).manifestProofs,
  ]),
  feature(
    "transfer-processing-points",
    async () => (await import("./processing-points/routes.ts")).processingPoints,
  ),
  feature(["institutions", "institution-branches"], async () => [
    ...(await import("./institutions/routes.ts")).institutions,
    ...(await import("./branches/routes.ts")).branches,
  ]),
  feature(
    "transfer-manifest-barcode-batches",
    async () => (await import("./barcode-batches/routes.ts")).barcodeBatches,
  ),
  feature(
    "shipment-labels",
    async () => (await import("./shipment-labels/routes.ts")).shipmentLabels,
  ),
  // Deliveries under way
  feature(["deliveries", "delivery-exceptions"], async () => [
    ...(await import("./deliveries/routes.ts")).deliveries,
    ...(await import("./deliveries/moves.ts")).deliveryMoves,
    ...(await import("./deliveries/warehouse.ts")).deliveryInWarehouse,
    ...(await import("./delivery-exceptions/routes.ts")).deliveryExceptions,
  ]),
  feature("handoffs", async () => (await import("./handoffs/routes.ts")).handoffs),
  feature("addresses", async () => (await import("./addresses/routes.ts")).addresses),
  feature(["zones", "zone-tags"], async () => (await import("./zones/routes.ts")).zones),
  feature("services", async () => (await import("./services/routes.ts")).services),
  feature("price", async () => (await import("./price/routes.ts")).price),
  feature(
    "delivery-types",
    async () => (await import("./delivery-types/routes.ts")).deliveryTypes,
  ),
  feature(["drivers", "vehicles"], async () => (await import("./fleet/routes.ts")).fleet),
  feature(["cod-collections", "cod-summary", "cod-settlements", "cod-reconciliation"], async () => [
    ...(await import("./cod/routes.ts")).cod,
    ...(await import("./cod/receipts.ts")).codReceipts,
    ...(await import("./cod/settlements.ts")).codSettlements,
    ...(await import("./cod/handovers.ts")).cashHandovers,
  ]),
  feature("cash-desks", async () => [
    ...(await import("./cash-desks/routes.ts")).cashDesks,
    ...(await import("./cash-desks/refunds.ts")).cashRefunds,
  ]),
  feature("wallets", async () => (await import("./wallets/routes.ts")).walletEndpoints),
  feature("assignments", async () => [
    ...(await import("./assignments/routes.ts")).assignments,
    ...(await import("./assignments/sequence.ts")).sequence,
  ]),
  feature(
    "driver-performance",
    async () => (await import("./driver-performance/routes.ts")).driverPerformance,
  ),
], async () => (await import("./jobs.ts")).jobs);
