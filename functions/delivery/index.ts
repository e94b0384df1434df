import { feature, serve } from "../../shared/http/serve.ts";

export default serve("delivery", [
  feature({
    "transfer-manifest-items":
      "The bulk scan: search, validate, and make the delivery orders of scanned parcels.",
    "transfer-manifest-exceptions":
      "Parcels that cannot be received as they are, and their resolution.",
    internal: "",
  }, async () => [
    ...(await import("./manifest-items/routes.ts")).manifestItems,
    ...(await import("./manifest-exceptions/routes.ts")).manifestExceptions,
  ]),
  feature({
    "transfer-manifests":
      "Manifests of parcels that drivers bring from merchants, from the first scan to completion.",
  }, async () => [
    ...(await import("./manifests/routes.ts")).manifests,
    ...(await import("./manifests/steps.ts")).manifestSteps,
    ...(await import("./manifests/proofs.ts")).manifestProofs,
  ]),
  feature(
    { "transfer-processing-points": "Places where manifests arrive and are received." },
    async () => (await import("./processing-points/routes.ts")).processingPoints,
  ),
  feature({
    institutions: "Merchants that send parcels.",
    "institution-branches": "Branches of merchants, with the address parcels are fetched from.",
  }, async () => [
    ...(await import("./institutions/routes.ts")).institutions,
    ...(await import("./branches/routes.ts")).branches,
  ]),
  feature(
    { "transfer-manifest-barcode-batches": "Barcodes printed in advance for merchants." },
    async () => (await import("./barcode-batches/routes.ts")).barcodeBatches,
  ),
  feature(
    { "shipment-labels": "Labels of deliveries as PDF, up to 500 at once." },
    async () => (await import("./shipment-labels/routes.ts")).shipmentLabels,
  ),
  // Deliveries under way
  feature(
    { deliveries: "Deliveries from draft to door: orders, pickup, completion, failure, return." },
    async () => [
      ...(await import("./deliveries/routes.ts")).deliveries,
      ...(await import("./imports/routes.ts")).deliveryImports,
    ],
  ),
  feature({
    "deliveries/*": "",
    "attempt-reasons": "Why attempts do not deliver, as the company words it.",
    "delivery-exceptions": "Problems of a delivery that keep it from being assigned.",
  }, async () => [
    ...(await import("./deliveries/office.ts")).deliveryInOffice,
    ...(await import("./deliveries/moves.ts")).deliveryMoves,
    ...(await import("./outcomes/routes.ts")).outcomes,
    ...(await import("./return-requests/routes.ts")).returnRequests,
    ...(await import("./amount-changes/routes.ts")).amountChanges,
    ...(await import("./redirects/routes.ts")).redirects,
    ...(await import("./deliveries/warehouse.ts")).deliveryInWarehouse,
    ...(await import("./imports/routes.ts")).importCancellation,
    ...(await import("./auto-assignment/routes.ts")).autoAssignment,
    ...(await import("./delivery-exceptions/routes.ts")).deliveryExceptions,
  ]),
  feature({
    "tracking-links": "Addresses by which recipients follow their parcels.",
    public: "A parcel as its recipient follows it and answers, without an account.",
    "recipient-answers": "What recipients answered by their links.",
  }, async () => (await import("./tracking/routes.ts")).tracking),
  feature(
    { handoffs: "Handovers of parcels between warehouses and drivers." },
    async () => (await import("./handoffs/routes.ts")).handoffs,
  ),
  feature(
    { addresses: "Address books of customers, merchants and the office." },
    async () => (await import("./addresses/routes.ts")).addresses,
  ),
  feature(
    { zones: "Areas that a company serves.", "zone-tags": "Labels that group zones." },
    async () => (await import("./zones/routes.ts")).zones,
  ),
  feature(
    { services: "Delivery services: prices, sizes, zones and policies." },
    async () => (await import("./services/routes.ts")).services,
  ),
  feature(
    { price: "The price of a delivery before it is ordered." },
    async () => (await import("./price/routes.ts")).price,
  ),
  feature(
    { "delivery-types": "Kinds of delivery that services build on." },
    async () => (await import("./delivery-types/routes.ts")).deliveryTypes,
  ),
  feature({
    drivers: "Drivers, their teams and what they may carry.",
    vehicles: "Vehicles and their capacity.",
  }, async () => [
    ...(await import("./fleet/routes.ts")).fleet,
    ...(await import("./driver-positions/routes.ts")).driverPositions,
  ]),
  feature(
    { board: "Drivers, unassigned deliveries and late ones at one look." },
    async () => (await import("./board/routes.ts")).board,
  ),
  feature({
    "cod-collections":
      "Cash that drivers collected, and its settlement: remittance, wallet, counted handovers.",
    "cod-summary": "Cash that drivers hold, by driver and currency.",
    "cod-settlements": "Settlements of cash, their receipts and reversals.",
    "cod-reconciliation": "Cash rows, settlements and ledger compared: differences by name.",
  }, async () => [
    ...(await import("./cod/routes.ts")).cod,
    ...(await import("./cod/receipts.ts")).codReceipts,
    ...(await import("./cod/settlements.ts")).codSettlements,
    ...(await import("./cod/handovers.ts")).cashHandovers,
  ]),
  feature(
    { "cash-desks": "Cash at the desks of the office: balances, transfers, refunds." },
    async () => [
      ...(await import("./cash-desks/routes.ts")).cashDesks,
      ...(await import("./cash-desks/refunds.ts")).cashRefunds,
      ...(await import("./cash-desks/movements.ts")).cashDeskMovements,
    ],
  ),
  feature(
    { "driver-pay": "What drivers earn with deliveries, and what is paid out to them." },
    async () => (await import("./driver-pay/routes.ts")).driverPayEndpoints,
  ),
  feature({
    "merchant-statements": "Statements of what merchants are due, and their payouts.",
    "merchant-balances": "What is on the wallets of merchants, and where the cash of it is.",
  }, async () => [
    ...(await import("./merchant-statements/routes.ts")).merchantStatements,
    ...(await import("./merchant-balances/routes.ts")).merchantBalances,
  ]),
  feature(
    { revenue: "Fees that a company earned with deliveries, and their direct costs." },
    async () => (await import("./revenue/routes.ts")).revenue,
  ),
  feature(
    { wallets: "Balances of people and of the company, with every movement." },
    async () => (await import("./wallets/routes.ts")).walletEndpoints,
  ),
  feature({
    assignments: "Assignments of deliveries to drivers, their answers, and the order of stops.",
  }, async () => [
    ...(await import("./assignments/routes.ts")).assignments,
    ...(await import("./assignments/sequence.ts")).sequence,
    ...(await import("./self-assignment/routes.ts")).selfAssignment,
  ]),
  feature({
    "driver-performance": "Figures of drivers by month, refreshed every quarter of an hour.",
  }, async () => (await import("./driver-performance/routes.ts")).driverPerformance),
], async () => (await import("./jobs.ts")).jobs);
