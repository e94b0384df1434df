-- The life of a delivery, guarded below every core: only these moves are possible, each leaves a line of
-- history and an event, and a parent follows its legs. Cores just write the status (and status_reason).

-- True when a delivery of this flow may go from one status to another. A parent only mirrors its legs.
create or replace function delivery.move_is_legal(flow text, from_status text, to_status text) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return flow = 'pnd_parent' or to_status = any (case from_status
    when 'draft' then '{pending,cancelled}'::text[]
    when 'pending' then case when flow in ('pnd_outbound', 'standard')
      -- Its operational return brought it back to where it came from.
      then '{assigned,accepted,in_transit,cancelled,returned}'::text[] else '{assigned,accepted,in_transit,cancelled}' end
    when 'assigned' then '{pending,accepted,picked_up,returned,cancelled}'
    when 'accepted' then '{pending,picked_up,returned,cancelled}'
    when 'picked_up' then '{in_transit,delivered,failed,returned}'
    when 'in_transit' then '{pending,delivered,failed,returned}'
    when 'failed' then '{in_transit,pending,returned,cancelled}'
    -- Back in the warehouse, an outbound leg sets out again; or its driver continues, when the return is cancelled.
    when 'returned' then case when flow in ('pnd_outbound', 'operational_return') then '{pending,in_transit}'::text[] else '{}' end
    else '{}' end);
end $$;

-- The status a parent shows for its legs, given in the order of their sequence. Between two legs the
-- parcel is on its way: in_transit.
create or replace function delivery.parent_status(legs text[]) returns text
language plpgsql immutable set search_path = '' as $$
declare
  v_current text;
  v_begun boolean := legs && '{picked_up,in_transit,delivered,failed,returned}';
begin
  -- The leg that is under way: the first one not delivered.
  select l.status into v_current from unnest(legs) with ordinality l (status, place)
  where l.status <> 'delivered' order by l.place limit 1;
  return case
    when v_current is null then 'delivered'
    when v_current = 'draft' and not v_begun then 'draft'
    when legs <@ '{cancelled}' then 'cancelled'
    when v_current in ('failed', 'returned', 'cancelled') then v_current
    when legs[1] <> 'delivered' then v_current
    else 'in_transit'
  end;
end $$;

-- Records the first status of each new delivery and emits delivery.created, once for a parent and its legs.
create or replace function delivery.deliveries_after_insert() returns trigger
language plpgsql security definer set search_path = '' as $$
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
end $$;

-- Allows legal moves of a delivery only, and those of an undo (delivery.move_is_undone); records each in the history, emits its event and
-- lets parents follow their legs.
create or replace function delivery.deliveries_after_update() returns trigger
language plpgsql security definer set search_path = '' as $$
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
end $$;

-- Leaves a line of history of a report that moves nothing: a driver on the road brings the parcel into a warehouse, where it goes nowhere
-- before it is received. SECURITY DEFINER: nobody writes histories. Its family is locked. Fails: forbidden (delivery.require_carrier).
create or replace function delivery.stop_recorded(p_delivery uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  d delivery.deliveries;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery and x.status = 'in_transit';
  perform delivery.require_carrier(d);
  insert into delivery.delivery_status_history (tenant_id, delivery_id, from_status, to_status, actor_id, note,
    latitude, longitude, distance_m, occurred_at, reported_as)
  select d.tenant_id, d.id, d.status, d.status, app.user_id(), nullif(concat_ws(': ', d.status_reason, d.status_notes), ''),
    r.latitude, r.longitude, r.distance_m, r.occurred_at, r.reported_as
  from (select nullif(current_setting('app.reported', true), '')::jsonb as said) g
  left join jsonb_to_record(g.said) r (parcel uuid, latitude double precision, longitude double precision, distance_m double precision,
    occurred_at timestamptz, reported_as text) on r.parcel = delivery.parcel_of(d);
end $$;

grant execute on function delivery.stop_recorded(uuid) to barid_caller;

-- Deliveries that operational returns brought back become returned, unless they were cancelled before. They hold these parcels (delivery.lock_deliveries).
create or replace function delivery.originals_come_back(parcels uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  if cardinality(parcels) > 0 then
    update delivery.deliveries o set status = 'returned'
    where o.tenant_id = app.tenant_id() and (o.id = any (parcels) or o.parent_id = any (parcels))
      and o.delivery_flow in ('standard', 'pnd_outbound') and o.status = 'pending';
  end if;
end $$;

-- The payload of an event about a delivery: numbers, ids and states; no name, phone or address.
create or replace function delivery.event_data(d delivery.deliveries, actor uuid) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode, 'status', d.status,
    'delivery_flow', d.delivery_flow, 'customer_id', d.customer_id, 'institution_user_id', d.institution_user_id,
    'external_reference_id', d.external_reference_id, 'reason', d.status_reason, 'actor_id', actor);
end $$;

drop trigger if exists deliveries_made on delivery.deliveries;
create trigger deliveries_made after insert on delivery.deliveries referencing new table as new_rows
  for each statement execute function delivery.deliveries_after_insert();
drop trigger if exists deliveries_moved on delivery.deliveries;
create trigger deliveries_moved after update on delivery.deliveries referencing old table as old_rows new table as new_rows
  for each statement execute function delivery.deliveries_after_update();

-- Nobody calls these but other functions and triggers.
revoke execute on function delivery.deliveries_after_insert(), delivery.deliveries_after_update(), delivery.originals_come_back(uuid[]) from barid_caller;
