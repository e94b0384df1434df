-- The conditions under which people change what a parcel owes at the door.

-- True once somebody has carried a parcel, also while it waits for its next driver. Of what was cancelled it says nothing: callers refuse that before.
create or replace function delivery.was_picked_up(d delivery.deliveries) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return d.picked_up_at is not null or d.status not in ('draft', 'pending', 'assigned', 'accepted');
end $$;

-- True for a parcel p that waits for another driver while the one who picked it up has it still: it has come into no warehouse since.
create or replace function delivery.waits_on_the_road(p delivery.deliveries) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return p.status in ('pending', 'assigned', 'accepted') and p.picked_up_at is not null and p.current_warehouse_id is null
    and not delivery.leaves_warehouse(p);
end $$;

-- True for a parcel p that is delivered, cancelled, or back for good. A staged parcel that is returned has not
-- ended while its second leg waits to be received in the warehouse: it sets out again. SECURITY DEFINER: an owner sees neither
-- legs nor receipts. Fails: forbidden (app.require_tenant).
create or replace function delivery.has_ended(p delivery.deliveries) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(p.tenant_id);
  return p.status in ('delivered', 'cancelled') or p.status = 'returned' and not (p.delivery_flow = 'pnd_parent' and exists (
    select from delivery.deliveries l
    join warehousing.receiving_orders r on r.tenant_id = l.tenant_id and r.delivery_id = l.id and r.status = 'pending'
    where l.tenant_id = p.tenant_id and l.parent_id = p.id and l.delivery_flow = 'pnd_outbound' and l.status = 'returned'));
end $$;

grant execute on function delivery.has_ended(delivery.deliveries) to barid_caller;

-- Refuses what changes the terms of a parcel p that is no order, has ended, brings something back free of charge, or is booked with a
-- carrier. Its family is locked by the caller.
-- Fails: delivery_is_draft, delivery_ended, operational_return_fixed, shipment_booked.
create or replace function delivery.require_changeable(p delivery.deliveries) returns void
language plpgsql stable set search_path = '' as $$
begin
  if p.status = 'draft' then
    perform app.fail('delivery_is_draft');
  elsif delivery.has_ended(p) then
    perform app.fail('delivery_ended', jsonb_build_object('status', p.status));
  elsif p.delivery_flow = 'operational_return' then
    perform app.fail('operational_return_fixed');
  elsif delivery.shipment_lives(p.id) then
    perform app.fail('shipment_booked');
  end if;
end $$;

-- The role of the caller towards a parcel p whose amount changes: office, owner or driver (with a live assignment of it or of a leg of it that waits
-- for no answer).
-- Fails: forbidden.
create or replace function delivery.amount_change_role(p delivery.deliveries) returns text
language plpgsql stable set search_path = '' as $$
begin
  if app.has_permission('manage:operations:tenant') then
    return 'office';
  elsif p.order_id is null and coalesce(app.user_id() in (p.customer_id, p.institution_user_id), false) then
    return 'owner';
  elsif app.has_role('driver') and exists (
      select from delivery.assignments a
      join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
      where a.tenant_id = p.tenant_id and a.driver_id = app.user_id() and a.status in ('assigned', 'accepted')
        and (d.id = p.id or d.parent_id = p.id)) then
    return 'driver';
  end if;
  return app.refuse('forbidden');
end $$;

-- Refuses a new amount of a parcel p that this role may not set. The same amount may be set for a part of it, and for the whole again.
-- Fails: order_amount_fixed, what delivery.require_changeable fails with, operational_return_fixed (also of another return that was made at
-- the door), too_many_decimals, customer_required_for_cod, amount_may_only_fall, amount_unchanged.
create or replace function delivery.require_new_amount(p delivery.deliveries, role text, amount numeric, for_part boolean) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_decimals integer := money.decimals_of(p.currency);
begin
  if p.order_id is not null then
    perform app.fail('order_amount_fixed');
  elsif amount > 0 and p.delivery_flow = 'customer_return' and not p.made_at_door and delivery.is_of_order(p.original_delivery_id) then
    perform app.fail('order_amount_fixed', '{"text_key": "return_of_order_has_no_amount"}');
  end if;
  perform delivery.require_changeable(p);
  if p.made_at_door then
    perform app.fail('operational_return_fixed', '{"text_key": "return_from_door_is_free"}');
  elsif amount <> round(amount, v_decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'cod_amount', 'currency', p.currency, 'decimals', v_decimals));
  elsif amount > 0 and coalesce(p.institution_user_id, p.customer_id) is null then
    perform app.fail('customer_required_for_cod', '{"field": "cod_amount"}');
  elsif role = 'owner' and amount > p.cod_amount and delivery.was_picked_up(p) then
    perform app.fail('amount_may_only_fall', jsonb_build_object('field', 'cod_amount', 'cod_amount', p.cod_amount));
  elsif amount = p.cod_amount and not for_part and delivery.kept_items_agreed(p.id) is null then
    perform app.fail('amount_unchanged', jsonb_build_object('field', 'cod_amount', 'cod_amount', p.cod_amount));
  end if;
end $$;

-- The kept items of a change, each once and in the order sent; null: none were named. They are units of the parcel, at least one and not
-- all. kept: [{delivery_item_id, quantity}]; field: its name in a refusal. Fails: partial_items_invalid. SECURITY DEFINER: the driver of a leg
-- sees no parcel.
create or replace function delivery.kept_items_of(parcel uuid, kept jsonb, field text default 'kept_items') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_units numeric;
  v_wrong boolean;
  v_all numeric;
begin
  if coalesce(jsonb_typeof(kept), 'null') = 'null' then
    return null;
  end if;
  select sum(k.quantity), count(*) <> count(distinct k.delivery_item_id) or bool_or(i.id is null or k.quantity not between 1 and i.quantity)
  into v_units, v_wrong
  from jsonb_to_recordset(kept) k (delivery_item_id uuid, quantity bigint)
  left join delivery.delivery_items i on i.tenant_id = v_tenant and i.delivery_id = parcel and i.id = k.delivery_item_id;
  select sum(i.quantity) into v_all from delivery.delivery_items i where i.tenant_id = v_tenant and i.delivery_id = parcel;
  if coalesce(v_wrong or v_units >= v_all, true) then
    perform app.fail('partial_items_invalid', jsonb_build_object('field', field));
  end if;
  return (
    select jsonb_agg(jsonb_build_object('delivery_item_id', k.delivery_item_id, 'quantity', k.quantity) order by k.position)
    from rows from (jsonb_to_recordset(kept) as (delivery_item_id uuid, quantity bigint)) with ordinality k (delivery_item_id, quantity, position));
end $$;

grant execute on function delivery.kept_items_of(uuid, jsonb, text) to barid_caller;
