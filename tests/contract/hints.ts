/** Requirements of an endpoint beyond its schemas. */
import type { Things } from "../support/everything.ts";

/** Rules that schemas cannot express: fields that exclude or require each other, values of a kind. */
export const hints: Record<string, (things: Things, asked?: string) => Record<string, unknown>> = {
  "POST /delivery/transfer-manifest-items/bulk/set-destination": ({ address, service }) => ({
    destination_address_id: address,
    delivery_service_id: service,
  }),
  "POST /delivery/transfer-manifest-items/bulk/change-destination": ({ address }) => ({
    destination_address_id: address,
  }),
  "POST /delivery/transfer-manifest-items/bulk/validate": ({ item }) => ({ identifiers: [item] }),
  "POST /delivery/transfer-manifest-items/bulk/resolve-exceptions": ({ item }) => ({
    item_ids: [item],
    outcome: "reprocess",
  }),
  "POST /delivery/transfer-manifest-exceptions": ({ item }) => ({
    manifest_item_id: item,
    reason: "damaged",
  }),
  "POST /delivery/public/tracking/:token/answer": () => ({ note: "Ring twice" }),
  "POST /delivery/transfer-manifests": () => ({ creation_source: "form" }),
  "PATCH /delivery/transfer-manifests/:manifest_id": ({ point }) => ({
    destination_processing_point_id: point,
  }),
  "POST /tenants/me/api-keys": () => ({
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  }),
  "POST /delivery/transfer-manifests/:manifest_id/proofs": () => ({
    stage: "pickup",
    photo_urls: ["https://example.test/photo.jpg"],
  }),
  "POST /delivery/deliveries": ordering,
  "POST /delivery/deliveries/import": ordering,
  "POST /delivery/deliveries/:delivery_id/outcome": (_, asked) =>
    asked === "items" ? { result: "partial" } : {},
  "POST /delivery/deliveries/:delivery_id/redirect": ({ address }) => ({
    dropoff_address_id: address,
  }),
  "PATCH /delivery/deliveries/:delivery_id": () => ({ notes: "Second floor" }),
  "PUT /delivery/deliveries/:delivery_id": () => ({ notes: "Second floor" }),
  "PUT /warehousing/receiving-orders/:receiving_order_id": ({ bin }, asked) =>
    asked === "item_details" ? {} : { item_details: [{ bin_id: bin }] },
  "GET /warehousing/sorting-sessions": ({ warehouse }) => ({ warehouse_id: warehouse }),
  "POST /warehousing/package-transfers": travelling,
  "POST /warehousing/waybills": travelling,
  "POST /delivery/services": restricted,
  "PUT /delivery/services/:serviceId": restricted,
  "GET /delivery/price": () => ({ units: "1" }),
  "POST /delivery/assignments": ({ driver }) => ({ driver_id: driver }),
  "POST /delivery/drivers": ({ driver }) => ({ user_id: driver }),
  "POST /delivery/zones": () => ({
    polygon: { type: "Polygon", coordinates: [[[44, 33], [45, 33], [45, 34], [44, 33]]] },
  }),
  "POST /delivery/cod-collections/remit": settling,
  "POST /delivery/cod-collections/settle-by-wallet": settling,
  "POST /delivery/cod-collections/handover": ({ driver }) => ({ driver_id: driver }),
  "POST /delivery/cod-collections/handovers/:id/resolve": () => ({
    resolution: "recounted",
    counted_amount: 100,
  }),
  "POST /delivery/cash-desks/refunds/:refund_id/pay": ({ cashier }) => ({ from_user_id: cashier }),
  "POST /delivery/cash-desks/transfers": ({ cashier }, asked) => ({
    from_user_id: cashier,
    ...(asked === "to_user_id" ? { kind: "handover" } : {}),
    ...(asked === "wallet_id" ? { kind: "wallet_payout", reference: "R-1" } : {}),
  }),
  "POST /carriers/tenant/:carrier_code/remittances": () => ({ currency: "IQD" }),
  "GET /delivery/cod-settlements/:settlement_payment_id/verify": () => ({ hash: "0".repeat(32) }),
  "GET /delivery/merchant-statements/verify": () => ({ hash: "0".repeat(32) }),
  "POST /storefront/custom-domain/connect": () => ({ custom_domain: "shop.example.com" }),
  "POST /tenants/:tenantId/users": () => ({ tenant_user_type: "customer" }),
  "POST /tenants/:tenantId/members": () => ({ tenant_user_type: "customer" }),
  "POST /webhooks/subscriptions": () => ({
    url: "http://127.0.0.1:9/hook",
    event_types: ["delivery.*"],
  }),
  "PUT /webhooks/subscriptions/:subscription_id": () => ({ url: "http://127.0.0.1:9/hook" }),
  "POST /warehousing/warehouses": forFew,
  "PUT /warehousing/warehouses/:warehouse_id": forFew,
  "PUT /tenants/:tenantId/settings": () => ({
    general: { language: { settings: { default: "en" } } },
  }),
};

/** From one address to another, for somebody. */
function ordering(
  { address, user, service, delivery }: Things,
  asked?: string,
): Record<string, unknown> {
  return {
    delivery_service_id: service,
    ...(asked === "pickup_location" ? {} : { pickup_address_id: address }),
    ...(asked === "delivery_location" ? {} : { dropoff_address_id: address }),
    ...(asked === "institution_user_id" ? {} : { customer_id: user }),
    payment_method: "cash",
    ...(asked === "original_delivery_id" ? { delivery_flow: "customer_return" } : {}),
    ...(asked === "return_items"
      ? { delivery_flow: "customer_return", original_delivery_id: delivery }
      : {}),
    ...(asked === "warehouse_id" ? { staged: true } : {}),
    unit_size: 1,
  };
}

/** One parcel, or a piece of inventory with the terms of its delivery. */
function travelling(things: Things, asked?: string): Record<string, unknown> {
  const { delivery, other_warehouse, user, service } = things;
  return {
    mode: "delivery_operation",
    operation_type: "waybill",
    destination_warehouse_id: other_warehouse,
    ...(asked === "inventory_item_ids" ? {} : { delivery_ids: [delivery] }),
    new_delivery_defaults: {
      customer_id: user,
      delivery_service_id: service,
      payer_type: "sender",
      payment_method: "cash",
    },
  };
}

/** Cash by its rows or by its driver. */
function settling({ driver }: Things, asked?: string): Record<string, unknown> {
  return asked === "cod_collection_ids"
    ? { scope: "selected" }
    : { scope: "all", driver_id: driver };
}

/** A service for few people and places; otherwise nobody looks at the ids it comes with. */
function restricted({ user, zone, tag }: Things, asked?: string): Record<string, unknown> {
  const byTag = asked === "zone_tag_ids";
  return {
    access_mode: "select_users",
    user_ids: [user],
    zone_access_mode: "select_zones",
    zone_selector_type: byTag ? "tag" : "zone",
    ...(byTag ? { zone_tag_ids: [tag] } : { zone_ids: [zone] }),
  };
}

/** A warehouse for few people. */
function forFew({ user }: Things): Record<string, unknown> {
  return { access_mode: "select_users", user_ids: [user] };
}

/** Where one of these is asked for, the others of its line go. */
export const exclusive = [
  ["destination_branch_id", "destination_address_id"],
  ["manifest_item_id", "barcode_value"],
  ["item_ids", "manifest_id"],
  ["identifiers", "barcodes"],
  ["carrier_collection_ids", "delivery_ids"],
];
