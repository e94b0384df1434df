-- Reads of the cash lists and summaries.

-- The collections that a search finds: by the code of the delivery or one of its legs,
-- customer, receiver, address, or their driver's name or e-mail.
-- SECURITY DEFINER, because ILIKE under row-level security could not use its index; it has the policy's own words.
create or replace function money.cod_found(search text) returns setof uuid
language plpgsql stable security definer rows 20 set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_patterns text[] := app.contains_patterns(search);
  v_probes text[] := app.index_patterns(v_patterns);
  v_mine uuid := case when not app.sees_tenant() then app.user_id() end;
  v_drivers uuid[] := array(
    select p.id from delivery.drivers d join tenancy.people p on p.id = d.user_id
    where d.tenant_id = v_tenant and (app.folded(p.full_name) ilike any (v_patterns) or app.folded(p.email) ilike any (v_patterns)));
begin
  return query
    select c.id from money.cod_collections c
    where c.tenant_id = v_tenant and app.folded(c.search_text) ilike any (v_probes) and (app.folded(c.search_text) || '') ilike any (v_patterns)
      and (v_mine is null or c.driver_id = v_mine)
    union
    select c.id from money.cod_collections c
    where c.tenant_id = v_tenant and c.driver_id = any (v_drivers) and (v_mine is null or c.driver_id = v_mine);
end $$;

grant execute on function money.cod_found(text) to barid_caller;

-- The collections of a parcel by its number or that of one of its legs. SECURITY DEFINER for the same reason.
create or replace function money.cod_of_code(code text) returns setof uuid
language plpgsql stable security definer rows 2 set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_mine uuid := case when not app.sees_tenant() then app.user_id() end;
begin
  return query
    select c.id from money.cod_collections c
    where c.tenant_id = v_tenant and c.delivery_code = cod_of_code.code::numeric and (v_mine is null or c.driver_id = v_mine)
    union
    select c.id from money.cod_collections c
    where c.tenant_id = v_tenant and c.leg_codes <> '[]' and c.leg_codes @> to_jsonb(cod_of_code.code::numeric)
      and (v_mine is null or c.driver_id = v_mine);
end $$;

grant execute on function money.cod_of_code(text) to barid_caller;

-- The sums of the list from the kept totals, {total_collected, ...}; wanted: {driver_id?}.
create or replace function money.cod_sums_from_tallies(wanted jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object(
      'total_collected', coalesce((t.by_status #>> '{collected,amount}')::numeric, 0),
      'total_remitted', coalesce((t.by_status #>> '{remitted,amount}')::numeric, 0),
      'total_settled_by_wallet', coalesce((t.by_status #>> '{settled_by_wallet,amount}')::numeric, 0),
      'total_pending', coalesce((t.by_status #>> '{collected,amount}')::numeric, 0),
      'total_cod_collections', coalesce((select sum((s.value ->> 'entries')::bigint) from jsonb_each(t.by_status) s), 0))
    from (select app.tally_by('cod_collections', 'status', wanted || '{"reversed_at": null}') as by_status offset 0) t);
end $$;

-- The cash a driver still holds, or all drivers. {driver_id?} ->
-- {summary: {total_unremitted, pending_collections_count, oldest_unremitted_date, currency, cash_ceiling, over_ceiling}}
-- Fails: driver_not_found.
create or replace function money.cod_summary(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_driver uuid := money.cod_driver(input ->> 'driver_id');
  v_ceiling numeric := (app.settings('delivery', 'cod') ->> 'cash_ceiling')::numeric;
  v_over jsonb;
  v_answer jsonb;
begin
  select jsonb_build_object('total_unremitted', coalesce(sum(c.amount), 0), 'pending_collections_count', count(*),
    'oldest_unremitted_date', min(c.collected_at), 'currency', (app.currency()).code, 'cash_ceiling', v_ceiling) into v_answer
  from money.cod_collections c where c.status = 'collected' and c.reversed_at is null and (v_driver is null or c.driver_id = v_driver);
  -- Drivers above the tenant's limit: the one that was asked for, or all.
  select coalesce(jsonb_agg(jsonb_build_object('driver_id', o.driver_id, 'full_name', o.full_name, 'amount', o.amount)
    order by o.amount desc, o.driver_id), '[]') into v_over
  from (
    select c.driver_id, p.full_name, sum(c.amount) as amount from money.cod_collections c
    left join tenancy.profiles p on p.id = c.driver_id
    where v_ceiling is not null and c.status = 'collected' and c.reversed_at is null and (v_driver is null or c.driver_id = v_driver)
    group by c.driver_id, p.full_name having sum(c.amount) > v_ceiling
  ) o;
  return jsonb_build_object('summary', v_answer || jsonb_build_object('over_ceiling', v_over));
end $$;
