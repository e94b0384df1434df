-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table integration.webhook_events in access exclusive mode;
      set local lock_timeout = '500ms';
      lock table integration.webhook_subscriptions in access exclusive mode;
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP POLICY "tenant" ON "integration"."webhook_events";

ALTER TABLE "integration"."webhook_subscriptions" DROP CONSTRAINT "webhook_subscription_exists";

CREATE OR REPLACE FUNCTION integration.retry_begin(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'event_id')::uuid;
  v_answer jsonb := integration.key_claim(input);
  e integration.webhook_events;
begin
  if v_answer is not null then
    return jsonb_build_object('answer', v_answer);
  end if;
  perform integration.require_not_stopped((select w.subscription_id from integration.webhook_events w where w.id = v_id));
  update integration.webhook_events w set status = 'retrying', next_attempt_at = null, claim_token = gen_random_uuid(), claimed_at = now()
  where w.id = v_id and ((w.status = 'failed' and w.claim_token is null)
    or (w.status = 'retrying' and w.claimed_at < now() - interval '5 minutes'))
    and exists (select from integration.webhook_subscriptions_list s where s.id = w.subscription_id)
  returning w.* into e;
  if not found then
    perform app.fail(case when exists (select from integration.webhook_events w join integration.webhook_subscriptions_list s on s.id = w.subscription_id
        where w.id = v_id)
      then 'webhook_event_not_failed' else 'webhook_event_not_found' end);
  end if;
  return jsonb_build_object('claimed', app.found(integration.claimed(e), 'webhook_event_not_found'));
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_hide(subscription uuid, also_stopped boolean)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update integration.webhook_subscriptions s set is_active = false, disabled_at = null, disabled_reason = null, failing_since = null,
    removed_at = clock_timestamp()
  where s.id = subscription_hide.subscription and s.tenant_id = app.tenant_id() and s.removed_at is null
    and (also_stopped or s.disabled_reason is distinct from 'stopped')
    and (app.has_permission('manage:tenant') or s.owner_user_id = app.user_id());
  return found;
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_remove(id uuid, also_stopped boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_done boolean;
begin
  if exists (select from integration.webhook_events e where e.subscription_id = subscription_remove.id offset 5000) then
    v_done := integration.subscription_hide(subscription_remove.id, also_stopped);
  else
    -- Deliveries before their subscription, as whoever writes a result down locks them.
    perform from integration.webhook_events e where e.subscription_id = subscription_remove.id order by e.id for update;
    delete from integration.webhook_subscriptions s
    where s.id = subscription_remove.id and (also_stopped or s.disabled_reason is distinct from 'stopped');
    v_done := found;
  end if;
  if not v_done then
    if exists (select from integration.webhook_subscriptions s where s.id = subscription_remove.id) then
      perform app.fail('webhook_subscription_stopped');
    end if;
    perform app.fail('webhook_subscription_not_found');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  s integration.webhook_subscriptions;
begin
  select * into s from integration.webhook_subscriptions x
  where x.id = v_id and x.owner_user_id is not distinct from integration.subscription_owner();
  if not found then
    perform app.fail('webhook_subscription_not_found');
  elsif (input ->> 'is_active')::boolean and s.disabled_reason = 'stopped' then
    perform app.fail('webhook_subscription_stopped');
  end if;
  if coalesce((input ->> 'is_active')::boolean, s.is_active) and (not s.is_active or input ->> 'url' <> s.url) then
    -- Deliveries before their subscription, as results lock them.
    perform integration.waiting_due(v_id);
  end if;
  update integration.webhook_subscriptions x set
    url = coalesce(input ->> 'url', x.url),
    event_types = coalesce(integration.event_types_of(input), x.event_types),
    is_active = coalesce((input ->> 'is_active')::boolean, x.is_active)
  -- Stopped meanwhile, it stays so.
  where x.id = v_id and ((input ->> 'is_active')::boolean is not true or x.disabled_reason is distinct from 'stopped');
  if not found then
    -- Removed meanwhile, or stopped.
    perform integration.subscription_of(v_id);
    perform app.fail('webhook_subscription_stopped');
  end if;
  return jsonb_build_object('subscription', integration.subscription_of(v_id)) || integration.event_types_named(input);
end $function$;

CREATE OR REPLACE FUNCTION integration.subscriptions_purge(batch integer DEFAULT 50000)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  delete from integration.webhook_events e where e.id in (
    select x.id from integration.webhook_subscriptions s
    join integration.webhook_events x on x.subscription_id = s.id
    where s.removed_at is not null
    limit batch for update of x skip locked);
  get diagnostics v_count = row_count;
  delete from integration.webhook_subscriptions s
  where s.removed_at is not null and not exists (select from integration.webhook_events e where e.subscription_id = s.id);
  return v_count;
end $function$;

REVOKE ALL ON FUNCTION "integration"."subscriptions_purge"(integer) FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.subscriptions_removed()
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return array(select s.id from integration.webhook_subscriptions s where s.tenant_id = app.tenant_id() and s.removed_at is not null);
end $function$;

CREATE OR REPLACE FUNCTION integration.test_begin(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := case when input ? 'key' then md5(concat_ws('/', private.idempotency_scope(), input ->> 'id', input ->> 'key'))::uuid
    else gen_random_uuid() end;
  v_answer jsonb := integration.key_claim(input);
  e integration.webhook_events;
begin
  if v_answer is not null then
    return jsonb_build_object('answer', v_answer);
  end if;
  perform integration.subscription_of((input ->> 'id')::uuid);
  perform integration.require_not_stopped((input ->> 'id')::uuid);
  begin
    insert into integration.webhook_events as w (id, tenant_id, subscription_id, event_type, entity_key, body, status, next_attempt_at,
      claim_token, claimed_at)
    values (v_id, app.tenant_id(), (input ->> 'id')::uuid, 'webhook.test', 'test/' || v_id,
      integration.webhook_body(v_id, 'webhook.test', now(), app.tenant_id(), '{"test": true}'), 'retrying', null, gen_random_uuid(), now())
    on conflict (id) do update set status = 'retrying', claim_token = excluded.claim_token, claimed_at = excluded.claimed_at
    where w.claim_token is null or w.claimed_at < now() - interval '5 minutes'
    returning * into e;
  exception when foreign_key_violation or insufficient_privilege then
    -- Removed since it was looked for.
    perform app.fail('webhook_subscription_not_found');
  end;
  return case when e.id is null then '{"busy": true}'
    else jsonb_build_object('claimed', app.found(integration.claimed(e), 'webhook_subscription_not_found')) end;
end $function$;

ALTER TABLE "integration"."webhook_subscriptions" ADD CONSTRAINT "webhook_subscription_exists" UNIQUE USING INDEX "webhook_subscription_exists_once";

CREATE POLICY "tenant" ON "integration"."webhook_events" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ((( SELECT app.sees_tenant() AS sees_tenant) AND (subscription_id <> ALL (( SELECT integration.subscriptions_removed() AS subscriptions_removed)::uuid[]))) OR (EXISTS ( SELECT
   FROM integration.webhook_subscriptions s
  WHERE ((s.tenant_id = webhook_events.tenant_id) AND (s.id = webhook_events.subscription_id) AND (s.owner_user_id = ( SELECT app.user_id() AS user_id))))))));

CREATE POLICY "not_removed" ON "integration"."webhook_subscriptions" AS RESTRICTIVE FOR ALL TO "barid_caller" USING ((removed_at IS NULL));

REVOKE ALL ON FUNCTION "integration"."subscription_hide"(uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."subscription_hide"(uuid, boolean) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."subscriptions_purge"(integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "integration"."subscriptions_removed"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."subscriptions_removed"() TO "barid_caller";

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
  perform cron.schedule('barid_subscriptions_purge', '*/5 * * * *', 'select integration.subscriptions_purge()');
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
  return '20261201032054';
end $$;

grant execute on function private.schema_version() to barid_api;
