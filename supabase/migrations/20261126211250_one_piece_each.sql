-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.customer_return_input(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_original delivery.deliveries;
  v_mode text := delivery.return_destination_mode();
  v_home uuid;
  v_sender record;
  v_filled jsonb;
begin
  select p.* into v_original from delivery.deliveries o
  join delivery.deliveries p on p.tenant_id = o.tenant_id and p.id = delivery.parcel_of(o)
  where o.id = (input ->> 'original_delivery_id')::uuid;
  if not found then
    perform app.fail('delivery_not_found', '{"field": "original_delivery_id"}');
  end if;
  if v_original.status <> 'delivered' or v_original.delivery_flow in ('customer_return', 'operational_return') then
    perform app.fail('original_not_delivered', jsonb_build_object('field', 'original_delivery_id', 'status', v_original.status));
  end if;
  v_home := delivery.sold_from(v_original);
  v_sender := delivery.ordered_from(v_original);
  v_filled := jsonb_build_object('delivery_service_id',
    app.settings('general', 'delivery') #>> '{return_requests,default_delivery_service_id}');
  if input ->> 'customer_id' is null and input ->> 'institution_user_id' is null then
    v_filled := v_filled || jsonb_build_object('customer_id', v_original.customer_id, 'institution_user_id', v_original.institution_user_id);
  end if;
  if num_nonnulls(input -> 'pickup', input ->> 'pickup_address_id', input ->> 'pickup_warehouse_id') = 0 then
    v_filled := v_filled || jsonb_build_object('pickup_address_id', v_original.dropoff_address_id);
  end if;
  if num_nonnulls(input -> 'dropoff', input ->> 'dropoff_address_id', input ->> 'dropoff_warehouse_id') = 0 then
    if v_original.order_id is not null and v_home is null and v_sender.warehouse_id is not null and delivery.default_warehouse() is not null then
      v_filled := v_filled || jsonb_build_object('dropoff_warehouse_id', delivery.default_warehouse());
    elsif v_original.order_id is not null or v_mode = 'sender' then
      v_filled := v_filled || jsonb_build_object('dropoff_address_id',
        coalesce(v_home, v_sender.address_id));
    elsif v_mode = 'warehouse' then
      v_filled := v_filled || jsonb_build_object('dropoff_warehouse_id', delivery.returns_warehouse());
    else
      perform app.fail('return_destination_required', '{"field": "dropoff_address_id"}');
    end if;
    v_filled := v_filled || jsonb_build_object('recipient', delivery.return_receiver(v_original,
      coalesce((v_filled ->> 'dropoff_warehouse_id')::uuid, v_sender.warehouse_id),
      case when not v_filled ? 'dropoff_warehouse_id' then v_sender.snapshot end));
  end if;
  return jsonb_strip_nulls(v_filled) || input || jsonb_build_object('original_delivery_id', v_original.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.default_warehouse()
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select w.id from warehousing.warehouses w
    where w.tenant_id = app.tenant_id() and w.id::text = lower(app.settings('general', 'warehouse') ->> 'default_warehouse_id')
      and w.deleted_at is null and w.status in ('active', 'full'));
end $function$;

CREATE OR REPLACE FUNCTION delivery.deliveries_after_insert()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_actor uuid := app.user_id();
begin
  insert into delivery.delivery_status_history (tenant_id, delivery_id, to_status, actor_id, note)
  select n.tenant_id, n.id, n.status, v_actor, n.status_reason
  from new_rows n order by n.delivery_code, n.sequence_plan nulls first;
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select n.tenant_id, 'delivery.created', 'delivery', 'delivery', n.id, delivery.event_data(n, v_actor)
  from new_rows n where n.parent_id is null order by n.delivery_code;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.deliveries_after_update()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_actor uuid := app.user_id();
  v_moved bigint;
  v_wrong jsonb;
  v_leaving uuid[];
  v_parents uuid[];
  v_brought_back uuid[];
begin
  -- All that is asked of the moves in one statement: each costs as much to start as to answer.
  select count(*),
    (array_agg(jsonb_build_object('from', o.status, 'to', n.status)) filter (
      where not delivery.move_is_legal(n.delivery_flow, o.status, n.status) and not delivery.move_is_undone(n, o.status)))[1],
    array_agg(coalesce(n.parent_id, n.id)) filter (
      where o.status = 'pending' and n.status not in ('returned', 'cancelled') and n.delivery_flow in ('standard', 'pnd_outbound')),
    array_agg(distinct n.parent_id) filter (where n.parent_id is not null),
    array_agg(n.original_delivery_id) filter (where n.status = 'delivered' and n.delivery_flow = 'operational_return'
      -- A return that ends in a warehouse is back when it is received there (warehousing.parcel_received).
      and (n.dropoff_warehouse_id is null or n.current_warehouse_id = n.dropoff_warehouse_id))
  into v_moved, v_wrong, v_leaving, v_parents, v_brought_back
  from new_rows n join old_rows o on o.id = n.id where n.status <> o.status;
  if v_moved = 0 then
    return null;
  end if;
  if v_wrong is not null then
    perform app.fail('invalid_status_transition', v_wrong);
  end if;
  perform app.fail('return_under_way', jsonb_build_object('return_delivery_id', u.return_id))
  from delivery.returns_under_way(coalesce(v_leaving, '{}')) u limit 1;
  insert into delivery.delivery_status_history (tenant_id, delivery_id, from_status, to_status, actor_id, note,
    latitude, longitude, distance_m, occurred_at, reported_as)
  select n.tenant_id, n.id, o.status, n.status, v_actor, nullif(concat_ws(': ', n.status_reason, n.status_notes), ''),
    r.latitude, r.longitude, r.distance_m, r.occurred_at, case when r.delivery = n.id then r.reported_as end
  from new_rows n join old_rows o on o.id = n.id
  left join jsonb_to_record(nullif(current_setting('app.reported', true), '')::jsonb)
    r (parcel uuid, delivery uuid, latitude double precision, longitude double precision, distance_m double precision, occurred_at timestamptz,
      reported_as text)
    on r.parcel = coalesce(n.parent_id, n.id)
  where n.status <> o.status order by n.delivery_code, n.sequence_plan nulls first;
  -- Subscribers hear of parcels; a leg shows in its parent.
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select n.tenant_id, 'delivery.' || n.status, 'delivery', 'delivery', n.id,
    delivery.event_data(n, v_actor) || jsonb_build_object('from_status', o.status)
  from new_rows n join old_rows o on o.id = n.id
  where n.status <> o.status and n.parent_id is null order by n.delivery_code;

  if v_parents is not null then
    perform from delivery.deliveries p where p.id = any (v_parents) order by p.id for no key update;
    update delivery.deliveries p set status = f.status, status_reason = f.reason, status_notes = f.notes, attempts_used = f.attempts,
      postponed_to = f.postponed_to,
      picked_up_at = coalesce(p.picked_up_at, f.picked_up_at),
      delivered_at = case when f.status = 'delivered' then f.delivered_at end
    from (
      select l.tenant_id, l.parent_id, delivery.parent_status(array_agg(l.status order by l.sequence_plan)) as status,
        (array_agg(l.status_reason order by l.updated_at desc, l.sequence_plan desc))[1] as reason,
        (array_agg(l.status_notes order by l.updated_at desc, l.sequence_plan desc))[1] as notes, sum(l.attempts_used) as attempts,
        max(l.postponed_to) as postponed_to,
        min(l.picked_up_at) as picked_up_at, max(l.delivered_at) as delivered_at
      from delivery.deliveries l where l.parent_id = any (v_parents)
      group by l.tenant_id, l.parent_id
    ) f
    where p.tenant_id = f.tenant_id and p.id = f.parent_id and
      (p.status <> f.status or p.attempts_used <> f.attempts or p.postponed_to is distinct from f.postponed_to);
  end if;
  if v_brought_back is not null then
    perform delivery.originals_come_back(v_brought_back);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.event_data(d delivery.deliveries, actor uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode, 'status', d.status,
    'delivery_flow', d.delivery_flow, 'customer_id', d.customer_id, 'institution_user_id', d.institution_user_id,
    'external_reference_id', d.external_reference_id, 'reason', d.status_reason, 'actor_id', actor);
end $function$;

CREATE OR REPLACE FUNCTION delivery.operational_return_of(p delivery.deliveries, input jsonb)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  n delivery.deliveries := p;
  v_to record;
  v_service delivery.delivery_services;
begin
  select * into v_service from delivery.delivery_services s
  where s.id = coalesce((input ->> 'delivery_service_id')::uuid, n.delivery_service_id) and (input ->> 'delivery_service_id' is null or s.deleted_at is null);
  if not found then
    perform app.fail('service_not_found', '{"field": "delivery_service_id"}');
  end if;
  v_to := delivery.return_destination(p, input);
  n.original_delivery_id := p.id;
  n.id := gen_random_uuid();
  n.recipient := delivery.return_receiver(p, v_to.warehouse_id, v_to.snapshot);
  -- A customer's return goes back to the recipient of its original.
  if p.delivery_flow = 'customer_return' and not delivery.return_has_ended(p) and v_to.address_id = (delivery.ordered_from(p)).address_id then
    select o.recipient - 'received_by' into n.recipient from delivery.deliveries o where o.tenant_id = p.tenant_id and o.id = p.original_delivery_id;
  end if;
  n.dropoff_address_id := v_to.address_id;
  n.dropoff_snapshot := v_to.snapshot;
  n.dropoff_zone_id := v_to.zone_id;
  -- The goods of a store are received in their warehouse by themselves, when the parcel is back (storefront.order_goods_expect).
  n.dropoff_warehouse_id := case when n.order_id is null then v_to.warehouse_id end;
  n.staging_warehouse_id := null;
  n.delivery_flow := 'operational_return';
  n.made_at_door := false;
  n.returns_part := false;
  n.status := 'pending';
  n.carrier_type := 'internal';
  n.carrier_code := null;
  n.payer_type := 'sender';
  n.payment_method := 'cash';
  n.cod_amount := 0;
  n.delivery_fee := 0;
  n.distance_km := null;
  n.delivery_service_id := v_service.id;
  n.external_reference_id := null;
  -- It brings nothing of the store's order to anybody.
  n.order_id := null;
  n.promised_at := null;
  n.deliver_after := null;
  n.deliver_before := null;
  n.status_reason := input ->> 'reason';
  n.notes := input ->> 'notes';
  n.created_by := app.user_id();
  n.delivery_code := app.take_numbers('delivery_code');
  n.barcode := delivery.barcode_of_code(n.delivery_code);
  return n;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_ends_in(p delivery.deliveries, to_address uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if to_address = p.dropoff_address_id then
    return delivery.ends_in(p);
  elsif p.delivery_flow <> 'customer_return' then
    return null;
  end if;
  return coalesce(case when not p.made_at_door then delivery.sold_in(p.original_delivery_id, to_address) end, (
    select w.id from warehousing.warehouses w
    where w.tenant_id = p.tenant_id and w.id = delivery.default_warehouse() and w.address_id = to_address
      and delivery.return_destination_mode() = 'warehouse' and (p.made_at_door or not delivery.is_of_order(p.original_delivery_id))));
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_receiver(p delivery.deliveries, warehouse uuid, place jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_strip_nulls(jsonb_build_object('name', coalesce(delivery.warehouse_name(p.tenant_id, warehouse),
    delivery.person_name(coalesce(p.institution_user_id, p.customer_id)), app.localized(place -> 'title')),
    'phone', place #>> '{contact_info,phone}'));
end $function$;

CREATE OR REPLACE FUNCTION delivery.returns_warehouse()
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce(delivery.default_warehouse(), app.refuse('return_destination_required', '{"field": "dropoff_warehouse_id"}'));
end $function$;

CREATE OR REPLACE FUNCTION delivery.staging_warehouse()
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  -- Asked apart: most have none, and the policies of warehouses cost as much where no row is asked for.
  return case when (app.settings('general', 'warehouse') ->> 'handoff_required')::boolean then delivery.default_warehouse() end;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.settings_get(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_open boolean := app.sees_tenant() or app.grants() && '{type:driver}';
begin
  return (
    with wanted as (
      select g ->> 0 as module, g ->> 1 as group_key from jsonb_array_elements(input -> 'groups') g
      union
      select s.module, s.group_key from tenancy.tenant_settings s where s.tenant_id = app.tenant_id() and not input ? 'groups'
      union
      select 'delivery', 'transfer_manifest' where not input ? 'groups'
    ), shown as (
      select w.module, w.group_key, case
        when w.module = 'delivery' and w.group_key = 'transfer_manifest' then tenancy.manifest_settings() || coalesce((
          select jsonb_build_object('default_delivery_service',
            jsonb_build_object('id', s.id, 'name', app.localized(s.name), 'code', s.code))
          from delivery.delivery_services s
          where s.id = (tenancy.manifest_settings() ->> 'default_delivery_service_id')::uuid and s.deleted_at is null), '{}')
        when w.module = 'delivery' and w.group_key = 'attempts' then tenancy.attempt_settings()
        when not v_open and w.module = 'delivery' and w.group_key = 'cod' then '{}'
        when not v_open and w.module = 'general' and w.group_key = 'driver'
          then app.settings(w.module, w.group_key) - '{mode,percentage,per_delivery}'::text[]
        else app.settings(w.module, w.group_key) end as settings
      from wanted w
    )
    select coalesce(jsonb_object_agg(m.module, m.groups), '{}')
    from (
      select s.module, jsonb_object_agg(s.group_key, jsonb_build_object('settings', s.settings)) as groups
      from shown s group by s.module
    ) m);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."default_warehouse"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."default_warehouse"() TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."event_data"(delivery.deliveries, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."event_data"(delivery.deliveries, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."return_receiver"(delivery.deliveries, uuid, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."return_receiver"(delivery.deliveries, uuid, jsonb) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126211250';
end $$;

grant execute on function private.schema_version() to barid_api;
