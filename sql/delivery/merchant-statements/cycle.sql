-- Statements that are made by themselves, by the cycle of the setting delivery.payouts: once a day of the cycle and owner, of movements before
-- the start of that day in the tenant's time zone. Cron queues a job a tenant, which makes one statement a transaction.

-- The last day of a cycle until a day; null: there is none. Weeks begin with their weekday, sunday unless said, months with their day, 1
-- unless said.
create or replace function money.cycle_day(rule jsonb, today date) returns date
language plpgsql immutable set search_path = '' as $$
declare
  v_weekday integer := coalesce(array_position('{monday,tuesday,wednesday,thursday,friday,saturday,sunday}'::text[], rule ->> 'weekday'), 7);
  v_day integer := coalesce((rule ->> 'day')::integer, 1);
begin
  return case rule ->> 'cycle'
    when 'daily' then today
    when 'weekly' then today - (extract(isodow from today)::integer - v_weekday + 7) % 7
    when 'monthly' then (date_trunc('month', (today - (v_day - 1))::timestamp) + make_interval(days => v_day - 1))::date end;
end $$;

-- The day of the cycle whose statements the caller's tenant waits for; null: none.
create or replace function money.cycle_day_due() returns date
language plpgsql stable set search_path = '' as $$
declare
  v_day date := money.cycle_day(app.settings('delivery', 'payouts'), (now() at time zone app.timezone())::date);
begin
  return (
    select v_day from money.merchant_cycles c
    where c.tenant_id = app.tenant_id() and v_day > coalesce(c.day, '-infinity') and app.day_begins(v_day) >= c.begun_at);
end $$;

-- A cycle counts from the moment when it was saved; without one nothing is remembered of it.
create or replace function money.cycle_follows_settings() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if coalesce(new.settings ->> 'cycle', 'none') = 'none' then
    delete from money.merchant_cycles c where c.tenant_id = new.tenant_id;
  elsif tg_op = 'INSERT' or (new.settings -> 'cycle', new.settings -> 'weekday', new.settings -> 'day')
      is distinct from (old.settings -> 'cycle', old.settings -> 'weekday', old.settings -> 'day') then
    insert into money.merchant_cycles (tenant_id) values (new.tenant_id)
    on conflict (tenant_id) do update set begun_at = excluded.begun_at;
  end if;
  return null;
end $$;

-- Wallets of owners that may have something to state for a day of the cycle, after one of them by their ids: [id], at most 100.
create or replace function money.cycle_wallets(tenant uuid, day date, after uuid default null) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
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
end $$;

-- Makes the statement of a wallet for a day of the cycle, if COD is due and enough; the job calls it, as nobody. -> its id; null: none
-- Locks: as money.statement_make.
create or replace function money.cycle_statement_make(tenant uuid, day date, wallet uuid) returns uuid
language plpgsql security definer set search_path = '' as $$
begin
  perform set_config('app.tenant_id', cycle_statement_make.tenant::text, true);
  return money.statement_make(wallet, app.day_begins(day), day);
end $$;

-- All owners of a tenant have their statements for this day of the cycle.
create or replace function money.cycle_day_end(tenant uuid, day date) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update money.merchant_cycles c set day = greatest(c.day, cycle_day_end.day) where c.tenant_id = cycle_day_end.tenant;
end $$;

-- Queues a job for each tenant with a day of the cycle to make statements for, and no job that does it or failed to. Run by cron; a run that was
-- missed is made up for by the next. -> how many
create or replace function money.statement_cycles_sweep() returns integer
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid;
  v_day date;
  v_count integer := 0;
begin
  for v_tenant in select c.tenant_id from money.merchant_cycles c where not app.is_archived(c.tenant_id) order by 1 loop
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
end $$;

drop trigger if exists merchant_cycle on tenancy.tenant_settings;
create trigger merchant_cycle after insert or update of settings on tenancy.tenant_settings
  for each row when (new.module = 'delivery' and new.group_key = 'payouts') execute function money.cycle_follows_settings();

grant execute on function money.cycle_wallets(uuid, date, uuid), money.cycle_statement_make(uuid, date, uuid), money.cycle_day_end(uuid, date) to barid_api;

-- Nobody calls these but the job, other functions, triggers and cron.
revoke execute on function money.cycle_day_due(), money.cycle_follows_settings(), money.cycle_wallets(uuid, date, uuid),
  money.cycle_statement_make(uuid, date, uuid), money.cycle_day_end(uuid, date), money.statement_cycles_sweep() from barid_caller;
