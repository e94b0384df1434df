-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.made_of(parcel uuid)
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return array(select r.id from delivery.deliveries r
    where r.tenant_id = app.tenant_id() and r.original_delivery_id = parcel
      and (r.status <> 'cancelled' or r.picked_up_at is not null and not r.made_at_door));
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_obstacle(o delivery.outcomes, d delivery.deliveries, OUT code text, OUT params jsonb)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_parcel_id uuid := delivery.parcel_of(d);
  v_brought_back uuid := case d.delivery_flow when 'operational_return' then d.original_delivery_id end;
  v_until timestamptz := delivery.outcome_undo_until(o);
begin
  perform app.require_tenant(o.tenant_id);
  select x.code, x.params into code, params from (values
    (1, 'no_outcome_to_undo', o.id is null, jsonb_build_object('status', d.status)),
    (2, 'carrier_reports_outcome', d.carrier_type = 'external', '{}'),
    (3, 'outcome_already_undone', o.undone_at is not null, '{}'),
    (4, 'undo_period_over', now() > v_until, jsonb_build_object('undo_until', v_until)),
    -- It made another move.
    (5, 'outcome_went_on', delivery.last_move(d.id) > o.last_move_id, jsonb_build_object('status', d.status)),
    -- An assignment waits for its driver's answer, or another driver has it. A handover that was rejected does not count.
    (6, 'outcome_went_on', exists (select from delivery.assignments a where a.tenant_id = o.tenant_id and a.delivery_id = d.id
      and (a.status = 'pending' or (a.status in ('assigned', 'accepted') and a.driver_id is distinct from o.driver_id))),
      jsonb_build_object('status', d.status)),
    -- A return that it made is not in its driver's hands any more, or on its way to another driver's, or was lost; or another one was ordered since,
    -- and is not cancelled, or was fetched before that.
    (7, 'outcome_went_on', exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id and r.original_delivery_id = v_parcel_id
      and r.created_at >= o.created_at and (r.status <> 'cancelled' or r.created_at = o.created_at or r.picked_up_at is not null)
      and ((r.created_at, r.status) is distinct from (o.created_at, 'picked_up')
        or not exists (select from delivery.assignments a where a.tenant_id = r.tenant_id and a.delivery_id = r.id
          and a.status in ('assigned', 'accepted') and a.driver_id = o.driver_id))),
      jsonb_build_object('delivery_ids', delivery.made_of(v_parcel_id))),
    -- A warehouse received it.
    (8, 'outcome_went_on', exists (select from warehousing.receiving_orders r where r.tenant_id = o.tenant_id and r.delivery_id = d.id
      and r.created_at >= o.created_at and r.status not in ('pending', 'cancelled')), '{}'),
    -- Of an operational return: the parcel that it brings back has become returned.
    (9, 'outcome_went_on', exists (select from delivery.delivery_status_history h
      join delivery.deliveries x on x.tenant_id = h.tenant_id and x.id = h.delivery_id
      where h.tenant_id = o.tenant_id and v_brought_back in (x.id, x.parent_id) and h.to_status = 'returned' and h.created_at >= o.created_at), '{}'),
    -- It gave something back, and its customer has ordered another return of that parcel.
    (9, 'outcome_went_on', d.status = 'delivered' and exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id
      and r.original_delivery_id = delivery.gave_back_of(d.id) and r.created_at >= o.created_at
      and (r.status <> 'cancelled' or r.picked_up_at is not null)), '{}'),
    -- Its fee was given back since.
    (10, 'outcome_went_on', exists (select from money.payments p where p.tenant_id = o.tenant_id and p.type = 'REFUND'
      and p.delivery_id in (v_parcel_id, v_brought_back) and p.created_at >= o.created_at), '{}'),
    -- The store's order ended, or money of it was given back.
    (11, 'outcome_went_on', exists (select from storefront.storefront_orders s where s.tenant_id = o.tenant_id and s.id = d.order_id
      and (s.status not in ('shipped', 'delivered') or exists (select from money.payments p where p.tenant_id = s.tenant_id and p.order_id = s.id
        and p.type = 'REFUND' and p.created_at >= o.created_at))), '{}'),
    (12, 'outcome_is_settled', exists (select from money.cod_collections c where c.tenant_id = o.tenant_id and c.delivery_id = v_parcel_id
      and c.collected_at = o.created_at and c.status <> 'collected'), '{}'),
    (13, 'outcome_is_settled', exists (select from money.driver_pay p where p.tenant_id = o.tenant_id and p.delivery_id = d.id
      and p.accrued_at = o.created_at and p.status = 'paid'), '{}'),
    (14, 'outcome_is_settled', money.stated_since(v_parcel_id, o.created_at), '{}')
  ) x (place, code, applies, params) where x.applies order by x.place limit 1;
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_destination(d delivery.deliveries, input jsonb, OUT address_id uuid, OUT snapshot jsonb, OUT warehouse_id uuid, OUT zone_id uuid)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_at_door boolean := coalesce((input ->> 'at_door')::boolean, false);
  v_named boolean := num_nonnulls(input ->> 'dropoff_address_id', input ->> 'dropoff_warehouse_id') > 0;
  v_ended boolean := delivery.return_has_ended(d);
  -- A customer's return that was cancelled goes back to them, wherever returns go.
  v_mode text := case when d.delivery_flow = 'customer_return' and not v_ended then 'sender' else delivery.return_destination_mode() end;
  v_sender record := delivery.ordered_from(case when v_ended then delivery.original_of(d) else d end);
begin
  if v_named and d.order_id is not null then
    perform app.fail('return_destination_fixed',
      jsonb_build_object('field', case when input ->> 'dropoff_address_id' is null then 'dropoff_warehouse_id' else 'dropoff_address_id' end));
  elsif v_named then
    address_id := (input ->> 'dropoff_address_id')::uuid;
    warehouse_id := coalesce((input ->> 'dropoff_warehouse_id')::uuid, delivery.return_ends_in(d.id, address_id));
  elsif v_mode = 'choose' and d.order_id is null and not v_at_door then
    perform app.fail('return_destination_required', '{"field": "dropoff_address_id"}');
  elsif v_mode = 'warehouse' and d.order_id is null then
    warehouse_id := nullif(case when v_at_door then delivery.default_warehouse() else delivery.returns_warehouse() end, d.current_warehouse_id);
  end if;
  if warehouse_id is not null then
    select w.address_id into address_id from warehousing.warehouses w
    where w.tenant_id = d.tenant_id and w.id = return_destination.warehouse_id and w.deleted_at is null;
    if not found then
      perform app.fail('warehouse_not_found', '{"field": "dropoff_warehouse_id"}');
    elsif warehouse_id = d.current_warehouse_id then
      perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_lies_there'));
    end if;
  end if;
  if address_id is null then
    address_id := v_sender.address_id;
    snapshot := v_sender.snapshot;
    warehouse_id := v_sender.warehouse_id;
    zone_id := v_sender.zone_id;
    return;
  end if;
  select to_jsonb(a), a.zone_id into snapshot, zone_id from delivery.addresses_list a where a.id = return_destination.address_id;
  if not found then
    perform app.fail('address_not_found', '{"field": "dropoff_address_id"}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.require_rest_of_parcel(item uuid, warehouse uuid, units bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_parcel uuid;
begin
  select i.parcel_delivery_id into v_parcel from warehousing.inventory_items i where i.tenant_id = v_tenant and i.id = item;
  if v_parcel is null then
    return;
  end if;
  perform delivery.lock_deliveries(array[v_parcel]);
  if not exists (
      select from delivery.deliveries d
      where d.tenant_id = v_tenant and v_parcel in (d.id, d.parent_id, d.original_delivery_id) and d.current_warehouse_id = warehouse)
    or units + (select coalesce(sum(s.quantity), 0) from warehousing.stock s where s.tenant_id = v_tenant and s.item_id = item) > (
      select coalesce(sum(i.quantity), 0) from delivery.delivery_items i
      where i.tenant_id = v_tenant and i.delivery_id = v_parcel and i.item_id = item)
  then
    perform app.fail('item_of_parcel', jsonb_build_object('field', 'delta', 'item_id', item));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.waybill_takes_along(w warehousing.waybills, parcels uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  -- Read once: it is recorded as it is booked out.
  v_lines jsonb := (
    select jsonb_agg(to_jsonb(s) || jsonb_build_object('delivery_id', d.id) order by s.id)
    from delivery.deliveries d cross join lateral warehousing.parcel_stock(d.id, w.source_warehouse_id) s
    where d.tenant_id = w.tenant_id and d.id = any (parcels) and s.reserved_for_id is null);
begin
  if v_lines is null then
    return;
  end if;
  insert into warehousing.waybill_items (tenant_id, waybill_id, delivery_id, item_id, quantity, lot_number, serial_number, status)
  select w.tenant_id, w.id, l.delivery_id, l.item_id, sum(l.quantity), l.lot_number, l.serial_number, l.status
  from jsonb_to_recordset(v_lines) as l (delivery_id uuid, item_id uuid, quantity bigint, lot_number text, serial_number text, status text)
  group by l.delivery_id, l.item_id, l.lot_number, l.serial_number, l.status;
  perform warehousing.stock_post((
    select jsonb_agg(jsonb_build_object('type', 'transfer_out', 'item_id', l.item_id, 'warehouse_id', w.source_warehouse_id, 'quantity', l.quantity,
      'from', jsonb_strip_nulls(jsonb_build_object('bin_id', l.bin_id, 'status', l.status, 'lot_number', l.lot_number,
        'serial_number', l.serial_number)), 'reference_type', 'waybill', 'reference_id', w.id))
    from jsonb_to_recordset(v_lines) as l (bin_id uuid, item_id uuid, quantity bigint, lot_number text, serial_number text, status text)));
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128054427';
end $$;

grant execute on function private.schema_version() to barid_api;
