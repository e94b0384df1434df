-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table storefront.storefront_order_parts in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "storefront"."storefront_order_parts" ADD COLUMN "charged_short" numeric(18,3) NOT NULL DEFAULT 0;

CREATE OR REPLACE FUNCTION storefront.goods_price(o storefront.storefront_orders, value numeric)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce(round((o.total_price - o.shipping_cost) * value / nullif(o.subtotal, 0), money.decimals_of(o.currency)), 0);
end $function$;

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
  if not exists (
      select from storefront.storefront_order_parts p
      join storefront.storefront_order_part_items g on g.tenant_id = p.tenant_id and g.part_id = p.id
      where p.tenant_id = v_tenant and p.order_id = p_order and g.quantity > g.short) then
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
      where p.tenant_id = v_tenant and p.order_id = o.id and (p.charged_short > 0 or exists (
        select from storefront.storefront_order_part_items g where g.tenant_id = p.tenant_id and g.part_id = p.id and g.quantity > g.short))
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
    where p.tenant_id = v_tenant and p.order_id = o.id and p.left_at is null and (n.cod + n.delivery_fee <> s.cash_due or not exists (
      select from storefront.storefront_order_part_items g where g.tenant_id = p.tenant_id and g.part_id = p.id and g.quantity > g.short))
    order by p.position limit 1;
    if found then
      perform app.fail('shipment_cash_changes', jsonb_build_object('delivery_id', v_booked.id, 'carrier_code', v_booked.carrier_code,
        'amount', v_booked.cash_due, 'currency', v_booked.currency));
    end if;
  end if;
  perform storefront.order_event_emit(o, 'shortened', jsonb_build_object('amount', less));
  return v_left;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_charged_short(o storefront.storefront_orders)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(sum(p.charged_short), 0) from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status = 'delivered'
    where p.tenant_id = o.tenant_id and p.order_id = o.id);
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
  v_charged numeric := 0;
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
      select coalesce(sum(i.unit_price * m.quantity), 0) into v_charged
      from jsonb_to_recordset(v_missing) as m (order_item_id uuid, quantity integer)
      join storefront.storefront_order_items i on i.tenant_id = p.tenant_id and i.id = m.order_item_id
      join storefront.storefront_orders o on o.tenant_id = i.tenant_id and o.id = i.order_id and o.payment_method = 'cash_on_delivery';
    end if;
  end if;
  update storefront.storefront_order_parts x set left_at = clock_timestamp(), charged_short = v_charged where x.tenant_id = p.tenant_id and x.id = p.id;
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
  elsif o.payment_status = 'paid' and o.fulfilment = 'partial' then
    select coalesce(sum(g.delivered), 0) as units, coalesce(sum(i.unit_price * g.delivered), 0) as value into v_got
    from storefront.order_goods g
    join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id
    where g.tenant_id = o.tenant_id and g.order_id = o.id;
    -- Cash was collected for what each delivery was to bring, so it is too much only where a carrier collected for what was not found.
    v_owed := case
      when v_got.units = 0 then storefront.order_refundable(o)
      when o.payment_method = 'cash_on_delivery' then storefront.goods_price(o, storefront.order_charged_short(o))
      else storefront.order_refundable(o) - o.shipping_cost - storefront.goods_price(o, v_got.value) end;
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

ALTER TABLE "storefront"."storefront_order_parts" ADD CONSTRAINT "storefront_order_parts_charged_short_check" CHECK ((charged_short >= (0)::numeric)) NOT VALID;

REVOKE ALL ON FUNCTION "storefront"."goods_price"(storefront.storefront_orders, numeric) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."goods_price"(storefront.storefront_orders, numeric) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_charged_short"(storefront.storefront_orders) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_charged_short"(storefront.storefront_orders) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126030044';
end $$;

grant execute on function private.schema_version() to barid_api;
