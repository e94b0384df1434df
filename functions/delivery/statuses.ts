/** Statuses of transfer manifests and of their items, as the database keeps them. */
export const manifestStatuses = [
  "draft",
  "picked_up",
  "in_transit",
  "awaiting_receipt",
  "receiving",
  "received",
  "received_with_exceptions",
  "processing",
  "completed",
  "cancelled",
] as const;
export const itemStatuses = [
  "picked_up",
  "in_transit",
  "received",
  "scanned",
  "processing",
  "order_created",
  "void",
] as const;
/** Kinds of deliveries, as the database keeps them. */
export const deliveryFlows = [
  "standard",
  "pnd_parent",
  "pnd_inbound",
  "pnd_outbound",
  "operational_return",
  "customer_return",
] as const;
