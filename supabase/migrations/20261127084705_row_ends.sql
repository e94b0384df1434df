-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table integration.carrier_events, money.payment_webhook_events, storefront.cart_items, storefront.carts in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP TRIGGER "append_only_delete" ON "integration"."carrier_events";

DROP TRIGGER "audit_delete" ON "money"."payment_webhook_events";

DROP TRIGGER "audit_delete" ON "storefront"."cart_items";

DROP TRIGGER "audit_delete" ON "storefront"."carts";

CREATE OR REPLACE FUNCTION app.purged(target regclass, hidden text DEFAULT ''::text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  execute format('drop trigger if exists audit_delete on %s', target);
  execute format('create trigger audit_delete after delete on %s referencing old table as old_rows for each statement
    when (app.request_setting(''request_id'') is not null) execute function private.audit(%L)', target, hidden);
end $function$;

REVOKE ALL ON FUNCTION "app"."purged"(regclass, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.carrier_events_purge()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  delete from integration.carrier_events e where e.id in (
    select x.id from integration.carrier_events x
    where x.created_at < now() - interval '400 days'
    order by x.created_at limit 50000 for update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

REVOKE ALL ON FUNCTION "integration"."carrier_events_purge"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.cron_interval(schedule text)
 RETURNS double precision
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
declare
  v_seconds text := substring(schedule from '^\s*(\d+)\s+seconds?\s*$');
  v_fields text[] := regexp_split_to_array(trim(schedule), '\s+');
  v_minute text := v_fields[1];
  v_hour text := v_fields[2];
begin
  return case
    when v_seconds is not null then v_seconds::integer
    when v_fields[4] <> '*' then 366 * 86400
    when v_fields[3] <> '*' then 31 * 86400
    when v_fields[5] <> '*' then 7 * 86400
    when v_hour ~ '^\*/\d+$' then substring(v_hour from 3)::integer * 3600
    when v_hour <> '*' then 86400
    when v_minute ~ '^\*/\d+$' then substring(v_minute from 3)::integer * 60
    when v_minute <> '*' then 3600
    else 60 end;
end $function$;

REVOKE ALL ON FUNCTION "integration"."cron_interval"(text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.metrics_of_cron()
 RETURNS TABLE(name text, labels jsonb, value double precision)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if to_regclass('cron.job_run_details') is null then
    return;
  end if;
  -- As text, because pg_cron need not exist for this function to be made.
  return query execute $q$
    select m.name, jsonb_build_object('cron_job', r.jobname), m.value
    from (
      select j.jobname, j.schedule,
        extract(epoch from max(d.end_time) filter (where d.status = 'succeeded'))::double precision as succeeded_at,
        case when j.active and count(d.runid) > 0 then
          (coalesce(max(d.runid) filter (where d.status = 'failed'), 0) > coalesce(max(d.runid) filter (where d.status = 'succeeded'), 0))::integer
        end as has_failed
      from cron.job j left join cron.job_run_details d on d.jobid = j.jobid and d.status in ('succeeded', 'failed')
      where j.jobname like 'barid\_%'
      group by j.jobid, j.jobname, j.schedule, j.active
    ) r
    cross join lateral (values ('barid_cron_job_interval_seconds', integration.cron_interval(r.schedule)),
      ('barid_cron_job_last_success_timestamp_seconds', r.succeeded_at),
      ('barid_cron_job_failed', r.has_failed::double precision)) m (name, value)
    where m.value is not null$q$;
end $function$;

CREATE OR REPLACE FUNCTION integration.webhooks_purge()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  delete from integration.webhook_events e where e.id in (
    select x.id from integration.webhook_events x
    where x.created_at < now() - interval '90 days' and (x.next_attempt_at is null and x.claim_token is null
      or coalesce(x.claimed_at < now() - interval '1 day', true)
        and not exists (select from integration.webhook_subscriptions s where s.id = x.subscription_id and s.is_active))
    order by x.created_at limit 50000 for update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION money.payment_events_purge()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_deleted bigint;
  v_emptied bigint;
begin
  delete from money.payment_webhook_events e where e.id in (
    select x.id from money.payment_webhook_events x
    where x.outcome = 'ignored' and x.created_at < now() - interval '730 days'
    order by x.created_at limit 50000 for update skip locked);
  get diagnostics v_deleted = row_count;
  update money.payment_webhook_events e set raw_body = null where e.id in (
    select x.id from money.payment_webhook_events x
    where x.raw_body is not null and x.created_at < now() - interval '730 days'
      and (x.outcome = 'processed' or x.resolution is not null)
    order by x.created_at limit 50000 for update skip locked);
  get diagnostics v_emptied = row_count;
  return v_deleted + v_emptied;
end $function$;

REVOKE ALL ON FUNCTION "money"."payment_events_purge"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.carts_purge()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  delete from storefront.carts c where c.id in (
    select x.id from storefront.carts x
    where x.status <> 'converted' and x.updated_at < now() - interval '180 days'
    order by x.updated_at limit 50000 for update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

REVOKE ALL ON FUNCTION "storefront"."carts_purge"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.domains_purge()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  delete from storefront.custom_domains d where d.id in (
    select x.id from storefront.custom_domains x
    where x.status = 'archived' and x.disconnected_at < now() - interval '400 days'
    order by x.disconnected_at limit 50000 for update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

REVOKE ALL ON FUNCTION "storefront"."domains_purge"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION tenancy.notifications_purge()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  delete from tenancy.notifications n where n.id in (
    select x.id from tenancy.notifications x
    where x.created_at < now() - interval '180 days'
    order by x.created_at limit 50000 for update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

CREATE TRIGGER append_only_delete BEFORE DELETE ON integration.carrier_events FOR EACH ROW WHEN ((old.created_at > (now() - '400 days'::interval))) EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER audit_delete AFTER DELETE ON money.payment_webhook_events REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT WHEN ((app.request_setting('request_id'::text) IS NOT NULL)) EXECUTE FUNCTION private.audit('raw_body');

CREATE TRIGGER audit_delete AFTER DELETE ON storefront.cart_items REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT WHEN ((app.request_setting('request_id'::text) IS NOT NULL)) EXECUTE FUNCTION private.audit('');

CREATE TRIGGER audit_delete AFTER DELETE ON storefront.carts REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT WHEN ((app.request_setting('request_id'::text) IS NOT NULL)) EXECUTE FUNCTION private.audit('');

REVOKE ALL ON FUNCTION "app"."purged"(regclass, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "integration"."carrier_events_purge"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "integration"."cron_interval"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."payment_events_purge"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."carts_purge"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."domains_purge"() FROM PUBLIC;

-- Scheduled jobs (UTC). Scheduling a name again changes its job, so this file can be applied again.
-- No seconds and nothing newer than pg_cron 1.4. Without pg_cron the backend works, but old keys and jobs
-- stay and a lost background job waits for the next request of its kind.
do $$
begin
  if not exists (select from pg_available_extensions where name = 'pg_cron') then
    raise notice 'pg_cron is not available on this server: nothing is scheduled';
    return;
  end if;
  -- pg_cron belongs to one database of a server.
  if coalesce(current_setting('cron.database_name', true), current_database()) <> current_database() then
    raise notice 'pg_cron belongs to another database of this server: nothing is scheduled';
    return;
  end if;
  begin
    create extension if not exists pg_cron with schema pg_catalog;
  exception when undefined_object then
    raise notice 'pg_cron is not among shared_preload_libraries: nothing is scheduled';
    return;
  end;
  if exists (select from pg_available_extensions where name = 'pg_net') then
    create extension if not exists pg_net with schema extensions;
  end if;

  perform cron.schedule('barid_kick_jobs', '* * * * *', 'select integration.kick_jobs()');
  perform cron.schedule('barid_searches_sweep', '* * * * *', 'select delivery.searches_sweep()');
  perform cron.schedule('barid_postponed_resume', '*/10 * * * *', 'select delivery.postponed_resume()');
  perform cron.schedule('barid_postponed_notify', '*/10 * * * *', 'select delivery.postponed_notify()');
  perform cron.schedule('barid_tallies_fold', '* * * * *', 'select private.tallies_fold()');
  perform cron.schedule('barid_receipts_sweep', '*/10 * * * *', 'select money.receipts_sweep()');
  perform cron.schedule('barid_statement_cycles', '*/10 * * * *', 'select money.statement_cycles_sweep()');
  perform cron.schedule('barid_cod_reconcile', '17 2 * * *', 'select money.cod_reconcile_all()');
  perform cron.schedule('barid_performance_refresh', '*/15 * * * *', 'select delivery.performance_refresh()');
  perform cron.schedule('barid_performance_rebuilds', '* * * * *', 'select delivery.performance_rebuilds()');
  perform cron.schedule('barid_idempotency_purge', '7 * * * *', 'select private.idempotency_purge()');
  perform cron.schedule('barid_rates_purge', '37 * * * *', 'select private.rates_purge()');
  perform cron.schedule('barid_jobs_purge', '23 3 * * *', 'select private.jobs_purge()');
  perform cron.schedule('barid_wizard_runs_purge', '31 3 * * *', 'select tenancy.wizard_runs_purge()');
  perform cron.schedule('barid_road_distances_purge', '41 3 * * *', 'select delivery.road_distances_purge()');
  perform cron.schedule('barid_api_keys_warn', '27 4 * * *', 'select tenancy.api_keys_warn()');
  perform cron.schedule('barid_invitations_purge', '37 3 * * *', 'select tenancy.invitations_purge()');
  perform cron.schedule('barid_notifications_purge', '51 * * * *', 'select tenancy.notifications_purge()');
  perform cron.schedule('barid_report_stock', '17 2 * * *', 'select warehousing.report_stock()');
  perform cron.schedule('barid_webhooks_release', '*/5 * * * *', 'select integration.webhooks_release()');
  perform cron.schedule('barid_webhooks_purge', '47 * * * *', 'select integration.webhooks_purge()');
  perform cron.schedule('barid_events_purge', '53 * * * *', 'select integration.events_purge()');
  perform cron.schedule('barid_domains_recheck', '*/5 * * * *', 'select storefront.domains_recheck()');
  perform cron.schedule('barid_carrier_events_purge', '43 * * * *', 'select integration.carrier_events_purge()');
  perform cron.schedule('barid_payment_events_purge', '31 * * * *', 'select money.payment_events_purge()');
  perform cron.schedule('barid_carts_purge', '57 3 * * *', 'select storefront.carts_purge()');
  perform cron.schedule('barid_domains_purge', '59 3 * * *', 'select storefront.domains_purge()');
  perform cron.schedule('barid_payments_reconcile', '*/5 * * * *', 'select money.payments_reconcile()');
  perform cron.schedule('barid_orders_expire', '*/10 * * * *', 'select storefront.orders_expire()');
  perform cron.schedule('barid_orders_complete', '11 * * * *', 'select storefront.orders_complete()');
  perform cron.schedule('barid_manifests_complete', '27 * * * *', 'select delivery.manifests_complete()');
  perform cron.schedule('barid_positions_partition', '19 * * * *', 'select delivery.positions_partition()');
  perform cron.schedule('barid_package_transfers_backfill', '47 2 * * *', 'select warehousing.package_transfers_backfill()');
  -- pg_cron never forgets a run by itself.
  perform cron.schedule('barid_cron_history_purge', '41 3 * * *',
    'delete from cron.job_run_details where end_time < now() - interval ''7 days''');
end $$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127084705';
end $$;

grant execute on function private.schema_version() to barid_api;
