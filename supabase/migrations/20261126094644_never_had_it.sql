-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.deliveries in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP POLICY "tenant" ON "delivery"."deliveries";

DROP POLICY "write_update" ON "delivery"."deliveries";

CREATE OR REPLACE FUNCTION delivery.amount_change_role(p delivery.deliveries)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if app.has_permission('manage:operations:tenant') then
    return 'office';
  elsif p.order_id is null and coalesce(app.user_id() in (p.customer_id, p.institution_user_id), false) then
    return 'owner';
  elsif app.has_role('driver') and exists (
      select from delivery.assignments a
      join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
      where a.tenant_id = p.tenant_id and a.driver_id = app.user_id() and a.status in ('assigned', 'accepted')
        and (d.id = p.id or d.parent_id = p.id)) then
    return 'driver';
  end if;
  return app.refuse('forbidden');
end $function$;

CREATE OR REPLACE FUNCTION delivery.assignments_return(assignment_ids uuid[], reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_withdrawn uuid[];
begin
  perform from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (assignment_ids) order by a.id for no key update;
  v_withdrawn := array(
    select a.id from delivery.assignments a
    join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
    where a.tenant_id = v_tenant and a.id = any (assignment_ids) and (a.status = 'pending' or d.status in ('assigned', 'accepted')));
  update delivery.deliveries d set status = 'pending', status_reason = null
  from delivery.assignments a
  where a.tenant_id = v_tenant and a.id = any (assignment_ids) and d.tenant_id = a.tenant_id and d.id = a.delivery_id
    and d.status in ('assigned', 'accepted');
  update delivery.assignments a set status = 'returned', ended_at = clock_timestamp(), response_reason = coalesce(reason, a.response_reason),
    withdrawn = a.id = any (v_withdrawn)
  where a.tenant_id = v_tenant and a.id = any (assignment_ids);
end $function$;

CREATE OR REPLACE FUNCTION private.audit_delivery_assignments()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    declare
      v_tenant uuid := app.tenant_id();
      v_actor uuid := app.user_id();
      v_key uuid := app.request_setting('api_key_id')::uuid;
      v_client text := app.request_setting('client_request_id');
      v_request text := app.request_setting('request_id');
      v_operation text := app.request_setting('operation');
    begin
      insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, before, after)
      select v_tenant, v_actor, v_key, v_request, v_client, v_operation, 'delivery.assignments', c.id, 'update', c.before, c.after
      from (
        -- Both list the rows in the order of the update. A full join is never a nested loop: see private.audit.
        select o.line, o.id::text as id,
          case when n.id is distinct from o.id then jsonb_build_object('id', o.id) else '{}' end
          || case when n.tenant_id is distinct from o.tenant_id then jsonb_build_object('tenant_id', o.tenant_id) else '{}' end
          || case when n.delivery_id is distinct from o.delivery_id then jsonb_build_object('delivery_id', o.delivery_id) else '{}' end
          || case when n.driver_id is distinct from o.driver_id then jsonb_build_object('driver_id', o.driver_id) else '{}' end
          || case when n.vehicle_id is distinct from o.vehicle_id then jsonb_build_object('vehicle_id', o.vehicle_id) else '{}' end
          || case when n.bulk_assignment_id is distinct from o.bulk_assignment_id then jsonb_build_object('bulk_assignment_id', o.bulk_assignment_id) else '{}' end
          || case when n.status is distinct from o.status then jsonb_build_object('status', o.status) else '{}' end
          || case when n.sequence_number is distinct from o.sequence_number then jsonb_build_object('sequence_number', o.sequence_number) else '{}' end
          || case when n.units is distinct from o.units then jsonb_build_object('units', o.units) else '{}' end
          || case when n.assignment_time is distinct from o.assignment_time then jsonb_build_object('assignment_time', o.assignment_time) else '{}' end
          || case when n.estimated_pickup_time is distinct from o.estimated_pickup_time then jsonb_build_object('estimated_pickup_time', o.estimated_pickup_time) else '{}' end
          || case when n.estimated_delivery_time is distinct from o.estimated_delivery_time then jsonb_build_object('estimated_delivery_time', o.estimated_delivery_time) else '{}' end
          || case when n.notes is distinct from o.notes then jsonb_build_object('notes', o.notes) else '{}' end
          || case when n.assigned_by is distinct from o.assigned_by then jsonb_build_object('assigned_by', o.assigned_by) else '{}' end
          || case when n.responded_at is distinct from o.responded_at then jsonb_build_object('responded_at', o.responded_at) else '{}' end
          || case when n.response_reason is distinct from o.response_reason then jsonb_build_object('response_reason', o.response_reason) else '{}' end
          || case when n.ended_at is distinct from o.ended_at then jsonb_build_object('ended_at', o.ended_at) else '{}' end
          || case when n.from_warehouse_id is distinct from o.from_warehouse_id then jsonb_build_object('from_warehouse_id', o.from_warehouse_id) else '{}' end
          || case when n.to_warehouse_id is distinct from o.to_warehouse_id then jsonb_build_object('to_warehouse_id', o.to_warehouse_id) else '{}' end
          || case when n.handed_over_from is distinct from o.handed_over_from then jsonb_build_object('handed_over_from', o.handed_over_from) else '{}' end
          || case when coalesce(n.route_details, 'null') <> coalesce(o.route_details, 'null') then jsonb_build_object('route_details', o.route_details) else '{}' end
          || case when n.created_at is distinct from o.created_at then jsonb_build_object('created_at', o.created_at) else '{}' end
          || case when n.withdrawn is distinct from o.withdrawn then jsonb_build_object('withdrawn', o.withdrawn) else '{}' end as before,
          case when n.id is distinct from o.id then jsonb_build_object('id', n.id) else '{}' end
          || case when n.tenant_id is distinct from o.tenant_id then jsonb_build_object('tenant_id', n.tenant_id) else '{}' end
          || case when n.delivery_id is distinct from o.delivery_id then jsonb_build_object('delivery_id', n.delivery_id) else '{}' end
          || case when n.driver_id is distinct from o.driver_id then jsonb_build_object('driver_id', n.driver_id) else '{}' end
          || case when n.vehicle_id is distinct from o.vehicle_id then jsonb_build_object('vehicle_id', n.vehicle_id) else '{}' end
          || case when n.bulk_assignment_id is distinct from o.bulk_assignment_id then jsonb_build_object('bulk_assignment_id', n.bulk_assignment_id) else '{}' end
          || case when n.status is distinct from o.status then jsonb_build_object('status', n.status) else '{}' end
          || case when n.sequence_number is distinct from o.sequence_number then jsonb_build_object('sequence_number', n.sequence_number) else '{}' end
          || case when n.units is distinct from o.units then jsonb_build_object('units', n.units) else '{}' end
          || case when n.assignment_time is distinct from o.assignment_time then jsonb_build_object('assignment_time', n.assignment_time) else '{}' end
          || case when n.estimated_pickup_time is distinct from o.estimated_pickup_time then jsonb_build_object('estimated_pickup_time', n.estimated_pickup_time) else '{}' end
          || case when n.estimated_delivery_time is distinct from o.estimated_delivery_time then jsonb_build_object('estimated_delivery_time', n.estimated_delivery_time) else '{}' end
          || case when n.notes is distinct from o.notes then jsonb_build_object('notes', n.notes) else '{}' end
          || case when n.assigned_by is distinct from o.assigned_by then jsonb_build_object('assigned_by', n.assigned_by) else '{}' end
          || case when n.responded_at is distinct from o.responded_at then jsonb_build_object('responded_at', n.responded_at) else '{}' end
          || case when n.response_reason is distinct from o.response_reason then jsonb_build_object('response_reason', n.response_reason) else '{}' end
          || case when n.ended_at is distinct from o.ended_at then jsonb_build_object('ended_at', n.ended_at) else '{}' end
          || case when n.from_warehouse_id is distinct from o.from_warehouse_id then jsonb_build_object('from_warehouse_id', n.from_warehouse_id) else '{}' end
          || case when n.to_warehouse_id is distinct from o.to_warehouse_id then jsonb_build_object('to_warehouse_id', n.to_warehouse_id) else '{}' end
          || case when n.handed_over_from is distinct from o.handed_over_from then jsonb_build_object('handed_over_from', n.handed_over_from) else '{}' end
          || case when coalesce(n.route_details, 'null') <> coalesce(o.route_details, 'null') then jsonb_build_object('route_details', n.route_details) else '{}' end
          || case when n.created_at is distinct from o.created_at then jsonb_build_object('created_at', n.created_at) else '{}' end
          || case when n.withdrawn is distinct from o.withdrawn then jsonb_build_object('withdrawn', n.withdrawn) else '{}' end as after
        from (select row_number() over () as line, t.* from old_rows t) o
        full join (select row_number() over () as line, t.* from new_rows t) n on n.line = o.line
        offset 0
      ) c
      where c.after <> '{}'
      order by c.line;
      return null;
    end $function$;

CREATE POLICY "tenant" ON "delivery"."deliveries" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (customer_id = ( SELECT app.user_id() AS user_id)) OR (institution_user_id = ( SELECT app.user_id() AS user_id)) OR (( SELECT app.has_role('driver'::text) AS has_role) AND (EXISTS ( SELECT
   FROM delivery.assignments a
  WHERE ((a.tenant_id = deliveries.tenant_id) AND (a.delivery_id = deliveries.id) AND (a.driver_id = ( SELECT app.user_id() AS user_id)) AND (a.status <> 'rejected'::text) AND (NOT a.withdrawn))))))));

CREATE POLICY "write_update" ON "delivery"."deliveries" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK ((( SELECT app.sees_tenant() AS sees_tenant) OR (customer_id = ( SELECT app.user_id() AS user_id)) OR (institution_user_id = ( SELECT app.user_id() AS user_id)) OR (( SELECT app.has_role('driver'::text) AS has_role) AND (EXISTS ( SELECT
   FROM delivery.assignments a
  WHERE ((a.tenant_id = deliveries.tenant_id) AND (a.delivery_id = deliveries.id) AND (a.driver_id = ( SELECT app.user_id() AS user_id)) AND (a.status = ANY (ARRAY['pending'::text, 'assigned'::text, 'accepted'::text]))))))));

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126094644';
end $$;

grant execute on function private.schema_version() to barid_api;
