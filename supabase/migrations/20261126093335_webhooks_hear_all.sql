-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION integration.subscription_listens()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if new.is_active and (tg_op = 'INSERT' or not old.is_active) then
    new.from_position := coalesce((
      select e.position from integration.system_events e
      where e.tenant_id = new.tenant_id and e.created_at < now() - interval '1 minute' order by e.created_at desc limit 1), 0);
    if not exists (select from integration.webhook_subscriptions s where s.tenant_id = new.tenant_id and s.is_active and s.id <> new.id) then
      update integration.system_events e set is_dispatched = true
      where e.tenant_id = new.tenant_id and not e.is_dispatched and e.position > new.from_position;
    end if;
    new.failing_since := null;
    new.disabled_at := null;
    new.disabled_reason := null;
  end if;
  return new;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126093335';
end $$;

grant execute on function private.schema_version() to barid_api;
