-- Undo of a pickup at a sender's door: the parcel never left its sender, and the cash taken with it was not.

-- The last pickup of a delivery, a line of its history; null: none.
create or replace function delivery.pickup_of(p_delivery uuid) returns delivery.delivery_status_history
language plpgsql stable set search_path = '' as $$
declare
  h delivery.delivery_status_history;
begin
  select * into h from delivery.delivery_status_history x
  where x.tenant_id = app.tenant_id() and x.delivery_id = p_delivery and x.to_status = 'picked_up' and x.from_status in ('assigned', 'accepted')
  order by x.id desc limit 1;
  return h;
end $$;

-- True when a parcel came from somewhere else than its sender: a warehouse, where it leaves stock, or a way that it had begun before. pickup: its
-- last one. SECURITY DEFINER, as the next: a driver sees neither stock nor waybills. Fails: forbidden (app.require_tenant).
create or replace function delivery.came_from_elsewhere(d delivery.deliveries, pickup bigint) returns boolean
language plpgsql stable security definer set search_path = '' as $$
declare
  v_ids uuid[] := array[d.id, delivery.parcel_of(d)];
begin
  perform app.require_tenant(d.tenant_id);
  return d.pickup_warehouse_id is not null or d.order_id is not null or delivery.leaves_warehouse(d)
    or exists (select from warehousing.receiving_orders r
      where r.tenant_id = d.tenant_id and r.delivery_id = any (v_ids) and r.status not in ('pending', 'cancelled'))
    or exists (select from warehousing.waybill_items w where w.tenant_id = d.tenant_id and w.delivery_id = any (v_ids))
    -- A pickup before this one that was not undone.
    or exists (select from delivery.delivery_status_history x
      where x.tenant_id = d.tenant_id and x.delivery_id = d.id and x.id < pickup and x.to_status = 'picked_up'
        and not exists (select from delivery.delivery_status_history u
          where u.tenant_id = d.tenant_id and u.delivery_id = d.id and u.id between x.id and pickup
            and u.from_status in ('picked_up', 'in_transit') and u.to_status in ('assigned', 'accepted')));
end $$;

-- True when more happened to a delivery since its pickup than its departure and outcomes that were undone: another move, a share of a cash fee
-- that a wallet bore, a warehouse that has expected it, or another driver who has it or is asked to take it. Fails: forbidden (app.require_tenant).
create or replace function delivery.pickup_went_on(d delivery.deliveries, pickup bigint) returns boolean
language plpgsql stable security definer set search_path = '' as $$
declare
  v_driver uuid;
begin
  perform app.require_tenant(d.tenant_id);
  -- The driver who picked it up.
  select a.driver_id into v_driver from delivery.assignments a
  where a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.assignment_time <= d.picked_up_at
  order by a.assignment_time desc, a.id desc limit 1;
  return delivery.is_transferred(d) or (d.payment_method <> 'wallet' and money.delivery_fee_borne(delivery.parcel_of(d)) <> 0)
    -- On its way, or an outcome that is undone.
    or exists (select from delivery.delivery_status_history x
      where x.tenant_id = d.tenant_id and x.delivery_id = d.id and x.id > pickup
        and (x.to_status not in ('picked_up', 'in_transit') or x.to_status = x.from_status)
        and not exists (select from delivery.outcomes o
          where o.tenant_id = x.tenant_id and o.delivery_id = x.delivery_id and o.last_move_id = x.id and o.undone_at is not null))
    or exists (select from delivery.outcomes o
      where o.tenant_id = d.tenant_id and o.delivery_id = d.id and o.created_at >= d.picked_up_at and o.undone_at is null)
    or exists (select from warehousing.receiving_orders r
      where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.created_at >= d.picked_up_at)
    or exists (select from delivery.assignments a where a.tenant_id = d.tenant_id and a.delivery_id = d.id
      and (a.status = 'pending' or a.status in ('assigned', 'accepted') and a.driver_id is distinct from v_driver));
end $$;

-- Refuses the undo of a pickup that anything forbids; the lowest number is answered. The delivery is locked, and its cash.
-- Fails: no_pickup_to_undo {status}, carrier_reports_outcome, undo_period_over {undo_until}, pickup_not_at_sender, pickup_went_on {status},
-- outcome_is_settled.
create or replace function delivery.require_pickup_undoable(d delivery.deliveries, h delivery.delivery_status_history, c money.cod_collections)
returns void
language plpgsql stable set search_path = '' as $$
declare
  v_until timestamptz := d.picked_up_at + delivery.undo_period();
begin
  perform app.fail(x.code, x.params) from (values
    (1, 'no_pickup_to_undo', d.status not in ('picked_up', 'in_transit'), jsonb_build_object('status', d.status)),
    (2, 'carrier_reports_outcome', d.carrier_type = 'external', '{}'),
    -- It began at a door, as the return of what its receiver gave.
    (3, 'no_pickup_to_undo', h.id is null, jsonb_build_object('status', d.status)),
    (4, 'undo_period_over', now() > v_until, jsonb_build_object('undo_until', v_until, 'until', app.clock(v_until))),
    (5, 'pickup_not_at_sender', delivery.came_from_elsewhere(d, h.id), '{}'),
    (6, 'pickup_went_on', delivery.pickup_went_on(d, h.id), jsonb_build_object('status', d.status)),
    (7, 'outcome_is_settled', c.status <> 'collected', '{}')
  ) x (place, code, applies, params) where x.applies order by x.place limit 1;
end $$;

-- Locks the cash that was taken when a parcel was picked up, and then the open handovers of its driver, as a settlement does. -> it; null:
-- none was. SECURITY DEFINER: operations see no cash. The delivery is locked, and its driver.
create or replace function delivery.lock_pickup_cash(d delivery.deliveries) returns money.cod_collections
language plpgsql security definer set search_path = '' as $$
declare
  v_parcel uuid := delivery.parcel_of(d);
  c money.cod_collections;
begin
  perform app.require_tenant(d.tenant_id);
  select * into c from money.cod_collections x
  where x.tenant_id = d.tenant_id and x.delivery_id = v_parcel and x.collection_stage = 'pickup' and x.reversed_at is null;
  if c.id is null then
    return null;
  end if;
  select * into c from money.cod_collections x where x.tenant_id = d.tenant_id and x.id = c.id for no key update;
  perform money.lock_open_handovers(c.driver_id, c.currency);
  return c;
end $$;

-- Takes a pickup back: the delivery is assigned or accepted again, as its driver's assignment is, and a parcel in legs with it.
-- SECURITY DEFINER: a driver does not see the parcel of a leg. Fails: forbidden (app.require_tenant).
create or replace function delivery.pickup_withdraw(d delivery.deliveries, reason text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform app.require_tenant(d.tenant_id);
  -- First: a parcel keeps the time of its first pickup.
  update delivery.deliveries p set picked_up_at = null where p.tenant_id = d.tenant_id and p.id = d.parent_id;
  -- By both fields together the guard of deliveries knows that this move is an undo (delivery.move_is_undone).
  update delivery.deliveries x set status = a.status, picked_up_at = null, status_reason = 'pickup_undone', status_notes = reason
  from delivery.assignments a
  where x.tenant_id = d.tenant_id and x.id = d.id and a.tenant_id = x.tenant_id and a.delivery_id = x.id and a.status in ('assigned', 'accepted');
  perform delivery.redirect_fee_again(delivery.parcel_of(d));
end $$;

-- Undoes the last pickup of a delivery, at its sender's door: it waits there for its driver again. {id, reason} -> {delivery, cash{cod,
-- delivery_fee, currency}}; cash: what was taken and is reversed now. Its driver may for the minutes of the setting
-- delivery.attempts.undo_minutes, operations for 72 hours.
-- Locks: as delivery.lock_deliveries, the driver, the row of cash, the driver's open handovers of cash, accounts.
-- Fails: delivery_not_found, assignment_ended, forbidden, assignment_not_accepted (delivery.require_carrier), what
-- delivery.require_pickup_undoable and money.cash_uncollected fail with.
create or replace function delivery.pickup_undo(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  a delivery.assignments := delivery.require_carrier(d);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  c money.cod_collections := delivery.lock_pickup_cash(d);
  v_cash jsonb;
begin
  perform delivery.require_pickup_undoable(d, delivery.pickup_of(d.id), c);
  perform delivery.pickup_withdraw(d, input ->> 'reason');
  v_cash := money.cash_uncollected(v_parcel.id, c.collected_at, input ->> 'reason');
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.pickup_undone',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'reason', input ->> 'reason', 'actor_id', app.user_id()))));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select d.tenant_id, a.driver_id, 'pickup_undone', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code)
  where a.driver_id is not null and a.driver_id is distinct from app.user_id();
  if c.id is not null then
    perform money.handover_uncovered(c.driver_id, c.currency);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id),
    'cash', v_cash || jsonb_build_object('currency', v_parcel.currency));
end $$;
