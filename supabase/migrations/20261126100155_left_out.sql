-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION storefront.order_customer_to_json(o storefront.storefront_orders)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('id', o.id, 'order_number', o.order_number, 'status', storefront.customer_status(o),
    'paymentStatus', o.payment_status, 'paymentMethod', o.payment_method, 'subtotal', o.subtotal, 'taxAmount', o.tax_amount,
    'deliveryFee', o.shipping_cost, 'discountAmount', o.discount_amount, 'totalPrice', o.total_price, 'currency', o.currency,
    'totalItems', o.total_items, 'fulfilment', o.fulfilment, 'customerNotes', o.customer_notes, 'shippingAddress', o.shipping_address,
    'createdAt', o.created_at, 'updatedAt', o.updated_at, 'refund_due', storefront.order_has_unmatched_payment(o),
    'items', (
      select coalesce(jsonb_agg(jsonb_build_object('id', i.id, 'variantId', i.variant_id, 'productId', i.product_id,
        'productName', i.product_name, 'sku', i.sku, 'attributes', i.attributes, 'images', i.images, 'quantity', i.quantity,
        'unitPrice', i.unit_price, 'total', i.total, 'short', coalesce(s.units, 0)) order by i.position), '[]')
      from storefront.storefront_order_items i
      left join storefront.order_left_out(o) s on s.order_item_id = i.id
      where i.tenant_id = o.tenant_id and i.order_id = o.id),
    'market', jsonb_build_object('id', o.market_id, 'name', storefront.store_of_order(o.id),
      'settings', jsonb_build_object('currency', o.currency, 'deliveryFee', o.shipping_cost)),
    'payments', (
      select coalesce(jsonb_agg(storefront.payment_to_json(p) order by p.created_at, p.id), '[]')
      from money.payments p where p.tenant_id = o.tenant_id and p.order_id = o.id));
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_left_out(o storefront.storefront_orders)
 RETURNS TABLE(order_item_id uuid, units bigint)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(o.tenant_id);
  return query
  select g.order_item_id, sum(g.short)::bigint from storefront.storefront_order_parts p
  join storefront.storefront_order_part_items g on g.tenant_id = p.tenant_id and g.part_id = p.id and g.short > 0
  where p.tenant_id = o.tenant_id and p.order_id = o.id
  group by g.order_item_id;
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_left_out"(storefront.storefront_orders) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_left_out"(storefront.storefront_orders) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126100155';
end $$;

grant execute on function private.schema_version() to barid_api;
