-- Where changes since a time begin.

-- A number of a transaction below which no row of the caller's tenant was changed at `since` or later, found by
-- halving, so that a reader of changes need not pass all older rows. A row with number c from more than an hour before
-- `since` shows it: who had a smaller number had it before c, and was done before `since`. That holds for transactions
-- of up to half an hour; the functions' end after 20 seconds.
-- source: a table with tenant_id, changed, updated_at and an index on (tenant_id, changed, id). SECURITY DEFINER because the
-- policies would make each look pass the rows that the caller may not see; it returns a number and no row.
create or replace function private.changes_from(source regclass, since timestamptz) returns bigint
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_from bigint := 0;
  v_to bigint := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
  v_middle bigint;
  v_changed bigint;
  v_updated_at timestamptz;
begin
  while v_to - v_from > 1 loop
    v_middle := v_from + (v_to - v_from) / 2;
    execute format('select changed, updated_at from %s where tenant_id = $1 and changed >= $2 order by changed, id limit 1', source)
      into v_changed, v_updated_at using v_tenant, v_middle;
    if v_changed < v_to and v_updated_at < since - interval '1 hour' then
      v_from := v_changed;
    else
      v_to := v_middle;
    end if;
  end loop;
  return v_from;
end $$;

-- How often what a company's cursors of changes count was set back: the timeline of the database, or a later one that began when the
-- company came here. Of a caller without a company the database's.
create or replace function private.timeline_of(tenant uuid) returns bigint
language plpgsql stable set search_path = '' as $$
begin
  return greatest(0, (select max(t.timeline) from app.timelines t), (select t.timeline from app.tenant_timelines t where t.tenant_id = tenant));
end $$;

-- Added to the number of a change in the cursors that are given: a quadrillion for each timeline of the caller's company, so that a cursor
-- says of which it is. SECURITY DEFINER: callers do not read app.timelines; it answers a number.
create or replace function private.cursor_base() returns bigint
language plpgsql stable security definer set search_path = '' as $$
begin
  return 1000000000000000 * private.timeline_of(app.tenant_id());
end $$;

-- The number of a transaction after which a cursor reads on. Its reader would miss changes where the number is still to come, since another
-- database gave it, or this one before it was set back; or where it was given before that, of a change that was undone by it; or where
-- the company has come from another project since, whose numbers say nothing here. SECURITY DEFINER, as private.cursor_base.
-- Fails: invalid_cursor.
create or replace function private.cursor_number(number bigint) returns bigint
language plpgsql stable security definer set search_path = '' as $$
declare
  v_timeline bigint := number / 1000000000000000;
  v_changed bigint := number % 1000000000000000;
begin
  if v_changed >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint or number - v_changed > private.cursor_base()
      or exists (select from app.timelines t where t.timeline > v_timeline and t.begins <= v_changed)
      or exists (select from app.tenant_timelines t where t.tenant_id = app.tenant_id() and t.timeline > v_timeline) then
    perform app.fail('invalid_cursor', '{"field": "cursor"}');
  end if;
  return v_changed;
end $$;

-- Says that the database was set back to an earlier moment: cursors that were given before for what came after that moment are refused from
-- now on, also when the numbers of transactions have come so far again. By hand, by the owner of the tables, before anybody works.
-- begins: the first number that may be another transaction's now; null: all from now on.
create or replace function private.timeline_begin(begins bigint default null) returns void
language plpgsql set search_path = '' as $$
begin
  insert into app.timelines (timeline, begins)
  select greatest(0, (select max(t.timeline) from app.timelines t), (select max(t.timeline) from app.tenant_timelines t)) + 1,
    coalesce(timeline_begin.begins, pg_snapshot_xmin(pg_current_snapshot())::text::bigint);
end $$;

-- Says that a company has come from another project, where `there` was its timeline: cursors that were given to it before are refused. One
-- that comes again, after its deletion or after this database was set back, gets a later timeline each time. By the import, as the
-- owner of the tables.
create or replace function private.tenant_timeline_begin(tenant uuid, there bigint) returns void
language plpgsql set search_path = '' as $$
begin
  insert into app.tenant_timelines (tenant_id, timeline)
  select tenant, there + coalesce(max(t.timeline), 0) + 1 + (select count(*) from tenancy.deleted_tenants d where d.id = tenant)
  from app.timelines t;
end $$;

grant execute on function private.changes_from(regclass, timestamptz), private.cursor_base(), private.cursor_number(bigint) to barid_caller;
