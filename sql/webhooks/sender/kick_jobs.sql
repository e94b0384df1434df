-- Wakes the functions that have background jobs due, or will have before this runs again: those whose run was lost, failed or
-- set for later. Each stays until their time has come, so that an offer that nobody answers lapses within a second.
-- A job of kind delivery.x is run by the function delivery, which is asked with the project's secret key.
-- pg_net sends after the commit and at most once; a call that is lost is made again a minute later.
-- Webhooks that are due, or will be before this runs again, are the function webhooks' own affair.
-- Answers how many functions were asked; 0 as well where pg_net, vault or the two secrets are missing.
create or replace function integration.kick_jobs() returns integer
language plpgsql set search_path = '' as $$
declare
  v_url text;
  v_key text;
  v_function text;
  v_count integer := 0;
  -- As text, because neither extension needs to exist for this function to be made.
  v_secret text := 'select s.decrypted_secret from vault.decrypted_secrets s where s.name = $1';
  v_post text := 'select net.http_post(url := $1, body := $2, headers := $3, timeout_milliseconds := 60000)';
begin
  if to_regclass('vault.decrypted_secrets') is null or to_regnamespace('net') is null then
    return 0;
  end if;
  execute v_secret into v_url using 'project_url';
  execute v_secret into v_key using 'secret_key';
  if v_url is null or v_key is null then
    return 0;
  end if;
  for v_function in
    select distinct split_part(j.kind, '.', 1) from app.jobs j
    where (j.status = 'queued' and j.run_at <= now() + interval '65 seconds') or (j.status = 'running' and j.lease_until < now())
  loop
    execute v_post using rtrim(v_url, '/') || '/functions/v1/' || v_function || '/internal/jobs?stay', '{}'::jsonb,
      jsonb_build_object('apikey', v_key, 'content-type', 'application/json');
    v_count := v_count + 1;
  end loop;
  if integration.webhooks_waiting() then
    execute v_post using rtrim(v_url, '/') || '/functions/v1/webhooks/internal/dispatch', '{}'::jsonb,
      jsonb_build_object('apikey', v_key, 'content-type', 'application/json');
    v_count := v_count + 1;
  end if;
  return v_count;
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function integration.kick_jobs() from barid_caller;
