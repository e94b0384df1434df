-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

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
      and w.deleted_at is null);
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_draft_stands(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(d.tenant_id);
  perform app.fail('customer_not_found', jsonb_build_object('field', v.field))
  from (values (d.customer_id, 'customer_id'), (d.institution_user_id, 'institution_user_id')) v (id, field)
  where v.id is not null and d.original_delivery_id is null and not exists (
    select from tenancy.tenant_users u where u.tenant_id = d.tenant_id and u.user_id = v.id and u.is_active
      and u.tenant_user_type in ('customer', 'institution'));
  if d.staging_warehouse_id is not null and not exists (
      select from warehousing.warehouses w
      where w.tenant_id = d.tenant_id and w.id = d.staging_warehouse_id and delivery.warehouse_stages(w)) then
    perform app.fail('warehouse_not_found', '{"field": "warehouse_id"}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.staging_of(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_field text := case when input ->> 'warehouse_id' is not null then 'warehouse_id'
    when input ->> 'dropoff_warehouse_id' is not null then 'dropoff_warehouse_id' else 'pickup_warehouse_id' end;
  v_asked uuid := (input ->> v_field)::uuid;
  v_id uuid;
begin
  select w.id into v_id from warehousing.warehouses w
  where w.id = coalesce(v_asked, delivery.default_warehouse()) and delivery.warehouse_stages(w);
  if v_id is null and v_asked is not null then
    perform app.fail('warehouse_not_found', jsonb_build_object('field', v_field));
  elsif v_id is null then
    perform app.fail('staging_warehouse_required', '{"field": "warehouse_id"}');
  end if;
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.warehouse_stages(w warehousing.warehouses)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return w.deleted_at is null and (w.status in ('active', 'full') or w.id = delivery.default_warehouse());
end $function$;

REVOKE ALL ON FUNCTION "delivery"."warehouse_stages"(warehousing.warehouses) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."warehouse_stages"(warehousing.warehouses) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201040315';
end $$;

grant execute on function private.schema_version() to barid_api;
