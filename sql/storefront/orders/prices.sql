-- The price of goods in an order: what they cost its customer, with their share of its tax and its discount.

-- The price of all goods of an order. An order that costs less than its fee, since less was paid and accepted, is charged for the fee alone.
create or replace function storefront.goods_total(o storefront.storefront_orders) returns numeric
language plpgsql immutable set search_path = '' as $$
begin
  return greatest(o.total_price - o.shipping_cost, 0);
end $$;

-- The price that goods of this value have in an order, tax and discount in proportion; never negative.
create or replace function storefront.goods_price(o storefront.storefront_orders, value numeric) returns numeric
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(round(storefront.goods_total(o) * value / nullif(o.subtotal, 0), money.decimals_of(o.currency)), 0);
end $$;

-- The value of goods that were not found and that carriers collected for all the same.
create or replace function storefront.order_charged_short(o storefront.storefront_orders) returns numeric
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(sum(p.charged_short), 0) from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status = 'delivered'
    where p.tenant_id = o.tenant_id and p.order_id = o.id);
end $$;

-- The cash for goods that deliveries collect which have left: nobody changes what those collect. 0 unless the order is paid at the door.
create or replace function storefront.goods_under_way(o storefront.storefront_orders) returns numeric
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(sum(greatest(d.cod_amount - d.delivery_fee, 0)), 0)
    from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
    where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is not null and o.payment_method = 'cash_on_delivery');
end $$;

-- An order as it is without goods that were not found, not written: they take their share of the price, the tax and the discount with them.
-- Where deliveries that have left collect cash, that is their share of what those here collect, so that cash and price agree to the last unit,
-- also when nothing is left here. missing: see storefront.order_missing().
create or replace function storefront.order_without(o storefront.storefront_orders, missing jsonb) returns storefront.storefront_orders
language plpgsql stable set search_path = '' as $$
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
end $$;

-- The price of goods of an order that its customer does not get, as far as that is known by now: not found by its pickers, or in a parcel that
-- ended without being delivered since the order left. The fee is none of it.
create or replace function storefront.order_missing_price(o storefront.storefront_orders) returns numeric
language plpgsql stable set search_path = '' as $$
declare
  v_ended uuid[] := case when o.status not in ('approved', 'confirmed') then array(
    select p.id from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status in ('returned', 'cancelled')
    where p.tenant_id = o.tenant_id and p.order_id = o.id) else '{}' end;
begin
  return storefront.goods_price(o, (
    select coalesce(sum(i.unit_price * m.quantity), 0)
    from (
      select x.order_item_id, x.quantity
      from jsonb_to_recordset(storefront.order_missing(o.id)) as x (part_id uuid, order_item_id uuid, quantity integer)
      where x.part_id <> all (v_ended)
      union all
      select g.order_item_id, g.quantity - g.short from storefront.storefront_order_part_items g
      where g.tenant_id = o.tenant_id and g.part_id = any (v_ended)) m
    join storefront.storefront_order_items i on i.tenant_id = o.tenant_id and i.id = m.order_item_id));
end $$;
