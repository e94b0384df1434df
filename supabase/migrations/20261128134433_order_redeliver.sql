-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION storefront.order_assignment(o storefront.storefront_orders)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'tracking_number', d.barcode, 'status', d.status,
      'delivery_address', storefront.delivery_address_to_json(d), 'driver_assigned', a.driver_id is not null,
      'driver', case when a.driver_id is not null then jsonb_build_object('id', a.driver_id, 'full_name', p.full_name) end)
    from delivery.deliveries d
    left join delivery.assignments a on a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('pending', 'assigned', 'accepted', 'completed')
    left join tenancy.profiles p on p.id = a.driver_id
    where d.tenant_id = o.tenant_id and d.id = o.delivery_id and exists (
      select from storefront.storefront_order_parts x where x.tenant_id = d.tenant_id and x.order_id = o.id and x.delivery_id = d.id)
    order by a.created_at desc limit 1);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_deliveries(o storefront.storefront_orders, lines jsonb, sources jsonb, dropoff uuid)
 RETURNS delivery.deliveries[]
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_place jsonb := o.shipping_address;
  v_recipient jsonb := storefront.order_recipient(o);
  v_goods numeric[];
  v_source record;
  v_made delivery.deliveries[] := '{}';
begin
  if sources #>> '{0,warehouse_id}' is null then
    perform app.fail('staging_warehouse_required', '{"field": "warehouse_id"}');
  end if;
  if o.payment_method = 'cash_on_delivery' then
    select storefront.shares(storefront.goods_total(o), array_agg(v.value order by v.place), money.decimals_of(o.currency)) into v_goods
    from (
      select s.place, sum(i.unit_price * l.quantity) as value
      from jsonb_array_elements(sources) with ordinality s (source, place)
      cross join lateral jsonb_to_recordset(s.source -> 'lines') as l (line integer, quantity integer)
      join storefront.storefront_order_items i on i.tenant_id = o.tenant_id and i.id = (lines -> (l.line - 1) ->> 'order_item_id')::uuid
      group by 1) v;
  end if;
  for v_source in
    select s.source, s.place, case when s.place = 1 and not exists (
        select from delivery.deliveries d
        where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status <> 'cancelled' and d.delivery_fee > 0)
      then o.shipping_cost else 0 end as fee
    from jsonb_array_elements(sources) with ordinality s (source, place) order by s.place
  loop
    v_made := v_made || delivery.delivery_terms(storefront.order_quote_input(o.delivery_service_id::text, v_source.source, v_place) - '{pickup,dropoff}'::text[]
      || jsonb_build_object('order_id', o.id, 'delivery_fee', v_source.fee, 'customer_id', o.user_id, 'payer_type', 'sender',
        'payment_method', 'wallet', 'cod_amount',
        case when o.payment_method = 'cash_on_delivery' then least(v_source.fee, o.total_price) + coalesce(v_goods[v_source.place], 0) else 0 end,
        'pickup_warehouse_id', v_source.source -> 'warehouse_id', 'dropoff_address_id', dropoff, 'external_reference_id', o.order_number,
        'notes', o.customer_notes, 'promised_at', o.estimated_delivery, 'recipient', v_recipient));
  end loop;
  return v_made;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_end_cancelled(input jsonb, came_back boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders := storefront.lock_order_and_deliveries((input ->> 'order_id')::uuid);
  v_open uuid := storefront.order_open_delivery(o);
  v_refund jsonb;
  v_released jsonb;
begin
  if came_back and o.status <> 'shipped' then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', o.status, 'to', 'returned'));
  elsif came_back and v_open is not null then
    perform app.fail('order_has_delivery', jsonb_build_object('delivery_id', v_open));
  elsif not came_back and o.status not in ('pending', 'awaiting_approval', 'approved', 'confirmed') then
    perform app.fail('order_not_cancellable', jsonb_build_object('status', o.status));
  end if;
  update storefront.storefront_orders x set status = 'cancelled', cancelled_at = now(), cancel_reason = input ->> 'reason',
    admin_notes = coalesce(input ->> 'admin_notes', x.admin_notes), status_note = coalesce(input ->> 'admin_notes', input ->> 'reason'),
    fulfilment = case when came_back then 'returned' else x.fulfilment end
  where x.tenant_id = o.tenant_id and x.id = o.id
  returning * into o;
  -- The order has ended, so that its fee passes to no other and nobody is asked to deliver it anew.
  perform delivery.delivery_cancel(jsonb_build_object('id', d.id, 'reason', input ->> 'reason'))
  from (select x.id from delivery.deliveries x where x.tenant_id = o.tenant_id and x.order_id = o.id
    and x.status in ('draft', 'pending', 'assigned', 'accepted') order by x.id) d;
  perform storefront.order_picks_drop(o.id);
  if came_back then
    perform storefront.order_goods_expect(o.id);
  end if;
  perform storefront.order_payment_drop(o.id);
  if o.payment_status = 'paid' and app.boolean_or(input -> 'refund_required', true) and storefront.order_refundable(o) > 0 then
    v_refund := storefront.order_refund_book(o.id, null, input ->> 'reason');
  end if;
  v_released := warehousing.stock_release('order', o.id);
  return jsonb_build_object('order', jsonb_build_object('id', o.id, 'order_number', o.order_number, 'status', o.status,
      'cancelled_at', o.cancelled_at, 'cancel_reason', o.cancel_reason, 'admin_notes', o.admin_notes),
    'inventory_released', v_released <> '[]', 'refund', v_refund, 'delivery_cancelled', v_open is not null);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_parts_renew(p_order uuid, sources jsonb, deliveries uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_redeliver(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
  v_made := storefront.order_deliveries(o, v_lines, v_sources, (v_sources #>> '{0,dropoff_address_id}')::uuid);
  for place in 1..cardinality(v_made) loop
    v_ids := v_ids || delivery.delivery_write(v_made[place], storefront.order_contents(v_lines, v_sources -> (place - 1)));
  end loop;
  perform storefront.order_parts_renew(o.id, v_sources, v_ids);
  return storefront.order_get(input);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_stranded(o storefront.storefront_orders, lines jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('part_id', p.id, 'warehouse_id', p.warehouse_id, 'dropoff_address_id', d.dropoff_address_id,
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
    where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is null and z.lines is not null
      and o.status in ('approved', 'confirmed', 'shipped'));
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_stranded_notify(p_order uuid, p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform tenancy.notify_tenant_admins('order_delivery_cancelled', jsonb_build_object('order_id', o.id, 'order_number', o.order_number,
    'status', o.status, 'delivery_id', d.id, 'delivery_code', d.delivery_code))
  from storefront.storefront_orders o
  join storefront.storefront_order_parts p on p.tenant_id = o.tenant_id and p.order_id = o.id and p.delivery_id = p_delivery and p.left_at is null
  join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
  where o.tenant_id = app.tenant_id() and o.id = p_order and o.status in ('approved', 'confirmed', 'shipped')
    and storefront.order_part_has_goods(p);
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_stranded_notify"(uuid, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.orders_after_deliveries_moved()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_moved record;
  o storefront.storefront_orders;
begin
  for v_moved in
    select n.id, n.order_id, n.status, w.status as was, n.tenant_id, n.carrier_type from new_rows n join old_rows w on w.id = n.id
    where n.order_id is not null and n.status <> w.status and n.status in ('picked_up', 'in_transit', 'delivered', 'returned', 'cancelled')
    order by n.order_id, n.id
  loop
    select * into o from storefront.storefront_orders x where x.tenant_id = v_moved.tenant_id and x.id = v_moved.order_id for no key update;
    if v_moved.status in ('picked_up', 'in_transit', 'delivered') then
      perform storefront.order_part_leaves(p, v_moved.carrier_type = 'external')
      from storefront.storefront_order_parts p where p.tenant_id = o.tenant_id and p.delivery_id = v_moved.id;
      if o.status in ('approved', 'confirmed') then
        perform storefront.order_shipped(o);
        o.status := 'shipped';
      end if;
    end if;
    if v_moved.was = 'returned' then
      perform storefront.order_fee_comes_back(o, v_moved.id);
    elsif v_moved.status in ('returned', 'cancelled') then
      perform storefront.order_fee_passes(o, v_moved.id);
    end if;
    -- Undone.
    if v_moved.was = 'delivered' or v_moved.was = 'returned' and o.status = 'delivered' then
      perform storefront.order_undelivered(o);
    elsif v_moved.status in ('delivered', 'returned', 'cancelled') and o.status = 'shipped' then
      perform storefront.order_after_delivery_ended(o);
    end if;
    if v_moved.status = 'cancelled' then
      perform storefront.order_stranded_notify(o.id, v_moved.id);
    end if;
  end loop;
  -- Goods that were sent back are received when their parcel is back, whatever becomes of the rest of the order.
  for v_moved in
    select p.order_id from new_rows n join old_rows w on w.id = n.id
    join delivery.deliveries p on p.tenant_id = n.tenant_id and p.id = n.original_delivery_id
    where n.delivery_flow = 'operational_return' and n.status = 'delivered' and w.status <> 'delivered' and p.order_id is not null
    order by p.order_id
  loop
    perform from storefront.storefront_orders x where x.tenant_id = app.tenant_id() and x.id = v_moved.order_id for no key update;
    perform storefront.order_goods_expect(v_moved.order_id);
  end loop;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_parts_renew"(uuid, jsonb, uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_parts_renew"(uuid, jsonb, uuid[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_redeliver"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_redeliver"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_stranded"(storefront.storefront_orders, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_stranded"(storefront.storefront_orders, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_stranded_notify"(uuid, uuid) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128134433';
end $$;

grant execute on function private.schema_version() to barid_api;
