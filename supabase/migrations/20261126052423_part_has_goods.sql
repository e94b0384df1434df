-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION storefront.order_accept(p_order uuid, missing jsonb, less numeric)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  o storefront.storefront_orders;
  v_left jsonb;
  v_booked record;
begin
  v_left := storefront.order_cut(missing);
  if not exists (select from storefront.storefront_order_parts p
      where p.tenant_id = v_tenant and p.order_id = p_order and storefront.order_part_has_goods(p)) then
    perform app.fail('order_nothing_picked');
  end if;
  update storefront.storefront_orders x set subtotal = x.subtotal - less, total_price = x.total_price - less
  where x.tenant_id = v_tenant and x.id = p_order and app.has_permission('manage:tenant')
  returning * into strict o;
  if o.payment_method = 'cash_on_delivery' then
    update money.payments p set amount = o.total_price
    where p.tenant_id = v_tenant and p.order_id = o.id and p.type = 'ORDER' and p.status = 'pending';
    with value as (
      select p.position, p.delivery_id, p.left_at, d.status = 'cancelled' as cancelled, v.value
      from storefront.storefront_order_parts p
      join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
      cross join lateral (
        select coalesce(sum(i.unit_price * (g.quantity - g.short)), 0) + p.charged_short as value
        from storefront.storefront_order_part_items g
        join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id
        where g.tenant_id = p.tenant_id and g.part_id = p.id) v
      where p.tenant_id = v_tenant and p.order_id = o.id and (p.charged_short > 0 or storefront.order_part_has_goods(p))
    ), share as (
      -- Goods whose delivery is cancelled have their share, which nobody collects.
      select v.delivery_id, v.left_at, v.cancelled, row_number() over (order by v.position) as place,
        row_number() over (partition by v.cancelled order by v.position) as turn, s.goods
      from value v, (select storefront.shares(o.total_price - o.shipping_cost, array_agg(w.value order by w.position), money.decimals_of(o.currency)) as goods
        from value w) s
    )
    update delivery.deliveries d set cod_amount = coalesce(s.goods[s.place], 0) + case when s.turn = 1 then o.shipping_cost else 0 end,
      delivery_fee = case when s.turn = 1 then o.shipping_cost else 0 end
    from share s where d.tenant_id = v_tenant and d.id = s.delivery_id and s.left_at is null and not s.cancelled;
    select d.id, s.carrier_code, s.cash_due, d.currency into v_booked
    from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status <> 'cancelled'
    join integration.carrier_shipments s on s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status <> 'cancelled' and s.cash_due > 0
    cross join lateral money.cash_due(d, 'dropoff') n
    where p.tenant_id = v_tenant and p.order_id = o.id and p.left_at is null and (n.cod + n.delivery_fee <> s.cash_due
      or not storefront.order_part_has_goods(p))
    order by p.position limit 1;
    if found then
      perform app.fail('shipment_cash_changes', jsonb_build_object('delivery_id', v_booked.id, 'carrier_code', v_booked.carrier_code,
        'amount', v_booked.cash_due, 'currency', v_booked.currency));
    end if;
  end if;
  perform storefront.order_event_emit(o, 'shortened', jsonb_build_object('amount', less));
  return v_left;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_accept_short(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders := storefront.lock_order_and_deliveries((input ->> 'order_id')::uuid);
  v_missing jsonb := storefront.order_missing(o.id);
  v_less numeric;
  v_left jsonb;
  v_refund jsonb;
begin
  if o.status not in ('approved', 'confirmed', 'shipped') or v_missing = '[]' then
    perform app.fail('order_not_short', jsonb_build_object('status', o.status));
  end if;
  select sum(i.unit_price * m.quantity) into v_less
  from jsonb_to_recordset(v_missing) as m (order_item_id uuid, quantity integer)
  join storefront.storefront_order_items i on i.tenant_id = o.tenant_id and i.id = m.order_item_id;
  v_left := storefront.order_accept(o.id, v_missing, v_less);
  select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  -- A parcel with nothing in it does not travel. The last one that was open ends the order, which is settled with it.
  perform delivery.delivery_cancel(jsonb_build_object('id', e.delivery_id, 'reason', 'out_of_stock'))
  from (select p.delivery_id from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status in ('pending', 'assigned', 'accepted')
    where p.tenant_id = o.tenant_id and p.order_id = o.id and not storefront.order_part_has_goods(p)
    order by p.delivery_id) e;
  select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  if o.status in ('delivered', 'cancelled') then
    v_refund := storefront.order_refunded_now(o.id);
  else
    if o.payment_status = 'paid' and o.payment_method <> 'cash_on_delivery' and storefront.order_refundable(o) > o.total_price then
      v_refund := storefront.order_refund_book(o.id, storefront.order_refundable(o) - o.total_price, 'short');
    end if;
    perform warehousing.stock_release('order', o.id, v_left);
    select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  end if;
  return jsonb_build_object('order', storefront.order_admin_to_json(o), 'refund', v_refund);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_goods_expect(p_order uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  p storefront.storefront_order_parts;
  v_receipt uuid;
  v_cancelled boolean := (select o.status = 'cancelled' from storefront.storefront_orders o where o.tenant_id = v_tenant and o.id = p_order);
begin
  for p in
    select x.* from storefront.storefront_order_parts x
    where x.tenant_id = v_tenant and x.order_id = p_order and x.left_at is not null and x.picking_order_id is not null and not exists (
      select from warehousing.receiving_orders r where r.tenant_id = v_tenant and r.id = x.receiving_order_id and r.status <> 'cancelled')
      and (v_cancelled or exists (select from delivery.deliveries d
        where d.tenant_id = v_tenant and d.id = x.delivery_id and d.status in ('returned', 'cancelled')))
      and storefront.order_part_has_goods(x)
    order by x.position
  loop
    insert into warehousing.receiving_orders (tenant_id, reference_number, warehouse_id, source, created_by)
    values (v_tenant, 'RCV-' || app.padded(app.take_numbers('receiving_order'), 6), p.warehouse_id, 'delivery_return_handoff', app.user_id())
    returning id into v_receipt;
    insert into warehousing.receiving_order_items (tenant_id, receiving_order_id, position, warehouse_id, item_id, quantity)
    select v_tenant, v_receipt, g.position, p.warehouse_id, i.inventory_item_id, g.quantity - g.short
    from storefront.storefront_order_part_items g
    join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id
    where g.tenant_id = v_tenant and g.part_id = p.id and g.quantity > g.short and i.inventory_item_id is not null;
    update storefront.storefront_order_parts x set receiving_order_id = v_receipt where x.tenant_id = v_tenant and x.id = p.id;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_part_has_goods(part storefront.storefront_order_parts)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (select from storefront.storefront_order_part_items g
    where g.tenant_id = part.tenant_id and g.part_id = part.id and g.quantity > g.short);
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_part_has_goods"(storefront.storefront_order_parts) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_part_has_goods"(storefront.storefront_order_parts) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126052423';
end $$;

grant execute on function private.schema_version() to barid_api;
