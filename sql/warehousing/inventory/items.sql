-- Items of the inventory.

-- {id} -> {inventory_item}. Fails: inventory_item_not_found.
create or replace function warehousing.inventory_item_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('inventory_item', app.found((
    select to_jsonb(i)
    from warehousing.inventory_items_list i where i.id = (input ->> 'id')::uuid), 'inventory_item_not_found'));
end $$;

-- {name, sku, barcode?, brand?, model?, unit_size?, is_serialized?, is_active?} -> {inventory_item}. Fails: item_sku_exists.
create or replace function warehousing.inventory_item_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_item warehousing.inventory_items;
begin
  insert into warehousing.inventory_items (tenant_id, name, sku, barcode, brand, model, unit_size, is_serialized, is_active)
  values (app.tenant_id(), input ->> 'name', input ->> 'sku', input ->> 'barcode', input ->> 'brand', input ->> 'model',
    coalesce((input ->> 'unit_size')::numeric, 1), coalesce((input ->> 'is_serialized')::boolean, false),
    coalesce((input ->> 'is_active')::boolean, true))
  returning * into v_item;
  -- Not read again: of a company's first file the planner expects one item, and would read all that came before for each line.
  return jsonb_build_object('inventory_item', to_jsonb(v_item) - '{tenant_id,parcel_delivery_id}'::text[]);
end $$;

-- Adds the items of a file. {lines, dry_run, refused?} -> see app.import_lines
-- Fails: import_has_errors; a line: as inventory_item_create.
create or replace function warehousing.inventory_item_import(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return app.import_lines('warehousing.inventory_item_create', '{inventory_item,id}', input);
end $$;

-- Changes what is sent; null clears what may be empty. {id, any field of inventory_item_create} -> {inventory_item}
-- Fails: inventory_item_not_found, item_sku_exists, item_has_stock (serial numbers begin or end with stock in the house).
create or replace function warehousing.inventory_item_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_item warehousing.inventory_items;
  v_wanted warehousing.inventory_items;
begin
  select * into v_item from warehousing.inventory_items i
  where i.id = (input ->> 'id')::uuid and i.parcel_delivery_id is null for update;
  if not found then
    perform app.fail('inventory_item_not_found');
  end if;
  v_wanted := jsonb_populate_record(v_item, input);
  if v_wanted.is_serialized <> v_item.is_serialized and exists (select from warehousing.stock s
      where s.tenant_id = v_item.tenant_id and s.item_id = v_item.id and s.quantity > 0) then
    perform app.fail('item_has_stock', '{"field": "is_serialized"}');
  end if;
  update warehousing.inventory_items i set name = v_wanted.name, sku = v_wanted.sku, barcode = v_wanted.barcode, brand = v_wanted.brand,
    model = v_wanted.model, unit_size = v_wanted.unit_size, is_serialized = v_wanted.is_serialized, is_active = v_wanted.is_active
  where i.id = v_item.id;
  return warehousing.inventory_item_get(input);
end $$;

-- The items that a search finds: by a part of their name, SKU or barcode.
create or replace function warehousing.items_found(search text) returns setof uuid
language plpgsql stable set search_path = '' as $$
declare
  v_patterns text[] := app.contains_patterns(search);
begin
  return query
    select i.id from warehousing.inventory_items i
    where i.tenant_id = app.tenant_id() and app.folded(concat_ws(E'\n', i.name, i.sku, i.barcode)) ilike any (v_patterns);
end $$;
