-- Prices of the items of an order, by which a part of it can be delivered.

-- The price of one unit from JSON: a number or a numeric text. Null when it is missing or empty; wrong: below 0, not numeric, or too large.
-- One that a client added up may be a little beside its three decimals, as other amounts may (Money in shared/schemas).
create or replace function delivery.read_price(value jsonb, out price numeric, out wrong boolean)
language plpgsql immutable set search_path = '' as $$
begin
  price := case
    when jsonb_typeof(value) = 'number' then (value #>> '{}')::numeric
    when jsonb_typeof(value) = 'string' and trim(value #>> '{}') ~ '^-?[0-9]{1,15}(\.[0-9]{1,6})?$' then trim(value #>> '{}')::numeric
  end;
  if abs(price - round(price, 3)) <= greatest(1e-9, price * 1e-15) then
    price := round(price, 3);
  end if;
  wrong := coalesce(price < 0 or price > 999999999999, false) or (price is null and not (value is null or value = 'null' or trim(value #>> '{}') = ''));
end $$;

-- Refuses prices of a package's items [{quantity?, unit_price?}] that do not stand on all of them or do not add up to the COD; without any
-- there is nothing to refuse. field: the package's name in refusals.
-- Fails: invalid_package (a price that is none), item_prices_not_cod {cod_amount, items_total}.
create or replace function delivery.require_item_prices(package jsonb, cod_amount numeric, decimals integer, field text) returns void
language plpgsql stable set search_path = '' as $$
declare
  v record;
begin
  select count(*) as items, count(p.price) as priced, sum(p.price * coalesce((delivery.read_measure(i.item -> 'quantity')).measure, 1)) as total,
    min(i.place) filter (where p.wrong or p.price <> round(p.price, decimals)) as wrong
  into v
  from jsonb_array_elements(case when jsonb_typeof(package -> 'items') = 'array' then package -> 'items' else '[]' end) with ordinality i (item, place)
  cross join delivery.read_price(i.item -> 'unit_price') p;
  if v.wrong is not null then
    perform app.fail('invalid_package', jsonb_build_object('field', field, 'item', v.wrong, 'name', 'unit_price', 'decimals', decimals,
      'reason_key', 'reason_price'));
  elsif v.priced > 0 and (v.priced < v.items or v.total <> require_item_prices.cod_amount) then
    perform app.fail('item_prices_not_cod', jsonb_build_object('field', field, 'cod_amount', require_item_prices.cod_amount, 'items_total', v.total));
  end if;
end $$;
