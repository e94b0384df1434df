-- Returns count by item and quantity: of a delivery nothing comes back twice, and nothing that was not in it.

-- True for a return that brings its units back, or has brought them. Not for one that was cancelled or undone, nor for a customer's return that
-- a driver or a carrier gave back to its customer: its units may be returned again. A parcel that was lost in a warehouse, and cancelled there,
-- had come back all the same; one that was cancelled there and goes back to its customer counts until they have it. Up to 1.3.0 a return that its
-- driver brought into a warehouse was returned there.
create or replace function delivery.return_counts(r delivery.deliveries) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return case
    when r.status = 'cancelled' then (r.delivery_flow = 'customer_return' or r.made_at_door) and (r.current_warehouse_id is not null or exists (
      select from delivery.deliveries b
      where b.tenant_id = r.tenant_id and b.original_delivery_id = r.id and b.delivery_flow = 'operational_return' and b.status <> 'cancelled'
        and (b.status <> 'delivered' or b.current_warehouse_id is not null)))
    when r.status = 'returned' and r.delivery_flow = 'customer_return' then r.current_warehouse_id is not null or exists (
      select from warehousing.receiving_orders n
      join warehousing.receiving_order_items i on i.tenant_id = n.tenant_id and i.receiving_order_id = n.id
      join warehousing.inventory_items k on k.tenant_id = i.tenant_id and k.id = i.item_id and k.parcel_delivery_id is null
      where n.tenant_id = r.tenant_id and n.delivery_id = r.id and n.status = 'received')
    else true end;
end $$;

-- The units of a delivered parcel that no return brings back yet, as delivery.delivery_contents_write takes them. A return that names no items
-- brings back all. -> [{name, quantity, weight, length, width, height, returned_item_id}]; null when all of it comes back already
-- SECURITY DEFINER: who returns a part need not see the other returns.
create or replace function delivery.units_to_return(parcel uuid) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  if exists (select from delivery.deliveries r
      where r.tenant_id = v_tenant and r.original_delivery_id = parcel and not r.returns_part and delivery.return_counts(r)) then
    return null;
  end if;
  return (
    select coalesce(jsonb_agg(jsonb_build_object('name', i.name, 'quantity', i.quantity - c.back, 'weight', i.weight, 'length', i.length,
      'width', i.width, 'height', i.height, 'returned_item_id', i.id) order by i.position) filter (where c.back < i.quantity), '[]')
    from delivery.delivery_items i
    cross join lateral (
      select coalesce(sum(x.quantity), 0)::bigint as back from delivery.delivery_items x
      join delivery.deliveries r on r.tenant_id = x.tenant_id and r.id = x.delivery_id
      where x.tenant_id = v_tenant and x.returned_item_id = i.id and delivery.return_counts(r)) c
    where i.tenant_id = v_tenant and i.delivery_id = parcel);
end $$;

grant execute on function delivery.units_to_return(uuid) to barid_caller;

-- The contents of a customer return of a parcel: the items that it names, else all that no other return brings back; null: the whole parcel.
-- asked: [{delivery_item_id, quantity}] or null. The parcel is locked.
-- Fails: partial_items_invalid (no items of this parcel, or one twice), return_already_exists (not so many are left).
create or replace function delivery.returned_contents(parcel uuid, asked jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_left jsonb := delivery.units_to_return(parcel);
  v_contents jsonb;
  v_wrong boolean;
  v_part boolean := delivery.is_returned_in_part(parcel);
begin
  if v_left is null or v_part and v_left = '[]' then
    perform app.fail('return_already_exists');
  elsif coalesce(jsonb_typeof(asked), 'null') = 'null' then
    return case when v_part then v_left end;
  end if;
  select count(*) <> count(distinct a.delivery_item_id) or bool_or(i.id is null) into v_wrong
  from jsonb_to_recordset(asked) a (delivery_item_id uuid, quantity bigint)
  left join delivery.delivery_items i on i.tenant_id = app.tenant_id() and i.delivery_id = parcel and i.id = a.delivery_item_id;
  if coalesce(v_wrong, true) then
    perform app.fail('partial_items_invalid', '{"field": "return_items"}');
  end if;
  select jsonb_agg(l.item || jsonb_build_object('quantity', a.quantity)), count(l.item) < count(*) or bool_or((l.item ->> 'quantity')::bigint < a.quantity)
  into v_contents, v_wrong
  from jsonb_to_recordset(asked) a (delivery_item_id uuid, quantity bigint)
  left join jsonb_array_elements(v_left) l (item) on (l.item ->> 'returned_item_id')::uuid = a.delivery_item_id;
  if v_wrong then
    perform app.fail('return_already_exists');
  end if;
  return v_contents;
end $$;

-- True when a return brings back units of this parcel by name. SECURITY DEFINER, as delivery.units_to_return.
create or replace function delivery.is_returned_in_part(parcel uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (
    select from delivery.deliveries r
    join delivery.delivery_items x on x.tenant_id = r.tenant_id and x.delivery_id = r.id and x.returned_item_id is not null
    where r.tenant_id = app.tenant_id() and r.original_delivery_id = parcel and r.returns_part and delivery.return_counts(r));
end $$;

grant execute on function delivery.is_returned_in_part(uuid) to barid_caller;

-- The last guard of returns: of an item no more comes back than there was, and no part of what comes back whole. Fails: return_already_exists.
create or replace function delivery.returned_units() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if exists (
      select from (select distinct n.tenant_id, n.returned_item_id from new_rows n where n.returned_item_id is not null) n
      join delivery.delivery_items i on i.tenant_id = n.tenant_id and i.id = n.returned_item_id
      where i.quantity < (
          select sum(x.quantity) from delivery.delivery_items x
          join delivery.deliveries r on r.tenant_id = x.tenant_id and r.id = x.delivery_id
          where x.tenant_id = i.tenant_id and x.returned_item_id = i.id and delivery.return_counts(r))
        or exists (select from delivery.deliveries r where r.tenant_id = i.tenant_id and r.original_delivery_id = i.delivery_id
          and not r.returns_part and delivery.return_counts(r))) then
    perform app.fail('return_already_exists');
  end if;
  return null;
end $$;

-- The same for a return of all: nothing of it is on its way back, or back, already. A parcel that an operational return has
-- brought into a warehouse continues by another one.
create or replace function delivery.returned_whole() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if exists (
      select from new_rows n
      join delivery.deliveries r on r.tenant_id = n.tenant_id and r.original_delivery_id = n.original_delivery_id and r.id <> n.id
      where n.original_delivery_id is not null and not n.returns_part and delivery.return_counts(r)
        and not (n.delivery_flow = 'operational_return' and r.delivery_flow = 'operational_return' and r.status = 'delivered')
        and (not r.returns_part or exists (
        select from delivery.delivery_items x where x.tenant_id = r.tenant_id and x.delivery_id = r.id and x.returned_item_id is not null))) then
    perform app.fail('return_already_exists');
  end if;
  return null;
end $$;

drop trigger if exists returned_units on delivery.delivery_items;
create trigger returned_units after insert on delivery.delivery_items referencing new table as new_rows
  for each statement execute function delivery.returned_units();
drop trigger if exists returned_whole on delivery.deliveries;
create trigger returned_whole after insert on delivery.deliveries referencing new table as new_rows
  for each statement execute function delivery.returned_whole();

-- Nobody calls these but other functions and triggers.
revoke execute on function delivery.return_counts(delivery.deliveries), delivery.returned_units(), delivery.returned_whole() from barid_caller;
