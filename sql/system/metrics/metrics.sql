-- The metrics of the whole installation: what processes counted (shared/db/save-metrics.ts), and what is measured when it is asked for.

-- Adds what a process has counted since it last did: {series: number}. In the order of the series, so that processes which
-- add at once wait for each other and never in a circle. Answers how many series.
create or replace function integration.metrics_add(counts jsonb) returns integer
language plpgsql security definer set search_path = '' as $$
declare
  v_count integer;
begin
  insert into integration.metric_counts as m (series, value)
  select c.key, c.value::double precision from jsonb_each_text(counts) c order by c.key
  on conflict (series) do update set value = m.value + excluded.value;
  get diagnostics v_count = row_count;
  return v_count;
end $$;
grant execute on function integration.metrics_add(jsonb) to barid_api;
revoke execute on function integration.metrics_add(jsonb) from barid_caller;

-- How many seconds pass between two runs of a schedule of cron, at most.
create or replace function integration.cron_interval(schedule text) returns double precision
language plpgsql immutable set search_path = '' as $$
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
end $$;

-- The jobs of cron: how often each is to run, when it succeeded last, also one that was switched off since, and whether the last run of one
-- that is on failed (1 or 0). None without pg_cron.
create or replace function integration.metrics_of_cron() returns table (name text, labels jsonb, value double precision)
language plpgsql stable set search_path = '' as $$
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
end $$;

-- Background work: jobs by kind and status, webhooks that wait, and for how many seconds the oldest of each has been due; 0: nothing is.
-- A job or event that waits for an earlier one of its thing does not count, nor does a delivery that waits for a subscriber that fails.
create or replace function integration.metrics_of_queues() returns table (name text, labels jsonb, value double precision)
language plpgsql stable set search_path = '' as $$
begin
  return query
  select 'barid_jobs', jsonb_build_object('kind', j.kind, 'status', j.status), count(*)::double precision
  from app.jobs j where j.status in ('queued', 'running') group by j.kind, j.status
  union all
  -- Apart, because each of the two has an index of its own.
  select 'barid_jobs', jsonb_build_object('kind', j.kind, 'status', 'dead'), count(*)::double precision
  from app.jobs j where j.status = 'dead' group by j.kind
  union all
  select 'barid_jobs_oldest_due_age_seconds', '{}', coalesce(extract(epoch from now() - min(j.run_at)), 0)::double precision
  from app.jobs j
  where j.status in ('queued', 'running') and j.run_at <= now() and (j.status = 'queued' or j.lease_until < now())
    and not exists (select from app.jobs e where e.entity_key = j.entity_key and e.id < j.id and e.status in ('queued', 'running'))
  union all
  select 'barid_webhooks_waiting', '{}', count(*)::double precision
  from integration.subscriptions_waiting() w (id)
  join integration.webhook_subscriptions s on s.id = w.id
  join integration.webhook_events e on e.subscription_id = s.id and e.next_attempt_at is not null
  where integration.hears(s)
  union all
  select 'barid_webhooks_oldest_due_age_seconds', '{}', coalesce(extract(epoch from now() - min(w.due_at)), 0)::double precision
  from (
    select d.due_at
    from integration.subscriptions_waiting() w (id)
    join integration.webhook_subscriptions s on s.id = w.id and s.failing_since is null
    cross join lateral (
      select e.next_attempt_at as due_at from integration.webhook_events e
      where e.subscription_id = s.id and e.next_attempt_at <= now()
        and not exists (select from integration.webhook_events p
          where p.subscription_id = e.subscription_id and p.entity_key = e.entity_key and p.next_attempt_at is not null
            and p.position < e.position)
      order by e.next_attempt_at limit 1) d
    where integration.hears(s)
    union all
    select u.created_at
    from integration.listening() l
    cross join lateral (
      select e.created_at from integration.system_events e
      where e.tenant_id = l.tenant_id and not e.is_dispatched and e.position > l.from_position order by e.position limit 1) u
  ) w
  union all
  select 'barid_webhook_subscriptions_failing', '{}', count(*)::double precision
  from integration.webhook_subscriptions s where s.is_active and s.failing_since is not null;
end $$;

-- Money and stock that somebody has to look at: payments that fit nothing, by gateway, and tenants in which the comparison of the last
-- night found a difference that nobody has marked as processed.
create or replace function integration.metrics_of_books() returns table (name text, labels jsonb, value double precision)
language plpgsql stable set search_path = '' as $$
begin
  return query
  select 'barid_payments_unmatched', jsonb_build_object('gateway', e.gateway_code), count(*)::double precision
  from money.payment_webhook_events e where e.outcome = 'unmatched' and e.resolution is null group by e.gateway_code
  union all
  -- With each type written out, so that it is planned by how rare it is.
  select 'barid_cash_mismatch_tenants', '{}', count(distinct e.tenant_id)::double precision
  from integration.system_events e
  where e.event_type = 'cod.mismatch' and e.status <> 'processed' and e.created_at > now() - interval '25 hours'
  union all
  select 'barid_stock_mismatch_tenants', '{}', count(distinct e.tenant_id)::double precision
  from integration.system_events e
  where e.event_type = 'stock.mismatch' and e.status <> 'processed' and e.created_at > now() - interval '25 hours';
end $$;

-- {} -> {schema, counts: {series: value}, gauges: [{name, labels, value}]}. For the system's administrators and keys of the system with
-- the permission view:metrics:system. Fails: forbidden.
create or replace function integration.metrics_read(input jsonb) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
  if not app.has_permission('view:metrics:system') then
    perform app.fail('forbidden');
  end if;
  return jsonb_build_object('schema', private.schema_version(),
    'counts', (select coalesce(jsonb_object_agg(c.series, c.value), '{}') from integration.metric_counts c),
    'gauges', (
      select jsonb_agg(to_jsonb(g) order by g.name, g.labels) from (
        select * from integration.metrics_of_queues()
        union all select * from integration.metrics_of_books()
        union all select * from integration.metrics_of_cron()) g));
end $$;
grant execute on function integration.metrics_read(jsonb) to barid_caller;

-- Nobody calls these but other functions and triggers.
revoke execute on function integration.cron_interval(text), integration.metrics_of_cron(), integration.metrics_of_queues(),
  integration.metrics_of_books() from barid_caller;
