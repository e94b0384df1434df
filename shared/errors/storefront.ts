/** Refusals of a store: its market, its catalogue and its orders; part of the table in `errors.ts`. */
import type { Definition } from "./definition.ts";

export const storefrontErrors = {
  // Money
  wallet_not_found: 404,
  insufficient_wallet_balance: {
    status: 400,
    fields: ["balance", "required", "currency", "available"],
  },
  too_many_decimals: { status: 400, fields: ["field", "decimals"] },
  journal_already_booked: 409,
  adjustment_not_found: 404,
  adjustment_already_reversed: 409,
  adjustment_has_cash: 409,

  // Storefront: the market and its domain
  invalid_payment_method: { status: 400, fields: ["field"] },
  market_not_found: { status: 404, fields: ["field"] },
  market_already_exists: 409,
  invalid_store_name: { status: 400, fields: ["field"] },
  store_name_taken: { status: 400, fields: ["field"] },
  market_field_fixed: { status: 400, fields: ["field"] },
  invalid_directory_category: { status: 400, fields: ["field"] },
  market_currency_differs: { status: 400, fields: ["field", "currency"] },
  market_information_incomplete: { status: 400, fields: ["field"] },
  market_category_required: 400,
  market_not_approved: 409,
  invalid_custom_domain: { status: 400, fields: ["field"] },
  custom_domain_not_found: 404,
  custom_domain_taken: { status: 409, fields: ["field"] },
  custom_domain_already_connected: 409,

  // Storefront: the catalogue and what customers do with it
  category_not_found: { status: 404, fields: ["field"] },
  category_in_use: 409,
  product_not_found: 404,
  variant_not_found: { status: 404, fields: ["field"] },
  sku_already_exists: { status: 409, fields: ["field", "sku"], field: "variants" },
  review_not_found: 404,
  review_requires_purchase: 403,
  product_already_reviewed: 409,
  cart_not_found: { status: 404, fields: ["field"] },
  cart_not_active: { status: 409, fields: ["field"] },
  cart_item_not_found: 404,
  cart_quantity_exceeded: { status: 400, fields: ["field", "quantity_max"] },
  cart_full: 409,

  // Orders of a store
  order_not_found: 404,
  address_required: { status: 400, fields: ["field"] },
  order_not_pending: { status: 409, fields: ["status"] },
  order_not_paid: { status: 409, fields: ["payment_status"] },
  order_not_cancellable: { status: 409, fields: ["status"] },
  order_not_short: { status: 409, fields: ["status"] },
  order_nothing_picked: 409,
  order_nothing_to_redeliver: { status: 409, fields: ["status"] },
  goods_not_picked: { status: 409, fields: ["picking_order_id"] },
  order_has_delivery: { status: 409, fields: ["delivery_id"] },
  cart_empty: { status: 409, fields: ["field"] },
  cart_item_unavailable: { status: 409, fields: ["field", "variant_id", "product_name"] },
  nothing_to_refund: 409,
  refund_too_high: { status: 400, fields: ["field", "amount", "currency"] },
} as const satisfies Record<string, Definition>;
