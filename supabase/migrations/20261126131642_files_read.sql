-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_import(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_returned uuid[];
  v_senders uuid[];
begin
  -- A return that names no sender is paid by that of the delivery which comes back.
  select array_agg(o.id) filter (where l -> 'input' ->> 'delivery_flow' = 'customer_return'),
    array_agg(distinct s.id) filter (where l -> 'input' ->> 'payment_method' = 'wallet')
  into v_returned, v_senders
  from jsonb_array_elements(input -> 'lines') l
  left join delivery.deliveries o on o.id = (l -> 'input' ->> 'original_delivery_id')::uuid
  cross join unnest(array[(l -> 'input' ->> 'customer_id')::uuid, (l -> 'input' ->> 'institution_user_id')::uuid,
    o.customer_id, o.institution_user_id]) s (id);
  if v_returned is not null then
    perform delivery.lock_deliveries(v_returned);
  end if;
  perform app.lock_numbers('delivery_code', not (input ->> 'dry_run')::boolean);
  if v_senders is not null then
    perform money.lock_wallets(case when app.sees_tenant() then v_senders else array[app.user_id()] end);
  end if;
  return app.import_lines('delivery.delivery_create', '{id}', input);
end $function$;

CREATE OR REPLACE FUNCTION private.cursor_number(number bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if number >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint then
    perform app.fail('invalid_cursor', '{"field": "cursor"}');
  end if;
  return number;
end $function$;

CREATE OR REPLACE FUNCTION private.restore_end()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_column record;
begin
  for v_column in
    select n.nspname as schema, c.relname as name, a.attname as numbered
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid and c.relkind = 'r'
    join pg_namespace n on n.oid = c.relnamespace
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attnum > 0 and not a.attisdropped and n.nspname <> 'pg_catalog'
      and (a.atttypid = 'xid8'::regtype or pg_get_expr(d.adbin, d.adrelid) like '%pg_current_xact_id()%')
  loop
    execute format('update %1$I.%2$I set %3$I = ''1'' where %3$I is not null', v_column.schema, v_column.name, v_column.numbered);
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.require_references(patches jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_missing text;
begin
  with named as (
    select n.module || '.' || n.group_key || '.settings.' || n.path as field, n.thing, i.id
    from (values
      ('delivery', 'transfer_manifest', 'default_delivery_service_id', 'service'),
      ('delivery', 'transfer_manifest', 'available_delivery_service_ids', 'service'),
      ('delivery', 'assignment_change_settings', 'default_driver_id', 'driver'),
      ('general', 'delivery', 'return_requests.default_delivery_service_id', 'service'),
      ('general', 'warehouse', 'default_warehouse_id', 'warehouse'),
      ('general', 'currency', 'currency_code', 'currency'),
      ('general', 'timezone', 'name', 'timezone')) n (module, group_key, path, thing)
    join jsonb_array_elements(patches) p on p ->> 'module' = n.module and p ->> 'group' = n.group_key
    cross join lateral (select p -> 'settings' #> string_to_array(n.path, '.') as value) v
    cross join lateral jsonb_array_elements_text(
      case jsonb_typeof(v.value) when 'array' then v.value when 'string' then jsonb_build_array(v.value) else '[]' end) i (id)
  ), held as (
    select s.id from delivery.delivery_services s
    where s.deleted_at is null and s.id in (select app.as_uuid(n.id) from named n where n.thing = 'service')
    order by s.id for share
  )
  select n.field into v_missing
  from named n
  where not case n.thing
    when 'service' then app.as_uuid(n.id) in (select h.id from held h)
    when 'driver' then exists (select from delivery.drivers d where d.user_id = app.as_uuid(n.id) and d.status = 'active')
    when 'warehouse' then exists (select from warehousing.warehouses w where w.id = app.as_uuid(n.id) and w.deleted_at is null)
    when 'currency' then exists (select from tenancy.currencies c where c.code = n.id) and not exists (
      select from tenancy.system_settings y
      where y.key = 'currencies.enabled' and jsonb_typeof(y.value) = 'array' and not y.value ? n.id)
    -- Documents know no other names of time zones than those of the world.
    else exists (select from pg_catalog.pg_timezone_names z
      where z.name = n.id and z.name !~ '^((posix|right)/|(Factory|localtime|posixrules)$)') end
  order by n.field limit 1;
  if v_missing is not null then
    perform app.fail('invalid_reference', jsonb_build_object('field', v_missing));
  end if;
end $function$;

REVOKE ALL ON FUNCTION "private"."cursor_number"(bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."cursor_number"(bigint) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126131642';
end $$;

grant execute on function private.schema_version() to barid_api;
