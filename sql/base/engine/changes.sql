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

-- The number of a transaction after which a cursor reads on. One that is still to come was given by another database, or by this one
-- before it was set back to an earlier moment: its reader would miss every change until the numbers have come so far.
-- Fails: invalid_cursor.
create or replace function private.cursor_number(number bigint) returns bigint
language plpgsql stable set search_path = '' as $$
begin
  if number >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint then
    perform app.fail('invalid_cursor', '{"field": "cursor"}');
  end if;
  return number;
end $$;

grant execute on function private.changes_from(regclass, timestamptz), private.cursor_number(bigint) to barid_caller;
