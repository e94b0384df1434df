-- Changes of the COD of a parcel: the office and the owner decide at once, a driver requests.

-- Writes a change of a parcel, decided or as a request. The parcel is locked. -> its id
-- SECURITY DEFINER: owners and drivers write neither the history nor other people's notices. Fails: forbidden (app.require_tenant), amount_change_pending.
create or replace function delivery.amount_change_write(p delivery.deliveries, amount numeric, p_reason text, kept jsonb, decided boolean)
returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  v_id uuid;
begin
  perform app.require_tenant(p.tenant_id);
  if exists (select from delivery.amount_changes c where c.tenant_id = p.tenant_id and c.delivery_id = p.id and c.status = 'pending') then
    -- A driver, who only requests, can decide nothing.
    perform app.fail('amount_change_pending', case when decided then '{}' else '{"text_key": "amount_change_waits"}' end::jsonb);
  end if;
  insert into delivery.amount_changes (tenant_id, delivery_id, old_cod_amount, new_cod_amount, currency, reason, kept_items, status, requested_by,
    decided_by, decided_at)
  values (app.tenant_id(), p.id, p.cod_amount, amount, p.currency, p_reason, kept, case when decided then 'approved' else 'pending' end, app.user_id(),
    case when decided then app.user_id() end, case when decided then clock_timestamp() end)
  returning id into v_id;
  if decided then
    perform delivery.amount_change_apply(v_id);
  else
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select distinct app.tenant_id(), u.user_id, 'amount_change_requested', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
      'amount_change_id', v_id, 'amount', amount, 'currency', p.currency)
    from tenancy.tenant_users u
    left join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
    where u.tenant_id = app.tenant_id() and u.is_active and (r.role_key in ('tenant_admin', 'operations_manager', 'dispatcher')
      or (p.order_id is null and u.user_id in (p.customer_id, p.institution_user_id)));
  end if;
  return v_id;
end $$;

-- Puts an approved change into force: the parcel owes the new amount, labels printed before are outdated, its drivers are notified, and
-- subscribers hear of it. Nobody calls it but the functions beside it.
create or replace function delivery.amount_change_apply(change_id uuid) returns void
language plpgsql set search_path = '' as $$
declare
  c delivery.amount_changes;
  d delivery.deliveries;
begin
  select * into strict c from delivery.amount_changes x where x.tenant_id = app.tenant_id() and x.id = change_id and x.status = 'approved';
  update delivery.deliveries x set cod_amount = c.new_cod_amount, ordered_cod_amount = coalesce(x.ordered_cod_amount, x.cod_amount),
    delivery_fee = coalesce(c.new_delivery_fee, x.delivery_fee), label_outdated = true
  where x.tenant_id = c.tenant_id and x.id = c.delivery_id
  returning * into strict d;
  update delivery.deliveries x set label_outdated = true where x.tenant_id = c.tenant_id and x.parent_id = c.delivery_id;
  perform delivery.change_announce(array[c.delivery_id], '{amount}');
  -- A carrier that has brought it back would fetch it again for the amount of before.
  perform integration.shipments_end(c.delivery_id || array(
    select l.id from delivery.deliveries l where l.tenant_id = c.tenant_id and l.parent_id = c.delivery_id));
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.amount_changed',
    'entity_type', 'delivery', 'entity_id', d.id, 'event_data', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code,
      'amount_change_id', c.id, 'old_cod_amount', c.old_cod_amount, 'new_cod_amount', c.new_cod_amount, 'currency', c.currency,
      'reason', c.reason, 'requested_by', c.requested_by, 'actor_id', app.user_id()))));
end $$;

-- Decides a change that waits: approved it is put into force, declined its driver is notified. The parcel is locked.
-- SECURITY DEFINER: an owner writes neither the history nor notices to drivers.
create or replace function delivery.amount_change_decide(p_change uuid, decision text, p_reason text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update delivery.amount_changes c set status = decision, decline_reason = p_reason, decided_by = app.user_id(), decided_at = clock_timestamp()
  where c.tenant_id = app.tenant_id() and c.id = p_change and c.status = 'pending';
  if decision = 'approved' then
    perform delivery.amount_change_apply(p_change);
  else
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select c.tenant_id, c.requested_by, 'amount_change_declined', jsonb_build_object('delivery_id', c.delivery_id,
      'delivery_code', d.delivery_code, 'amount_change_id', c.id, 'amount', c.new_cod_amount, 'currency', c.currency)
    from delivery.amount_changes c
    join delivery.deliveries d on d.tenant_id = c.tenant_id and d.id = c.delivery_id
    where c.tenant_id = app.tenant_id() and c.id = p_change and c.requested_by is distinct from app.user_id() and c.requested_by is not null;
  end if;
end $$;

-- Puts back into force what a parcel p owed before its approved change c, and what that was for, by one more approved change that nobody
-- requested: of a store's order with the fee that c moved, so far as storefront.order_fee_back has it. at_door: a late report says what was taken;
-- else it is an undo. The family is locked. -> its id
create or replace function delivery.amount_put_back(p delivery.deliveries, c delivery.amount_changes, p_reason text, at_door boolean) returns uuid
language plpgsql set search_path = '' as $$
declare
  v_id uuid;
begin
  if c.old_delivery_fee > 0 and not storefront.order_fee_back(p, at_door) then
    c.old_cod_amount := greatest(c.old_cod_amount - c.old_delivery_fee, 0);
    c.old_delivery_fee := 0;
  elsif not at_door and c.old_delivery_fee = 0 and p.delivery_fee > 0 and storefront.order_fee_back(p, at_door) then
    -- The report that is undone took the fee off the others: without it here nobody would collect it.
    c.old_cod_amount := c.old_cod_amount + p.delivery_fee;
    c.old_delivery_fee := p.delivery_fee;
  end if;
  insert into delivery.amount_changes (tenant_id, delivery_id, old_cod_amount, new_cod_amount, currency, reason, kept_items, status, requested_by,
    decided_by, decided_at, by_report, old_delivery_fee, new_delivery_fee)
  values (p.tenant_id, p.id, p.cod_amount, c.old_cod_amount, p.currency, p_reason, (delivery.amount_agreed(p.id, c.decided_at)).kept_items, 'approved',
    app.user_id(), app.user_id(), clock_timestamp(), true, case when c.old_delivery_fee is not null then p.delivery_fee end, c.old_delivery_fee)
  returning id into v_id;
  perform delivery.amount_change_apply(v_id);
  return v_id;
end $$;

grant execute on function delivery.amount_change_write(delivery.deliveries, numeric, text, jsonb, boolean),
  delivery.amount_change_decide(uuid, text, text) to barid_caller;
revoke execute on function delivery.amount_change_apply(uuid),
  delivery.amount_put_back(delivery.deliveries, delivery.amount_changes, text, boolean) from barid_caller;

-- A change and its delivery, as the calls answer them. -> {amount_change, delivery}
create or replace function delivery.amount_change_to_json(change_id uuid, delivery_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('delivery', delivery.delivery_to_json(amount_change_to_json.delivery_id), 'amount_change', (
    select to_jsonb(c) - 'tenant_id' from delivery.amount_changes_list c where c.id = change_id));
end $$;

-- Changes what a parcel owes at the door, or requests it as its driver; of a leg, what its parcel owes.
-- {id, cod_amount, reason, kept_items? [{delivery_item_id, quantity}]} -> {amount_change, delivery}
-- Locks: the delivery's family.
-- Fails: delivery_not_found, forbidden, what delivery.require_new_amount fails with, partial_items_invalid, amount_change_pending.
create or replace function delivery.amount_change_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  p delivery.deliveries := delivery.parcel_terms(d);
  v_role text := delivery.amount_change_role(p);
  v_amount numeric := (input ->> 'cod_amount')::numeric;
  v_kept jsonb;
  v_id uuid;
begin
  perform delivery.require_new_amount(p, v_role, v_amount, coalesce(jsonb_typeof(input -> 'kept_items') = 'array', false));
  v_kept := delivery.kept_items_of(p.id, input -> 'kept_items');
  -- By itself: what reads in the statement that writes would not see it.
  v_id := delivery.amount_change_write(p, v_amount, input ->> 'reason', v_kept, v_role <> 'driver');
  return delivery.amount_change_to_json(v_id, d.id);
end $$;

-- The parcel of a change that waits, with its family locked. {id, change_id}
-- Fails: delivery_not_found, forbidden (a driver, who requests and does not decide), amount_change_not_found, amount_change_not_pending.
create or replace function delivery.lock_amount_change(input jsonb) returns delivery.deliveries
language plpgsql set search_path = '' as $$
declare
  p delivery.deliveries := delivery.parcel_terms(delivery.lock_delivery((input ->> 'id')::uuid));
  v_status text;
begin
  perform delivery.require_owner(p);
  select c.status into v_status from delivery.amount_changes c
  where c.tenant_id = p.tenant_id and c.id = (input ->> 'change_id')::uuid and c.delivery_id = p.id;
  if not found then
    perform app.fail('amount_change_not_found');
  elsif v_status <> 'pending' then
    perform app.fail('amount_change_not_pending', jsonb_build_object('status', v_status));
  end if;
  return p;
end $$;

-- Approves a driver's request: its amount is due from now on. {id, change_id} -> {amount_change, delivery}
-- Fails: what delivery.lock_amount_change and delivery.require_new_amount fail with.
create or replace function delivery.amount_change_approve(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  p delivery.deliveries := delivery.lock_amount_change(input);
  c delivery.amount_changes;
begin
  select * into strict c from delivery.amount_changes x where x.tenant_id = p.tenant_id and x.id = (input ->> 'change_id')::uuid;
  perform delivery.require_new_amount(p, delivery.amount_change_role(p), c.new_cod_amount, c.kept_items is not null);
  perform delivery.amount_change_decide(c.id, 'approved', null);
  return delivery.amount_change_to_json(c.id, (input ->> 'id')::uuid);
end $$;

-- Declines a driver's request: the amount stays as it is. {id, change_id, reason?} -> {amount_change, delivery}
-- Fails: what delivery.lock_amount_change fails with.
create or replace function delivery.amount_change_decline(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  p delivery.deliveries := delivery.lock_amount_change(input);
begin
  perform delivery.amount_change_decide((input ->> 'change_id')::uuid, 'declined', input ->> 'reason');
  return delivery.amount_change_to_json((input ->> 'change_id')::uuid, (input ->> 'id')::uuid);
end $$;

-- The changes of a delivery's amount, newest first; of a leg, those of its parcel. {id, limit, offset} -> {rows, total}
-- Fails: delivery_not_found.
create or replace function delivery.amount_changes_read(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  d delivery.deliveries;
begin
  select * into d from delivery.deliveries x where x.id = (input ->> 'id')::uuid;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  return jsonb_build_object(
    'rows', (select coalesce(jsonb_agg(to_jsonb(r) - 'tenant_id' order by r.requested_at desc, r.id desc), '[]') from (
      select * from delivery.amount_changes_list c where c.tenant_id = d.tenant_id and c.delivery_id = delivery.parcel_of(d)
      order by c.requested_at desc nulls last, c.id desc limit (input ->> 'limit')::bigint offset (input ->> 'offset')::bigint) r),
    'total', (select count(*) from delivery.amount_changes c where c.tenant_id = d.tenant_id and c.delivery_id = delivery.parcel_of(d)));
end $$;

-- The last approved change of a parcel's amount, the last one before a moment if that is given; null: nothing was agreed.
create or replace function delivery.amount_agreed(parcel uuid, before timestamptz default 'infinity') returns delivery.amount_changes
language plpgsql stable set search_path = '' as $$
declare
  c delivery.amount_changes;
begin
  select * into c from delivery.amount_changes x
  where x.tenant_id = app.tenant_id() and x.delivery_id = parcel and x.status = 'approved' and x.decided_at < before
  order by x.decided_at desc, x.id desc limit 1;
  return c;
end $$;

-- The items that the last agreement about a parcel's amount is for: [{delivery_item_id, quantity}]; null: the whole parcel, or nothing was agreed.
create or replace function delivery.kept_items_agreed(parcel uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (delivery.amount_agreed(parcel)).kept_items;
end $$;

grant execute on function delivery.amount_agreed(uuid, timestamptz), delivery.kept_items_agreed(uuid) to barid_caller;

-- Refuses to hand over the whole of a parcel p whose amount was agreed for a part of it. While another company's booking lives nobody can agree
-- on another amount, and what that company reports is true.
-- Fails: amount_is_for_part {change_id, kept_items, cod_amount, currency}.
create or replace function delivery.require_amount_for_whole(p delivery.deliveries) returns void
language plpgsql stable set search_path = '' as $$
declare
  c delivery.amount_changes;
begin
  -- Its amount is as it was ordered: most parcels.
  if p.ordered_cod_amount is null then
    return;
  end if;
  c := delivery.amount_agreed(p.id);
  if c.kept_items is not null and not delivery.shipment_lives(p.id) then
    perform app.fail('amount_is_for_part', jsonb_build_object('change_id', c.id, 'kept_items', c.kept_items,
      'cod_amount', c.new_cod_amount, 'currency', c.currency));
  end if;
end $$;

-- A request that nobody decided lapses when its delivery ends. A staged parcel that came back ends with its first leg, or when it was sent back:
-- from the door, or from a warehouse; else it sets out again. (Where it waits to be received, that is not written yet: delivery.has_ended.)
create or replace function delivery.amount_changes_lapse() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if not exists (select from new_rows n where n.parent_id is null and n.status in ('delivered', 'cancelled', 'returned')) then
    return null;
  end if;
  update delivery.amount_changes c set status = 'lapsed', decided_at = clock_timestamp()
  from new_rows n join old_rows o on o.id = n.id
  where n.status <> o.status and n.parent_id is null and c.tenant_id = n.tenant_id and c.delivery_id = n.id and c.status = 'pending'
    and (n.status in ('delivered', 'cancelled') or n.status = 'returned' and (n.delivery_flow <> 'pnd_parent' or exists (
      select from delivery.deliveries l
      where l.tenant_id = n.tenant_id and l.parent_id = n.id and l.delivery_flow = 'pnd_inbound' and l.status = 'returned') or exists (
      select from delivery.deliveries r
      where r.tenant_id = n.tenant_id and r.original_delivery_id = n.id and r.delivery_flow = 'operational_return' and r.status <> 'cancelled')));
  return null;
end $$;

drop trigger if exists amount_changes_lapse on delivery.deliveries;
create trigger amount_changes_lapse after update on delivery.deliveries referencing old table as old_rows new table as new_rows
  for each statement execute function delivery.amount_changes_lapse();

-- Nobody calls these but other functions and triggers.
revoke execute on function delivery.amount_changes_lapse() from barid_caller;
