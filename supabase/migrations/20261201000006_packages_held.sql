-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION warehousing.transfer_evaluate_locked(input jsonb, use text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_locked uuid[] := warehousing.transfer_parcels(warehousing.transfer_evaluate(input, use));
  v_judged jsonb;
begin
  perform delivery.lock_deliveries(v_locked);
  v_judged := warehousing.transfer_evaluate(input, use);
  if not warehousing.transfer_parcels(v_judged) <@ v_locked then
    raise exception 'packages became transferable meanwhile' using errcode = 'serialization_failure';
  end if;
  if jsonb_array_length(warehousing.transfer_accepted(v_judged)) = 0 then
    perform app.fail('no_transferable_packages', jsonb_build_object('rejected', warehousing.transfer_rejected(v_judged)));
  end if;
  return v_judged;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201000006';
end $$;

grant execute on function private.schema_version() to barid_api;
