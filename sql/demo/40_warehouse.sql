-- Demo warehouses with bins, staff and stock. Stock comes in through the stock's own functions, so that every unit has
-- its movement. May run again: it adds what is missing.

do $$
declare
  v_slug text;
  v_tenant uuid;
  v_lines jsonb;
begin
  for v_slug in select unnest(array['demo', 'other']) loop
    v_tenant := md5('tenant/' || v_slug)::uuid;
    perform set_config('app.tenant_id', v_tenant::text, true), set_config('app.sees_tenant', 'on', true),
      set_config('app.user_id', md5('user/warehouse@' || v_slug)::text, true);

    insert into warehousing.warehouses (id, tenant_id, name, code, address_id, total_capacity, available_capacity, features)
    values (md5('warehouse/erbil' || v_slug)::uuid, v_tenant, 'کۆگای هەولێر', 'WH-EBL', md5('address/erbil' || v_slug)::uuid, 1500, 1500,
      '{"dock_doors": 2}')
    on conflict do nothing;

    insert into warehousing.bins (id, tenant_id, warehouse_id, code, name, location_type, capacity, is_default_receiving)
    select md5('bin/' || b.place || '/' || b.code || v_slug)::uuid, v_tenant, md5('warehouse/' || b.place || v_slug)::uuid, b.code, b.name,
      b.type, b.capacity, b.receives
    from (values
      ('main', 'R-01', 'Receiving dock', 'RECEIVING', null::numeric, true),
      ('main', 'A-01', 'Shelf A, level 1', 'BIN', 400, false),
      ('main', 'A-02', 'Shelf A, level 2', 'BIN', 400, false),
      ('main', 'B-01', 'Shelf B, level 1', 'BIN', 250, false),
      ('main', 'S-01', 'Staging, gate 1', 'STAGING', 120, false),
      ('main', 'C-01', 'Cage, Baghdad east', 'CAGE', 60, false),
      ('main', 'T-01', 'Trolley 1', 'TROLLEY', 20, false),
      ('erbil', 'R-01', 'Receiving dock', 'RECEIVING', null, true),
      ('erbil', 'A-01', 'Shelf A, level 1', 'BIN', 300, false)
    ) b (place, code, name, type, capacity, receives)
    on conflict do nothing;

    insert into warehousing.warehouse_staff (id, tenant_id, warehouse_id, user_id, employee_id, role)
    select md5('staff/' || s.place || '/' || s.person || v_slug)::uuid, v_tenant, md5('warehouse/' || s.place || v_slug)::uuid,
      md5('user/' || s.person || '@' || v_slug)::uuid, s.number, s.role
    from (values ('main', 'warehouse', 'E-100', 'manager'), ('main', 'staff', 'E-101', 'picker'), ('erbil', 'warehouse', 'E-100', 'manager'))
      s (place, person, number, role)
    on conflict do nothing;

    -- Deliveries that are staged and name no warehouse go through this one.
    insert into tenancy.tenant_settings (tenant_id, module, group_key, settings)
    values (v_tenant, 'general', 'warehouse', jsonb_build_object('default_warehouse_id', md5('warehouse/main' || v_slug)::uuid))
    on conflict do nothing;

    insert into warehousing.inventory_items (id, tenant_id, name, sku, barcode, brand, model, unit_size, is_serialized)
    select md5('item/' || i.sku || v_slug)::uuid, v_tenant, i.name, i.sku, i.barcode, i.brand, i.model, i.size, i.serialized
    from (values
      ('شاي سيلان ٤٥٠ غم', 'TEA-450', '6281000000018', 'Al Wazah', null, 1, false),
      ('Kleicha with dates, 1 kg', 'KLE-1KG', '6281000000025', 'Abu Afif', null, 1, false),
      ('هەنگوینی کوردی ٥٠٠ گم', 'HON-500', '6281000000032', 'Hawraman', null, 1, false),
      ('دبس تمر ٧٠٠ غم', 'DIB-700', '6281000000049', 'Basra', null, 1, false),
      ('Rechargeable fan', 'FAN-12', '6281000000056', 'Denka', 'RF-12', 3, false),
      ('هاتف ذكي', 'PHO-A1', '6281000000063', 'Samsung', 'A15', 1, true)
    ) i (name, sku, barcode, brand, model, size, serialized)
    on conflict do nothing;

    select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('item_id', md5('item/' || s.sku || v_slug), 'warehouse_id', md5('warehouse/' || s.place || v_slug),
      'bin_id', md5('bin/' || s.place || '/' || s.bin || v_slug), 'quantity', s.quantity, 'status', s.status, 'lot_number', s.lot, 'serial_number', s.serial)))
    into v_lines
    from (values
      ('main', 'A-01', 'TEA-450', 240, 'available', 'L-2026-04', null),
      ('main', 'A-02', 'TEA-450', 60, 'available', 'L-2026-07', null),
      ('main', 'A-01', 'KLE-1KG', 80, 'available', null, null),
      ('main', 'A-02', 'HON-500', 120, 'available', null, null),
      ('main', 'A-02', 'HON-500', 3, 'damaged', null, null),
      ('main', 'B-01', 'DIB-700', 150, 'available', null, null),
      ('main', 'B-01', 'FAN-12', 25, 'available', null, null),
      ('main', 'B-01', 'PHO-A1', 1, 'available', null, 'SN-0001'),
      ('main', 'B-01', 'PHO-A1', 1, 'available', null, 'SN-0002'),
      ('erbil', 'A-01', 'HON-500', 40, 'available', null, null)
    ) s (place, bin, sku, quantity, status, lot, serial)
    where not exists (select from warehousing.inventory_transactions t
      where t.tenant_id = v_tenant and t.item_id = md5('item/' || s.sku || v_slug)::uuid);
    if v_lines is not null then
      perform warehousing.stock_receive(v_lines, 'initial_stock');
    end if;
  end loop;
end $$;
