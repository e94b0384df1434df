-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION storefront.order_cut(missing jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_picks uuid[];
  v_left jsonb;
  k warehousing.picking_orders;
begin
  update storefront.storefront_order_part_items g set short = g.short + m.quantity
  from jsonb_to_recordset(missing) as m (part_id uuid, position integer, quantity integer)
  where g.tenant_id = v_tenant and g.part_id = m.part_id and g.position = m.position;
  v_picks := array(select p.picking_order_id from storefront.storefront_order_parts p
    where p.tenant_id = v_tenant and p.id = any (array(select m.part_id from jsonb_to_recordset(missing) as m (part_id uuid))));
  select jsonb_agg(jsonb_build_object('item_id', i.item_id, 'warehouse_id', i.warehouse_id, 'bin_id', i.bin_id,
    'quantity', i.quantity - i.picked_quantity) order by i.picking_order_id, i.position) into v_left
  from warehousing.picking_order_items i
  where i.tenant_id = v_tenant and i.picking_order_id = any (v_picks) and i.picked_quantity < i.quantity;
  delete from warehousing.picking_order_items i where i.tenant_id = v_tenant and i.picking_order_id = any (v_picks) and i.picked_quantity = 0;
  update warehousing.picking_order_items i set quantity = i.picked_quantity
  where i.tenant_id = v_tenant and i.picking_order_id = any (v_picks) and i.picked_quantity < i.quantity;
  for k in
    update warehousing.picking_orders x set status = 'cancelled'
    where x.tenant_id = v_tenant and x.id = any (v_picks) and not exists (
      select from warehousing.picking_order_items i where i.tenant_id = v_tenant and i.picking_order_id = x.id)
    returning x.*
  loop
    perform warehousing.picking_event_emit(k, 'completed', 'cancelled');
  end loop;
  delete from delivery.delivery_items i using storefront.storefront_order_parts p, storefront.storefront_order_part_items g
  where p.tenant_id = v_tenant and p.picking_order_id = any (v_picks) and g.tenant_id = v_tenant and g.part_id = p.id and g.short = g.quantity
    and i.tenant_id = v_tenant and i.delivery_id = p.delivery_id and i.position = g.position;
  update delivery.delivery_items i set quantity = g.quantity - g.short
  from storefront.storefront_order_parts p, storefront.storefront_order_part_items g
  where p.tenant_id = v_tenant and p.picking_order_id = any (v_picks) and g.tenant_id = v_tenant and g.part_id = p.id and g.short > 0
    and i.tenant_id = v_tenant and i.delivery_id = p.delivery_id and i.position = g.position;
  return v_left;
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
      and exists (select from storefront.storefront_order_part_items g where g.tenant_id = v_tenant and g.part_id = x.id and g.quantity > g.short)
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

CREATE OR REPLACE FUNCTION storefront.order_part_leaves(p storefront.storefront_order_parts, taken boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  k warehousing.picking_orders;
  v_missing jsonb;
  v_left jsonb;
begin
  if p.left_at is not null then
    return;
  end if;
  select * into k from warehousing.picking_orders x
  where x.tenant_id = p.tenant_id and x.id = p.picking_order_id and x.status <> 'cancelled' for no key update;
  if k.status in ('pending', 'in_progress') then
    if not (taken or storefront.picks_as_it_leaves()) then
      perform app.fail('goods_not_picked', jsonb_build_object('picking_order_id', k.id));
    end if;
    update warehousing.picking_order_items i set picked_quantity = i.quantity, status = 'picked'
    where i.tenant_id = k.tenant_id and i.picking_order_id = k.id;
    perform warehousing.picking_move(k, 'completed');
    k.status := 'completed';
  elsif k.id is not null then
    v_missing := storefront.order_missing(p.order_id, p.id);
    if v_missing <> '[]' then
      if not taken then
        perform app.fail('goods_not_picked', jsonb_build_object('picking_order_id', k.id));
      end if;
      v_left := storefront.order_cut(v_missing);
    end if;
  end if;
  update storefront.storefront_order_parts x set left_at = clock_timestamp() where x.tenant_id = p.tenant_id and x.id = p.id;
  if k.id is not null then
    update warehousing.picking_orders x set status = 'handed_off' where x.tenant_id = k.tenant_id and x.id = k.id and x.status = 'completed';
    if found then
      perform warehousing.picking_event_emit(k, k.status, 'handed_off');
    end if;
    if v_left is not null then
      perform warehousing.stock_release('order', p.order_id, v_left);
    end if;
    perform warehousing.stock_exit('order', p.order_id, warehouse => p.warehouse_id);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_settle()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
  v_got record;
  v_owed numeric := 0;
begin
  select * into o from storefront.storefront_orders x where x.tenant_id = new.tenant_id and x.id = new.id;
  if o.status = 'cancelled' and not exists (
      select from storefront.storefront_order_parts p
      where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is not null and p.delivery_id is not null) then
    return null;
  end if;
  perform storefront.order_picks_drop(o.id);
  -- Of a delivered order, what did not come to its customer.
  perform storefront.order_goods_expect(o.id);
  if o.status = 'cancelled' then
    perform storefront.order_payment_drop(o.id);
    if o.payment_status = 'paid' then
      v_owed := storefront.order_refundable(o);
    end if;
  elsif o.payment_status = 'paid' and o.payment_method <> 'cash_on_delivery' and o.fulfilment = 'partial' then
    select coalesce(sum(g.delivered), 0) as units, coalesce(sum(i.unit_price * g.delivered), 0) as value into v_got
    from storefront.order_goods g
    join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id
    where g.tenant_id = o.tenant_id and g.order_id = o.id;
    v_owed := storefront.order_refundable(o) - case when v_got.units > 0 then o.shipping_cost else 0 end
      - round((o.total_price - o.shipping_cost) * v_got.value / nullif(o.subtotal, 0), money.decimals_of(o.currency));
  end if;
  if v_owed > 0 then
    begin
      perform storefront.order_give_back(o, v_owed, null);
    exception when sqlstate 'RULE0' then
      if sqlerrm <> 'insufficient_wallet_balance' then
        raise;
      end if;
      perform storefront.order_event_emit(o, 'refund_due', jsonb_build_object('amount', v_owed));
    end;
  end if;
  perform warehousing.stock_release('order', o.id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_expect(p_delivery uuid, p_warehouse uuid, p_failed boolean)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_exception uuid;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  if exists (select from storefront.storefront_order_parts p
      where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.left_at is not null and not exists (
        select from storefront.storefront_order_part_items g where g.tenant_id = p.tenant_id and g.part_id = p.id and g.quantity > g.short)) then
    return null;
  end if;
  select e.id into v_exception from delivery.delivery_exceptions e
  where e.tenant_id = d.tenant_id and e.delivery_id in (d.id, d.parent_id) and e.status = 'open' order by e.created_at desc, e.id limit 1;
  return warehousing.receipt_open(d, coalesce(p_warehouse, d.pickup_warehouse_id),
    case when p_failed or v_exception is not null then 'failed_delivery_return' else 'delivery_return_handoff' end, v_exception);
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126025426';
end $$;

grant execute on function private.schema_version() to barid_api;
