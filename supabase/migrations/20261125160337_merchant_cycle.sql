-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table tenancy.tenant_settings, tenancy.tenants in share row exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

CREATE TABLE "money"."merchant_cycles" ("tenant_id" uuid NOT NULL, "begun_at" timestamp with time zone NOT NULL DEFAULT now(), "day" date, CONSTRAINT "merchant_cycles_pkey" PRIMARY KEY (tenant_id));

ALTER TABLE "money"."merchant_cycles" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "money"."merchant_cycles" FORCE ROW LEVEL SECURITY;

CREATE OR REPLACE FUNCTION money.cycle_day(rule jsonb, today date)
 RETURNS date
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
declare
  v_weekday integer := coalesce(array_position('{monday,tuesday,wednesday,thursday,friday,saturday,sunday}'::text[], rule ->> 'weekday'), 7);
  v_day integer := coalesce((rule ->> 'day')::integer, 1);
begin
  return case rule ->> 'cycle'
    when 'daily' then today
    when 'weekly' then today - (extract(isodow from today)::integer - v_weekday + 7) % 7
    when 'monthly' then (date_trunc('month', (today - (v_day - 1))::timestamp) + make_interval(days => v_day - 1))::date end;
end $function$;

CREATE OR REPLACE FUNCTION money.cycle_day_due()
 RETURNS date
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_zone text := app.timezone();
  v_day date := money.cycle_day(app.settings('delivery', 'payouts'), (now() at time zone v_zone)::date);
begin
  return (
    select v_day from money.merchant_cycles c
    where c.tenant_id = app.tenant_id() and v_day > coalesce(c.day, '-infinity') and v_day::timestamp at time zone v_zone >= c.begun_at);
end $function$;

REVOKE ALL ON FUNCTION "money"."cycle_day_due"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cycle_day_end(tenant uuid, day date)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update money.merchant_cycles c set day = greatest(c.day, cycle_day_end.day) where c.tenant_id = cycle_day_end.tenant;
end $function$;

REVOKE ALL ON FUNCTION "money"."cycle_day_end"(uuid, date) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cycle_follows_settings()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if coalesce(new.settings ->> 'cycle', 'none') = 'none' then
    delete from money.merchant_cycles c where c.tenant_id = new.tenant_id;
  elsif tg_op = 'INSERT' or (new.settings -> 'cycle', new.settings -> 'weekday', new.settings -> 'day')
      is distinct from (old.settings -> 'cycle', old.settings -> 'weekday', old.settings -> 'day') then
    insert into money.merchant_cycles (tenant_id) values (new.tenant_id)
    on conflict (tenant_id) do update set begun_at = excluded.begun_at;
  end if;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "money"."cycle_follows_settings"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cycle_statement_make(tenant uuid, day date, wallet uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform set_config('app.tenant_id', cycle_statement_make.tenant::text, true);
  return money.statement_make(wallet, day::timestamp at time zone app.timezone(), day);
end $function$;

REVOKE ALL ON FUNCTION "money"."cycle_statement_make"(uuid, date, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cycle_wallets(tenant uuid, day date, after uuid DEFAULT NULL::uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(w.id order by w.id), '[]')
    from (
      select a.id from money.accounts a
      left join money.merchant_accounts m on m.tenant_id = a.tenant_id and m.account_id = a.id
      where a.tenant_id = cycle_wallets.tenant and a.kind = 'wallet' and a.owner_type in ('customer', 'institution')
        and (after is null or a.id > after)
        and (a.version > coalesce(m.looked_to, 0) or exists (
          select from money.merchant_pending p where p.tenant_id = a.tenant_id and p.account_id = a.id))
        and not exists (select from money.merchant_statements s
          where s.tenant_id = a.tenant_id and s.account_id = a.id and s.cycle_day = cycle_wallets.day)
      order by a.id limit 100) w);
end $function$;

REVOKE ALL ON FUNCTION "money"."cycle_wallets"(uuid, date, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.statement_cycles_sweep()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid;
  v_day date;
  v_count integer := 0;
begin
  for v_tenant in select c.tenant_id from money.merchant_cycles c order by 1 loop
    perform set_config('app.tenant_id', v_tenant::text, true);
    v_day := money.cycle_day_due();
    if v_day is not null and not exists (
        select from app.jobs j where j.tenant_id = v_tenant and j.kind = 'delivery.merchant_statements' and j.payload ->> 'day' = v_day::text
          and j.status <> 'done') then
      perform app.job_add('delivery.merchant_statements', jsonb_build_object('day', v_day));
      v_count := v_count + 1;
    end if;
  end loop;
  perform set_config('app.tenant_id', '', true);
  return v_count;
end $function$;

REVOKE ALL ON FUNCTION "money"."statement_cycles_sweep"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.statement_make(p_wallet uuid, p_until timestamp with time zone, p_cycle_day date DEFAULT NULL::date)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_wallet money.accounts;
  v_marks money.merchant_accounts;
  v_rule record;
  v_lines money.merchant_statement_lines[];
  v_unsettled bigint[];
  v_pending bigint[];
  v_looked_to bigint;
  v_kept numeric;
  v_net numeric;
  v_cod boolean;
  s money.merchant_statements;
begin
  select a.* into v_wallet from money.accounts a where a.tenant_id = v_tenant and a.id = p_wallet for no key update;
  if exists (select from money.merchant_statements o where o.tenant_id = v_tenant and o.account_id = p_wallet and o.cycle_day = p_cycle_day) then
    return null;
  end if;
  select m.* into v_marks from money.merchant_accounts m where m.tenant_id = v_tenant and m.account_id = p_wallet;
  v_rule := money.statement_rule(v_wallet.currency::text);
  v_kept := money.kept_of(v_tenant, p_wallet);
  -- One query, so that holds, movements and what is pending are those of one moment.
  with moved as materialized (
    select * from money.statement_movements(v_tenant, p_wallet, coalesce(v_marks.looked_to, 0), p_until)
  ), line as (
    select m.movement, case when m.stated then 'adjustment' else m.kind end as kind, m.amount, m.delivery_id, m.happened_at, m.released_at, m.kind as origin
    from moved m where m.amount <> 0
    union all
    select null, 'adjustment', k.amount, null, now(), now(), null from (values (v_kept), (-v_rule.keep)) k (amount) where k.amount <> 0
  )
  select
    (select array_agg(row(v_tenant, null, l.position, p_wallet, l.movement, l.kind, l.amount, l.delivery_id, d.delivery_code, d.external_reference_id,
          l.happened_at, l.released_at)::money.merchant_statement_lines)
      from (select x.*, row_number() over (order by x.movement is null, x.happened_at, x.movement, x.amount desc) as position from line x) l
      left join delivery.deliveries d on d.tenant_id = v_tenant and d.id = l.delivery_id),
    (select sum(l.amount) from line l),
    (select bool_or(l.origin = 'cod') from line l),
    (select array_agg(p.id) from money.merchant_pending p where p.tenant_id = v_tenant and p.account_id = p_wallet),
    (select min(m.movement) - 1 from moved m where not m.early and m.movement > coalesce(v_marks.looked_to, 0)),
    (select array_agg(m.movement) from moved m where not m.settled)
  into v_lines, v_net, v_cod, v_pending, v_looked_to, v_unsettled;
  if coalesce(v_net, 0) <= 0 or v_net < v_rule.minimum or p_cycle_day is not null and v_cod is not true then
    return null;
  end if;
  v_looked_to := coalesce(v_looked_to, v_wallet.version);
  insert into money.merchant_statements (tenant_id, number, account_id, owner_user_id, currency, opened_by, period_from, period_to, gross_cod, fees,
    refunds, adjustments, net, lines, cycle_day)
  select v_tenant, money.statement_number_next(), p_wallet, v_wallet.owner_user_id, v_wallet.currency, app.user_id(),
    least(coalesce((select max(x.period_to) from money.merchant_statements x where x.tenant_id = v_tenant and x.account_id = p_wallet and x.status <> 'void'),
      v_marks.opened_at, v_wallet.created_at), least(p_until, now())), least(p_until, now()),
    coalesce(sum(l.amount) filter (where l.kind = 'cod'), 0), coalesce(-sum(l.amount) filter (where l.kind = 'delivery_fee'), 0),
    coalesce(sum(l.amount) filter (where l.kind = 'refund'), 0), coalesce(sum(l.amount) filter (where l.kind = 'adjustment'), 0), v_net, count(*), p_cycle_day
  from unnest(v_lines) l
  returning * into s;
  insert into money.merchant_statement_lines (tenant_id, statement_id, position, account_id, movement, kind, amount, delivery_id, delivery_code,
    external_reference_id, collected_at, released_at)
  select l.tenant_id, s.id, l.position, l.account_id, l.movement, l.kind, l.amount, l.delivery_id, l.delivery_code, l.external_reference_id, l.collected_at,
    l.released_at
  from unnest(v_lines) l;
  delete from money.merchant_pending p where p.tenant_id = v_tenant and p.account_id = p_wallet and p.id = any (v_pending);
  insert into money.merchant_pending (tenant_id, account_id, movement)
  select v_tenant, p_wallet, u.movement from unnest(v_unsettled) u (movement) where u.movement <= v_looked_to;
  insert into money.merchant_accounts (tenant_id, account_id, looked_to) values (v_tenant, p_wallet, v_looked_to)
  on conflict (tenant_id, account_id) do update set looked_to = excluded.looked_to;
  perform money.statement_event_emit('merchant_statement.opened', s);
  return s.id;
end $function$;

ALTER TABLE "money"."merchant_cycles" ADD CONSTRAINT "merchant_cycles_tenant_id_fkey" FOREIGN KEY (tenant_id) REFERENCES tenancy.tenants(id) ON DELETE CASCADE;

CREATE TRIGGER merchant_cycle AFTER INSERT OR UPDATE OF settings ON tenancy.tenant_settings FOR EACH ROW WHEN (((new.module = 'delivery'::text) AND (new.group_key = 'payouts'::text))) EXECUTE FUNCTION money.cycle_follows_settings();

CREATE POLICY "tenant" ON "money"."merchant_cycles" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant)));

CREATE POLICY "write_delete" ON "money"."merchant_cycles" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "money"."merchant_cycles" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "money"."merchant_cycles" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

REVOKE ALL ON FUNCTION "money"."cycle_day"(jsonb, date) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cycle_day"(jsonb, date) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."cycle_day_due"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cycle_day_end"(uuid, date) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cycle_day_end"(uuid, date) TO "barid_api";

REVOKE ALL ON FUNCTION "money"."cycle_follows_settings"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cycle_statement_make"(uuid, date, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cycle_statement_make"(uuid, date, uuid) TO "barid_api";

REVOKE ALL ON FUNCTION "money"."cycle_wallets"(uuid, date, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cycle_wallets"(uuid, date, uuid) TO "barid_api";

REVOKE ALL ON FUNCTION "money"."statement_cycles_sweep"() FROM PUBLIC;

GRANT SELECT ON TABLE "money"."merchant_cycles" TO "barid_caller";

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
  perform cron.schedule('barid_report_stock', '17 2 * * *', 'select warehousing.report_stock()');
  perform cron.schedule('barid_webhooks_release', '*/5 * * * *', 'select integration.webhooks_release()');
  perform cron.schedule('barid_webhooks_purge', '47 3 * * *', 'select integration.webhooks_purge()');
  perform cron.schedule('barid_events_purge', '53 * * * *', 'select integration.events_purge()');
  perform cron.schedule('barid_domains_recheck', '*/5 * * * *', 'select storefront.domains_recheck()');
  perform cron.schedule('barid_payments_reconcile', '*/5 * * * *', 'select money.payments_reconcile()');
  perform cron.schedule('barid_orders_expire', '*/10 * * * *', 'select storefront.orders_expire()');
  perform cron.schedule('barid_orders_complete', '11 2 * * *', 'select storefront.orders_complete()');
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
  return '20261125160337';
end $$;

grant execute on function private.schema_version() to barid_api;
