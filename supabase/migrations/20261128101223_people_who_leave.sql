-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table delivery.drivers in share row exclusive mode;
      set local lock_timeout = '500ms';
      lock table tenancy.tenant_users in share row exclusive mode;
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

CREATE OR REPLACE FUNCTION delivery.assignments_restore(rejected uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform delivery.handovers_undo(array(select a.id from delivery.assignments a
    where a.tenant_id = app.tenant_id() and a.id = any (rejected) and a.status = 'rejected' and a.driver_id = app.user_id()));
end $function$;

CREATE OR REPLACE FUNCTION delivery.drives_no_more(tenant uuid, driver uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return not exists (select from tenancy.tenant_users u
    where u.tenant_id = tenant and u.user_id = driver and u.is_active and u.tenant_user_type = 'driver');
end $function$;

REVOKE ALL ON FUNCTION "delivery"."drives_no_more"(uuid, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.handovers_follow_drivers()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if delivery.drives_no_more(new.tenant_id, new.user_id) and exists (
      select from delivery.assignments a
      where a.tenant_id = new.tenant_id and a.driver_id = new.user_id and a.status = 'pending' and a.handed_over_from is not null) then
    perform app.job_add('delivery.handovers_withdraw', jsonb_build_object('driver_id', new.user_id));
  end if;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."handovers_follow_drivers"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.handovers_undo(ended uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_events jsonb;
begin
  with back as (
    insert into delivery.assignments (tenant_id, delivery_id, driver_id, vehicle_id, status, sequence_number, units, notes, assigned_by,
      responded_at)
    select v_tenant, a.delivery_id, f.driver_id, f.vehicle_id, 'accepted', f.sequence_number, a.units, f.notes, a.assigned_by, clock_timestamp()
    from delivery.assignments a
    join delivery.assignments f on f.tenant_id = a.tenant_id and f.id = a.handed_over_from
    where a.tenant_id = v_tenant and a.id = any (ended) and a.status in ('rejected', 'returned')
    returning id, driver_id, delivery_id, units
  ), told as (
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select v_tenant, b.driver_id, 'assignment_created', jsonb_build_object('assignment_id', b.id, 'assignment_count', 1,
      'total_units', b.units, 'requires_driver_response', false)
    from back b
  )
  select jsonb_agg(jsonb_build_object('source_module', 'delivery', 'event_type', 'assignment.created', 'entity_type', 'assignment',
    'entity_id', b.id, 'event_data', jsonb_build_object('assignment_ids', array[b.id], 'driver_id', b.driver_id, 'status', 'accepted',
      'delivery_ids', array[b.delivery_id], 'total_units', b.units, 'actor_id', app.user_id())) order by b.id)
  into v_events from back b;
  if v_events is not null then
    perform app.events_add(v_events);
  end if;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."handovers_undo"(uuid[]) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.handovers_withdraw(tenant uuid, driver uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_deliveries uuid[];
  v_ids uuid[];
begin
  perform set_config('app.tenant_id', tenant::text, true);
  v_deliveries := array(select a.delivery_id from delivery.assignments a
    where a.tenant_id = tenant and a.driver_id = driver and a.status = 'pending' and a.handed_over_from is not null);
  perform delivery.lock_deliveries(v_deliveries);
  perform from delivery.drivers d
  where d.tenant_id = tenant and (d.user_id = driver or d.user_id in (
    select f.driver_id from delivery.assignments a
    join delivery.assignments f on f.tenant_id = a.tenant_id and f.id = a.handed_over_from
    where a.tenant_id = tenant and a.driver_id = driver and a.status = 'pending'))
  order by d.user_id for no key update;
  if not delivery.drives_no_more(tenant, driver) then
    return 0;
  end if;
  -- As they are now: while this waited, the office may have handed them over to somebody else.
  v_ids := array(select a.id from delivery.assignments a
    where a.tenant_id = tenant and a.driver_id = driver and a.status = 'pending' and a.handed_over_from is not null
      and a.delivery_id = any (v_deliveries) order by a.id);
  -- Written all the same, as by an answer, so that the list of what changed since shows the driver who has them now.
  update delivery.deliveries d set status = d.status
  from delivery.assignments a where a.tenant_id = tenant and a.id = any (v_ids) and d.tenant_id = tenant and d.id = a.delivery_id;
  perform delivery.assignments_return(v_ids, 'driver_inactive');
  perform delivery.handovers_undo(v_ids);
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select tenant, n.user_id, 'handover_withdrawn', jsonb_build_object('driver_id', driver, 'driver_name', p.full_name, 'assignment_count', count(*))
  from delivery.assignments a
  join tenancy.profiles p on p.id = driver
  left join tenancy.tenant_users b on b.tenant_id = a.tenant_id and b.user_id = a.assigned_by and b.is_active
  cross join lateral (
    select b.user_id where b.user_id is not null
    union
    select u.user_id from tenancy.tenant_users u
    join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
      and r.role_key in ('tenant_admin', 'operations_manager', 'dispatcher')
    where b.user_id is null and u.tenant_id = tenant and u.is_active) n
  where a.tenant_id = tenant and a.id = any (v_ids)
  group by n.user_id, p.full_name;
  return cardinality(v_ids);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."handovers_withdraw"(uuid, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.manifest_give(m delivery.transfer_manifests, driver uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if m.status in ('awaiting_receipt', 'receiving') then
    perform app.fail('manifest_action_not_allowed', delivery.manifest_label_to_json(m) || '{"text_key": "reason_manifest_arrived"}');
  end if;
  perform delivery.require_manifest_status(m, '{draft,picked_up,in_transit}');
  perform delivery.require_driver(driver);
  update delivery.transfer_manifests set driver_id = driver where tenant_id = m.tenant_id and id = m.id;
  perform delivery.manifest_event_add(m.id, 'driver_changed', jsonb_build_object('from', m.driver_id, 'to', driver));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select m.tenant_id, n.user_id, n.type, jsonb_build_object('manifest_id', m.id, 'manifest_number', m.manifest_number)
  from (values (driver, 'manifest_given'), (m.driver_id, 'manifest_given_to_another')) n (user_id, type)
  where n.user_id is not null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_move(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
  v_point uuid := (input ->> 'destination_processing_point_id')::uuid;
  v_driver uuid := (input ->> 'driver_id')::uuid;
begin
  if v_point is not null then
    perform delivery.require_manifest_status(m, '{draft,picked_up,in_transit,awaiting_receipt,receiving}');
    if exists (select from delivery.transfer_manifest_items i
        where i.tenant_id = m.tenant_id and i.manifest_id = m.id and i.received_at is not null) then
      perform app.fail('manifest_action_not_allowed', delivery.manifest_label_to_json(m) || '{"text_key": "reason_manifest_received"}');
    end if;
  end if;
  if v_driver is distinct from m.driver_id and v_driver is not null then
    perform delivery.manifest_give(m, v_driver);
  end if;
  if v_point <> m.processing_point_id then
    perform delivery.require_point(v_point);
    update delivery.transfer_manifests set processing_point_id = v_point where tenant_id = m.tenant_id and id = m.id;
    perform delivery.manifest_event_add(m.id, 'processing_point_changed', jsonb_build_object('from', m.processing_point_id, 'to', v_point));
  end if;
  return delivery.manifest_to_json(m.id);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.cash_left(tenant uuid, person uuid, kind text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_agg(jsonb_build_object('amount', s.amount, 'currency', s.currency) order by s.currency)
    from (
      select sum(a.balance) as amount, a.currency from money.accounts a
      where a.tenant_id = tenant and a.owner_user_id = person and a.kind = cash_left.kind
      group by a.currency having sum(a.balance) <> 0) s);
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."cash_left"(uuid, uuid, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION warehousing.member_left()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_left jsonb;
begin
  if new.left_at is null and app.user_id() is not null then
    return null;
  end if;
  select coalesce(jsonb_object_agg(l.part, l.value), '{}') into v_left
  from (
    values ('parcels', to_jsonb(nullif(cardinality(delivery.parcels_in_hand(new.user_id)), 0))),
      ('cash_in_hand', warehousing.cash_left(new.tenant_id, new.user_id, 'driver_cash')),
      ('cash_on_desk', warehousing.cash_left(new.tenant_id, new.user_id, 'cash_on_hand')),
      ('picking_orders', (select to_jsonb(nullif(count(*), 0)) from warehousing.picking_orders o
        where o.tenant_id = new.tenant_id and o.assigned_to = new.user_id and o.status in ('pending', 'in_progress'))),
      ('manifests', (select to_jsonb(nullif(count(*), 0)) from delivery.transfer_manifests m
        where m.tenant_id = new.tenant_id and m.driver_id = new.user_id and m.status in ('draft', 'picked_up', 'in_transit'))),
      ('api_keys', to_jsonb(nullif(jsonb_array_length(tenancy.api_keys_stopped(new.user_id)), 0)))
  ) l (part, value)
  where l.value is not null;
  if v_left = '{}' and new.tenant_user_type not in ('staff', 'driver') then
    return null;
  end if;
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select distinct new.tenant_id, u.user_id, 'member_left',
    jsonb_build_object('user_id', new.user_id, 'full_name', p.full_name, 'tenant_user_type', new.tenant_user_type) || v_left
  from tenancy.profiles p
  join tenancy.tenant_users u on u.tenant_id = new.tenant_id and u.is_active
  join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
    and (r.role_key in ('tenant_admin', 'operations_manager') or r.role_key = 'dispatcher' and new.tenant_user_type = 'driver')
  where p.id = new.user_id;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."member_left"() FROM "barid_caller";

CREATE TRIGGER handovers_follow_drivers AFTER UPDATE OF status ON delivery.drivers FOR EACH ROW WHEN ((new.status = 'inactive'::text)) EXECUTE FUNCTION delivery.handovers_follow_drivers();

CREATE TRIGGER member_left AFTER UPDATE OF is_active, left_at ON tenancy.tenant_users FOR EACH ROW WHEN ((((new.left_at IS NOT NULL) AND (old.left_at IS NULL)) OR (old.is_active AND (NOT new.is_active)))) EXECUTE FUNCTION warehousing.member_left();

REVOKE ALL ON FUNCTION "delivery"."drives_no_more"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."handovers_follow_drivers"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."handovers_undo"(uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."handovers_withdraw"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."handovers_withdraw"(uuid, uuid) TO "barid_api";

REVOKE ALL ON FUNCTION "delivery"."manifest_give"(delivery.transfer_manifests, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."manifest_give"(delivery.transfer_manifests, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."cash_left"(uuid, uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "warehousing"."member_left"() FROM PUBLIC;

-- Handovers that drivers who were shut out or left before now never confirmed.
insert into app.jobs (tenant_id, kind, payload)
select distinct a.tenant_id, 'delivery.handovers_withdraw', jsonb_build_object('driver_id', a.driver_id)
from delivery.assignments a
where a.status = 'pending' and a.handed_over_from is not null and delivery.drives_no_more(a.tenant_id, a.driver_id);

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128101223';
end $$;

grant execute on function private.schema_version() to barid_api;
