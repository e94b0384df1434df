-- Units of a package. Every price in Barid goes through these functions: previews, deliveries, orders.

-- A measurement from JSON: a number or a numeric text. Null when it is missing or empty (''), the
-- given code is raised nowhere: `wrong` is true for anything negative, not numeric, or above a million.
create or replace function delivery.read_measure(value jsonb, out measure numeric, out wrong boolean)
language plpgsql immutable set search_path = '' as $$
begin
  measure := case
    when jsonb_typeof(value) = 'number' then (value #>> '{}')::numeric
    when jsonb_typeof(value) = 'string' and trim(value #>> '{}') ~ '^-?[0-9]{1,12}(\.[0-9]{1,20})?$' then trim(value #>> '{}')::numeric
  end;
  wrong := coalesce(measure < 0 or measure > 1000000, false)
    or (measure is null and not (value is null or value = 'null' or trim(value #>> '{}') = ''));
end $$;

-- The first error in the measurements of a package: {item (from 1), reason_key, name}; null: nothing.
create or replace function delivery.package_fault(package jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('item', i.place, 'name', n.name,
      'reason_key', case n.name when 'quantity' then 'reason_quantity' else 'reason_measure' end)
    from jsonb_array_elements(case when jsonb_typeof(package -> 'items') = 'array' then package -> 'items' else '[]' end)
      with ordinality i (item, place)
    cross join unnest('{quantity,weight,length,width,height}'::text[]) with ordinality n (name, place)
    cross join delivery.read_measure(i.item -> n.name) m
    where m.wrong or (n.name = 'quantity' and m.measure is not null and (m.measure < 1 or m.measure <> trunc(m.measure)))
    order by i.place, n.place limit 1);
end $$;

-- How many units a package {items: [{quantity, weight, length, width, height}]} has, by the tenant's
-- settings general.unit_size {unit_weight, unit_length, volumetric_divisor, use_volumetric_weight}:
--   weight     = sum of weight x quantity; length, width, height = the largest of each
--   chargeable = the larger of weight and length x width x height / volumetric_divisor (when used)
--   units      = ceil(max(chargeable / unit_weight, longest side / unit_length)), at least 1
-- One of unit_weight and unit_length may be unset; the other counts alone. Without both nobody knows what a
-- unit is. units is null then, and when a measurement is missing or zero; wrong when one is negative, no
-- number or too large, or a quantity is no positive whole number.
create or replace function delivery.package_units(package jsonb, unit_settings jsonb, out units numeric, out wrong boolean)
language plpgsql immutable set search_path = '' as $$
#variable_conflict use_column
begin
  if jsonb_typeof(package -> 'items') is distinct from 'array' then
    wrong := false;
    return;
  end if;
  with item as (
    select q.measure as quantity, w.measure as weight, l.measure as length, d.measure as width, h.measure as height,
      q.wrong or w.wrong or l.wrong or d.wrong or h.wrong
        or (q.measure is not null and (q.measure < 1 or q.measure <> trunc(q.measure))) as wrong
    from jsonb_array_elements(package -> 'items') i,
      delivery.read_measure(i -> 'quantity') q, delivery.read_measure(i -> 'weight') w,
      delivery.read_measure(i -> 'length') l, delivery.read_measure(i -> 'width') d, delivery.read_measure(i -> 'height') h
  ), total as (
    select count(*) as items, coalesce(bool_or(wrong), false) as wrong,
      bool_and(coalesce(weight > 0 and length > 0 and width > 0 and height > 0, false)) as complete,
      sum(weight * coalesce(quantity, 1)) as weight, max(length) as length, max(width) as width, max(height) as height
    from item
  ), setting as (
    select nullif((unit_settings ->> 'unit_weight')::numeric, 0) as weight, nullif((unit_settings ->> 'unit_length')::numeric, 0) as length,
      case when (unit_settings ->> 'use_volumetric_weight')::boolean
        then nullif((unit_settings ->> 'volumetric_divisor')::numeric, 0) end as divisor
  )
  select case when t.items > 0 and t.complete and not t.wrong and coalesce(s.weight, s.length) is not null then
      greatest(1, ceil(greatest(
        greatest(t.weight, coalesce(t.length * t.width * t.height / s.divisor, 0)) / s.weight,
        greatest(t.length, t.width, t.height) / s.length)))
    end, t.wrong
  into units, wrong
  from total t, setting s;
end $$;
