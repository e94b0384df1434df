-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION money.payments_reconcile()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  insert into app.jobs (tenant_id, kind, payload, entity_key, attempts_max)
  select p.tenant_id, 'payment.reconcile', jsonb_build_object('payment_id', p.id), p.id::text, 1
  from money.payments p
  cross join lateral (select money.payment_may_come(p) as is_waited_for) w
  where p.payment_method = 'gateway' and p.status <> 'SUCCESS' and p.redirect_url is not null
    and (w.is_waited_for or p.final_answer_at is null and not exists (
      select from money.payment_webhook_events e where e.tenant_id = p.tenant_id and e.payment_id = p.id and e.outcome = 'unmatched'))
    and p.created_at > now() - interval '72 hours' and p.created_at < now() - interval '1 minute'
    and (p.created_at > now() - interval '24 hours 15 minutes' or p.expires_at <= now() and p.final_answer_at is null)
    and (p.last_checked_at is null or not w.is_waited_for and p.last_checked_at < p.processed_at
      or p.last_checked_at < now() - case when p.created_at > now() - interval '24 hours 15 minutes' and w.is_waited_for
        then interval '4 minutes' else interval '1 hour' end)
    and not exists (select from app.jobs j where j.entity_key = p.id::text and j.status in ('queued', 'running'))
  order by p.last_checked_at nulls first limit 1000;
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129172331';
end $$;

grant execute on function private.schema_version() to barid_api;
