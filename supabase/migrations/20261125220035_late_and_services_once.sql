-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.board(input jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_zone uuid := (input ->> 'zone_id')::uuid;
  v_unassigned json;
  v_late json;
  v_searching bigint;
  v_failed bigint;
begin
  if not app.has_permission('manage:operations:tenant') then
    perform app.fail('forbidden');
  end if;
  if v_zone is not null and not exists (select from delivery.zones z where z.tenant_id = v_tenant and z.id = v_zone) then
    perform app.fail('zone_not_found', '{"field": "zone_id"}');
  end if;
  select json_build_object('total', coalesce(sum(c.count), 0), 'by_zone', coalesce(json_agg(json_build_object('zone_id', c.pickup_zone_id,
      'name', z.name, 'count', c.count, 'oldest_at', c.oldest_at) order by c.count desc, c.pickup_zone_id), '[]')) into v_unassigned
  from (
    select d.pickup_zone_id, count(*) as count, min(d.created_at) as oldest_at from delivery.deliveries d
    where d.tenant_id = v_tenant and d.status = 'pending' and d.carrier_type = 'internal' and d.delivery_flow <> 'pnd_parent'
      and (v_zone is null or d.pickup_zone_id = v_zone)
    group by d.pickup_zone_id) c
  left join delivery.zones z on z.tenant_id = v_tenant and z.id = c.pickup_zone_id;

  -- Not materialized: counted in the index alone, and the first are read in its order.
  with late as not materialized (
    select * from delivery.deliveries d
    where d.tenant_id = v_tenant and least(d.promised_at, d.deliver_before) < now()
      and d.parent_id is null and d.status in ('pending', 'assigned', 'accepted', 'picked_up', 'in_transit', 'failed')
      and (d.promised_at is not null or d.deliver_before is not null)
      and (v_zone is null or v_zone in (d.pickup_zone_id, d.dropoff_zone_id)))
  select json_build_object('total', (select count(*) from late), 'deliveries', coalesce(json_agg(json_build_object('id', d.id,
      'delivery_code', d.delivery_code, 'status', d.status, 'promised_at', d.promised_at, 'deliver_before', d.deliver_before,
      'pickup_zone_id', d.pickup_zone_id, 'dropoff_zone_id', d.dropoff_zone_id, 'driver_id', (
        select a.driver_id from delivery.assignments a
        where a.tenant_id = d.tenant_id and a.delivery_id in (
          select l.id from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id union all select d.id)
          and a.status in ('pending', 'assigned', 'accepted') limit 1)) order by least(d.promised_at, d.deliver_before), d.id), '[]')) into v_late
  from (select * from late l order by least(l.promised_at, l.deliver_before), l.id limit 50) d;

  select count(*) filter (where s.status = 'searching'), count(*) filter (where s.status = 'failed') into v_searching, v_failed
  from delivery.driver_searches s
  where s.tenant_id = v_tenant and s.status in ('searching', 'failed') and (v_zone is null or exists (
    select from delivery.deliveries d where d.tenant_id = s.tenant_id and d.id = s.delivery_id and d.pickup_zone_id = v_zone));

  return json_build_object('as_of', now(), 'drivers', delivery.board_drivers(v_tenant, v_zone), 'unassigned', v_unassigned,
    'late', v_late, 'searching', v_searching, 'failed_to_assign', v_failed);
end $function$;

CREATE OR REPLACE FUNCTION delivery.services_stats(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_asker uuid := delivery.service_access_user((input ->> 'customer_id')::uuid);
  v_narrowed boolean := input ? 'customer_id';
  v_allowed uuid[] := case when input ->> 'context' = 'g2g' then delivery.g2g_services() end;
  v_numbers jsonb;
begin
  if app.sees_tenant() and not v_narrowed and v_allowed is null then
    v_numbers := jsonb_build_object('totalServices', app.tally('services', '{"deleted_at": null}') -> 'entries',
      'activeServices', app.tally('services', '{"deleted_at": null, "active": true}') -> 'entries',
      'deliveryTypesCount', (select count(*) from jsonb_object_keys(app.tally_by('services', 'delivery_type_id', '{"deleted_at": null}'))));
  end if;
  return (
    with scope as not materialized (
      select * from delivery.delivery_services s
      where s.deleted_at is null and (v_allowed is null or s.id = any (v_allowed))
        and (not v_narrowed or delivery.service_open_to(s, v_asker)))
    select coalesce(v_numbers, (
        select jsonb_build_object('totalServices', coalesce(sum(t.services), 0), 'activeServices', coalesce(sum(t.active), 0),
          'deliveryTypesCount', count(*))
        from (select count(*) as services, count(*) filter (where s.active) as active from scope s group by s.delivery_type_id) t))
      || jsonb_build_object('recentlyAdded', (
        select coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'code', n.code, 'name', app.localized(n.name), 'created_at', n.created_at)
          order by n.created_at desc, n.id desc), '[]')
        from (select * from scope s order by s.created_at desc nulls last, s.id desc limit 5) n)));
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125220035';
end $$;

grant execute on function private.schema_version() to barid_api;
