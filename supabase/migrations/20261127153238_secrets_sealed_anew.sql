-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION integration.sealed_keys()
 RETURNS TABLE(key text, count bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query select split_part(s.sealed, '.', 2), count(*) from integration.sealed_texts() s group by 1;
end $function$;

CREATE OR REPLACE FUNCTION integration.sealed_otherwise(p_key text, p_after text, p_most integer)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select coalesce(jsonb_agg(to_jsonb(t) order by t.after), '[]') from (
    select s.*, concat_ws(' ', s.id, s.sealed) collate "C" as after from integration.sealed_texts() s
    where split_part(s.sealed, '.', 2) <> p_key and concat_ws(' ', s.id, s.sealed) collate "C" > p_after collate "C"
    order by 7 limit p_most) t);
end $function$;

REVOKE ALL ON FUNCTION "integration"."sealed_otherwise"(text, text, integer) FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.sealed_replace(p_place text, p_id uuid, p_before text, p_sealed text, p_print text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  case p_place
    when 'webhook' then
      update integration.webhook_subscriptions w
      set secret = replace(w.secret, p_before, p_sealed), previous_secret = replace(w.previous_secret, p_before, p_sealed)
      where w.id = p_id and strpos(concat_ws(' ', w.secret, w.previous_secret), p_before) > 0;
    when 'carrier-credentials' then
      update integration.tenant_carriers c set credentials = p_sealed where c.id = p_id and c.credentials = p_before;
    when 'carrier-webhook' then
      update integration.tenant_carriers c set webhook_secret = p_sealed where c.id = p_id and c.webhook_secret = p_before;
    when 'gateway' then
      -- Sealed texts have no character that JSON would write otherwise.
      update money.payment_gateways g
      set secrets = replace(g.secrets::text, p_before, p_sealed)::jsonb,
        previous_accounts = replace(g.previous_accounts::text, p_before, p_sealed)::jsonb,
        previous_webhook_secret = replace(g.previous_webhook_secret, p_before, p_sealed),
        webhook_secret_print = case g.secrets ->> 'webhook_secret' when p_before then coalesce(p_print, g.webhook_secret_print)
          else g.webhook_secret_print end
      where g.id = p_id and strpos(concat_ws(' ', g.secrets, g.previous_webhook_secret, g.previous_accounts), p_before) > 0;
  end case;
  return found;
end $function$;

REVOKE ALL ON FUNCTION "integration"."sealed_replace"(text, uuid, text, text, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.sealed_texts()
 RETURNS TABLE(place text, id uuid, tenant_id uuid, code text, sealed text, is_signing boolean)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
  select s.place, s.id, s.tenant_id, s.code, s.sealed, bool_or(s.is_signing) from (
    select 'webhook', w.id, w.tenant_id, null, t.sealed, false
    from integration.webhook_subscriptions w
    cross join unnest(w.secret || case when w.previous_secret_until > now() then string_to_array(w.previous_secret, ' ') end) t (sealed)
    union all
    select 'carrier-credentials', c.id, c.tenant_id, c.carrier_code, c.credentials, false from integration.tenant_carriers c
    union all
    select 'carrier-webhook', c.id, c.tenant_id, c.carrier_code, c.webhook_secret, false from integration.tenant_carriers c
    union all
    select 'gateway', g.id, g.tenant_id, g.gateway_code, t.sealed, t.name = 'webhook_secret'
    from money.payment_gateways g
    cross join lateral (
      select v.key, v.value from jsonb_each_text(g.secrets) v
      union all
      select 'previous', g.previous_webhook_secret
      union all
      select 'previous', v.value from jsonb_each(g.previous_accounts) a, jsonb_each_text(a.value -> 'secrets') v
    ) t (name, sealed)
  ) s (place, id, tenant_id, code, sealed, is_signing)
  where s.sealed is not null
  group by 1, 2, 3, 4, 5;
end $function$;

REVOKE ALL ON FUNCTION "integration"."sealed_texts"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.secrets_seal_anew()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  insert into app.jobs (kind)
  select 'payment.seal_anew'
  where exists (select from integration.sealed_texts())
    and not exists (select from app.jobs j where j.kind = 'payment.seal_anew' and j.status in ('queued', 'running'));
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

REVOKE ALL ON FUNCTION "integration"."secrets_seal_anew"() FROM "barid_caller";

REVOKE ALL ON FUNCTION "integration"."sealed_otherwise"(text, text, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."sealed_otherwise"(text, text, integer) TO "barid_api";

REVOKE ALL ON FUNCTION "integration"."sealed_replace"(text, uuid, text, text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."sealed_replace"(text, uuid, text, text, text) TO "barid_api";

REVOKE ALL ON FUNCTION "integration"."sealed_texts"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "integration"."secrets_seal_anew"() FROM PUBLIC;

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
  perform cron.schedule('barid_secrets_seal_anew', '47 3 * * *', 'select integration.secrets_seal_anew()');
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
  return '20261127153238';
end $$;

grant execute on function private.schema_version() to barid_api;
