-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.postponed_resume()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_many constant integer := 1000;
  v_tenant uuid;
  v_resumed integer;
  v_count integer := 0;
begin
  for v_tenant in
    -- A day ahead of UTC, for clocks east of it.
    select distinct d.tenant_id from delivery.deliveries d where d.postponed_to <= (now() at time zone 'UTC')::date + 1 order by 1
  loop
    v_resumed := delivery.postponed_resume_of(v_tenant, v_many);
    v_count := v_count + v_resumed;
    if v_resumed = v_many and not exists (select from app.jobs j
        where j.tenant_id = v_tenant and j.kind = 'delivery.postponed_resume' and j.status in ('queued', 'running')) then
      perform app.job_add('delivery.postponed_resume', '{}');
    end if;
  end loop;
  perform set_config('app.tenant_id', '', true);
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION delivery.postponed_resume_of(tenant uuid, many integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_day date;
  v_ids uuid[];
  v_failed uuid[];
  v_parents uuid[];
begin
  if app.is_archived(tenant) then
    return 0;
  end if;
  perform set_config('app.tenant_id', tenant::text, true);
  v_day := delivery.working_day();
  v_ids := array(select d.id from delivery.deliveries d
    where d.tenant_id = tenant and d.postponed_to <= v_day and d.delivery_flow <> 'pnd_parent' order by d.id limit many);
  perform delivery.lock_deliveries(v_ids);
  v_failed := array(select d.id from delivery.deliveries d
    where d.tenant_id = tenant and d.id = any (v_ids) and d.postponed_to <= v_day and d.status = 'failed');
  v_parents := array(select d.parent_id from delivery.deliveries d where d.tenant_id = tenant and d.id = any (v_ids) and d.parent_id is not null);
  update delivery.deliveries d set status = case d.status when 'failed' then 'in_transit' else d.status end, postponed_to = null,
    overnight_notice_at = null, status_reason = case d.status when 'failed' then null else d.status_reason end,
    status_notes = case d.status when 'failed' then null else d.status_notes end
  where d.tenant_id = tenant and d.id = any (v_ids) and d.postponed_to <= v_day;
  -- As with a retry: what was to be received of them stays with their drivers.
  perform warehousing.receipts_withdraw(f.id) from unnest(v_failed) f (id);
  -- Those of legs that wait in a warehouse do not follow by themselves.
  update delivery.deliveries p set postponed_to = null
  where p.tenant_id = tenant and p.id = any (v_parents) and p.postponed_to <= v_day;
  return cardinality(v_ids);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."postponed_resume_of"(uuid, integer) FROM "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."postponed_resume_of"(uuid, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."postponed_resume_of"(uuid, integer) TO "barid_api";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201032237';
end $$;

grant execute on function private.schema_version() to barid_api;
