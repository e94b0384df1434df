-- The record of an outcome, from which it can be undone. The entrances are SECURITY DEFINER, since nobody else writes outcomes; each names
-- the caller's tenant.

-- The last move of a delivery, as its history has it.
create or replace function delivery.last_move(p_delivery uuid) returns bigint
language plpgsql stable set search_path = '' as $$
begin
  return (select max(h.id) from delivery.delivery_status_history h where h.tenant_id = app.tenant_id() and h.delivery_id = p_delivery);
end $$;

-- Records that an attempt with a delivery, given as it was before, came to this result. amount_change: the change of the parcel's amount that
-- was written for it; null: none. Its family is locked. Fails: forbidden (app.require_tenant).
create or replace function delivery.outcome_record(d delivery.deliveries, p_result text, amount_change uuid default null) returns void
language plpgsql security definer set search_path = '' as $$
declare
  a delivery.assignments;
begin
  perform app.require_tenant(d.tenant_id);
  select * into a from delivery.assignments x
  where x.tenant_id = app.tenant_id() and x.delivery_id = d.id and x.status in ('assigned', 'accepted', 'completed')
  order by x.assignment_time desc, x.id desc limit 1;
  insert into delivery.outcomes (tenant_id, delivery_id, result, from_status, assignment_id, driver_id, before, last_move_id, reported_by)
  values (d.tenant_id, d.id, p_result, d.status, a.id, a.driver_id,
    jsonb_build_object('attempts_used', d.attempts_used, 'attempts_exhausted', d.attempts_exhausted, 'received_by', d.recipient -> 'received_by',
      'transfer_kind', d.transfer_kind, 'dropoff_warehouse_id', d.dropoff_warehouse_id, 'ordered_to_warehouse_id', d.ordered_to_warehouse_id,
      'postponed_to', d.postponed_to, 'amount_change_id', amount_change)
    || coalesce((select jsonb_build_object('redirect_id', r.id) from delivery.redirects r
      where r.tenant_id = d.tenant_id and r.delivery_id = delivery.parcel_of(d) and r.created_at = now() and r.late_at = 'door'), '{}'),
    delivery.last_move(d.id), app.user_id());
end $$;

-- Counts the moves that a delivery has made in this transaction since its outcome was recorded as part of that outcome.
create or replace function delivery.outcome_complete(p_delivery uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update delivery.outcomes o set last_move_id = delivery.last_move(p_delivery)
  where o.tenant_id = app.tenant_id() and o.delivery_id = p_delivery and o.created_at = now() and o.undone_at is null;
end $$;

-- The latest outcome of a delivery; null when it has none.
create or replace function delivery.outcome_of(p_delivery uuid) returns delivery.outcomes
language plpgsql stable security definer set search_path = '' as $$
declare
  o delivery.outcomes;
begin
  select * into o from delivery.outcomes x where x.tenant_id = app.tenant_id() and x.delivery_id = p_delivery order by x.id desc limit 1;
  return o;
end $$;

-- How long the caller may undo what a driver reported: operations 72 hours, its driver the minutes of the setting.
create or replace function delivery.undo_period() returns interval
language plpgsql stable set search_path = '' as $$
begin
  return case when app.has_permission('manage:operations:tenant') then interval '72 hours'
    else make_interval(mins => (tenancy.attempt_settings() ->> 'undo_minutes')::integer) end;
end $$;

-- Until when the caller may undo an outcome.
create or replace function delivery.outcome_undo_until(o delivery.outcomes) returns timestamptz
language plpgsql stable set search_path = '' as $$
begin
  return o.created_at + delivery.undo_period();
end $$;

-- True when an undo moves a delivery from that status: of an outcome that this transaction undoes, back to where its attempt began; a return
-- that the outcome had made, to cancelled; of a pickup, back to its driver's list (delivery.pickup_withdraw).
create or replace function delivery.move_is_undone(d delivery.deliveries, p_from text) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from delivery.outcomes o
    where o.tenant_id = d.tenant_id and o.delivery_id = d.id and o.undone_in = pg_current_xact_id()
      and o.from_status = d.status and p_from in ('delivered', 'failed', 'returned'))
  or (p_from = 'picked_up' and d.status = 'cancelled' and exists (
    select from delivery.deliveries p
    join delivery.outcomes o on o.tenant_id = p.tenant_id and o.delivery_id = p.id
    where p.tenant_id = d.tenant_id and (p.id = d.original_delivery_id or p.parent_id = d.original_delivery_id)
      and o.undone_in = pg_current_xact_id() and o.created_at = d.created_at))
  or (p_from in ('picked_up', 'in_transit') and d.status in ('assigned', 'accepted') and d.picked_up_at is null
    and d.status_reason is not distinct from 'pickup_undone')
  -- The leg that was to follow one whose return is undone.
  or (p_from = 'cancelled' and d.status = 'draft' and d.leg = 'B' and exists (
    select from delivery.deliveries a
    join delivery.outcomes o on o.tenant_id = a.tenant_id and o.delivery_id = a.id
    where a.tenant_id = d.tenant_id and a.parent_id = d.parent_id and a.leg = 'A' and o.result = 'returned' and o.undone_in = pg_current_xact_id()));
end $$;

-- Nobody calls it but the guard of deliveries.
revoke execute on function delivery.move_is_undone(delivery.deliveries, text) from barid_caller;
