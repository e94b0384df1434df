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
  v_sent_back uuid[];
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
  v_sent_back := delivery.sent_back(v_tenant);
  -- Counted in the index alone; the few that go back are taken off, since their returns are counted or carried in their place.
  with waiting as not materialized (
    select d.id, d.pickup_zone_id, d.created_at from delivery.deliveries d
    where d.tenant_id = v_tenant and d.status = 'pending' and d.carrier_type = 'internal' and d.delivery_flow <> 'pnd_parent'
      and (v_zone is null or d.pickup_zone_id = v_zone)),
  back as materialized (select w.id, w.pickup_zone_id from waiting w where w.id = any (v_sent_back))
  select json_build_object('total', coalesce(sum(c.count), 0), 'by_zone', coalesce(json_agg(json_build_object('zone_id', c.pickup_zone_id,
      'name', z.name, 'count', c.count, 'oldest_at', c.oldest_at) order by c.count desc, c.pickup_zone_id), '[]')) into v_unassigned
  from (
    select w.pickup_zone_id, w.count - b.count as count, case when b.count = 0 then w.oldest_at else (
        select min(o.created_at) from waiting o
        where o.pickup_zone_id is not distinct from w.pickup_zone_id and o.id <> all (v_sent_back)) end as oldest_at
    from (select w.pickup_zone_id, count(*) as count, min(w.created_at) as oldest_at from waiting w group by w.pickup_zone_id) w
    cross join lateral (select count(*) as count from back where back.pickup_zone_id is not distinct from w.pickup_zone_id) b
    where w.count > b.count) c
  left join delivery.zones z on z.tenant_id = v_tenant and z.id = c.pickup_zone_id;

  -- Not materialized: counted in the index alone, and the first are read in its order.
  with late as not materialized (
    select * from delivery.deliveries d
    where d.tenant_id = v_tenant and least(d.promised_at, d.deliver_before) < now()
      and d.parent_id is null and d.status in ('pending', 'assigned', 'accepted', 'picked_up', 'in_transit', 'failed')
      and (d.promised_at is not null or d.deliver_before is not null)
      and (v_zone is null or v_zone in (d.pickup_zone_id, d.dropoff_zone_id)))
  select json_build_object('total',
      (select count(*) from late) - (select count(*) from late l where l.id = any (v_sent_back)),
    'deliveries', coalesce(json_agg(delivery.on_board(d, (
        select a.driver_id from delivery.assignments a
        where a.tenant_id = d.tenant_id and a.delivery_id in (
          select l.id from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id union all select d.id)
          and a.status in ('pending', 'assigned', 'accepted') limit 1)) order by least(d.promised_at, d.deliver_before), d.id), '[]')) into v_late
  from (select * from late l where l.id <> all (v_sent_back) order by least(l.promised_at, l.deliver_before), l.id limit 50) d;

  select count(*) filter (where s.status = 'searching'), count(*) filter (where s.status = 'failed') into v_searching, v_failed
  from delivery.driver_searches s
  where s.tenant_id = v_tenant and s.status in ('searching', 'failed') and (v_zone is null or exists (
    select from delivery.deliveries d where d.tenant_id = s.tenant_id and d.id = s.delivery_id and d.pickup_zone_id = v_zone));

  return json_build_object('as_of', now(), 'drivers', delivery.board_drivers(v_tenant, v_zone), 'unassigned', v_unassigned,
    'to_reassign', delivery.board_to_reassign(v_tenant, v_zone), 'late', v_late, 'searching', v_searching, 'failed_to_assign', v_failed);
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201025024';
end $$;

grant execute on function private.schema_version() to barid_api;
