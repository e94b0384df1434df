-- Background jobs: added by the transaction that needs them, claimed under a lease, tried again with
-- a growing pause, set aside as dead when they keep failing. At least once: a handler may run twice.

-- Adds a job for the caller's tenant. `entity_key` keeps the jobs of one thing in order.
create or replace function app.job_add(
  kind text, payload jsonb, entity_key text default null, run_at timestamptz default null, attempts_max integer default 8
) returns bigint
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  v_id bigint;
begin
  insert into app.jobs (tenant_id, kind, payload, entity_key, run_at, attempts_max)
  values (app.tenant_id(), job_add.kind, job_add.payload, job_add.entity_key, coalesce(job_add.run_at, now()), job_add.attempts_max)
  returning id into v_id;
  if job_add.run_at is null or job_add.run_at <= now() then
    perform set_config('app.jobs_queued', 'on', true);
  end if;
  return v_id;
end $$;

-- Leases up to `batch` due jobs of these kinds, oldest first. A job waits while an earlier one of its
-- entity is unfinished. A lease that ran out (its runner died) is taken over, until the attempts are used up: then the job is dead, and no
-- longer kills those who do it, with eight attempts at least, since of one batch each job is taken over.
-- Answers [{id, tenant_id, kind, payload, attempts, lease_token, trace_context}].
create or replace function private.jobs_claim(kinds text[], batch integer default 10, lease interval default '2 minutes')
returns jsonb
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  v_lost app.jobs;
  v_jobs jsonb;
begin
  for v_lost in
    update app.jobs j set status = 'dead', finished_at = now(), last_error = 'its runner ended each time', lease_until = null, lease_token = null
    where j.kind = any (kinds) and j.run_at <= now() and j.status = 'running' and j.lease_until < now() and j.attempts >= greatest(j.attempts_max, 8)
    returning j.*
  loop
    perform private.job_dead_announce(v_lost);
  end loop;
  with due as (
    select j.id from app.jobs j
    where j.kind = any (kinds) and j.run_at <= now()
      and (j.status = 'queued' or (j.status = 'running' and j.lease_until < now()))
      and not exists (
        select from app.jobs e where e.entity_key = j.entity_key and e.id < j.id and e.status in ('queued', 'running'))
    order by j.run_at, j.id
    limit batch
    for update of j skip locked
  ), leased as (
    update app.jobs j set status = 'running', attempts = j.attempts + 1, lease_until = now() + lease,
      lease_token = gen_random_uuid()
    from due where j.id = due.id
    returning j.*
  )
  select coalesce(jsonb_agg(jsonb_build_object('id', l.id, 'tenant_id', l.tenant_id, 'kind', l.kind,
    'payload', l.payload, 'attempts', l.attempts, 'lease_token', l.lease_token, 'trace_context', l.trace_context) order by l.id), '[]')
  into v_jobs from leased l;
  return v_jobs;
end $$;

-- In how many milliseconds the next job of these kinds is due, at most `ahead` from now; null: none is. One that waits for an
-- earlier job of its entity is not due.
create or replace function private.jobs_due_ms(kinds text[], ahead interval default '65 seconds') returns integer
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select ceil(1000 * greatest(0, extract(epoch from j.run_at - clock_timestamp())))::integer
    from app.jobs j
    where j.kind = any (kinds) and j.status = 'queued' and j.run_at <= now() + ahead
      and not exists (
        select from app.jobs e where e.entity_key = j.entity_key and e.id < j.id and e.status in ('queued', 'running'))
    order by j.run_at, j.id limit 1);
end $$;

-- Ends a leased job. error null: done. Otherwise it is queued again after 5 s, 10 s, 20 s ... at most
-- an hour, or dead after its last attempt: then its tenant hears of it as the event job.dead.
-- Answers the status it has now; null when the lease was lost meanwhile.
create or replace function private.job_finish(job_id bigint, token uuid, error text default null) returns text
language plpgsql security definer set search_path = '' as $$
declare
  v_job app.jobs;
begin
  update app.jobs j set
    status = case when error is null then 'done' when j.attempts >= j.attempts_max then 'dead' else 'queued' end,
    run_at = case when error is null then j.run_at
      else now() + least(interval '1 hour', interval '5 seconds' * 2 ^ least(j.attempts - 1, 12)) end,
    finished_at = case when error is null or j.attempts >= j.attempts_max then now() end,
    last_error = left(error, 2000), lease_until = null, lease_token = null
  where j.id = job_id and j.status = 'running' and j.lease_token = token
  returning * into v_job;
  if v_job.status = 'dead' then
    perform private.job_dead_announce(v_job);
  end if;
  return v_job.status;
end $$;

-- Announces to its tenant that a job is dead: the event job.dead.
create or replace function private.job_dead_announce(j app.jobs) returns void
language plpgsql set search_path = '' as $$
begin
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select j.tenant_id, 'job.dead', split_part(j.kind, '.', 1), 'tenant', j.tenant_id,
    jsonb_build_object('job_id', j.id, 'kind', j.kind, 'attempts', j.attempts)
  where j.tenant_id is not null;
end $$;

-- Gives dead jobs another round of attempts, for whoever mended what they failed of. Answers how many.
create or replace function private.jobs_requeue(job_ids bigint[]) returns integer
language plpgsql set search_path = '' as $$
declare
  v_count integer;
begin
  update app.jobs set status = 'queued', attempts = 0, run_at = now(), finished_at = null
  where id = any (job_ids) and status = 'dead';
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- Withdraws a job that is no longer needed, unless it is already running.
create or replace function app.job_withdraw(job_id bigint) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  update app.jobs j set status = 'done', finished_at = now(), last_error = 'withdrawn'
  where j.id = job_id and j.status = 'queued' and j.tenant_id is not distinct from app.tenant_id();
  return found;
end $$;

-- Removes jobs done more than 7 days ago. Dead ones stay until someone looked. Run by cron.
create or replace function private.jobs_purge() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  delete from app.jobs where status = 'done' and finished_at < now() - interval '7 days';
  get diagnostics v_count = row_count;
  return v_count;
end $$;

grant execute on function app.job_add(text, jsonb, text, timestamptz, integer), app.job_withdraw(bigint) to barid_caller;
grant execute on function private.jobs_claim(text[], integer, interval), private.jobs_due_ms(text[], interval),
  private.job_finish(bigint, uuid, text) to barid_api;
