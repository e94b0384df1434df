-- Totals that are kept instead of counted. app.counted() declares one; app.tally() reads it.

-- Keeps the totals of a tenant table by these columns, and the sum of `amount` when one is named.
-- Counts what is there already. Called from the policies of the features, a line a list.
-- Each tally has a trigger function of its own, private.tally_<name>, which adds the differences of one
-- statement: a function for all of them would plan its statement anew each time.
create or replace function app.counted(tally text, source regclass, dims text[], amount text default null) returns void
language plpgsql set search_path = '' as $$
#variable_conflict use_variable
declare
  v_dims text := (select 'array[' || string_agg(format('coalesce(c.%I::text, '''')', d.name), ', ' order by d.place) || ']'
    from unnest(dims) with ordinality d (name, place));
  v_amount text := case when amount is null then '0' else format('c.%I', amount) end;
  v_adds text := format('insert into app.tallies (tenant_id, tally, dims, entries, amount)
      select c.tenant_id, %L, %s, sum(c.d), coalesce(sum(c.d * %s), 0) from', tally, v_dims, v_amount);
  v_differ text := format('group by 1, 3 having sum(c.d) <> 0 or coalesce(sum(c.d * %s), 0) <> 0;', v_amount);
  v_event text;
begin
  if cardinality(dims) > 6 then
    raise exception 'a total is kept by six columns at most, see app.tally';
  end if;
  execute format($f$
    create or replace function private.%1$I() returns trigger
    language plpgsql security definer set search_path = '' as $b$
    begin
      if tg_op = 'INSERT' then
        %2$s (select 1 as d, n.* from new_rows n) c %3$s
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        %2$s (select -1 as d, o.* from old_rows o
          where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c %3$s
      else
        %2$s (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c %3$s
      end if;
      return null;
    end $b$
    $f$, 'tally_' || tally, v_adds, v_differ);
  foreach v_event in array array['insert', 'update', 'delete'] loop
    execute format('drop trigger if exists tally_%s_%s on %s', tally, v_event, source);
    execute format(
      'create trigger tally_%1$s_%2$s after %2$s on %3$s referencing %4$s for each statement execute function private.%5$I()',
      tally, v_event, source,
      case v_event when 'insert' then 'new table as new_rows' when 'delete' then 'old table as old_rows'
        else 'old table as old_rows new table as new_rows' end,
      'tally_' || tally);
  end loop;
  if not exists (select from app.tally_kinds k where k.tally = tally and k.source = source::text and k.dims = dims
      and k.amount is not distinct from amount) then
    insert into app.tally_kinds (tally, source, dims, amount) values (tally, source::text, dims, amount)
    on conflict on constraint tally_kinds_pkey do update set source = excluded.source, dims = excluded.dims, amount = excluded.amount;
    perform private.tally_rebuild(tally);
  end if;
end $$;

-- Counts a list anew, of all tenants. For a table that was filled behind its triggers.
create or replace function private.tally_rebuild(tally text) returns void
language plpgsql set search_path = '' as $$
#variable_conflict use_variable
begin
  execute (select format('lock table %s in share mode', k.source) from app.tally_kinds k where k.tally = tally);
  delete from app.tallies t where t.tally = tally;
  execute 'insert into app.tallies (tenant_id, tally, dims, entries, amount) ' || private.tally_counted(tally);
end $$;

-- The statement that counts a list's rows as they are: tenant_id, tally, dims, entries, amount.
create or replace function private.tally_counted(tally text) returns text
language plpgsql stable set search_path = '' as $$
begin
  return (
    select format('select c.tenant_id, %L::text, array[%s], count(*), coalesce(sum(%s), 0)::numeric from %s c group by 1, 3', k.tally,
      (select string_agg(format('coalesce(c.%I::text, '''')', d.name), ', ' order by d.place)
        from unnest(k.dims) with ordinality d (name, place)),
      case when k.amount is null then '0' else format('c.%I', k.amount) end, k.source)
    from app.tally_kinds k where k.tally = tally_counted.tally);
end $$;

-- The values that the groups of a total must have, by the place of their column; null: any. Columns are compared without regard to case.
-- Fails: a column the list is not counted by.
create or replace function private.tally_values(kind app.tally_kinds, wanted jsonb) returns text[]
language plpgsql immutable set search_path = '' as $$
begin
  if kind.tally is null or exists (select from jsonb_object_keys(wanted) w (name) where w.name <> all (kind.dims)) then
    raise exception '% is not counted by %', kind.tally, wanted;
  end if;
  return array(select case when wanted ? d.name then lower(coalesce(wanted ->> d.name, '')) end
    from unnest(kind.dims) with ordinality d (name, place) order by d.place);
end $$;

-- A total of the caller's tenant: {entries, amount} over the groups whose columns have these values. Who is in no
-- tenant, or asks of_all, gets that of all tenants and of none, as far as the caller may see them.
-- wanted: {column: value}; a column left out may have any. Fails: as private.tally_values.
create or replace function app.tally(tally text, wanted jsonb default '{}', of_all boolean default false) returns jsonb
language plpgsql stable set search_path = '' as $$
#variable_conflict use_variable
declare
  v_kind app.tally_kinds;
  v_tenant uuid := app.tenant_id();
  v_values text[];
begin
  select k.* into v_kind from app.tally_kinds k where k.tally = tally;
  v_values := private.tally_values(v_kind, wanted);
  if v_tenant is null or of_all then
    return (
      select jsonb_build_object('entries', coalesce(sum(t.entries), 0), 'amount', coalesce(sum(t.amount), 0))
      from app.tallies t
      where t.tally = tally
        and (v_values[1] is null or lower(t.dims[1]) = v_values[1])
        and (v_values[2] is null or lower(t.dims[2]) = v_values[2])
        and (v_values[3] is null or lower(t.dims[3]) = v_values[3])
        and (v_values[4] is null or lower(t.dims[4]) = v_values[4])
        and (v_values[5] is null or lower(t.dims[5]) = v_values[5])
        and (v_values[6] is null or lower(t.dims[6]) = v_values[6]));
  end if;
  -- A company has thousands of groups where they are kept by driver: each is compared at the price of its columns.
  return (
    select jsonb_build_object('entries', coalesce(sum(t.entries), 0), 'amount', coalesce(sum(t.amount), 0))
    from app.tallies t
    where t.tenant_id = v_tenant and t.tally = tally
      and (v_values[1] is null or lower(t.dims[1]) = v_values[1])
      and (v_values[2] is null or lower(t.dims[2]) = v_values[2])
      and (v_values[3] is null or lower(t.dims[3]) = v_values[3])
      and (v_values[4] is null or lower(t.dims[4]) = v_values[4])
      and (v_values[5] is null or lower(t.dims[5]) = v_values[5])
      and (v_values[6] is null or lower(t.dims[6]) = v_values[6]));
end $$;

-- The caller's tenant's totals by one column: {value: {entries, amount}}, among the groups that `wanted` names.
create or replace function app.tally_by(tally text, by_column text, wanted jsonb default '{}') returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_kind app.tally_kinds;
  v_values text[];
  v_place integer;
begin
  select k.* into v_kind from app.tally_kinds k where k.tally = tally_by.tally;
  v_values := private.tally_values(v_kind, wanted);
  v_place := array_position(v_kind.dims, by_column);
  return (
    select coalesce(jsonb_object_agg(g.value, jsonb_build_object('entries', g.entries, 'amount', g.amount)), '{}')
    from (
      select t.dims[v_place] as value, sum(t.entries) as entries, sum(t.amount) as amount
      from app.tallies t
      where t.tenant_id = app.tenant_id() and t.tally = tally_by.tally
        and (v_values[1] is null or lower(t.dims[1]) = v_values[1])
        and (v_values[2] is null or lower(t.dims[2]) = v_values[2])
        and (v_values[3] is null or lower(t.dims[3]) = v_values[3])
        and (v_values[4] is null or lower(t.dims[4]) = v_values[4])
        and (v_values[5] is null or lower(t.dims[5]) = v_values[5])
        and (v_values[6] is null or lower(t.dims[6]) = v_values[6])
      group by 1
      having sum(t.entries) <> 0 or sum(t.amount) <> 0
    ) g);
end $$;

-- Folds the rows of each group into one. Run by cron; readers see the rows before or after, never between.
create or replace function private.tallies_fold() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('app.tallies', 0)) then
    return 0;
  end if;
  with crowded as (
    select t.tenant_id, t.tally, t.dims from app.tallies t
    group by t.tenant_id, t.tally, t.dims having count(*) > 1 or (count(*) = 1 and sum(t.entries) = 0 and sum(t.amount) = 0)
  ), gone as (
    delete from app.tallies t using crowded c
    where t.tenant_id is not distinct from c.tenant_id and t.tally = c.tally and t.dims = c.dims
    returning t.*
  ), folded as (
    insert into app.tallies (tenant_id, tally, dims, entries, amount)
    select g.tenant_id, g.tally, g.dims, sum(g.entries), sum(g.amount) from gone g
    group by g.tenant_id, g.tally, g.dims having sum(g.entries) <> 0 or sum(g.amount) <> 0
  )
  select count(*) into v_count from gone;
  return v_count;
end $$;

-- Every group whose kept total is not what its rows add up to; no row means that all are right.
create or replace function private.tallies_verify()
returns table (tenant_id uuid, tally text, dims text[], kept bigint, counted bigint, kept_amount numeric, counted_amount numeric)
language plpgsql set search_path = '' as $$
declare
  v_tally text;
begin
  for v_tally in select k.tally from app.tally_kinds k order by k.tally loop
    return query execute format(
      'select coalesce(k.tenant_id, c.tenant_id), %1$L::text, coalesce(k.dims, c.dims), coalesce(k.entries, 0)::bigint, coalesce(c.entries, 0),
         coalesce(k.amount, 0), coalesce(c.amount, 0)
       from (select t.tenant_id, t.dims, sum(t.entries) as entries, sum(t.amount) as amount from app.tallies t where t.tally = %1$L
         group by t.tenant_id, t.dims) k
       full join (%2$s) c (tenant_id, tally, dims, entries, amount)
         on coalesce(c.tenant_id::text, '''') = coalesce(k.tenant_id::text, '''') and c.dims = k.dims
       where coalesce(k.entries, 0) <> coalesce(c.entries, 0) or coalesce(k.amount, 0) <> coalesce(c.amount, 0)',
      v_tally, private.tally_counted(v_tally));
  end loop;
end $$;

grant execute on function app.tally(text, jsonb, boolean), app.tally_by(text, text, jsonb), private.tally_values(app.tally_kinds, jsonb) to barid_caller;
revoke execute on function app.counted(text, regclass, text[], text) from barid_caller;
