import type { ErrorCode } from "../../../shared/errors/errors.ts";

/** The refusals of making a waybill, by either path. */
export const waybillRefusals: readonly ErrorCode[] = [
  "warehouse_not_found",
  "warehouses_must_differ",
  "no_transferable_packages",
  "destination_warehouse_required",
  "new_delivery_defaults_required",
  "insufficient_stock",
  "customer_not_found",
  "service_not_found",
  "delivery_service_not_available",
  "customer_required_for_wallet",
  "wallet_is_the_senders",
  "invalid_package",
  "invalid_coordinates",
  "unit_size_or_dimensions_required",
  "can_not_use_this_delivery_for_this_unit_size",
];
