-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.amount_at_door(p delivery.deliveries, input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_changes delivery.amount_changes[];
  v_kept jsonb;
  v_id uuid;
begin
  perform app.require_tenant(p.tenant_id);
  -- Its amount is as it was ordered, as that of most parcels; what a carrier reports is for the amount that it was booked with.
  if p.ordered_cod_amount is null or input ->> 'occurred_at' is null or delivery.shipment_lives(p.id) then
    return null;
  end if;
  v_changes := array(select c from delivery.amount_changes_unheard(p.id, app.instant(input ->> 'occurred_at'), app.user_id()) c);
  v_kept := (delivery.amount_agreed(p.id, v_changes[1].decided_at)).kept_items;
  if v_changes = '{}' or (input #>> '{cash_collected,cod}')::numeric = p.cod_amount
      or v_changes[1].old_cod_amount = p.cod_amount and v_kept is not distinct from delivery.kept_items_agreed(p.id) then
    return null;
  end if;
  v_id := delivery.amount_put_back(p, v_changes[1], 'as_at_door');
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select p.tenant_id, c.decided_by, 'amount_change_late', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
    'amount_change_id', v_id, 'amount', v_changes[1].old_cod_amount, 'currency', p.currency)
  from (select distinct x.decided_by from unnest(v_changes) x where x.decided_by is distinct from app.user_id()) c
  -- Administrators of the system change amounts where they are no members.
  join tenancy.tenant_users u on u.tenant_id = p.tenant_id and u.user_id = c.decided_by;
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.amount_change_apply(change_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  c delivery.amount_changes;
  d delivery.deliveries;
begin
  select * into strict c from delivery.amount_changes x where x.tenant_id = app.tenant_id() and x.id = change_id and x.status = 'approved';
  update delivery.deliveries x set cod_amount = c.new_cod_amount, ordered_cod_amount = coalesce(x.ordered_cod_amount, x.cod_amount),
    delivery_fee = coalesce(c.new_delivery_fee, x.delivery_fee), label_outdated = true
  where x.tenant_id = c.tenant_id and x.id = c.delivery_id
  returning * into strict d;
  update delivery.deliveries x set label_outdated = true where x.tenant_id = c.tenant_id and x.parent_id = c.delivery_id;
  perform delivery.change_announce(array[c.delivery_id], '{amount}');
  -- A carrier that has brought it back would fetch it again for the amount of before.
  perform integration.shipments_end(c.delivery_id || array(
    select l.id from delivery.deliveries l where l.tenant_id = c.tenant_id and l.parent_id = c.delivery_id));
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.amount_changed',
    'entity_type', 'delivery', 'entity_id', d.id, 'event_data', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code,
      'amount_change_id', c.id, 'old_cod_amount', c.old_cod_amount, 'new_cod_amount', c.new_cod_amount, 'currency', c.currency,
      'reason', c.reason, 'requested_by', c.requested_by, 'actor_id', app.user_id()))));
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_cash_divide(o storefront.storefront_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_changed uuid[];
  v_due record;
  v_booked record;
begin
  for v_due in with part as (
    select p.position, p.delivery_id, p.left_at is null as here, d.status = 'cancelled' as cancelled,
      -- The fee stays with what has left with it and may still come; else it is on the first that is here.
      row_number() over (partition by d.status in ('cancelled', 'returned')
        order by (p.left_at is not null and d.delivery_fee > 0) desc, (p.left_at is null) desc, p.position) as turn,
      row_number() over (partition by p.left_at is null order by p.position) as place, (
        select coalesce(sum(i.unit_price * (g.quantity - g.short)), 0) from storefront.storefront_order_part_items g
        join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id
        where g.tenant_id = p.tenant_id and g.part_id = p.id) as value
    from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
    where p.tenant_id = o.tenant_id and p.order_id = o.id and (p.charged_short > 0 or storefront.order_part_has_goods(p))
  ), due as (
    -- Goods whose delivery is cancelled have their share, which nobody collects.
    select t.delivery_id, coalesce(s.goods[t.place], 0) as goods, case when t.turn = 1 then o.shipping_cost else 0 end as fee
    from part t, (
      select storefront.shares(storefront.goods_total(o) - storefront.goods_under_way(o), array_agg(w.value order by w.position),
        money.decimals_of(o.currency)) as goods
      from part w where w.here) s
    where t.here and not t.cancelled
  )
  select d, u.goods + least(u.fee, o.total_price) as amount, u.fee from due u
  join delivery.deliveries d on d.tenant_id = o.tenant_id and d.id = u.delivery_id
  where (d.cod_amount, d.delivery_fee) is distinct from (u.goods + least(u.fee, o.total_price), u.fee) order by d.id
  loop
    perform storefront.order_cash_set(v_due.d, v_due.amount, v_due.fee);
    v_changed := v_changed || (v_due.d).id;
  end loop;
  perform delivery.change_announce(v_changed, '{amount}') where v_changed is not null;
  select d.id, s.carrier_code, s.cash_due, d.currency into v_booked
  from storefront.storefront_order_parts p
  join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status <> 'cancelled'
  join integration.carrier_shipments s on s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status <> 'cancelled'
  cross join lateral money.cash_due(d, 'dropoff') n
  where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is null and (n.cod + n.delivery_fee <> s.cash_due
    or s.cash_due > 0 and not storefront.order_part_has_goods(p))
  order by p.position limit 1;
  if found then
    perform app.fail('shipment_cash_changes', jsonb_build_object('delivery_id', v_booked.id, 'carrier_code', v_booked.carrier_code,
      'amount', v_booked.cash_due, 'currency', v_booked.currency));
  end if;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201034614';
end $$;

grant execute on function private.schema_version() to barid_api;
