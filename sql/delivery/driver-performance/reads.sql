-- The figures of drivers as reports show them. Rates are percent with two decimals, and null where there
-- is nothing to divide by.

create or replace function delivery.percent(part numeric, whole numeric) returns numeric
language plpgsql immutable set search_path = '' as $$
begin
  return round(100 * part / nullif(whole, 0), 2);
end $$;

-- One row a driver: of one month, or of all time when it is null.
create or replace function delivery.performance_rows(in_year integer, in_month integer)
returns table (driver_id uuid, driver_name text, period_month integer, period_year integer, total_deliveries bigint,
  successful_deliveries bigint, failed_deliveries bigint, on_time_deliveries bigint, late_deliveries bigint, success_rate numeric,
  on_time_rate numeric, average_delivery_time_minutes numeric, total_distance_km numeric, km_per_delivery numeric,
  total_delivery_value numeric, handled_legs bigint, timed_deliveries bigint, total_minutes numeric)
language sql stable set search_path = '' as $$
  select m.driver_id, m.driver_name, in_month, in_year, sum(m.total_deliveries)::bigint, sum(m.successful_deliveries)::bigint,
    sum(m.failed_deliveries)::bigint, sum(m.on_time_deliveries)::bigint, sum(m.late_deliveries)::bigint,
    delivery.percent(sum(m.successful_deliveries), sum(m.total_deliveries)),
    delivery.percent(sum(m.on_time_deliveries), sum(m.on_time_deliveries + m.late_deliveries)),
    round(sum(m.total_minutes) / nullif(sum(m.timed_deliveries), 0), 2), sum(m.total_distance_km),
    round(sum(m.total_distance_km) / nullif(sum(m.measured_deliveries), 0), 3), sum(m.total_delivery_value),
    sum(m.handled_legs)::bigint, sum(m.timed_deliveries)::bigint, sum(m.total_minutes)
  from delivery.performance_months m
  where m.tenant_id = (select app.tenant_id()) and (in_year is null or (m.period_year = in_year and m.period_month = in_month))
  group by m.driver_id, m.driver_name
$$;

-- {month?, year?, page, page_size, search?, sort_by, sort_order, column_filters, driver_id?} -> the report:
-- {month, year, pagination, available_months, summary, data, computed_at}. Fails: driver_not_found.
-- The names of columns come from a fixed list; values are parameters.
create or replace function delivery.performance_list(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_year integer := (input ->> 'year')::integer;
  v_month integer := (input ->> 'month')::integer;
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_size integer := (input ->> 'page_size')::integer;
  v_page bigint := (input ->> 'page')::bigint;
  v_conditions text := '';
  v_filter record;
  v_answer jsonb;
begin
  if v_driver is not null and not exists (select from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_driver) then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  end if;
  for v_filter in select f.key, f.value from jsonb_each(input -> 'column_filters') f loop
    v_conditions := v_conditions || case
      when v_filter.key = 'driver_name' then format(' and app.folded(r.driver_name) ilike any (app.contains_patterns(%L))', v_filter.value #>> '{}')
      when jsonb_typeof(v_filter.value) = 'object' then
        case when v_filter.value ->> 'min' is null then '' else format(' and r.%I >= %L::numeric', v_filter.key, (v_filter.value ->> 'min')::numeric) end
        || case when v_filter.value ->> 'max' is null then '' else format(' and r.%I <= %L::numeric', v_filter.key, (v_filter.value ->> 'max')::numeric) end
      else format(' and r.%I = %L::numeric', v_filter.key, (v_filter.value #>> '{}')::numeric)
    end;
  end loop;
  execute format($query$
    with r as materialized (
      select r.* from delivery.performance_rows($1, $2) r
      where ($3 is null or r.driver_id = $3) and ($4 is null or app.folded(r.driver_name) ilike any (app.contains_patterns($4))) %s
    )
    select jsonb_build_object(
      'pagination', jsonb_build_object('page', $5, 'page_size', $6, 'total_records', count(*), 'total_pages', ceil(count(*)::numeric / $6)),
      'summary', jsonb_build_object('total_deliveries', coalesce(sum(r.total_deliveries), 0),
        'successful_deliveries', coalesce(sum(r.successful_deliveries), 0), 'failed_deliveries', coalesce(sum(r.failed_deliveries), 0),
        'success_rate', delivery.percent(sum(r.successful_deliveries), sum(r.total_deliveries)),
        'on_time_rate', delivery.percent(sum(r.on_time_deliveries), sum(r.on_time_deliveries + r.late_deliveries)),
        'avg_delivery_time_minutes', round(sum(r.total_minutes) / nullif(sum(r.timed_deliveries), 0), 2),
        'total_delivery_value', coalesce(sum(r.total_delivery_value), 0), 'active_drivers', count(*) filter (where r.total_deliveries > 0),
        'handled_legs', coalesce(sum(r.handled_legs), 0),
        'top_drivers', (select coalesce(jsonb_agg(jsonb_build_object('driver_id', t.driver_id, 'driver_name', t.driver_name,
            'total_deliveries', t.total_deliveries, 'success_rate', t.success_rate)
            order by t.total_deliveries desc, t.success_rate desc nulls last, t.driver_name, t.driver_id), '[]')
          from (select * from r where r.total_deliveries > 0
            order by r.total_deliveries desc, r.success_rate desc nulls last, r.driver_name, r.driver_id limit 5) t)),
      'data', (select coalesce(jsonb_agg(p.row order by p.place), '[]') from (
        select to_jsonb(r) - '{timed_deliveries,total_minutes}'::text[] as row,
          row_number() over (order by r.%I %s nulls last, r.driver_name, r.driver_id) as place
        from r) p where p.place > ($5 - 1) * $6 and p.place <= $5 * $6))
    from r$query$, v_conditions, input ->> 'sort_by', case when input ->> 'sort_order' = 'asc' then 'asc' else 'desc' end)
  into v_answer using v_year, v_month, v_driver, input ->> 'search', v_page, v_size;
  return v_answer || jsonb_build_object('month', v_month, 'year', v_year,
    'available_months', (select coalesce(jsonb_agg(jsonb_build_object('year', m.period_year, 'month', m.period_month)
        order by m.period_year desc, m.period_month desc), '[]')
      from (select distinct m.period_year, m.period_month from delivery.driver_performance m where m.tenant_id = v_tenant) m),
    'computed_at', (select s.computed_at from delivery.performance_state s where s.tenant_id = v_tenant));
end $$;

-- A change in percent, null from nothing.
create or replace function delivery.percent_change(from_value numeric, to_value numeric) returns numeric
language plpgsql immutable set search_path = '' as $$
begin
  return round(100 * (to_value - from_value) / nullif(from_value, 0), 2);
end $$;

-- {driver_id} -> {driver, current_month, previous_month, changes, history (six months, oldest first), computed_at}
-- Months by the tenant's clock; one without deliveries is there with zeros. Fails: driver_not_found.
create or replace function delivery.performance_detail(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_this date := date_trunc('month', now() at time zone app.timezone())::date;
  v_who jsonb;
  v_months jsonb;
  v_now jsonb;
  v_before jsonb;
begin
  select jsonb_build_object('driver_id', d.user_id, 'driver_name', p.full_name, 'avatar_url', to_jsonb(p) -> 'avatar_url') into v_who
  from delivery.drivers d join tenancy.people p on p.id = d.user_id where d.tenant_id = v_tenant and d.user_id = v_driver;
  if v_who is null then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  end if;
  select jsonb_agg(jsonb_build_object('year', extract(year from g.month)::integer, 'month', extract(month from g.month)::integer,
      'total_deliveries', coalesce(m.total_deliveries, 0), 'successful_deliveries', coalesce(m.successful_deliveries, 0),
      'failed_deliveries', coalesce(m.failed_deliveries, 0), 'on_time_deliveries', coalesce(m.on_time_deliveries, 0),
      'late_deliveries', coalesce(m.late_deliveries, 0), 'handled_legs', coalesce(m.handled_legs, 0),
      'success_rate', delivery.percent(m.successful_deliveries, m.total_deliveries),
      'on_time_rate', delivery.percent(m.on_time_deliveries, m.on_time_deliveries + m.late_deliveries),
      'average_delivery_time_minutes', round(m.total_minutes / nullif(m.timed_deliveries, 0), 2),
      'total_distance_traveled', coalesce(m.total_distance_km, 0),
      'kilometers_per_delivery', round(m.total_distance_km / nullif(m.measured_deliveries, 0), 3),
      'total_delivery_value', coalesce(m.total_delivery_value, 0)) order by g.month) into v_months
  from generate_series(v_this - interval '5 months', v_this, interval '1 month') g (month)
  left join delivery.driver_performance m on m.tenant_id = v_tenant and m.driver_id = v_driver
    and m.period_year = extract(year from g.month) and m.period_month = extract(month from g.month);
  v_now := v_months -> 5;
  v_before := v_months -> 4;
  return jsonb_build_object('driver', v_who, 'current_month', v_now, 'previous_month', v_before, 'history', v_months,
    'changes', (select jsonb_object_agg(c.name, delivery.percent_change((v_before ->> c.field)::numeric, (v_now ->> c.field)::numeric))
      from (values ('total_deliveries', 'total_deliveries'), ('success_rate', 'success_rate'), ('on_time_rate', 'on_time_rate'),
        ('avg_delivery_time', 'average_delivery_time_minutes'), ('total_delivery_value', 'total_delivery_value')) c (name, field)),
    'computed_at', (select s.computed_at from delivery.performance_state s where s.tenant_id = v_tenant));
end $$;

-- A SECURITY DEFINER function computes a tenant's figures: no request writes them. All of a big tenant take longer than a
-- request may, so they are left to the clock, which looks every minute.
create or replace function delivery.performance_rebuild_request(in_year integer, in_month integer) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_big boolean := (app.tally('deliveries') ->> 'entries')::bigint > 100000;
begin
  if not app.has_permission('manage:operations:tenant') then
    perform app.fail('forbidden');
  end if;
  if v_big and in_year is null then
    insert into delivery.performance_state as s (tenant_id, rebuild_asked_at) values (v_tenant, clock_timestamp())
    on conflict on constraint performance_state_pkey do update set rebuild_asked_at = coalesce(s.rebuild_asked_at, excluded.rebuild_asked_at);
  else
    perform delivery.performance_recompute(v_tenant, in_year, in_month);
  end if;
  return jsonb_build_object('status', case when v_big and in_year is null then 'queued' else 'done' end,
    'computed_at', (select s.computed_at from delivery.performance_state s where s.tenant_id = v_tenant));
end $$;

-- Makes the figures anew: {month?, year?} -> {status: done | queued, computed_at}
create or replace function delivery.performance_rebuild(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return delivery.performance_rebuild_request((input ->> 'year')::integer, (input ->> 'month')::integer);
end $$;

grant execute on function delivery.performance_rebuild_request(integer, integer) to barid_caller;
