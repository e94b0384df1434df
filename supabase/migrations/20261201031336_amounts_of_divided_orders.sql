-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table delivery.amount_changes in access exclusive mode;
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "delivery"."amount_changes" ADD COLUMN "old_delivery_fee" numeric(18,3);

ALTER TABLE "delivery"."amount_changes" ADD COLUMN "new_delivery_fee" numeric(18,3);

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
  from (
    select distinct x.decided_by from unnest(v_changes) x where x.decided_by is not null and x.decided_by is distinct from app.user_id()) c;
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
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.amount_changed',
    'entity_type', 'delivery', 'entity_id', d.id, 'event_data', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code,
      'amount_change_id', c.id, 'old_cod_amount', c.old_cod_amount, 'new_cod_amount', c.new_cod_amount, 'currency', c.currency,
      'reason', c.reason, 'requested_by', c.requested_by, 'actor_id', app.user_id()))));
end $function$;

CREATE OR REPLACE FUNCTION delivery.amount_put_back(p delivery.deliveries, c delivery.amount_changes, p_reason text)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
begin
  insert into delivery.amount_changes (tenant_id, delivery_id, old_cod_amount, new_cod_amount, currency, reason, kept_items, status, requested_by,
    decided_by, decided_at, by_report, old_delivery_fee, new_delivery_fee)
  values (p.tenant_id, p.id, p.cod_amount, c.old_cod_amount, p.currency, p_reason, (delivery.amount_agreed(p.id, c.decided_at)).kept_items, 'approved',
    app.user_id(), app.user_id(), clock_timestamp(), true, case when c.old_delivery_fee is not null then p.delivery_fee end, c.old_delivery_fee)
  returning id into v_id;
  perform delivery.amount_change_apply(v_id);
  return v_id;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."amount_put_back"(delivery.deliveries, delivery.amount_changes, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.kept_amount_undo(parcel uuid, o delivery.outcomes, p_reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries;
  c delivery.amount_changes;
begin
  select * into c from delivery.amount_changes x
  where x.tenant_id = app.tenant_id() and x.delivery_id = kept_amount_undo.parcel and x.status = 'approved'
    -- Outcomes that do not name their change are older than the naming: it is the first one since.
    and case when o.before ? 'amount_change_id' then x.id = (o.before ->> 'amount_change_id')::uuid else x.decided_at >= o.created_at end
  order by x.decided_at limit 1;
  if found then
    select * into strict p from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = kept_amount_undo.parcel;
    perform delivery.amount_put_back(p, c, p_reason);
  end if;
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
  join integration.carrier_shipments s on s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status <> 'cancelled' and s.cash_due > 0
  cross join lateral money.cash_due(d, 'dropoff') n
  where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is null and (n.cod + n.delivery_fee <> s.cash_due
    or not storefront.order_part_has_goods(p))
  order by p.position limit 1;
  if found then
    perform app.fail('shipment_cash_changes', jsonb_build_object('delivery_id', v_booked.id, 'carrier_code', v_booked.carrier_code,
      'amount', v_booked.cash_due, 'currency', v_booked.currency));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_cash_set(d delivery.deliveries, amount numeric, fee numeric)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into delivery.amount_changes (tenant_id, delivery_id, old_cod_amount, new_cod_amount, currency, reason, status, decided_at, by_report,
    old_delivery_fee, new_delivery_fee)
  values (d.tenant_id, d.id, d.cod_amount, amount, d.currency, 'order_divided', 'approved', clock_timestamp(), true, d.delivery_fee, fee);
  update delivery.deliveries x set cod_amount = amount, delivery_fee = fee, ordered_cod_amount = coalesce(x.ordered_cod_amount, x.cod_amount),
    label_outdated = x.label_outdated or x.label_edition > 0
  where x.tenant_id = d.tenant_id and x.id = d.id;
  update delivery.deliveries l set label_outdated = true where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.label_edition > 0;
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_cash_set"(delivery.deliveries, numeric, numeric) FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.order_fee_comes_back(o storefront.storefront_orders, p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
begin
  if o.payment_method <> 'cash_on_delivery' then
    return;
  end if;
  select y.* into d from delivery.deliveries y
  where y.tenant_id = o.tenant_id and y.id = p_delivery and y.delivery_fee > 0 and exists (
    select from storefront.storefront_order_parts p
    join delivery.deliveries x on x.tenant_id = p.tenant_id and x.id = p.delivery_id
    where p.tenant_id = o.tenant_id and p.order_id = o.id and x.id <> y.id and x.delivery_fee > 0 and x.status not in ('cancelled', 'returned')
      and (p.left_at is not null or exists (select from integration.carrier_shipments s
        where s.tenant_id = x.tenant_id and s.delivery_id = x.id and s.status <> 'cancelled' and s.cash_due > 0)));
  if found then
    perform storefront.order_cash_set(d, greatest(d.cod_amount - d.delivery_fee, 0), 0);
  end if;
  perform storefront.order_cash_divide(o);
end $function$;

ALTER TABLE "delivery"."amount_changes" ADD CONSTRAINT "amount_changes_new_delivery_fee_check" CHECK ((new_delivery_fee >= (0)::numeric)) NOT VALID;

ALTER TABLE "delivery"."amount_changes" ADD CONSTRAINT "amount_changes_old_delivery_fee_check" CHECK ((old_delivery_fee >= (0)::numeric)) NOT VALID;

REVOKE ALL ON FUNCTION "delivery"."amount_put_back"(delivery.deliveries, delivery.amount_changes, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_cash_set"(delivery.deliveries, numeric, numeric) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201031336';
end $$;

grant execute on function private.schema_version() to barid_api;
