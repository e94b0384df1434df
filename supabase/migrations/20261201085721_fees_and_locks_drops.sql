-- Written by npm run db:migration. Calls that began before the functions changed may still look for these.
set lock_timeout = '1s';
set statement_timeout = '2min';

do $$
declare
  v_before text[] := array(select l.virtualxid from pg_locks l join pg_stat_activity a using (pid)
    where l.locktype = 'virtualxid' and l.pid <> pg_backend_pid() and a.datname = current_database()
      and a.backend_type is distinct from 'autovacuum worker');
begin
  for v_try in 1..600 loop
    if not exists (select 1 from pg_locks l where l.virtualxid = any (v_before)) then
      return;
    end if;
    perform pg_sleep(0.1);
  end loop;
  raise exception 'transactions of before this migration have been open for a minute: end them, then migrate again'
    using errcode = 'lock_not_available';
end $$;

DROP FUNCTION IF EXISTS "money"."lock_returned_cash"(uuid, uuid, numeric, text);
