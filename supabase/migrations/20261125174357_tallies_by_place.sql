-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION app.counted(tally text, source regclass, dims text[], amount text DEFAULT NULL::text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION app.tally(tally text, wanted jsonb DEFAULT '{}'::jsonb, of_all boolean DEFAULT false)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION app.tally_by(tally text, by_column text, wanted jsonb DEFAULT '{}'::jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION private.tally_values(kind app.tally_kinds, wanted jsonb)
 RETURNS text[]
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  if kind.tally is null or exists (select from jsonb_object_keys(wanted) w (name) where w.name <> all (kind.dims)) then
    raise exception '% is not counted by %', kind.tally, wanted;
  end if;
  return array(select case when wanted ? d.name then lower(coalesce(wanted ->> d.name, '')) end
    from unnest(kind.dims) with ordinality d (name, place) order by d.place);
end $function$;

REVOKE ALL ON FUNCTION "private"."tally_values"(app.tally_kinds, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."tally_values"(app.tally_kinds, jsonb) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125174357';
end $$;

grant execute on function private.schema_version() to barid_api;
