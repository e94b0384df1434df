-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.assigners_notify(p_type text, assignment_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_office constant text[] := '{tenant_admin,operations_manager,dispatcher}';
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select v_tenant, n.user_id, p_type, jsonb_build_object('driver_id', p.id, 'driver_name', p.full_name, 'assignment_count', count(*))
  from delivery.assignments a
  join tenancy.profiles p on p.id = a.driver_id
  left join tenancy.tenant_users b on b.tenant_id = a.tenant_id and b.user_id = a.assigned_by and b.is_active and exists (
    select from tenancy.tenant_user_roles r where r.tenant_id = b.tenant_id and r.user_id = b.user_id and r.role_key = any (v_office))
  cross join lateral (
    select b.user_id where b.user_id is not null
    union
    select u.user_id from tenancy.tenant_users u
    join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id and r.role_key = any (v_office)
    where b.user_id is null and u.tenant_id = v_tenant and u.is_active) n
  where a.tenant_id = v_tenant and a.id = any (assignment_ids) and n.user_id is distinct from app.user_id()
  group by n.user_id, p.id, p.full_name;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."assigners_notify"(text, uuid[]) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.assignments_answer(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_me uuid := app.user_id();
  v_one uuid := (input ->> 'assignment_id')::uuid;
  v_bulk uuid := (input ->> 'bulk_assignment_id')::uuid;
  v_answer text := input ->> 'status';
  v_driver uuid := delivery.assignment_driver(v_one, v_bulk);
  v_rows delivery.assignments[];
  v_deliveries uuid[];
begin
  if v_driver is null then
    perform app.fail(case when v_bulk is null then 'assignment_not_found' else 'bulk_assignment_not_found' end);
  end if;
  if v_driver is distinct from v_me then
    perform app.fail('forbidden');
  end if;
  select array_agg(a.delivery_id) into v_deliveries from delivery.assignments a
  where a.tenant_id = v_tenant and (a.id = v_one or a.bulk_assignment_id = v_bulk) and a.status <> 'returned';
  perform delivery.lock_deliveries(coalesce(v_deliveries, '{}'));
  perform delivery.lock_answering_drivers(v_one, v_bulk);
  perform from delivery.assignments a where a.tenant_id = v_tenant and (a.id = v_one or a.bulk_assignment_id = v_bulk)
  order by a.id for no key update;
  -- As they are now: while this waited, some of them may have been withdrawn.
  v_rows := array(select a from delivery.assignments a
    where a.tenant_id = v_tenant and (a.id = v_one or a.bulk_assignment_id = v_bulk) and a.status <> 'returned' order by a.id);
  v_deliveries := array(select r.delivery_id from unnest(v_rows) r);

  if cardinality(v_rows) > 0 and not exists (select from unnest(v_rows) r where r.status = 'pending') and not exists (
      select from unnest(v_rows) r where r.responded_at is null
        or r.status <> all (case v_answer when 'accepted' then '{accepted,completed}'::text[] else '{rejected}' end)) then
    return jsonb_build_object('status', v_answer, 'updated_count', cardinality(v_rows));
  end if;
  if cardinality(v_rows) = 0 or exists (select from unnest(v_rows) r where r.status <> 'pending') then
    perform app.fail('assignment_not_pending', case when cardinality(v_rows) = 0 then '{"status": "returned", "text_key": "assignment_withdrawn"}'
      else jsonb_build_object('status', (select r.status from unnest(v_rows) r where r.status <> 'pending' limit 1)) end);
  end if;

  -- Somebody who was given a rest fetches nothing new; a parcel on the road they do confirm.
  if v_answer = 'accepted' and exists (select from delivery.deliveries d where d.tenant_id = v_tenant and d.id = any (v_deliveries) and d.status = 'assigned')
    and exists (select from delivery.drivers r where r.tenant_id = v_tenant and r.user_id = v_me and r.status <> 'active') then
    perform app.fail('driver_inactive');
  end if;

  -- The delivery first: drivers may change only what they still carry. A parcel on the road keeps its status and is written all the same,
  -- so that the list of what changed since shows the driver who has it now.
  update delivery.deliveries d set status = case when d.status <> 'assigned' then d.status when v_answer = 'accepted' then 'accepted' else 'pending' end
  where d.tenant_id = v_tenant and d.id = any (v_deliveries);
  update delivery.assignments a set status = v_answer, responded_at = clock_timestamp(), response_reason = input ->> 'reason',
    ended_at = case v_answer when 'rejected' then clock_timestamp() end
  where a.tenant_id = v_tenant and a.id in (select r.id from unnest(v_rows) r);
  if v_answer = 'rejected' then
    perform delivery.assignments_restore(array(select r.id from unnest(v_rows) r where r.handed_over_from is not null));
    perform delivery.rejections_notify(array(select r.id from unnest(v_rows) r));
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery',
    'event_type', case when v_bulk is null then 'assignment.' else 'bulk_assignment.' end || v_answer,
    'entity_type', case when v_bulk is null then 'assignment' else 'bulk_assignment' end, 'entity_id', coalesce(v_bulk, v_one),
    'event_data', jsonb_build_object('assignment_ids', (select jsonb_agg(r.id) from unnest(v_rows) r), 'driver_id', v_driver,
      'delivery_ids', to_jsonb(v_deliveries), 'status', v_answer, 'actor_id', v_me)
      || case when v_bulk is null then '{}' else jsonb_build_object('bulk_assignment_id', v_bulk) end)));
  return jsonb_build_object('status', v_answer, 'updated_count', cardinality(v_rows));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_exception_open(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  v_items jsonb := coalesce(nullif(input -> 'items', 'null'), '[]');
  v_id uuid;
  v_place bigint;
  v_receipt uuid;
  v_moving uuid;
begin
  if not app.has_permission('manage:module:warehouse') then
    perform delivery.require_carrier(d);
  end if;
  if d.status in ('delivered', 'cancelled') then
    perform app.fail('delivery_ended', jsonb_build_object('status', d.status));
  end if;
  select n.position - 1 into v_place
  from rows from (jsonb_to_recordset(v_items) as (delivery_item_id uuid)) with ordinality n (delivery_item_id, position)
  where not exists (select from delivery.delivery_items i
    where i.tenant_id = d.tenant_id and i.id = n.delivery_item_id and i.delivery_id = delivery.parcel_of(d))
  order by n.position limit 1;
  if found then
    perform app.fail('delivery_item_not_found', jsonb_build_object('field', format('items.%s.delivery_item_id', v_place)));
  end if;
  insert into delivery.delivery_exceptions (tenant_id, delivery_id, type, items, notes, created_by)
  values (d.tenant_id, d.id, input ->> 'type', v_items, input ->> 'notes', app.user_id())
  returning id into v_id;
  -- Noted of a staged parcel, it concerns the leg that is on the road.
  select l.id into v_moving from delivery.deliveries l
  where l.tenant_id = d.tenant_id and (l.id = d.id or l.parent_id = d.id) and delivery.leaves_warehouse(l)
    and l.status in ('picked_up', 'in_transit', 'failed', 'returned') and l.current_warehouse_id is null;
  if found then
    v_receipt := warehousing.receipt_expect(v_moving, null, true);
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'delivery_exception.opened', 'source_module', 'delivery',
    'entity_type', 'delivery_exception', 'entity_id', v_id, 'event_data', jsonb_build_object('exception_id', v_id, 'delivery_id', d.id,
      'delivery_code', d.delivery_code, 'type', input ->> 'type', 'receiving_order_id', v_receipt, 'actor_id', app.user_id()))));
  if not (app.has_permission('manage:operations:tenant') or app.has_permission('manage:module:warehouse')) then
    perform delivery.office_notify('delivery_exception_opened', jsonb_build_object('exception_id', v_id, 'delivery_id', d.id,
      'delivery_code', d.delivery_code, 'type', input ->> 'type'));
  end if;
  return jsonb_build_object('receiving_order_id', v_receipt,
    'exception', (select to_jsonb(e) from delivery.delivery_exceptions_list e where e.id = v_id));
end $function$;

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
  perform delivery.assigners_notify('handover_withdrawn', v_ids);
  return cardinality(v_ids);
end $function$;

CREATE OR REPLACE FUNCTION delivery.office_notify(type text, payload jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform tenancy.notify_roles(app.tenant_id(), '{tenant_admin,operations_manager,dispatcher}', office_notify.type, office_notify.payload);
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_failed(d delivery.deliveries, input jsonb, reason jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform delivery.attempt_fails(input, reason ->> 'value', input ->> 'note', (reason ->> 'counts')::boolean, input ->> 'result' = 'refused');
  perform delivery.delivery_proofs_keep(d, 'attempt', input -> 'proofs', 'proofs');
  if input ->> 'result' = 'refused' and not app.has_permission('manage:operations:tenant') then
    perform delivery.office_notify('delivery_refused', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code));
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', delivery.no_cash(d), 'returns', '[]'::jsonb);
end $function$;

CREATE OR REPLACE FUNCTION delivery.rejections_notify(rejected uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_mine uuid[] := array(select a.id from delivery.assignments a
    where a.tenant_id = v_tenant and a.id = any (rejected) and a.status = 'rejected' and a.driver_id = app.user_id());
begin
  perform delivery.assigners_notify('handover_rejected', array(
    select a.id from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (v_mine) and a.handed_over_from is not null));
  perform delivery.assigners_notify('assignments_rejected', array(
    select a.id from delivery.assignments a
    where a.tenant_id = v_tenant and a.id = any (v_mine) and a.handed_over_from is null and not exists (
      select from delivery.driver_searches s
      where s.tenant_id = v_tenant and s.delivery_id = a.delivery_id and s.status in ('searching', 'offered'))));
end $function$;

REVOKE ALL ON FUNCTION "delivery"."assigners_notify"(text, uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."office_notify"(text, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."office_notify"(text, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."rejections_notify"(uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."rejections_notify"(uuid[]) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128134852';
end $$;

grant execute on function private.schema_version() to barid_api;
