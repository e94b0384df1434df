-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.assignments in share row exclusive mode;
      lock table money.cod_collections in share row exclusive mode;
      lock table money.driver_pay in share row exclusive mode;
      lock table app.tally_kinds in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP FUNCTION "app"."counted"(text, regclass, text[], text);

ALTER TABLE "app"."tally_kinds" ADD COLUMN "rollup_of" text;

CREATE OR REPLACE FUNCTION app.counted(tally text, source regclass, dims text[], amount text DEFAULT NULL::text, rollup text[] DEFAULT NULL::text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

REVOKE ALL ON FUNCTION "app"."counted"(text, regclass, text[], text, text[]) FROM "barid_caller";

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
end $function$;

CREATE OR REPLACE FUNCTION private.tally_assignments()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, ''), coalesce(c.driver_id::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'assignments', d.dims, d.entries, d.amount from differences d
        union all
        select d.tenant_id, 'assignments_rollup', array[d.dims[1]], sum(d.entries), sum(d.amount) from differences d
        group by 1, 3 having sum(d.entries) <> 0 or sum(d.amount) <> 0;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, ''), coalesce(c.driver_id::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select -1 as d, o.* from old_rows o
            where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'assignments', d.dims, d.entries, d.amount from differences d
        union all
        select d.tenant_id, 'assignments_rollup', array[d.dims[1]], sum(d.entries), sum(d.amount) from differences d
        group by 1, 3 having sum(d.entries) <> 0 or sum(d.amount) <> 0;
      else
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, ''), coalesce(c.driver_id::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'assignments', d.dims, d.entries, d.amount from differences d
        union all
        select d.tenant_id, 'assignments_rollup', array[d.dims[1]], sum(d.entries), sum(d.amount) from differences d
        group by 1, 3 having sum(d.entries) <> 0 or sum(d.amount) <> 0;
      end if;
      return null;
    end $function$;

CREATE OR REPLACE FUNCTION private.tally_carrier_collections()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        with differences as (
          select c.tenant_id, array[coalesce(c.carrier_code::text, ''), coalesce(c.status::text, ''), coalesce(c.currency::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select 1 as d, n.* from new_rows n) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'carrier_collections', d.dims, d.entries, d.amount from differences d;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        with differences as (
          select c.tenant_id, array[coalesce(c.carrier_code::text, ''), coalesce(c.status::text, ''), coalesce(c.currency::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select -1 as d, o.* from old_rows o
            where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'carrier_collections', d.dims, d.entries, d.amount from differences d;
      else
        with differences as (
          select c.tenant_id, array[coalesce(c.carrier_code::text, ''), coalesce(c.status::text, ''), coalesce(c.currency::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'carrier_collections', d.dims, d.entries, d.amount from differences d;
      end if;
      return null;
    end $function$;

CREATE OR REPLACE FUNCTION private.tally_cod_collections()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, ''), coalesce(c.driver_id::text, ''), coalesce(c.currency::text, ''), coalesce(c.reversed_at::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select 1 as d, n.* from new_rows n) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'cod_collections', d.dims, d.entries, d.amount from differences d
        union all
        select d.tenant_id, 'cod_collections_rollup', array[d.dims[1], d.dims[3], d.dims[4]], sum(d.entries), sum(d.amount) from differences d
        group by 1, 3 having sum(d.entries) <> 0 or sum(d.amount) <> 0;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, ''), coalesce(c.driver_id::text, ''), coalesce(c.currency::text, ''), coalesce(c.reversed_at::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select -1 as d, o.* from old_rows o
            where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'cod_collections', d.dims, d.entries, d.amount from differences d
        union all
        select d.tenant_id, 'cod_collections_rollup', array[d.dims[1], d.dims[3], d.dims[4]], sum(d.entries), sum(d.amount) from differences d
        group by 1, 3 having sum(d.entries) <> 0 or sum(d.amount) <> 0;
      else
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, ''), coalesce(c.driver_id::text, ''), coalesce(c.currency::text, ''), coalesce(c.reversed_at::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'cod_collections', d.dims, d.entries, d.amount from differences d
        union all
        select d.tenant_id, 'cod_collections_rollup', array[d.dims[1], d.dims[3], d.dims[4]], sum(d.entries), sum(d.amount) from differences d
        group by 1, 3 having sum(d.entries) <> 0 or sum(d.amount) <> 0;
      end if;
      return null;
    end $function$;

CREATE OR REPLACE FUNCTION private.tally_count(tally text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  v_kind app.tally_kinds;
  v_finer app.tally_kinds;
begin
  select k.* into v_kind from app.tally_kinds k where k.tally = tally;
  select k.* into v_finer from app.tally_kinds k where k.tally = v_kind.rollup_of;
  execute format('lock table %s in share mode', v_kind.source);
  delete from app.tallies t where t.tally = tally;
  execute 'insert into app.tallies (tenant_id, tally, dims, entries, amount) ' || case when v_finer.tally is null then private.tally_counted(tally)
    else format('select d.tenant_id, %L, %s, sum(d.entries), sum(d.amount) from app.tallies d where d.tally = %L group by 1, 3', tally,
      private.tally_rolled_up(v_finer.dims, v_kind.dims), v_finer.tally) end;
end $function$;

CREATE OR REPLACE FUNCTION private.tally_declare(tally text, source text, dims text[], amount text, rollup_of text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
begin
  if not exists (select from app.tally_kinds k where k.tally = tally and k.source = source and k.dims = dims
      and k.amount is not distinct from amount and k.rollup_of is not distinct from rollup_of) then
    insert into app.tally_kinds (tally, source, dims, amount, rollup_of) values (tally, source, dims, amount, rollup_of)
    on conflict on constraint tally_kinds_pkey do update
      set source = excluded.source, dims = excluded.dims, amount = excluded.amount, rollup_of = excluded.rollup_of;
    perform private.tally_count(tally);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.tally_deliveries()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'deliveries', d.dims, d.entries, d.amount from differences d;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select -1 as d, o.* from old_rows o
            where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'deliveries', d.dims, d.entries, d.amount from differences d;
      else
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'deliveries', d.dims, d.entries, d.amount from differences d;
      end if;
      return null;
    end $function$;

CREATE OR REPLACE FUNCTION private.tally_driver_pay()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, ''), coalesce(c.driver_id::text, ''), coalesce(c.currency::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select 1 as d, n.* from new_rows n) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'driver_pay', d.dims, d.entries, d.amount from differences d
        union all
        select d.tenant_id, 'driver_pay_rollup', array[d.dims[1], d.dims[3]], sum(d.entries), sum(d.amount) from differences d
        group by 1, 3 having sum(d.entries) <> 0 or sum(d.amount) <> 0;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, ''), coalesce(c.driver_id::text, ''), coalesce(c.currency::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select -1 as d, o.* from old_rows o
            where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'driver_pay', d.dims, d.entries, d.amount from differences d
        union all
        select d.tenant_id, 'driver_pay_rollup', array[d.dims[1], d.dims[3]], sum(d.entries), sum(d.amount) from differences d
        group by 1, 3 having sum(d.entries) <> 0 or sum(d.amount) <> 0;
      else
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, ''), coalesce(c.driver_id::text, ''), coalesce(c.currency::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'driver_pay', d.dims, d.entries, d.amount from differences d
        union all
        select d.tenant_id, 'driver_pay_rollup', array[d.dims[1], d.dims[3]], sum(d.entries), sum(d.amount) from differences d
        group by 1, 3 having sum(d.entries) <> 0 or sum(d.amount) <> 0;
      end if;
      return null;
    end $function$;

CREATE OR REPLACE FUNCTION private.tally_held_cash()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        with differences as (
          select c.tenant_id, array[coalesce(c.account_id::text, ''), coalesce(c.reference_type::text, ''), coalesce(c.release::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select 1 as d, n.* from new_rows n) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'held_cash', d.dims, d.entries, d.amount from differences d;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        with differences as (
          select c.tenant_id, array[coalesce(c.account_id::text, ''), coalesce(c.reference_type::text, ''), coalesce(c.release::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select -1 as d, o.* from old_rows o
            where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'held_cash', d.dims, d.entries, d.amount from differences d;
      else
        with differences as (
          select c.tenant_id, array[coalesce(c.account_id::text, ''), coalesce(c.reference_type::text, ''), coalesce(c.release::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'held_cash', d.dims, d.entries, d.amount from differences d;
      end if;
      return null;
    end $function$;

CREATE OR REPLACE FUNCTION private.tally_of(tally text, wanted jsonb, by_column text DEFAULT NULL::text)
 RETURNS app.tally_kinds
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  v_kind app.tally_kinds;
begin
  select k.* into v_kind from app.tally_kinds k
  where k.tally = tally or (k.rollup_of = tally and (by_column is null or by_column = any (k.dims))
    and k.dims @> array(select w.name from jsonb_object_keys(wanted) w (name)))
  order by k.rollup_of is null limit 1;
  return v_kind;
end $function$;

CREATE OR REPLACE FUNCTION private.tally_package_transfers()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        with differences as (
          select c.tenant_id, array[coalesce(c.mode::text, ''), coalesce(c.operation_type::text, ''), coalesce(c.source_warehouse_id::text, ''), coalesce(c.destination_warehouse_id::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'package_transfers', d.dims, d.entries, d.amount from differences d;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        with differences as (
          select c.tenant_id, array[coalesce(c.mode::text, ''), coalesce(c.operation_type::text, ''), coalesce(c.source_warehouse_id::text, ''), coalesce(c.destination_warehouse_id::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select -1 as d, o.* from old_rows o
            where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'package_transfers', d.dims, d.entries, d.amount from differences d;
      else
        with differences as (
          select c.tenant_id, array[coalesce(c.mode::text, ''), coalesce(c.operation_type::text, ''), coalesce(c.source_warehouse_id::text, ''), coalesce(c.destination_warehouse_id::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'package_transfers', d.dims, d.entries, d.amount from differences d;
      end if;
      return null;
    end $function$;

CREATE OR REPLACE FUNCTION private.tally_picking_orders()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        with differences as (
          select c.tenant_id, array[coalesce(c.warehouse_id::text, ''), coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'picking_orders', d.dims, d.entries, d.amount from differences d;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        with differences as (
          select c.tenant_id, array[coalesce(c.warehouse_id::text, ''), coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select -1 as d, o.* from old_rows o
            where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'picking_orders', d.dims, d.entries, d.amount from differences d;
      else
        with differences as (
          select c.tenant_id, array[coalesce(c.warehouse_id::text, ''), coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'picking_orders', d.dims, d.entries, d.amount from differences d;
      end if;
      return null;
    end $function$;

CREATE OR REPLACE FUNCTION private.tally_rebuild(tally text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
begin
  perform private.tally_count(k.tally) from app.tally_kinds k where k.tally = tally or k.rollup_of = tally order by k.rollup_of is not null;
end $function$;

CREATE OR REPLACE FUNCTION private.tally_rolled_up(dims text[], rollup text[])
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  if not rollup <@ dims then
    raise exception '% are not among %', rollup, dims;
  end if;
  return (select 'array[' || string_agg(format('d.dims[%s]', array_position(dims, r.name)), ', ' order by r.place) || ']'
    from unnest(rollup) with ordinality r (name, place));
end $function$;

CREATE OR REPLACE FUNCTION private.tally_services()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        with differences as (
          select c.tenant_id, array[coalesce(c.deleted_at::text, ''), coalesce(c.active::text, ''), coalesce(c.delivery_type_id::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'services', d.dims, d.entries, d.amount from differences d;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        with differences as (
          select c.tenant_id, array[coalesce(c.deleted_at::text, ''), coalesce(c.active::text, ''), coalesce(c.delivery_type_id::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select -1 as d, o.* from old_rows o
            where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'services', d.dims, d.entries, d.amount from differences d;
      else
        with differences as (
          select c.tenant_id, array[coalesce(c.deleted_at::text, ''), coalesce(c.active::text, ''), coalesce(c.delivery_type_id::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'services', d.dims, d.entries, d.amount from differences d;
      end if;
      return null;
    end $function$;

CREATE OR REPLACE FUNCTION private.tally_stock()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        with differences as (
          select c.tenant_id, array[coalesce(c.warehouse_id::text, ''), coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.quantity), 0) as amount from (select 1 as d, n.* from new_rows n) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.quantity), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'stock', d.dims, d.entries, d.amount from differences d;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        with differences as (
          select c.tenant_id, array[coalesce(c.warehouse_id::text, ''), coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.quantity), 0) as amount from (select -1 as d, o.* from old_rows o
            where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.quantity), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'stock', d.dims, d.entries, d.amount from differences d;
      else
        with differences as (
          select c.tenant_id, array[coalesce(c.warehouse_id::text, ''), coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.quantity), 0) as amount from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.quantity), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'stock', d.dims, d.entries, d.amount from differences d;
      end if;
      return null;
    end $function$;

CREATE OR REPLACE FUNCTION private.tally_storefront_orders()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        with differences as (
          select c.tenant_id, array[coalesce(c.status_group::text, ''), coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'storefront_orders', d.dims, d.entries, d.amount from differences d;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        with differences as (
          select c.tenant_id, array[coalesce(c.status_group::text, ''), coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select -1 as d, o.* from old_rows o
            where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'storefront_orders', d.dims, d.entries, d.amount from differences d;
      else
        with differences as (
          select c.tenant_id, array[coalesce(c.status_group::text, ''), coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'storefront_orders', d.dims, d.entries, d.amount from differences d;
      end if;
      return null;
    end $function$;

CREATE OR REPLACE FUNCTION private.tally_system_events()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'system_events', d.dims, d.entries, d.amount from differences d;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select -1 as d, o.* from old_rows o
            where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'system_events', d.dims, d.entries, d.amount from differences d;
      else
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'system_events', d.dims, d.entries, d.amount from differences d;
      end if;
      return null;
    end $function$;

CREATE OR REPLACE FUNCTION private.tally_wallet_holds()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        with differences as (
          select c.tenant_id, array[coalesce(c.account_id::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select 1 as d, n.* from new_rows n) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'wallet_holds', d.dims, d.entries, d.amount from differences d;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        with differences as (
          select c.tenant_id, array[coalesce(c.account_id::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select -1 as d, o.* from old_rows o
            where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'wallet_holds', d.dims, d.entries, d.amount from differences d;
      else
        with differences as (
          select c.tenant_id, array[coalesce(c.account_id::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'wallet_holds', d.dims, d.entries, d.amount from differences d;
      end if;
      return null;
    end $function$;

CREATE OR REPLACE FUNCTION private.tally_waybills()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, ''), coalesce(c.source_warehouse_id::text, ''), coalesce(c.destination_warehouse_id::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'waybills', d.dims, d.entries, d.amount from differences d;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, ''), coalesce(c.source_warehouse_id::text, ''), coalesce(c.destination_warehouse_id::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select -1 as d, o.* from old_rows o
            where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'waybills', d.dims, d.entries, d.amount from differences d;
      else
        with differences as (
          select c.tenant_id, array[coalesce(c.status::text, ''), coalesce(c.source_warehouse_id::text, ''), coalesce(c.destination_warehouse_id::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'waybills', d.dims, d.entries, d.amount from differences d;
      end if;
      return null;
    end $function$;

CREATE OR REPLACE FUNCTION private.tally_webhook_events()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        with differences as (
          select c.tenant_id, array[coalesce(c.subscription_id::text, ''), coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'webhook_events', d.dims, d.entries, d.amount from differences d;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        with differences as (
          select c.tenant_id, array[coalesce(c.subscription_id::text, ''), coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select -1 as d, o.* from old_rows o
            where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'webhook_events', d.dims, d.entries, d.amount from differences d;
      else
        with differences as (
          select c.tenant_id, array[coalesce(c.subscription_id::text, ''), coalesce(c.status::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * 0), 0) as amount from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'webhook_events', d.dims, d.entries, d.amount from differences d;
      end if;
      return null;
    end $function$;

REVOKE ALL ON FUNCTION "app"."counted"(text, regclass, text[], text, text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."tally_count"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."tally_declare"(text, text, text[], text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."tally_of"(text, jsonb, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."tally_of"(text, jsonb, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "private"."tally_rolled_up"(text[], text[]) FROM PUBLIC;

-- What is kept by driver is added up, no row of the lists is read. They are locked above, so that nobody adds to the
-- finer totals alone meanwhile.
select private.tally_declare('assignments_rollup', 'delivery.assignments', '{status}', null, 'assignments');
select private.tally_declare('cod_collections_rollup', 'money.cod_collections', '{status,currency,reversed_at}', 'amount', 'cod_collections');
select private.tally_declare('driver_pay_rollup', 'money.driver_pay', '{status,currency}', 'amount', 'driver_pay');

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126051059';
end $$;

grant execute on function private.schema_version() to barid_api;
