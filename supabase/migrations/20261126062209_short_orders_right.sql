-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
-- The functions that go are dropped by calls_end_first, when the calls that may look for them have ended.
-- Before: 53b2566890f036c434937d54dd015b735ecf3f5f96310d296572da3e00fbdecd
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table storefront.my_orders_list, storefront.order_goods, storefront.order_part_goods in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "storefront"."my_orders_list";

DROP VIEW "storefront"."order_goods";

DROP VIEW "storefront"."order_part_goods";

CREATE OR REPLACE FUNCTION storefront.goods_price(o storefront.storefront_orders, value numeric)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce(round(storefront.goods_total(o) * value / nullif(o.subtotal, 0), money.decimals_of(o.currency)), 0);
end $function$;

CREATE OR REPLACE FUNCTION storefront.goods_total(o storefront.storefront_orders)
 RETURNS numeric
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return greatest(o.total_price - o.shipping_cost, 0);
end $function$;

CREATE OR REPLACE FUNCTION storefront.goods_under_way(o storefront.storefront_orders)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(sum(greatest(d.cod_amount - d.delivery_fee, 0)), 0)
    from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
    where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is not null and o.payment_method = 'cash_on_delivery');
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_accept(p_order uuid, missing jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_before storefront.storefront_orders;
  o storefront.storefront_orders;
  v_left jsonb;
  v_booked record;
begin
  select * into strict v_before from storefront.storefront_orders x
  where x.tenant_id = v_tenant and x.id = p_order and app.has_permission('manage:tenant');
  o := storefront.order_without(v_before, missing);
  v_left := storefront.order_cut(missing);
  if not exists (select from storefront.storefront_order_parts p
      where p.tenant_id = v_tenant and p.order_id = p_order and storefront.order_part_has_goods(p)) then
    perform app.fail('order_nothing_picked');
  end if;
  update storefront.storefront_orders x set subtotal = o.subtotal, tax_amount = o.tax_amount, discount_amount = o.discount_amount,
    total_price = o.total_price
  where x.tenant_id = v_tenant and x.id = o.id
  returning * into strict o;
  if o.payment_method = 'cash_on_delivery' then
    update money.payments p set amount = o.total_price
    where p.tenant_id = v_tenant and p.order_id = o.id and p.type = 'ORDER' and p.status = 'pending';
    with part as (
      select p.position, p.delivery_id, p.left_at is null as here, d.status = 'cancelled' as cancelled,
        row_number() over (partition by d.status = 'cancelled' order by p.position) as turn,
        row_number() over (partition by p.left_at is null order by p.position) as place, (
          select coalesce(sum(i.unit_price * (g.quantity - g.short)), 0) from storefront.storefront_order_part_items g
          join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id
          where g.tenant_id = p.tenant_id and g.part_id = p.id) as value
      from storefront.storefront_order_parts p
      join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
      where p.tenant_id = v_tenant and p.order_id = o.id and (p.charged_short > 0 or storefront.order_part_has_goods(p))
    ), due as (
      -- Goods whose delivery is cancelled have their share, which nobody collects.
      select t.delivery_id, coalesce(s.goods[t.place], 0) as goods, case when t.turn = 1 then o.shipping_cost else 0 end as fee
      from part t, (
        select storefront.shares(storefront.goods_total(o) - storefront.goods_under_way(o), array_agg(w.value order by w.position),
          money.decimals_of(o.currency)) as goods
        from part w where w.here) s
      where t.here and not t.cancelled
    ), changed as (
      update delivery.deliveries d set cod_amount = u.goods + least(u.fee, o.total_price), delivery_fee = u.fee,
        label_outdated = d.label_outdated or d.label_edition > 0
      from due u where d.tenant_id = v_tenant and d.id = u.delivery_id
        and (d.cod_amount, d.delivery_fee) is distinct from (u.goods + least(u.fee, o.total_price), u.fee)
      returning d.id
    )
    update delivery.deliveries l set label_outdated = true
    from changed c where l.tenant_id = v_tenant and l.parent_id = c.id and l.label_edition > 0;
    select d.id, s.carrier_code, s.cash_due, d.currency into v_booked
    from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status <> 'cancelled'
    join integration.carrier_shipments s on s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status <> 'cancelled' and s.cash_due > 0
    cross join lateral money.cash_due(d, 'dropoff') n
    where p.tenant_id = v_tenant and p.order_id = o.id and p.left_at is null and (n.cod + n.delivery_fee <> s.cash_due
      or not storefront.order_part_has_goods(p))
    order by p.position limit 1;
    if found then
      perform app.fail('shipment_cash_changes', jsonb_build_object('delivery_id', v_booked.id, 'carrier_code', v_booked.carrier_code,
        'amount', v_booked.cash_due, 'currency', v_booked.currency));
    end if;
  end if;
  perform storefront.order_event_emit(o, 'shortened', jsonb_build_object('amount', v_before.total_price - o.total_price));
  return v_left;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_accept_short(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders := storefront.lock_order_and_deliveries((input ->> 'order_id')::uuid);
  v_missing jsonb := storefront.order_missing(o.id);
  v_left jsonb;
  v_refund jsonb;
begin
  if o.status not in ('approved', 'confirmed', 'shipped') or v_missing = '[]' then
    perform app.fail('order_not_short', jsonb_build_object('status', o.status));
  end if;
  v_left := storefront.order_accept(o.id, v_missing);
  select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  -- A parcel with nothing in it does not travel. The last one that was open ends the order, which is settled with it.
  perform delivery.delivery_cancel(jsonb_build_object('id', e.delivery_id, 'reason', 'out_of_stock'))
  from (select p.delivery_id from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status in ('pending', 'assigned', 'accepted')
    where p.tenant_id = o.tenant_id and p.order_id = o.id and not storefront.order_part_has_goods(p)
    order by p.delivery_id) e;
  select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  if o.status in ('delivered', 'cancelled') then
    v_refund := storefront.order_refunded_now(o.id);
  else
    if o.payment_status = 'paid' and o.payment_method <> 'cash_on_delivery' and storefront.order_refundable(o) > o.total_price then
      v_refund := storefront.order_refund_book(o.id, storefront.order_refundable(o) - o.total_price, 'short');
    end if;
    perform warehousing.stock_release('order', o.id, v_left);
    select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  end if;
  return jsonb_build_object('order', storefront.order_admin_to_json(o), 'refund', v_refund);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_deliveries(o storefront.storefront_orders, lines jsonb, sources jsonb, dropoff uuid)
 RETURNS delivery.deliveries[]
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_place jsonb := o.shipping_address;
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
    select s.source, s.place, case when s.place = 1 then o.shipping_cost else 0 end as fee
    from jsonb_array_elements(sources) with ordinality s (source, place) order by s.place
  loop
    v_made := v_made || delivery.delivery_terms(storefront.order_quote_input(o.delivery_service_id::text, v_source.source, v_place) - '{pickup,dropoff}'::text[]
      || jsonb_build_object('order_id', o.id, 'delivery_fee', v_source.fee, 'customer_id', o.user_id, 'payer_type', 'sender',
        'payment_method', 'wallet', 'cod_amount',
        case when o.payment_method = 'cash_on_delivery' then least(v_source.fee, o.total_price) + coalesce(v_goods[v_source.place], 0) else 0 end,
        'pickup_warehouse_id', v_source.source -> 'warehouse_id', 'dropoff_address_id', dropoff, 'external_reference_id', o.order_number,
        'notes', o.customer_notes, 'promised_at', o.estimated_delivery, 'recipient', jsonb_strip_nulls(jsonb_build_object(
          'phone', v_place #>> '{contact_info,phone}', 'name', (select p.full_name from tenancy.profiles p where p.id = o.user_id)))));
  end loop;
  return v_made;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_guard()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- A shipped order that nobody brings any more may have come back, and a delivered one is on its way again by an undo.
  if new.status <> old.status and not storefront.order_move_is_legal(old.status, new.status)
      and not (old.status = 'delivered' and new.status = 'shipped' and storefront.order_is_undelivered(old.tenant_id, old.id))
      and not (new.status = 'cancelled' and old.status = 'shipped' and not exists (
        select from delivery.deliveries d where d.tenant_id = old.tenant_id and d.order_id = old.id
          and d.status not in ('returned', 'cancelled'))) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', old.status, 'to', new.status));
  end if;
  if old.payment_status = 'paid' and new.payment_status <> 'paid'
      and not (new.status = 'shipped' and new.payment_status = 'pending' and storefront.order_is_undelivered(old.tenant_id, old.id)) then
    raise exception 'order % was paid and stays so', old.id using errcode = 'integrity_constraint_violation';
  end if;
  -- Goods, customer and price are agreed. The shop may send less than it promised, for as much less (storefront.order_without).
  if new.subtotal < old.subtotal and new.total_price <= old.total_price and new.tax_amount <= old.tax_amount
      and new.discount_amount <= old.discount_amount and old.status in ('approved', 'confirmed', 'shipped') then
    old.subtotal := new.subtotal;
    old.tax_amount := new.tax_amount;
    old.discount_amount := new.discount_amount;
    old.total_price := new.total_price;
  end if;
  -- Less than asked may be accepted before approval; the difference is a discount.
  if new.discount_amount > old.discount_amount and new.discount_amount - old.discount_amount = old.total_price - new.total_price
      and old.status in ('pending', 'awaiting_approval') and old.payment_status <> 'paid' then
    old.discount_amount := new.discount_amount;
    old.total_price := new.total_price;
  end if;
  if (new.tenant_id, new.order_number, new.market_id, new.user_id, new.cart_id, new.payment_method, new.payment_method_type_id, new.currency,
      new.subtotal, new.tax_amount, new.shipping_cost, new.discount_amount, new.total_price, new.total_items, new.created_at)
    is distinct from (old.tenant_id, old.order_number, old.market_id, old.user_id, old.cart_id, old.payment_method, old.payment_method_type_id,
      old.currency, old.subtotal, old.tax_amount, old.shipping_cost, old.discount_amount, old.total_price, old.total_items, old.created_at) then
    raise exception 'order % is agreed and stays as it is', old.id using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_short(o storefront.storefront_orders)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('item', jsonb_build_object('id', i.id, 'product_name', i.product_name, 'sku', i.sku),
      'ordered', i.quantity, 'picked', f.picked, 'accepted', s.waiting = 0) order by i.position, i.id), '[]')
    from (
      select x.item, sum(x.waiting) as waiting from (
        select m.order_item_id as item, m.quantity as waiting
        from jsonb_to_recordset(storefront.order_missing(o.id)) as m (order_item_id uuid, quantity integer)
        union all
        select g.order_item_id, 0 from storefront.storefront_order_parts p
        join storefront.storefront_order_part_items g on g.tenant_id = p.tenant_id and g.part_id = p.id and g.short > 0
        where p.tenant_id = o.tenant_id and p.order_id = o.id) x
      group by 1) s
    join storefront.storefront_order_items i on i.tenant_id = o.tenant_id and i.id = s.item
    cross join lateral (
      select sum(g.fetched) as picked from storefront.order_part_goods g
      where g.tenant_id = o.tenant_id and g.order_id = o.id and g.order_item_id = i.id) f);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_without(o storefront.storefront_orders, missing jsonb)
 RETURNS storefront.storefront_orders
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_decimals integer := money.decimals_of(o.currency);
  v_less numeric;
  v_gone numeric := 0;
  v_tax numeric;
  v_added numeric;
begin
  select coalesce(sum(i.unit_price * m.quantity), 0) into v_less
  from jsonb_to_recordset(missing) as m (order_item_id uuid, quantity integer)
  join storefront.storefront_order_items i on i.tenant_id = o.tenant_id and i.id = m.order_item_id;
  if o.payment_method = 'cash_on_delivery' then
    select coalesce(sum(v.value), 0) into v_gone
    from storefront.storefront_order_parts p
    cross join lateral (
      select coalesce(sum(i.unit_price * (g.quantity - g.short)), 0) + p.charged_short as value
      from storefront.storefront_order_part_items g
      join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id
      where g.tenant_id = p.tenant_id and g.part_id = p.id) v
    where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is not null and p.delivery_id is not null;
  end if;
  o.total_price := o.total_price - coalesce(round((storefront.goods_total(o) - storefront.goods_under_way(o)) * v_less
    / nullif(o.subtotal - v_gone, 0), v_decimals), 0);
  v_tax := o.tax_amount - coalesce(round(o.tax_amount * v_less / nullif(o.subtotal, 0), v_decimals), 0);
  o.subtotal := o.subtotal - v_less;
  -- Tax less discount; neither grows by rounding.
  v_added := o.total_price - o.shipping_cost - o.subtotal;
  o.discount_amount := least(o.discount_amount, greatest(v_tax - v_added, 0));
  o.tax_amount := v_added + o.discount_amount;
  return o;
end $function$;

CREATE VIEW "storefront"."my_orders_list" WITH (security_invoker=true) AS  SELECT id,
    order_number,
    status_group,
    storefront.customer_status(o.*) AS status,
    payment_method,
    payment_status,
    shipping_cost,
    discount_amount,
    total_price,
    total_items,
    currency,
    created_at,
    updated_at,
    market_id,
    storefront.store_of_order(id) AS store_name,
    fulfilment
   FROM storefront.storefront_orders o
  WHERE ((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (user_id = ( SELECT app.user_id() AS user_id)));

CREATE VIEW "storefront"."order_part_goods" WITH (security_invoker=true) AS  SELECT tenant_id,
    order_id,
    part_id,
    "position",
    order_item_id,
    inventory_item_id,
    warehouse_id,
    quantity,
        CASE
            WHEN (stage = 'here'::text) THEN (kept - fetched)
            ELSE (0)::bigint
        END AS reserved,
        CASE
            WHEN (stage = 'here'::text) THEN fetched
            ELSE (0)::bigint
        END AS picked,
        CASE
            WHEN (stage = 'out'::text) THEN kept
            ELSE 0
        END AS "out",
        CASE
            WHEN (stage = 'delivered'::text) THEN kept
            ELSE 0
        END AS delivered,
        CASE
            WHEN (stage = 'back'::text) THEN received
            ELSE (0)::bigint
        END AS back,
    (quantity - kept) AS short,
        CASE
            WHEN (stage = 'released'::text) THEN kept
            ELSE 0
        END AS released,
        CASE
            WHEN (stage = 'back'::text) THEN (kept - received)
            ELSE (0)::bigint
        END AS lost,
    fetched
   FROM ( SELECT g.tenant_id,
            p.order_id,
            g.part_id,
            g."position",
            g.order_item_id,
            i.inventory_item_id,
            p.warehouse_id,
            g.quantity,
            (g.quantity - g.short) AS kept,
            LEAST(((g.quantity - g.short))::bigint, GREATEST((0)::bigint, (k.picked - (sum((g.quantity - g.short)) OVER earlier - (g.quantity - g.short))))) AS fetched,
            LEAST(((g.quantity - g.short))::bigint, COALESCE(c.received_quantity, (0)::bigint)) AS received,
                CASE
                    WHEN ((p.left_at IS NULL) AND (o.status = ANY (ARRAY['approved'::text, 'confirmed'::text, 'shipped'::text]))) THEN 'here'::text
                    WHEN (p.left_at IS NULL) THEN 'released'::text
                    WHEN (r.status = 'received'::text) THEN 'back'::text
                    WHEN (COALESCE(d.status, o.status) = ANY (ARRAY['delivered'::text, 'completed'::text])) THEN 'delivered'::text
                    ELSE 'out'::text
                END AS stage
           FROM (((((((storefront.storefront_order_part_items g
             JOIN storefront.storefront_order_parts p ON (((p.tenant_id = g.tenant_id) AND (p.id = g.part_id))))
             JOIN storefront.storefront_orders o ON (((o.tenant_id = p.tenant_id) AND (o.id = p.order_id))))
             JOIN storefront.storefront_order_items i ON (((i.tenant_id = g.tenant_id) AND (i.id = g.order_item_id))))
             LEFT JOIN delivery.deliveries d ON (((d.tenant_id = p.tenant_id) AND (d.id = p.delivery_id))))
             LEFT JOIN warehousing.receiving_orders r ON (((r.tenant_id = p.tenant_id) AND (r.id = p.receiving_order_id))))
             LEFT JOIN warehousing.receiving_order_items c ON (((c.tenant_id = p.tenant_id) AND (c.receiving_order_id = p.receiving_order_id) AND (c."position" = g."position"))))
             CROSS JOIN LATERAL ( SELECT (COALESCE(sum(x.picked_quantity), (0)::numeric))::bigint AS picked
                   FROM warehousing.picking_order_items x
                  WHERE ((x.tenant_id = p.tenant_id) AND (x.picking_order_id = p.picking_order_id) AND (x.item_id = i.inventory_item_id))) k)
          WINDOW earlier AS (PARTITION BY g.tenant_id, p.order_id, g.part_id, i.inventory_item_id ORDER BY g."position")) l;

CREATE VIEW "storefront"."order_goods" WITH (security_invoker=true) AS  SELECT i.tenant_id,
    i.order_id,
    i.id AS order_item_id,
    i."position",
    i.inventory_item_id,
    i.quantity AS ordered,
        CASE
            WHEN (o.status = ANY (ARRAY['pending'::text, 'awaiting_approval'::text])) THEN i.quantity
            ELSE 0
        END AS to_reserve,
    COALESCE(sum(g.reserved), (0)::numeric) AS reserved,
    COALESCE(sum(g.picked), (0)::numeric) AS picked,
    COALESCE(sum(g."out"), (0)::bigint) AS "out",
    COALESCE(sum(g.delivered), (0)::bigint) AS delivered,
    COALESCE(sum(g.back), (0)::numeric) AS back,
    COALESCE(sum(g.short), (0)::bigint) AS short,
        CASE
            WHEN ((count(g.part_id) = 0) AND (o.status <> ALL (ARRAY['pending'::text, 'awaiting_approval'::text]))) THEN (i.quantity)::bigint
            ELSE COALESCE(sum(g.released), (0)::bigint)
        END AS released,
    COALESCE(sum(g.lost), (0)::numeric) AS lost
   FROM ((storefront.storefront_order_items i
     JOIN storefront.storefront_orders o ON (((o.tenant_id = i.tenant_id) AND (o.id = i.order_id))))
     LEFT JOIN storefront.order_part_goods g ON (((g.tenant_id = i.tenant_id) AND (g.order_id = i.order_id) AND (g.order_item_id = i.id))))
  GROUP BY i.tenant_id, i.order_id, i.id, i."position", i.inventory_item_id, i.quantity, o.status;

REVOKE ALL ON FUNCTION "storefront"."goods_total"(storefront.storefront_orders) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."goods_total"(storefront.storefront_orders) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."goods_under_way"(storefront.storefront_orders) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."goods_under_way"(storefront.storefront_orders) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_accept"(uuid, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_accept"(uuid, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_without"(storefront.storefront_orders, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_without"(storefront.storefront_orders, jsonb) TO "barid_caller";

GRANT SELECT ON TABLE "storefront"."my_orders_list" TO "barid_caller";

GRANT SELECT ON TABLE "storefront"."order_goods" TO "barid_caller";

GRANT SELECT ON TABLE "storefront"."order_part_goods" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126062209';
end $$;

grant execute on function private.schema_version() to barid_api;
