/** Statuses of deliveries, as the database keeps them. */
export const deliveryStatuses = [
  "draft",
  "pending",
  "assigned",
  "accepted",
  "picked_up",
  "in_transit",
  "delivered",
  "failed",
  "returned",
  "cancelled",
] as const;
