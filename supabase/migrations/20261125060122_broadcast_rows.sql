-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.assignment_row(a delivery.assignments)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('tenant', a.tenant_id, 'row', jsonb_build_object('id', a.id, 'delivery_id', a.delivery_id, 'driver_id', a.driver_id,
    'status', a.status, 'sequence_number', a.sequence_number));
end $function$;

CREATE OR REPLACE FUNCTION delivery.assignments_broadcast()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op = 'INSERT' then
    perform delivery.rows_broadcast('assignment.changed', 'assignments', (
      select jsonb_agg(delivery.assignment_row(n) order by n.sequence_number, n.id) from new_rows n));
    return null;
  end if;
  perform delivery.rows_broadcast('assignment.changed', 'assignments', (
    select jsonb_agg(delivery.assignment_row(n) order by n.sequence_number, n.id)
    from new_rows n join old_rows o on o.id = n.id
    where n.status <> o.status or n.sequence_number <> o.sequence_number));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.broadcast_place(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return delivery.next_place(d) - '{full_address,city}'::text[];
end $function$;

CREATE OR REPLACE FUNCTION delivery.deliveries_broadcast()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op = 'INSERT' then
    perform delivery.rows_broadcast('delivery.status', 'deliveries', (
      select jsonb_agg(delivery.status_row(n, null, null) order by n.delivery_code, n.sequence_plan nulls first) from new_rows n));
    return null;
  end if;
  perform delivery.rows_broadcast('delivery.status', 'deliveries', (
    select jsonb_agg(delivery.status_row(n, o.status, a.driver_id) order by n.delivery_code, n.sequence_plan nulls first)
    from new_rows n
    join old_rows o on o.id = n.id
    left join delivery.assignments a on a.tenant_id = n.tenant_id and a.delivery_id = n.id and a.status in ('pending', 'assigned', 'accepted')
    where n.status <> o.status));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.rows_broadcast(event text, name text, changed jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform delivery.broadcast(g.topic, rows_broadcast.event, jsonb_build_object(rows_broadcast.name, g.rows))
  from (
    select t.topic, jsonb_agg(c.line -> 'row' order by c.place) as rows
    from jsonb_array_elements(changed) with ordinality c (line, place)
    cross join lateral (values (format('tenant:%s:board', c.line ->> 'tenant')), ('driver:' || (c.line #>> '{row,driver_id}'))) t (topic)
    where t.topic is not null
    group by t.topic, (c.place - 1) / 100
    order by t.topic, min(c.place)) g;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."rows_broadcast"(text, text, jsonb) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.status_row(d delivery.deliveries, from_status text, driver uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('tenant', d.tenant_id, 'row', jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'parent_id', d.parent_id,
    'status', d.status, 'from_status', from_status, 'driver_id', driver, 'place', delivery.broadcast_place(d)));
end $function$;

REVOKE ALL ON FUNCTION "delivery"."assignment_row"(delivery.assignments) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."assignment_row"(delivery.assignments) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."rows_broadcast"(text, text, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."status_row"(delivery.deliveries, text, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."status_row"(delivery.deliveries, text, uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125060122';
end $$;

grant execute on function private.schema_version() to barid_api;
