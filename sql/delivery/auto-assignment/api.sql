-- Automatic assignment as the office sees it, and starts it by hand.

-- The search for a driver of a delivery: {status, attempts, next_attempt_at, passed_over: {offline, capacity, zone, away, declined}}.
create or replace function delivery.auto_assignment_to_json(delivery_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return coalesce((
    select jsonb_build_object('status', s.status, 'attempts', s.attempts, 'next_attempt_at', s.next_attempt_at,
      'passed_over', delivery.drivers_passed_over(s.passed_over))
    from delivery.driver_searches s where s.tenant_id = app.tenant_id() and s.delivery_id = auto_assignment_to_json.delivery_id),
    jsonb_build_object('status', 'off', 'attempts', 0, 'next_attempt_at', null, 'passed_over', delivery.drivers_passed_over(null)));
end $$;

-- Starts the search for a driver again, with all its attempts, whatever the setting says: {id} -> {auto_assignment}. What was postponed is
-- no longer.
-- dry_run: true changes nothing and says who would be asked, in order: {candidates: [{driver_id, full_name, live_stops, distance_km,
-- eligible, reasons}]}, see delivery.driver_ranking.
-- Locks: the delivery. Fails: delivery_not_found, delivery_status_changed (not pending), delivery_not_auto_assignable.
create or replace function delivery.auto_assign(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_dry boolean := coalesce((input ->> 'dry_run')::boolean, false);
  d delivery.deliveries;
begin
  if not v_dry then
    perform delivery.lock_deliveries(array[v_id]);
  end if;
  select * into d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = v_id;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  if not delivery.is_auto_assignable(d) then
    perform app.fail('delivery_not_auto_assignable');
  end if;
  if d.status <> 'pending' then
    perform app.fail('delivery_status_changed', jsonb_build_object('delivery_ids', array[d.id]));
  end if;
  if v_dry then
    return jsonb_build_object('candidates', (
      select coalesce(jsonb_agg(jsonb_build_object('driver_id', r.driver_id, 'full_name', p.full_name, 'live_stops', r.live_stops,
        'distance_km', round(r.distance_km::numeric, 3), 'eligible', r.reasons = '{}', 'reasons', to_jsonb(r.reasons)) order by r.place), '[]')
      from delivery.driver_ranking(d) r join tenancy.profiles p on p.id = r.driver_id));
  end if;
  update delivery.deliveries x set postponed_to = null where x.tenant_id = d.tenant_id and x.id = d.id and x.postponed_to is not null;
  insert into delivery.driver_searches as s (tenant_id, delivery_id, status, next_attempt_at)
  values (d.tenant_id, d.id, 'searching', clock_timestamp())
  on conflict (tenant_id, delivery_id) do update set status = 'searching', attempts = 0, next_attempt_at = clock_timestamp(),
    declined = '{}', passed_over = '{}';
  perform app.job_add('delivery.auto_assignment', '{}');
  return jsonb_build_object('auto_assignment', delivery.auto_assignment_to_json(d.id));
end $$;

-- Withdraws offers that their drivers have not answered, so that these deliveries can be assigned by hand to `driver`, and notifies
-- those drivers. Accepted ones stay. Locks: deliveries, picking orders, drivers by id, assignments.
create or replace function delivery.offers_withdraw(delivery_ids uuid[], driver uuid) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_offers uuid[];
begin
  perform delivery.lock_deliveries(delivery_ids);
  -- The plan that follows locks picks and driver again; here they come in order.
  perform from warehousing.picking_orders o where o.tenant_id = v_tenant and o.delivery_id = any (delivery_ids) order by o.id for share;
  v_offers := array(
    select a.id from delivery.driver_searches s
    join delivery.assignments a on a.tenant_id = s.tenant_id and a.delivery_id = s.delivery_id and a.status = 'pending'
    where s.tenant_id = v_tenant and s.delivery_id = any (delivery_ids) and s.status = 'offered');
  if v_offers = '{}' then
    return;
  end if;
  perform from delivery.drivers r where r.tenant_id = v_tenant and (r.user_id = driver or r.user_id in (
    select a.driver_id from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (v_offers)))
  order by r.user_id for no key update;
  perform delivery.assignments_return(v_offers, null);
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select v_tenant, a.driver_id, 'assignment_returned', delivery.return_noted(v_tenant, a.id, a.delivery_id, null)
  from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (v_offers) and a.driver_id is distinct from driver;
end $$;
