-- Totals that are kept instead of counted. app.counted() declares one; app.tally() reads it.

-- Keeps the totals of a tenant table by these columns, and the sum of `amount` when one is named.
-- Counts what is there already. Called from the policies of the features, a line a list.
-- `rollup`: some of the columns, by which the totals are kept a second time as <tally>_rollup. A company has a group for each
-- of its thousand drivers, and most callers ask for no driver: app.tally then adds up a handful of rows.
-- Each tally has a trigger function of its own, private.tally_<name>, which adds the differences of one
-- statement: a function for all of them would plan its statement anew each time.
create or replace function app.counted(tally text, source regclass, dims text[], amount text default null, rollup text[] default null) returns void
language plpgsql set search_path = '' as $$
#variable_conflict use_variable
declare
  v_dims text := (select 'array[' || string_agg(format('coalesce(c.%I::text, '''')', d.name), ', ' order by d.place) || ']'
    from unnest(dims) with ordinality d (name, place));
  v_amount text := case when amount is null then '0' else format('c.%I', amount) end;
  v_differences text := format('select c.tenant_id, %s as dims, sum(c.d) as entries, coalesce(sum(c.d * %s), 0) as amount from', v_dims, v_amount);
  v_differ text := format('group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * %s), 0) <> 0', v_amount);
  v_adds text := 'insert into app.tallies (tenant_id, tally, dims, entries, amount)';
  v_kept text := format('select d.tenant_id, %L, d.dims, d.entries, d.amount from differences d', tally);
  v_event text;
begin
  if cardinality(dims) > 6 then
    raise exception 'a total is kept by six columns at most, see app.tally';
  end if;
  if rollup is not null then
    v_kept := v_kept || format('
        union all
        select d.tenant_id, %L, %s, sum(d.entries), sum(d.amount) from differences d
        group by 1, 3 having sum(d.entries) <> 0 or sum(d.amount) <> 0', tally || '_rollup', private.tally_rolled_up(dims, rollup));
  end if;
  execute format($f$
    create or replace function private.%1$I() returns trigger
    language plpgsql security definer set search_path = '' as $b$
    begin
      if tg_op = 'INSERT' then
        with differences as (
          %2$s (select 1 as d, n.* from new_rows n) c %3$s)
        %4$s
        %5$s;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        with differences as (
          %2$s (select -1 as d, o.* from old_rows o
            where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c %3$s)
        %4$s
        %5$s;
      else
        with differences as (
          %2$s (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c %3$s)
        %4$s
        %5$s;
      end if;
      return null;
    end $b$
    $f$, 'tally_' || tally, v_differences, v_differ, v_adds, v_kept);
  foreach v_event in array array['insert', 'update', 'delete'] loop
    execute format(
      'create or replace trigger tally_%1$s_%2$s after %2$s on %3$s referencing %4$s for each statement execute function private.%5$I()',
      tally, v_event, source,
      case v_event when 'insert' then 'new table as new_rows' when 'delete' then 'old table as old_rows'
        else 'old table as old_rows new table as new_rows' end,
      'tally_' || tally);
  end loop;
  perform private.tally_declare(tally, source::text, dims, amount, null);
  if rollup is not null then
    perform private.tally_declare(tally || '_rollup', source::text, rollup, amount, tally);
  end if;
end $$;

-- The groups of a tally, d.dims, as those of its roll-up.
-- Fails: a column of the roll-up that the tally is not kept by.
create or replace function private.tally_rolled_up(dims text[], rollup text[]) returns text
language plpgsql immutable set search_path = '' as $$
begin
  if not rollup <@ dims then
    raise exception '% are not among %', rollup, dims;
  end if;
  return (select 'array[' || string_agg(format('d.dims[%s]', array_position(dims, r.name)), ', ' order by r.place) || ']'
    from unnest(rollup) with ordinality r (name, place));
end $$;

-- Writes down what a tally is. One that is new, or another than before, is counted.
create or replace function private.tally_declare(tally text, source text, dims text[], amount text, rollup_of text) returns void
language plpgsql set search_path = '' as $$
#variable_conflict use_variable
begin
  if not exists (select from app.tally_kinds k where k.tally = tally and k.source = source and k.dims = dims
      and k.amount is not distinct from amount and k.rollup_of is not distinct from rollup_of) then
    insert into app.tally_kinds (tally, source, dims, amount, rollup_of) values (tally, source, dims, amount, rollup_of)
    on conflict on constraint tally_kinds_pkey do update
      set source = excluded.source, dims = excluded.dims, amount = excluded.amount, rollup_of = excluded.rollup_of;
    perform private.tally_count(tally);
  end if;
end $$;

-- Counts a list anew, of all tenants, with its roll-up. For a table that was filled behind its triggers.
create or replace function private.tally_rebuild(tally text) returns void
language plpgsql set search_path = '' as $$
#variable_conflict use_variable
begin
  perform private.tally_count(k.tally) from app.tally_kinds k where k.tally = tally or k.rollup_of = tally order by k.rollup_of is not null;
end $$;

-- Counts one tally anew: the rows of its table, of a roll-up the groups that it adds up.
create or replace function private.tally_count(tally text) returns void
language plpgsql set search_path = '' as $$
#variable_conflict use_variable
declare
  v_kind app.tally_kinds;
  v_finer app.tally_kinds;
begin
  -- With the fold: what one is writing meanwhile would stay beside the new count.
  perform pg_advisory_xact_lock(hashtextextended('app.tallies', 0));
  select k.* into v_kind from app.tally_kinds k where k.tally = tally;
  select k.* into v_finer from app.tally_kinds k where k.tally = v_kind.rollup_of;
  execute format('lock table %s in share mode', v_kind.source);
  delete from app.tallies t where t.tally = tally;
  execute 'insert into app.tallies (tenant_id, tally, dims, entries, amount) ' || case when v_finer.tally is null then private.tally_counted(tally)
    else format('select d.tenant_id, %L, %s, sum(d.entries), sum(d.amount) from app.tallies d where d.tally = %L group by 1, 3', tally,
      private.tally_rolled_up(v_finer.dims, v_kind.dims), v_finer.tally) end;
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

-- The tally to read for these columns: its roll-up where that has them all, else itself.
create or replace function private.tally_of(tally text, wanted jsonb, by_column text default null) returns app.tally_kinds
language plpgsql stable set search_path = '' as $$
#variable_conflict use_variable
declare
  v_kind app.tally_kinds;
begin
  select k.* into v_kind from app.tally_kinds k
  where k.tally = tally or (k.rollup_of = tally and (by_column is null or by_column = any (k.dims))
    and k.dims @> array(select w.name from jsonb_object_keys(wanted) w (name)))
  order by k.rollup_of is null limit 1;
  return v_kind;
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
  v_kind := private.tally_of(tally, wanted);
  v_values := private.tally_values(v_kind, wanted);
  if v_tenant is null or of_all then
    return (
      select jsonb_build_object('entries', coalesce(sum(t.entries), 0), 'amount', coalesce(sum(t.amount), 0))
      from app.tallies t
      where t.tally = v_kind.tally
        and (v_values[1] is null or lower(t.dims[1]) = v_values[1])
        and (v_values[2] is null or lower(t.dims[2]) = v_values[2])
        and (v_values[3] is null or lower(t.dims[3]) = v_values[3])
        and (v_values[4] is null or lower(t.dims[4]) = v_values[4])
        and (v_values[5] is null or lower(t.dims[5]) = v_values[5])
        and (v_values[6] is null or lower(t.dims[6]) = v_values[6]));
  end if;
  -- By driver a company has thousands of groups: each is compared at the price of its columns.
  return (
    select jsonb_build_object('entries', coalesce(sum(t.entries), 0), 'amount', coalesce(sum(t.amount), 0))
    from app.tallies t
    where t.tenant_id = v_tenant and t.tally = v_kind.tally
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
  v_kind := private.tally_of(tally, wanted, by_column);
  v_values := private.tally_values(v_kind, wanted);
  v_place := array_position(v_kind.dims, by_column);
  return (
    select coalesce(jsonb_object_agg(g.value, jsonb_build_object('entries', g.entries, 'amount', g.amount)), '{}')
    from (
      select t.dims[v_place] as value, sum(t.entries) as entries, sum(t.amount) as amount
      from app.tallies t
      where t.tenant_id = app.tenant_id() and t.tally = v_kind.tally
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

grant execute on function app.tally(text, jsonb, boolean), app.tally_by(text, text, jsonb), private.tally_of(text, jsonb, text),
  private.tally_values(app.tally_kinds, jsonb) to barid_caller;
revoke execute on function app.counted(text, regclass, text[], text, text[]) from barid_caller;
