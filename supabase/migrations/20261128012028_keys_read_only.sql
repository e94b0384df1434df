-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.api_key_use(claims jsonb, OUT id uuid, OUT tenant_id uuid, OUT scopes text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_record_use boolean;
begin
  select k.id, k.tenant_id, coalesce(k.last_used_at < now() - interval '1 hour', true) and not current_setting('transaction_read_only')::boolean,
    case when k.tenant_id is null then k.scopes else private.api_key_scopes(k.tenant_id, k.created_by, k.scopes) end
  into api_key_use.id, api_key_use.tenant_id, v_record_use, api_key_use.scopes
  from tenancy.api_keys k
  where k.key_hash = decode(claims ->> 'api_key_hash', 'hex') and k.revoked_at is null
    and (k.expires_at is null or k.expires_at > now()) and (k.tenant_id is not null or k.is_system_capable);
  if not found or api_key_use.scopes = '{}' then
    perform app.fail('unauthorized');
  end if;
  if v_record_use then
    update tenancy.api_keys k set last_used_at = now()
    where k.id = (select l.id from tenancy.api_keys l where l.id = api_key_use.id for no key update skip locked);
  end if;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128012028';
end $$;

grant execute on function private.schema_version() to barid_api;
