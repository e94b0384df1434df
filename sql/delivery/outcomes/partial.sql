-- Parcels of which their receivers keep a part.

-- Refuses what is done at the receiver's door alone for a leg into a warehouse, a transfer, and a return. Fails: outcome_not_at_door.
create or replace function delivery.require_at_door(d delivery.deliveries) returns void
language plpgsql stable set search_path = '' as $$
begin
  if not delivery.attempt_counts(d) then
    perform app.fail('outcome_not_at_door', '{"field": "result"}');
  end if;
end $$;

-- True when the amount of a parcel was agreed for exactly these items; null: for the whole, or nothing was agreed.
-- SECURITY DEFINER: the driver of a leg sees no parcel.
create or replace function delivery.is_agreed_for(parcel uuid, kept jsonb) returns boolean
language plpgsql stable security definer set search_path = '' as $$
declare
  v_agreed jsonb := delivery.kept_items_agreed(parcel);
begin
  return v_agreed @> kept and kept @> v_agreed;
end $$;

-- The COD that is due for the kept items of a parcel p: what was agreed for exactly these, else the sum of their prices. Where nothing is to be
-- collected no prices are needed. kept: as delivery.kept_items_of answers
-- SECURITY DEFINER: the driver of a leg sees no parcel. Fails: item_prices_required.
create or replace function delivery.cod_of_kept(p delivery.deliveries, kept jsonb) returns numeric
language plpgsql stable security definer set search_path = '' as $$
declare
  v_amount numeric;
begin
  if delivery.is_agreed_for(p.id, kept) or p.cod_amount = 0 then
    return p.cod_amount;
  end if;
  -- Prices add up to what was ordered, not to what was agreed since.
  if p.cod_amount = coalesce(p.ordered_cod_amount, p.cod_amount) then
    select sum(i.unit_price * k.quantity) into v_amount
    from jsonb_to_recordset(kept) k (delivery_item_id uuid, quantity bigint)
    join delivery.delivery_items i on i.tenant_id = app.tenant_id() and i.delivery_id = p.id and i.id = k.delivery_item_id;
  end if;
  if v_amount is null then
    perform app.fail('item_prices_required', '{"field": "items"}');
  end if;
  return v_amount;
end $$;

-- The contents of a parcel p that are not among the kept ones, each with the item that it is, as delivery.return_from_door takes them.
-- SECURITY DEFINER: the driver of a leg sees no parcel.
create or replace function delivery.contents_left(p delivery.deliveries, kept jsonb) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select jsonb_agg(to_jsonb(i) - 'sku' || jsonb_build_object('quantity', i.quantity - coalesce(k.quantity, 0), 'returned_item_id', i.id)
      order by i.position)
    from delivery.delivery_items i
    left join jsonb_to_recordset(kept) k (delivery_item_id uuid, quantity bigint) on k.delivery_item_id = i.id
    where i.tenant_id = app.tenant_id() and i.delivery_id = p.id and i.quantity > coalesce(k.quantity, 0));
end $$;

-- Puts into force what a parcel p owes for the part that is kept, null: the whole, as an approved change of its amount that a report makes, or its
-- undo. -> the id of the change. SECURITY DEFINER: a driver writes no amounts.
create or replace function delivery.amount_write(p delivery.deliveries, amount numeric, kept jsonb, p_reason text) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  v_id uuid;
begin
  insert into delivery.amount_changes (tenant_id, delivery_id, old_cod_amount, new_cod_amount, currency, reason, kept_items, status, requested_by,
    decided_by, decided_at, by_report)
  values (app.tenant_id(), p.id, p.cod_amount, amount, p.currency, p_reason, kept, 'approved', app.user_id(), app.user_id(), clock_timestamp(), true)
  returning id into v_id;
  perform delivery.amount_change_apply(v_id);
  return v_id;
end $$;

-- The same where it is another amount than the parcel owes; null: it owes that already.
create or replace function delivery.kept_amount_write(p delivery.deliveries, amount numeric, kept jsonb, p_reason text) returns uuid
language plpgsql set search_path = '' as $$
begin
  if amount = p.cod_amount then
    return null;
  end if;
  return delivery.amount_write(p, amount, kept, p_reason);
end $$;

-- Puts back what a parcel owed before the outcome o, and what that was for, by one more approved change; nothing where the outcome changed no
-- amount.
create or replace function delivery.kept_amount_undo(parcel uuid, o delivery.outcomes, p_reason text) returns void
language plpgsql set search_path = '' as $$
declare
  p delivery.deliveries;
  c delivery.amount_changes;
begin
  select * into c from delivery.amount_changes x
  where x.tenant_id = app.tenant_id() and x.delivery_id = kept_amount_undo.parcel and x.status = 'approved'
    -- Outcomes that do not name their change are older than the naming: it is the first one since.
    and case when o.before ? 'amount_change_id' then x.id = (o.before ->> 'amount_change_id')::uuid else x.decided_at >= o.created_at end
  order by x.decided_at limit 1;
  if found then
    select * into strict p from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = kept_amount_undo.parcel;
    perform delivery.amount_put_back(p, c, p_reason, false);
  end if;
end $$;

-- Marks a parcel, and the leg d that brought it, as delivered in part. SECURITY DEFINER: the driver of a leg sees no parcel.
create or replace function delivery.delivered_in_part_mark(d delivery.deliveries) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update delivery.deliveries x set delivered_in_part = true
  where x.tenant_id = app.tenant_id() and x.id in (d.id, delivery.parcel_of(d));
end $$;

grant execute on function delivery.cod_of_kept(delivery.deliveries, jsonb), delivery.contents_left(delivery.deliveries, jsonb),
  delivery.amount_write(delivery.deliveries, numeric, jsonb, text), delivery.is_agreed_for(uuid, jsonb),
  delivery.delivered_in_part_mark(delivery.deliveries) to barid_caller;

-- Delivered in part: what is due for the kept items is taken and booked as delivery.delivery_complete does, and the rest goes back as a return
-- in the driver's hands. It begins before any wallet is locked. -> {delivery, cash, returns}
-- Fails: outcome_not_at_door, order_amount_fixed, partial_items_invalid, item_prices_required, what delivery.return_from_door and
-- delivery.delivery_complete fail with.
create or replace function delivery.outcome_partial(d delivery.deliveries, input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  p delivery.deliveries := delivery.parcel_terms(d);
  v_kept jsonb;
  v_amount numeric;
  v_return uuid;
  v_change uuid;
  v_put_back uuid;
  v_answer jsonb;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'delivered');
  perform delivery.require_at_door(d);
  if p.order_id is not null then
    perform app.fail('order_amount_fixed');
  end if;
  if delivery.redirect_at_door(p, input) is not null then
    d := delivery.lock_delivery(d.id);
    p := delivery.parcel_terms(d);
  end if;
  v_kept := delivery.kept_items_of(p.id, input -> 'items', 'items');
  -- Agreed for just this part, it is what was talked about at the door.
  if not coalesce(delivery.is_agreed_for(p.id, v_kept), false) then
    v_put_back := delivery.amount_at_door(p, input - 'cash_collected');
    p := delivery.parcel_terms(d);
  end if;
  v_amount := delivery.cod_of_kept(p, v_kept);
  v_return := delivery.return_from_door(d, 'operational_return', delivery.contents_left(p, v_kept), jsonb_build_object('notes', input -> 'note'));
  v_change := delivery.kept_amount_write(p, v_amount, v_kept, coalesce(input ->> 'note', 'partial'));
  v_answer := delivery.delivery_complete(input || jsonb_build_object('proof', input -> 'proofs', 'proof_field', 'proofs',
    'amount_change_id', coalesce(v_put_back, v_change)));
  perform delivery.delivered_in_part_mark(d);
  return v_answer || jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'returns', jsonb_build_array(delivery.delivery_to_json(v_return)));
end $$;

-- Exchanged: delivered, and what the receiver gives back goes back as a customer return with the service of the company's returns, in the
-- driver's hands and free of charge. {taken_back: [{name, quantity}], ...} -> {delivery, cash, returns}
-- Fails: outcome_not_at_door, what delivery.return_from_door and delivery.delivery_complete fail with.
create or replace function delivery.outcome_exchanged(d delivery.deliveries, input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_return uuid;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'delivered');
  perform delivery.require_at_door(d);
  if delivery.redirect_at_door(delivery.parcel_terms(d), input) is not null then
    d := delivery.lock_delivery(d.id);
  end if;
  v_return := delivery.return_from_door(d, 'customer_return', input -> 'taken_back', jsonb_build_object('notes', input -> 'note',
    -- Without such a service, that of the parcel.
    'delivery_service_id', (select s.id from delivery.delivery_services s where s.tenant_id = d.tenant_id and s.deleted_at is null
      and s.id::text = lower(app.settings('general', 'delivery') #>> '{return_requests,default_delivery_service_id}'))));
  return delivery.delivery_complete(input || jsonb_build_object('proof', input -> 'proofs', 'proof_field', 'proofs'))
    || jsonb_build_object('returns', jsonb_build_array(delivery.delivery_to_json(v_return)));
end $$;
