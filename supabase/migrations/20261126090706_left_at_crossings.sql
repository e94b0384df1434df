-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.return_requests in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "delivery"."return_requests" DROP CONSTRAINT "return_requests_status_check";

CREATE OR REPLACE FUNCTION delivery.delivery_cancel(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_operations boolean := app.has_permission('manage:operations:tenant');
  v_under_way text;
  v_ends uuid[];
  v_picks uuid[];
  v_refund jsonb;
  v_waiting delivery.deliveries;
  v_return record;
  v_transfer jsonb;
begin
  -- Also where nothing goes back: a wrong place is an error of the caller.
  perform delivery.require_return_place(input);
  perform delivery.lock_manifest_item((input ->> 'id')::uuid);
  d := delivery.lock_delivery((input ->> 'id')::uuid);
  select * into d from delivery.deliveries x where x.id = delivery.parcel_of(d);
  if not found then
    perform app.fail('forbidden');
  end if;
  perform delivery.require_owner(d);
  -- Back to who sent it, as long as its order stays cancelled, or as it ended at the door; unless it was lost or written off, and nothing is
  -- left to go back.
  if (d.made_at_door or d.delivery_flow = 'operational_return' and exists (select from delivery.deliveries o
      where o.tenant_id = d.tenant_id and o.id = d.original_delivery_id and o.status = 'cancelled')) and not warehousing.return_is_lost(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'cancelled',
      'text_key', case when d.made_at_door then 'reason_return_from_door' else 'reason_return_of_cancelled' end));
  end if;
  select * into v_waiting from delivery.deliveries x
  where x.tenant_id = d.tenant_id and (x.id = d.id or x.parent_id = d.id) and x.delivery_flow in ('standard', 'pnd_outbound')
    and x.status in ('pending', 'assigned', 'accepted') and x.current_warehouse_id is not null
    and (d.picked_up_at is not null or d.ordered_from_address_id is not null)
    and x.current_warehouse_id is distinct from (delivery.ordered_from(d)).warehouse_id;
  if found then
    v_return := delivery.delivery_cancel_waiting(d, v_waiting, input);
    v_refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
    perform delivery.operational_return_shelve(v_return.id, v_return.picks);
    perform storefront.orders_settle();
    return v_refund || jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'operational_return', delivery.delivery_to_json(v_return.id));
  end if;
  if v_operations then
    v_transfer := delivery.transfer_under_way(d);
    if v_transfer is not null then
      perform app.fail('invalid_status_transition', v_transfer || jsonb_build_object('from', d.status, 'to', 'cancelled'));
    end if;
  end if;
  perform delivery.require_move(d, case when v_operations then '{draft,pending,assigned,accepted}' else '{draft,pending}' end::text[], 'cancelled');
  select l.status into v_under_way from delivery.deliveries l
  where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.status not in ('draft', 'pending', 'assigned', 'accepted') limit 1;
  if found then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', v_under_way, 'to', 'cancelled'));
  end if;
  -- A parent that has legs follows them.
  v_ends := array(select l.id from delivery.deliveries l
    where l.tenant_id = d.tenant_id and l.parent_id = d.id and d.delivery_flow = 'pnd_parent');
  if cardinality(v_ends) = 0 then
    v_ends := array[d.id];
  end if;
  update delivery.deliveries x set status = 'cancelled', status_reason = input ->> 'reason', status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = any (v_ends);
  if d.delivery_flow = 'customer_return' and d.status = 'draft' then
    perform delivery.return_request_cancel(d.id);
  end if;
  perform delivery.manifest_item_return(d.id);
  v_picks := delivery.delivery_release(d.id);
  v_refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
  perform warehousing.stock_release('picking_order', p.id) from unnest(v_picks) p (id);
  perform warehousing.waybill_remove_delivery(d.id);
  if d.delivery_flow = 'operational_return' then
    perform warehousing.return_unshelved(d.id);
  end if;
  perform storefront.orders_settle();
  return v_refund || jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'operational_return', null);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_outcome(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_result text := input ->> 'result';
  v_reason jsonb;
  v_answer jsonb;
  o delivery.outcomes;
begin
  perform delivery.require_no_outcome(d);
  perform delivery.require_carrier(d);
  if v_result in ('failed', 'refused', 'postponed') then
    v_reason := delivery.outcome_reason(input);
  end if;
  v_answer := case
    when v_result = 'delivered' then delivery.outcome_delivered(input)
    when v_result = 'partial' then delivery.outcome_partial(d, input)
    when v_result = 'exchanged' then delivery.outcome_exchanged(d, input)
    when v_result = 'postponed' then delivery.outcome_postponed(d, input, v_reason)
    -- A carrier has a way of its own to bring back what is refused.
    when v_result = 'refused' and delivery.attempt_counts(d) and d.carrier_type = 'internal'
      and tenancy.attempt_settings() ->> 'after_last' = 'return' then delivery.outcome_sent_back(d, input, v_reason)
    else delivery.outcome_failed(d, input, v_reason) end;
  perform delivery.outcome_complete(d.id);
  o := delivery.outcome_of(d.id);
  -- An earlier one says nothing of this report.
  if o.created_at is distinct from now() then
    return v_answer || '{"undo_until": null}';
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.outcome',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'result', v_result, 'reason_code', v_reason ->> 'value', 'actor_id', app.user_id()))));
  return v_answer || jsonb_build_object('undo_until', case d.carrier_type when 'internal' then delivery.outcome_undo_until(o) end);
end $function$;

CREATE OR REPLACE FUNCTION delivery.driver_provision(driver_id uuid, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_zones uuid[] := app.uuids(input -> 'zone_ids');
  v_driver delivery.drivers;
  v_vehicle delivery.vehicles;
begin
  select * into v_driver from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = driver_id for no key update;
  if not found then
    perform app.fail('driver_not_found');
  end if;
  if input ->> 'vehicle_id' is not null and (input ->> 'vehicle_id')::uuid is distinct from v_driver.vehicle_id then
    select * into v_vehicle from delivery.vehicles v where v.id = (input ->> 'vehicle_id')::uuid for share;
    if not found then
      perform app.fail('vehicle_not_found', '{"field": "vehicle_id"}');
    end if;
    if not v_vehicle.is_active then
      perform app.fail('vehicle_inactive', '{"field": "vehicle_id"}');
    end if;
    if v_vehicle.unit_capacity < v_driver.capacity_used then
      perform app.fail('insufficient_vehicle_capacity', '{"field": "vehicle_id"}');
    end if;
  end if;
  if exists (select from unnest(v_zones) g (id)
      where not exists (select from delivery.zones z where z.tenant_id = v_tenant and z.id = g.id)) then
    perform app.fail('zone_not_found', '{"field": "zone_ids"}');
  end if;
  update delivery.drivers d set
    vehicle_id = case when input ? 'vehicle_id' then (input ->> 'vehicle_id')::uuid else d.vehicle_id end,
    all_zones = coalesce((input ->> 'all_zones')::boolean, d.all_zones),
    status = coalesce(input ->> 'status', d.status)
  where d.tenant_id = v_tenant and d.user_id = driver_id
  returning * into v_driver;
  if input ? 'zone_ids' then
    delete from delivery.driver_zones z
    where z.tenant_id = v_tenant and z.driver_id = driver_provision.driver_id and z.zone_id <> all (v_zones);
    insert into delivery.driver_zones (tenant_id, driver_id, zone_id)
    select distinct v_tenant, driver_provision.driver_id, g.id from unnest(v_zones) g (id)
    on conflict do nothing;
  end if;
  if (input ->> 'default')::boolean then
    if v_driver.status <> 'active' then
      perform app.fail('driver_inactive', '{"field": "default"}');
    end if;
    insert into tenancy.tenant_settings as s (tenant_id, module, group_key, settings, updated_by)
    values (v_tenant, 'delivery', 'assignment_change_settings', jsonb_build_object('default_driver_id', driver_id), app.user_id())
    on conflict (tenant_id, module, group_key) do update set settings = s.settings || excluded.settings, updated_by = excluded.updated_by;
  elsif input ? 'default' then
    update tenancy.tenant_settings s set settings = s.settings - 'default_driver_id', updated_by = app.user_id()
    where s.tenant_id = v_tenant and s.module = 'delivery' and s.group_key = 'assignment_change_settings'
      and s.settings ->> 'default_driver_id' = driver_id::text;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_driver(driver_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_status text := delivery.driver_status(driver_id);
begin
  if v_status is null then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  elsif v_status = 'inactive' then
    perform app.fail('driver_inactive', '{"field": "driver_id"}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_request_cancel(p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update delivery.return_requests q set status = 'cancelled', decided_by = app.user_id(), decided_at = now()
  from delivery.deliveries d
  where q.tenant_id = app.tenant_id() and q.delivery_id = p_delivery and q.status = 'requested'
    and d.tenant_id = q.tenant_id and d.id = q.delivery_id and d.status = 'cancelled';
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_accept(p_order uuid, missing jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_before storefront.storefront_orders;
  o storefront.storefront_orders;
  v_left jsonb;
  v_changed uuid[];
  v_booked record;
begin
  select * into strict v_before from storefront.storefront_orders x
  where x.tenant_id = v_tenant and x.id = p_order and app.has_permission('manage:tenant');
  o := storefront.order_without(v_before, missing);
  v_left := storefront.order_cut(missing);
  if not exists (select from storefront.storefront_order_parts p
      where p.tenant_id = v_tenant and p.order_id = p_order and storefront.order_part_has_goods(p)) then
    perform app.fail('order_nothing_picked');
  end if;
  update storefront.storefront_orders x set subtotal = o.subtotal, tax_amount = o.tax_amount, discount_amount = o.discount_amount,
    total_price = o.total_price
  where x.tenant_id = v_tenant and x.id = o.id
  returning * into strict o;
  if o.payment_method = 'cash_on_delivery' then
    update money.payments p set amount = o.total_price
    where p.tenant_id = v_tenant and p.order_id = o.id and p.type = 'ORDER' and p.status = 'pending';
    with part as (
      select p.position, p.delivery_id, p.left_at is null as here, d.status = 'cancelled' as cancelled,
        -- The fee stays with what has left with it; else it is on the first that is here.
        row_number() over (partition by d.status = 'cancelled'
          order by (p.left_at is not null and d.delivery_fee > 0) desc, (p.left_at is null) desc, p.position) as turn,
        row_number() over (partition by p.left_at is null order by p.position) as place, (
          select coalesce(sum(i.unit_price * (g.quantity - g.short)), 0) from storefront.storefront_order_part_items g
          join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id
          where g.tenant_id = p.tenant_id and g.part_id = p.id) as value
      from storefront.storefront_order_parts p
      join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
      where p.tenant_id = v_tenant and p.order_id = o.id and (p.charged_short > 0 or storefront.order_part_has_goods(p))
    ), due as (
      -- Goods whose delivery is cancelled have their share, which nobody collects.
      select t.delivery_id, coalesce(s.goods[t.place], 0) as goods, case when t.turn = 1 then o.shipping_cost else 0 end as fee
      from part t, (
        select storefront.shares(storefront.goods_total(o) - storefront.goods_under_way(o), array_agg(w.value order by w.position),
          money.decimals_of(o.currency)) as goods
        from part w where w.here) s
      where t.here and not t.cancelled
    ), changed as (
      update delivery.deliveries d set cod_amount = u.goods + least(u.fee, o.total_price), delivery_fee = u.fee,
        label_outdated = d.label_outdated or d.label_edition > 0
      from due u where d.tenant_id = v_tenant and d.id = u.delivery_id
        and (d.cod_amount, d.delivery_fee) is distinct from (u.goods + least(u.fee, o.total_price), u.fee)
      returning d.id
    ), outdated as (
      update delivery.deliveries l set label_outdated = true
      from changed c where l.tenant_id = v_tenant and l.parent_id = c.id and l.label_edition > 0
    )
    select array_agg(c.id order by c.id) into v_changed from changed c;
    perform delivery.drivers_notify(v_changed) where v_changed is not null;
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
  perform storefront.order_event_emit(o, 'shortened', jsonb_build_object('amount', v_before.total_price - o.total_price));
  return v_left;
end $function$;

ALTER TABLE "delivery"."return_requests" ADD CONSTRAINT "return_requests_status_check" CHECK ((status = ANY (ARRAY['requested'::text, 'approved'::text, 'declined'::text, 'cancelled'::text]))) NOT VALID;

-- Drafts that were cancelled while they waited wait for nobody.
update delivery.return_requests q set status = 'cancelled', decided_at = d.updated_at
from delivery.deliveries d
where d.tenant_id = q.tenant_id and d.id = q.delivery_id and q.status = 'requested' and d.status = 'cancelled';

REVOKE ALL ON FUNCTION "delivery"."return_request_cancel"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."return_request_cancel"(uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126090706';
end $$;

grant execute on function private.schema_version() to barid_api;
