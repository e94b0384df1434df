-- Deliveries that are made anew for an order: its own were cancelled before they took their goods.

-- The parts of an order that nobody brings, since their delivery was cancelled while they were here, as sources of new ones (see
-- storefront.order_supply), each with its part_id, and dropoff_address_id and recipient of the cancelled one; [] where there is none. Not those
-- that the order gave up when it ended, also when its end was undone since. lines: see storefront.order_lines().
create or replace function storefront.order_stranded(o storefront.storefront_orders, lines jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('part_id', p.id, 'warehouse_id', p.warehouse_id, 'dropoff_address_id', d.dropoff_address_id,
      'recipient', d.recipient,
      'units', z.units, 'unmeasured', z.unmeasured, 'lines', z.lines) order by p.position), '[]')
    from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status = 'cancelled'
    cross join lateral (
      select sum(i.unit_size * (g.quantity - g.short)) as units, bool_or(i.id is null) as unmeasured,
        jsonb_agg(jsonb_build_object('line', l.line, 'quantity', g.quantity - g.short) order by g.position) as lines
      from storefront.storefront_order_part_items g
      join rows from (jsonb_to_recordset(lines) as (order_item_id uuid, inventory_item_id uuid)) with ordinality
        l (order_item_id, inventory_item_id, line) on l.order_item_id = g.order_item_id
      left join warehousing.inventory_items i on i.tenant_id = g.tenant_id and i.id = l.inventory_item_id
      where g.tenant_id = p.tenant_id and g.part_id = p.id and g.quantity > g.short) z
    where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is null and z.lines is not null and not storefront.order_part_given_up(p)
      and o.status in ('approved', 'confirmed', 'shipped'));
end $$;

-- True for a part whose goods its order released when it ended (storefront.order_settle): its picking is cancelled, and goods of it are kept in
-- stock. Where the warehouse found none of those, its picking is cancelled too, and what is not kept in stock still travels.
create or replace function storefront.order_part_given_up(part storefront.storefront_order_parts) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from warehousing.picking_orders k
    join storefront.storefront_order_part_items g on g.tenant_id = k.tenant_id and g.part_id = part.id and g.quantity > g.short
    join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id and i.inventory_item_id is not null
    where k.tenant_id = part.tenant_id and k.id = part.picking_order_id and k.status = 'cancelled');
end $$;

-- Makes a new delivery for each part of an order whose own was cancelled before it left: from the same warehouse, to where that was to go,
-- with the goods that are set aside and picked for it. The fee and the cash of an order that is paid at the door are divided anew. {order_id} -> the order
-- Fails: order_not_found, order_nothing_to_redeliver, shipment_cash_changes, what order_deliveries and delivery_write fail with.
create or replace function storefront.order_redeliver(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  o storefront.storefront_orders := storefront.lock_order_and_deliveries((input ->> 'order_id')::uuid);
  v_lines jsonb := storefront.order_lines(o);
  v_sources jsonb := storefront.order_stranded(o, v_lines);
  v_made delivery.deliveries[];
  v_ids uuid[] := '{}';
begin
  if v_sources = '[]' then
    perform app.fail('order_nothing_to_redeliver', jsonb_build_object('status', o.status));
  end if;
  v_made := storefront.order_deliveries(o, v_lines, v_sources, null);
  for place in 1..cardinality(v_made) loop
    v_ids := v_ids || delivery.delivery_write(v_made[place], storefront.order_contents(v_lines, v_sources -> (place - 1)));
  end loop;
  perform storefront.order_parts_renew(o.id, v_sources, v_ids);
  return storefront.order_get(input);
end $$;

-- The rows of order_redeliver(): parts and picks belong to their new deliveries. The order is locked with its deliveries and picks.
create or replace function storefront.order_parts_renew(p_order uuid, sources jsonb, deliveries uuid[]) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  o storefront.storefront_orders;
  p storefront.storefront_order_parts;
begin
  for p in
    update storefront.storefront_order_parts x set delivery_id = deliveries[s.place]
    from rows from (jsonb_to_recordset(sources) as (part_id uuid)) with ordinality s (part_id, place)
    where x.tenant_id = v_tenant and x.order_id = p_order and x.id = s.part_id and x.left_at is null and app.has_permission('manage:tenant')
    returning x.*
  loop
    update warehousing.picking_orders k set delivery_id = p.delivery_id where k.tenant_id = v_tenant and k.id = p.picking_order_id;
    -- A line that was not found at all keeps its place, though nothing of it travels.
    update delivery.delivery_items i set position = i.position + 100000 where i.tenant_id = v_tenant and i.delivery_id = p.delivery_id;
    update delivery.delivery_items i set position = g.position
    from (
      select y.position, row_number() over (order by y.position) as place from storefront.storefront_order_part_items y
      where y.tenant_id = v_tenant and y.part_id = p.id and y.quantity > y.short) g
    where i.tenant_id = v_tenant and i.delivery_id = p.delivery_id and i.position = g.place + 100000;
  end loop;
  update storefront.storefront_orders x set delivery_id = (
    select y.delivery_id from storefront.storefront_order_parts y
    where y.tenant_id = v_tenant and y.order_id = x.id order by y.position limit 1)
  where x.tenant_id = v_tenant and x.id = p_order and app.has_permission('manage:tenant')
  returning * into strict o;
  if o.payment_method = 'cash_on_delivery' then
    perform storefront.order_cash_divide(o);
  end if;
end $$;
grant execute on function storefront.order_parts_renew(uuid, jsonb, uuid[]) to barid_caller;

-- Notifies the shop's administrators of a delivery that was cancelled, with goods of an order which nobody brings now.
create or replace function storefront.order_stranded_notify(p_order uuid, p_delivery uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform tenancy.notify_tenant_admins('order_delivery_cancelled', jsonb_build_object('order_id', o.id, 'order_number', o.order_number,
    'status', o.status, 'delivery_id', d.id, 'delivery_code', d.delivery_code))
  from storefront.storefront_orders o
  join storefront.storefront_order_parts p on p.tenant_id = o.tenant_id and p.order_id = o.id and p.delivery_id = p_delivery and p.left_at is null
  join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
  where o.tenant_id = app.tenant_id() and o.id = p_order and o.status in ('approved', 'confirmed', 'shipped')
    and storefront.order_part_has_goods(p);
end $$;

-- Nobody calls it but other functions and triggers.
revoke execute on function storefront.order_stranded_notify(uuid, uuid) from barid_caller;
