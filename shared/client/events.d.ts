// Written by npm run api.
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    "api_key.expiring": {
      api_key_id: string; created_by: string | null; expires_at: string;
      /** Last characters of the secret, by which people know it */ hint: string | null; name: string;
    };
    "assignment.accepted": { actor_id: string; assignment_ids: unknown[]; delivery_ids: unknown[]; driver_id: string; status: string; };
    "assignment.created": {
      actor_id: string | null; assignment_ids: unknown[]; delivery_ids: unknown[]; driver_id: string; status: string;
      /** Sum of the units */ total_units: number;
    };
    "assignment.rejected": { actor_id: string; assignment_ids: unknown[]; delivery_ids: unknown[]; driver_id: string; status: string; };
    "assignment.returned": {
      actor_id: string | null; assignment_ids: unknown[]; delivery_id: string; delivery_ids: unknown[]; driver_id: string; status: string;
    };
    "bulk_assignment.accepted": {
      actor_id: string; assignment_ids: unknown[]; bulk_assignment_id: string; delivery_ids: unknown[]; driver_id: string; status: string;
    };
    "bulk_assignment.created": {
      actor_id: string | null; assignment_ids: unknown[]; bulk_assignment_id: string; delivery_ids: unknown[]; driver_id: string; status: string;
      /** Sum of the units */ total_units: number;
    };
    "bulk_assignment.rejected": {
      actor_id: string; assignment_ids: unknown[]; bulk_assignment_id: string; delivery_ids: unknown[]; driver_id: string; status: string;
    };
    "carrier_cash.unbooked": {
      /** Money in major units of `currency` */ amount: number;
      /** Name of the carrier in the system; null: the tenant's own drivers */ carrier_code: string;
      /** ISO 4217, three capital letters */ currency: string; delivery_id: string; /** What became of it */ outcome: string; shipment_id: string;
      status: string;
    };
    "carrier_remittance.created": {
      actor_id: string | null; /** Money in major units of `currency` */ amount: number;
      /** Name of the carrier in the system; null: the tenant's own drivers */ carrier_code: string; carrier_remittance_id: string;
      collections: number; /** ISO 4217, three capital letters */ currency: string; kind: string;
      /** Number on the paper or in the other system */ reference: string;
    };
    "carrier_remittance.reversed": {
      actor_id: string | null; /** Money in major units of `currency` */ amount: number;
      /** Name of the carrier in the system; null: the tenant's own drivers */ carrier_code: string; carrier_remittance_id: string;
      collections: number; /** ISO 4217, three capital letters */ currency: string; kind: string;
      /** Number on the paper or in the other system */ reference: string;
    };
    "carrier_return.refund_due": {
      /** Money in major units of `currency` */ amount: number;
      /** Name of the carrier in the system; null: the tenant's own drivers */ carrier_code: string;
      /** ISO 4217, three capital letters */ currency: string; delivery_id: string;
    };
    "cash_handover.cancelled": {
      actor_id: string | null; cash_handover_id: string; /** Cash that the receiver counted, in major units */ counted_amount: number | null;
      /** ISO 4217, three capital letters */ currency: string; /** Cash that the driver says to hand over, in major units */ declared_amount: number;
      driver_id: string; settlement_payment_id: string | null;
    };
    "cash_handover.counted": {
      actor_id: string | null; cash_handover_id: string; /** Cash that the receiver counted, in major units */ counted_amount: number;
      /** ISO 4217, three capital letters */ currency: string; /** Cash that the driver says to hand over, in major units */ declared_amount: number;
      driver_id: string; settlement_payment_id: string | null;
    };
    "cash_handover.discrepancy": {
      actor_id: string | null; cash_handover_id: string; /** Cash that the receiver counted, in major units */ counted_amount: number;
      /** ISO 4217, three capital letters */ currency: string; /** Cash that the driver says to hand over, in major units */ declared_amount: number;
      driver_id: string; settlement_payment_id: string | null;
    };
    "cash_handover.resolved": {
      actor_id: string | null; cash_handover_id: string; /** Cash that the receiver counted, in major units */ counted_amount: number;
      /** ISO 4217, three capital letters */ currency: string; /** Cash that the driver says to hand over, in major units */ declared_amount: number;
      driver_id: string; /** How it was resolved; null while it is open */ resolution: string; settlement_payment_id: string | null;
    };
    "cash_transfer.created": {
      actor_id: string; /** Money in major units of `currency` */ amount: number; cash_transfer_id: string;
      /** ISO 4217, three capital letters */ currency: string; from_owner_type: string | null; from_user_id: string | null; kind: string;
      /** Number on the paper or in the other system */ reference: string | null; to_owner_type: string | null; to_user_id: string | null;
      wallet_id: string | null;
    };
    "cash_transfer.reversed": {
      actor_id: string; /** Money in major units of `currency` */ amount: number; cash_transfer_id: string;
      /** ISO 4217, three capital letters */ currency: string; from_owner_type: string | null; from_user_id: string | null; kind: string;
      /** Number on the paper or in the other system */ reference: string | null; to_owner_type: string | null; to_user_id: string | null;
      wallet_id: string | null;
    };
    "cod_settlement.created": {
      actor_id: string; collections: number; /** ISO 4217, three capital letters */ currency: string; driver_id: string;
      /** How it was paid */ method: string; receiver_id: string | null; settlement_payment_id: string; shortage: number; total: number;
    };
    "cod_settlement.reversed": {
      actor_id: string; collections: number; /** ISO 4217, three capital letters */ currency: string; driver_id: string;
      /** How it was paid */ method: string; receiver_id: string | null; settlement_payment_id: string; shortage: number; total: number;
    };
    "cod.mismatch": { differences: unknown[]; };
    "custom_domain.connected": { actor_id: string | null; custom_domain: string; custom_domain_id: string; market_id: string; status: string; };
    "custom_domain.disconnected": { actor_id: string | null; custom_domain: string; custom_domain_id: string; market_id: string; status: string; };
    "custom_domain.lost": { actor_id: string | null; custom_domain: string; custom_domain_id: string; market_id: string; status: string; };
    "custom_domain.unverified": { actor_id: string | null; custom_domain: string; custom_domain_id: string; market_id: string; status: string; };
    "custom_domain.verified": { actor_id: string | null; custom_domain: string; custom_domain_id: string; market_id: string; status: string; };
    "customer.joined": { actor_id: string; customer_id: string; market_id: string; };
    "delivery_exception.opened": {
      actor_id: string | null; /** Number of the delivery, unique in the tenant */ delivery_code: number; delivery_id: string; exception_id: string;
      receiving_order_id: string | null; type: string;
    };
    "delivery_exception.resolved": {
      actor_id: string | null; delivery_id: string; exception_id: string; /** How it was resolved; null while it is open */ resolution: string;
    };
    "delivery.accepted": {
      actor_id: string | null; /** Printed on the label; scanners find the parcel by it */ barcode: string; customer_id: string | null;
      /** Number of the delivery, unique in the tenant */ delivery_code: number;
      /** What kind of journey it is: one way, staged through a warehouse, a leg, a return */ delivery_flow: string; delivery_id: string;
      /** Number in the sender's own system */ external_reference_id: string | null; from_status: string; institution_user_id: string | null;
      /** Why, in words or from the list */ reason: string | null; status: string;
    };
    "delivery.amount_changed": {
      actor_id: string | null; amount_change_id: string; /** ISO 4217, three capital letters */ currency: string;
      /** Number of the delivery, unique in the tenant */ delivery_code: number; delivery_id: string; new_cod_amount: number; old_cod_amount: number;
      /** Why, in words or from the list */ reason: string; requested_by: string | null;
    };
    "delivery.assigned": {
      actor_id: string | null; /** Printed on the label; scanners find the parcel by it */ barcode: string; customer_id: string | null;
      /** Number of the delivery, unique in the tenant */ delivery_code: number;
      /** What kind of journey it is: one way, staged through a warehouse, a leg, a return */ delivery_flow: string; delivery_id: string;
      /** Number in the sender's own system */ external_reference_id: string | null; from_status: string; institution_user_id: string | null;
      /** Why, in words or from the list */ reason: string | null; status: string;
    };
    "delivery.auto_assignment_failed": {
      actor_id: string | null; attempts: number; /** Number of the delivery, unique in the tenant */ delivery_code: number; delivery_id: string;
      passed_over: Record<string, never>;
    };
    "delivery.cancelled": {
      actor_id: string | null; /** Printed on the label; scanners find the parcel by it */ barcode: string; customer_id: string | null;
      /** Number of the delivery, unique in the tenant */ delivery_code: number;
      /** What kind of journey it is: one way, staged through a warehouse, a leg, a return */ delivery_flow: string; delivery_id: string;
      /** Number in the sender's own system */ external_reference_id: string | null; from_status: string; institution_user_id: string | null;
      /** Why, in words or from the list */ reason: string | null; status: string;
    };
    "delivery.created": {
      actor_id: string | null; /** Printed on the label; scanners find the parcel by it */ barcode: string; customer_id: string | null;
      /** Number of the delivery, unique in the tenant */ delivery_code: number;
      /** What kind of journey it is: one way, staged through a warehouse, a leg, a return */ delivery_flow: string; delivery_id: string;
      /** Number in the sender's own system */ external_reference_id: string | null; institution_user_id: string | null;
      /** Why, in words or from the list */ reason: string | null; status: string;
    };
    "delivery.delivered": {
      actor_id: string | null; /** Printed on the label; scanners find the parcel by it */ barcode: string; customer_id: string | null;
      /** Number of the delivery, unique in the tenant */ delivery_code: number;
      /** What kind of journey it is: one way, staged through a warehouse, a leg, a return */ delivery_flow: string; delivery_id: string;
      /** Number in the sender's own system */ external_reference_id: string | null; from_status: string; institution_user_id: string | null;
      /** Why, in words or from the list */ reason: string | null; status: string;
    };
    "delivery.failed": {
      actor_id: string | null; /** Printed on the label; scanners find the parcel by it */ barcode: string; customer_id: string | null;
      /** Number of the delivery, unique in the tenant */ delivery_code: number;
      /** What kind of journey it is: one way, staged through a warehouse, a leg, a return */ delivery_flow: string; delivery_id: string;
      /** Number in the sender's own system */ external_reference_id: string | null; from_status: string; institution_user_id: string | null;
      /** Why, in words or from the list */ reason: string | null; status: string;
    };
    "delivery.in_transit": {
      actor_id: string | null; /** Printed on the label; scanners find the parcel by it */ barcode: string; customer_id: string | null;
      /** Number of the delivery, unique in the tenant */ delivery_code: number;
      /** What kind of journey it is: one way, staged through a warehouse, a leg, a return */ delivery_flow: string; delivery_id: string;
      /** Number in the sender's own system */ external_reference_id: string | null; from_status: string; institution_user_id: string | null;
      /** Why, in words or from the list */ reason: string | null; status: string;
    };
    "delivery.outcome": {
      actor_id: string | null; /** Number of the delivery, unique in the tenant */ delivery_code: number; delivery_id: string;
      reason_code: string | null; result: string;
    };
    "delivery.outcome_undone": {
      actor_id: string | null; /** Number of the delivery, unique in the tenant */ delivery_code: number; delivery_id: string;
      /** Why, in words or from the list */ reason: string; result: string;
    };
    "delivery.pending": {
      actor_id: string | null; /** Printed on the label; scanners find the parcel by it */ barcode: string; customer_id: string | null;
      /** Number of the delivery, unique in the tenant */ delivery_code: number;
      /** What kind of journey it is: one way, staged through a warehouse, a leg, a return */ delivery_flow: string; delivery_id: string;
      /** Number in the sender's own system */ external_reference_id: string | null; from_status: string; institution_user_id: string | null;
      /** Why, in words or from the list */ reason: string | null; status: string;
    };
    "delivery.picked_up": {
      actor_id: string | null; /** Printed on the label; scanners find the parcel by it */ barcode: string; customer_id: string | null;
      /** Number of the delivery, unique in the tenant */ delivery_code: number;
      /** What kind of journey it is: one way, staged through a warehouse, a leg, a return */ delivery_flow: string; delivery_id: string;
      /** Number in the sender's own system */ external_reference_id: string | null; from_status: string; institution_user_id: string | null;
      /** Why, in words or from the list */ reason: string | null; status: string;
    };
    "delivery.pickup_undone": {
      actor_id: string | null; /** Number of the delivery, unique in the tenant */ delivery_code: number; delivery_id: string;
      /** Why, in words or from the list */ reason: string;
    };
    "delivery.postponed": {
      actor_id: string | null; /** Number of the delivery, unique in the tenant */ delivery_code: number; delivery_id: string; postponed_to: string;
      reason_code: string;
    };
    "delivery.recipient_answered": {
      /** Number of the delivery, unique in the tenant */ delivery_code: number; delivery_id: string; location_given: boolean; note_given: boolean;
      wanted_day: string | null;
    };
    "delivery.redirected": {
      actor_id: string | null; /** ISO 4217, three capital letters */ currency: string;
      /** Number of the delivery, unique in the tenant */ delivery_code: number; /** What the delivery costs, in major units */ delivery_fee: number;
      delivery_id: string; driver_unassigned: boolean; dropoff_address_id: string; dropoff_zone_id: string | null; previous_address_id: string;
      price_difference: number;
    };
    "delivery.refund_due": {
      actor_id: string | null; /** Money in major units of `currency` */ amount: number; /** ISO 4217, three capital letters */ currency: string;
      delivery_id: string;
    };
    "delivery.returned": {
      actor_id: string | null; /** Printed on the label; scanners find the parcel by it */ barcode: string; customer_id: string | null;
      /** Number of the delivery, unique in the tenant */ delivery_code: number;
      /** What kind of journey it is: one way, staged through a warehouse, a leg, a return */ delivery_flow: string; delivery_id: string;
      /** Number in the sender's own system */ external_reference_id: string | null; from_status: string; institution_user_id: string | null;
      /** Why, in words or from the list */ reason: string | null; status: string;
    };
    "driver_pay.accrued": {
      actor_id: string | null; /** Money in major units of `currency` */ amount: number; /** ISO 4217, three capital letters */ currency: string;
      /** Number of the delivery, unique in the tenant */ delivery_code: number; delivery_id: string; driver_id: string; driver_pay_id: string;
    };
    "driver_pay.paid": {
      actor_id: string; /** Money in major units of `currency` */ amount: number; count: number;
      /** ISO 4217, three capital letters */ currency: string; driver_id: string; /** How it was paid */ method: string; payout_id: string;
      /** Number on the paper or in the other system */ reference: string | null;
    };
    "driver_pay.reversed": {
      actor_id: string; /** Money in major units of `currency` */ amount: number; count: number;
      /** ISO 4217, three capital letters */ currency: string; driver_id: string; /** How it was paid */ method: string; payout_id: string;
      /** Why, in words or from the list */ reason: string; /** Number on the paper or in the other system */ reference: string | null;
    };
    "driver.duty_changed": {
      actor_id: string | null; driver_id: string; /** Whether the driver works now: gets offers, and is tracked */ on_duty: boolean;
    };
    "inventory_transfer.completed": {
      actor_id: string | null; destination_warehouse_id: string; inventory_transfer_id: string; /** Lines of the document */ lines: number;
      reference_number: string; source_warehouse_id: string;
    };
    "inventory.adjusted": { actor_id: string | null; adjustment_id: string; delta: number; item_id: string; warehouse_id: string; };
    "inventory.counted": {
      actor_id: string | null; count_id: string; differences: number; /** Lines of the document */ lines: number;
      /** Pieces more than the books said */ units_found: number; /** Pieces fewer than the books said */ units_missing: number; warehouse_id: string;
    };
    "inventory.moved": { actor_id: string | null; /** Lines of the document */ lines: number; move_id: string; warehouse_id: string; };
    "inventory.received": { actor_id: string | null; /** Lines of the document */ lines: number; receipt_id: string; warehouse_id: string; };
    "inventory.returned": {
      actor_id: string | null; /** Lines of the document */ lines: number; /** Why, in words or from the list */ reason: string; return_id: string;
      units: number; warehouse_id: string;
    };
    "inventory.written_off": {
      actor_id: string | null; /** Lines of the document */ lines: number; /** Why, in words or from the list */ reason: string; units: number;
      warehouse_id: string; write_off_id: string;
    };
    "job.dead": { attempts: number; job_id: number; kind: string; };
    "market.approved": {
      actor_id: string | null; code: number; market_id: string; /** It was changed since the last approval */ needs_reapproval: boolean;
      /** Whether an approved store is open */ publish_status: string; status: string; store_name: string;
    };
    "market.created": {
      actor_id: string | null; code: number; market_id: string; /** It was changed since the last approval */ needs_reapproval: boolean;
      /** Whether an approved store is open */ publish_status: string; status: string; store_name: string;
    };
    "market.deactivated": {
      actor_id: string | null; code: number; market_id: string; /** It was changed since the last approval */ needs_reapproval: boolean;
      /** Whether an approved store is open */ publish_status: string; status: string; store_name: string;
    };
    "market.published": {
      actor_id: string | null; code: number; market_id: string; /** It was changed since the last approval */ needs_reapproval: boolean;
      /** Whether an approved store is open */ publish_status: string; status: string; store_name: string;
    };
    "market.rejected": {
      actor_id: string | null; code: number; market_id: string; /** It was changed since the last approval */ needs_reapproval: boolean;
      /** Whether an approved store is open */ publish_status: string; status: string; store_name: string;
    };
    "market.submitted": {
      actor_id: string | null; code: number; market_id: string; /** It was changed since the last approval */ needs_reapproval: boolean;
      /** Whether an approved store is open */ publish_status: string; status: string; store_name: string;
    };
    "market.unpublished": {
      actor_id: string | null; code: number; market_id: string; /** It was changed since the last approval */ needs_reapproval: boolean;
      /** Whether an approved store is open */ publish_status: string; status: string; store_name: string;
    };
    "market.updated": {
      actor_id: string | null; code: number; market_id: string; /** It was changed since the last approval */ needs_reapproval: boolean;
      /** Whether an approved store is open */ publish_status: string; status: string; store_name: string;
    };
    "merchant_statement.opened": {
      actor_id: string | null; count: number; /** ISO 4217, three capital letters */ currency: string; net: number; number: string;
      owner_user_id: string; statement_id: string;
    };
    "merchant_statement.paid": {
      actor_id: string; count: number; /** ISO 4217, three capital letters */ currency: string; /** How it was paid */ method: string; net: number;
      number: string; owner_user_id: string; payout_id: string; /** Number on the paper or in the other system */ reference: string | null;
      statement_id: string;
    };
    "merchant_statement.reversed": {
      actor_id: string; count: number; /** ISO 4217, three capital letters */ currency: string; /** How it was paid */ method: string; net: number;
      number: string; owner_user_id: string; payout_id: string; /** Why, in words or from the list */ reason: string; statement_id: string;
    };
    "merchant_statement.voided": {
      actor_id: string; count: number; /** ISO 4217, three capital letters */ currency: string; net: number; number: string; owner_user_id: string;
      /** Why, in words or from the list */ reason: string | null; statement_id: string;
    };
    "order.approved": {
      actor_id: string | null; /** ISO 4217, three capital letters */ currency: string; delivery_id: string | null; from_status: string;
      market_id: string; order_id: string; order_number: string; /** How the delivery fee or the order is paid */ payment_method: string;
      payment_status: string; /** Why, in words or from the list */ reason: string | null; status: string;
      /** Everything the customer pays, in major units */ total_price: number; user_id: string;
    };
    "order.awaiting_approval": {
      actor_id: string | null; /** ISO 4217, three capital letters */ currency: string; delivery_id: string | null; from_status: string;
      market_id: string; order_id: string; order_number: string; /** How the delivery fee or the order is paid */ payment_method: string;
      payment_status: string; /** Why, in words or from the list */ reason: string | null; status: string;
      /** Everything the customer pays, in major units */ total_price: number; user_id: string;
    };
    "order.cancelled": {
      actor_id: string | null; /** ISO 4217, three capital letters */ currency: string; delivery_id: string | null; from_status: string;
      market_id: string; order_id: string; order_number: string; /** How the delivery fee or the order is paid */ payment_method: string;
      payment_status: string; /** Why, in words or from the list */ reason: string | null; status: string;
      /** Everything the customer pays, in major units */ total_price: number; user_id: string;
    };
    "order.completed": {
      actor_id: string | null; /** ISO 4217, three capital letters */ currency: string; delivery_id: string | null; from_status: string;
      market_id: string; order_id: string; order_number: string; /** How the delivery fee or the order is paid */ payment_method: string;
      payment_status: string; /** Why, in words or from the list */ reason: string | null; status: string;
      /** Everything the customer pays, in major units */ total_price: number; user_id: string;
    };
    "order.confirmed": {
      actor_id: string | null; /** ISO 4217, three capital letters */ currency: string; delivery_id: string | null; from_status: string;
      market_id: string; order_id: string; order_number: string; /** How the delivery fee or the order is paid */ payment_method: string;
      payment_status: string; /** Why, in words or from the list */ reason: string | null; status: string;
      /** Everything the customer pays, in major units */ total_price: number; user_id: string;
    };
    "order.created": {
      actor_id: string | null; /** ISO 4217, three capital letters */ currency: string; delivery_id: string | null; market_id: string;
      order_id: string; order_number: string; /** How the delivery fee or the order is paid */ payment_method: string; payment_status: string;
      /** Why, in words or from the list */ reason: string | null; status: string;
      /** Everything the customer pays, in major units */ total_price: number; user_id: string;
    };
    "order.delivered": {
      actor_id: string | null; /** ISO 4217, three capital letters */ currency: string; delivery_id: string | null; from_status: string;
      market_id: string; order_id: string; order_number: string; /** How the delivery fee or the order is paid */ payment_method: string;
      payment_status: string; /** Why, in words or from the list */ reason: string | null; status: string;
      /** Everything the customer pays, in major units */ total_price: number; user_id: string;
    };
    "order.fee_not_collected": {
      actor_id: string | null; /** Money in major units of `currency` */ amount: number; /** ISO 4217, three capital letters */ currency: string;
      delivery_id: string | null; market_id: string; order_id: string; order_number: string;
      /** How the delivery fee or the order is paid */ payment_method: string; payment_status: string;
      /** Why, in words or from the list */ reason: string | null; status: string;
      /** Everything the customer pays, in major units */ total_price: number; user_id: string;
    };
    "order.paid": {
      actor_id: string | null; /** ISO 4217, three capital letters */ currency: string; delivery_id: string | null; market_id: string;
      order_id: string; order_number: string; /** How the delivery fee or the order is paid */ payment_method: string; payment_status: string;
      /** Why, in words or from the list */ reason: string | null; status: string;
      /** Everything the customer pays, in major units */ total_price: number; user_id: string;
    };
    "order.payment_failed": {
      actor_id: string | null; /** ISO 4217, three capital letters */ currency: string; delivery_id: string | null; market_id: string;
      order_id: string; order_number: string; /** How the delivery fee or the order is paid */ payment_method: string; payment_status: string;
      /** Why, in words or from the list */ reason: string | null; status: string;
      /** Everything the customer pays, in major units */ total_price: number; user_id: string;
    };
    "order.refund_due": {
      actor_id: string | null; /** Money in major units of `currency` */ amount: number; /** ISO 4217, three capital letters */ currency: string;
      delivery_id: string | null; market_id: string; order_id: string; order_number: string;
      /** How the delivery fee or the order is paid */ payment_method: string; payment_status: string;
      /** Why, in words or from the list */ reason: string | null; status: string;
      /** Everything the customer pays, in major units */ total_price: number; user_id: string;
    };
    "order.refunded": {
      actor_id: string | null; /** Money in major units of `currency` */ amount: number; /** ISO 4217, three capital letters */ currency: string;
      delivery_id: string | null; market_id: string; order_id: string; order_number: string; payment_id: string;
      /** How the delivery fee or the order is paid */ payment_method: string; payment_status: string;
      /** Why, in words or from the list */ reason: string | null; refund_method: string; status: string;
      /** Everything the customer pays, in major units */ total_price: number; user_id: string;
    };
    "order.shipped": {
      actor_id: string | null; /** ISO 4217, three capital letters */ currency: string; delivery_id: string | null; from_status: string;
      market_id: string; order_id: string; order_number: string; /** How the delivery fee or the order is paid */ payment_method: string;
      payment_status: string; /** Why, in words or from the list */ reason: string | null; status: string;
      /** Everything the customer pays, in major units */ total_price: number; user_id: string;
    };
    "order.shortened": {
      actor_id: string | null; /** Money in major units of `currency` */ amount: number; /** ISO 4217, three capital letters */ currency: string;
      delivery_id: string | null; market_id: string; order_id: string; order_number: string;
      /** How the delivery fee or the order is paid */ payment_method: string; payment_status: string;
      /** Why, in words or from the list */ reason: string | null; status: string;
      /** Everything the customer pays, in major units */ total_price: number; user_id: string;
    };
    "payment.unmatched": {
      /** Money in major units of `currency` */ amount: string | null; amount_unit: string | null;
      /** ISO 4217, three capital letters */ currency: string | null; gateway_code: string; gateway_order_id: string | null;
      gateway_transaction_id: string | null; order_id: string | null; payment_event_id: string; payment_id: string | null;
      /** Why, in words or from the list */ reason: string;
    };
    "picking_order.cancelled": {
      actor_id: string | null; delivery_id: string | null; from: string; picking_order_id: string; reference_number: string; to: string;
      warehouse_id: string;
    };
    "picking_order.completed": {
      actor_id: string | null; delivery_id: string | null; from: string; picking_order_id: string; reference_number: string; to: string;
      warehouse_id: string;
    };
    "picking_order.handed_off": {
      actor_id: string | null; delivery_id: string | null; from: string; picking_order_id: string; reference_number: string; to: string;
      warehouse_id: string;
    };
    "picking_order.started": {
      actor_id: string | null; delivery_id: string | null; from: string; picking_order_id: string; reference_number: string; to: string;
      warehouse_id: string;
    };
    "receiving_order.received": {
      actor_id: string | null; damaged: number; delivery_id: string | null; missing: number; receiving_order_id: string; reference_number: string;
      source: string; warehouse_id: string;
    };
    "review.approved": { actor_id: string | null; product_id: string; /** 1 to 5 */ rating: number; review_id: string; status: string; };
    "review.created": { actor_id: string; product_id: string; /** 1 to 5 */ rating: number; review_id: string; status: string; };
    "review.rejected": { actor_id: string | null; product_id: string; /** 1 to 5 */ rating: number; review_id: string; status: string; };
    "shipment.booked": {
      actor_id: string | null; /** Name of the carrier in the system; null: the tenant's own drivers */ carrier_code: string; delivery_id: string;
      shipment_id: string; tracking_number: string;
    };
    "shipment.cancelled": {
      actor_id: string | null; /** Name of the carrier in the system; null: the tenant's own drivers */ carrier_code: string; delivery_id: string;
      shipment_id: string;
    };
    "sorting_session.completed": { actor_id: string | null; session_id: string; sorted_count: number; warehouse_id: string; };
    "stock.mismatch": { differences: unknown[]; };
    "tenant_user.joined": {
      actor_id: string; /** Whether a person is staff, a driver, an institution or a customer of the tenant */ tenant_user_type: string;
      user_id: string;
    };
    "tenant_user.left": {
      actor_id: string; /** Whether a person is staff, a driver, an institution or a customer of the tenant */ tenant_user_type: string;
      user_id: string;
    };
    "tenant_wizard.rollback_failed": { actor_id: string | null; run_id: string; tenant_id: string; };
    "tenant.activated": { actor_id: string | null; previous_status: string; status: string; };
    "tenant.archived": { actor_id: string | null; previous_status: string; status: string; };
    "tenant.created": { actor_id: string | null; status: string; };
    "tenant.deleted": { actor_id: string | null; files: number; people: number; tenant_id: string; };
    "tenant.modules_changed": { actor_id: string | null; enabled: unknown[]; status: string; };
    "tenant.subscription_cancelled": { actor_id: string | null; status: string; type: string; };
    "tenant.subscription_started": { actor_id: string | null; status: string; type: string; };
    "tenant.suspended": { actor_id: string | null; previous_status: string; status: string; };
    "tenant.updated": { actor_id: string | null; status: string; };
    "wallet.topped_up": {
      account_id: string; /** Money in major units of `currency` */ amount: number; /** ISO 4217, three capital letters */ currency: string;
      payment_id: string;
    };
    "waybill_return.refund_due": {
      /** Money in major units of `currency` */ amount: number; /** ISO 4217, three capital letters */ currency: string; delivery_id: string;
      waybill_id: string;
    };
    "waybill.cancelled": {
      actor_id: string | null; delivery_ids: unknown[]; destination_warehouse_id: string; driver_id: string | null; source_warehouse_id: string;
      waybill_id: string; waybill_number: string;
    };
    "waybill.closed": {
      actor_id: string | null; destination_warehouse_id: string; driver_id: string; source_warehouse_id: string; waybill_id: string;
      waybill_number: string;
    };
    "waybill.handed_over": {
      actor_id: string | null; delivery_count: number; destination_warehouse_id: string; driver_id: string; source_warehouse_id: string;
      waybill_id: string; waybill_number: string;
    };
    "waybill.received": {
      actor_id: string | null; destination_warehouse_id: string; driver_id: string; missing_count: number; missing_delivery_ids: unknown[];
      received_count: number; source_warehouse_id: string; waybill_id: string; waybill_number: string;
    };
    "waybill.sealed": {
      actor_id: string | null; destination_warehouse_id: string; driver_id: string | null; source_warehouse_id: string; waybill_id: string;
      waybill_number: string;
    };
    "webhook_subscription.disabled": { /** Why, in words or from the list */ reason: string; subscription_id: string; };
    "webhook.test": { test: boolean; };
  };
  responses: never; parameters: never; requestBodies: never; headers: never; pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
