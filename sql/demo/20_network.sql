-- Demo places in and around Baghdad, services, vehicles, and money in the institutions' wallets.

do $$
declare
  v_slug text;
  v_tenant uuid;
  v_place record;
  v_type uuid;
  v_external uuid;
  v_institution text;
  v_wallet uuid;
begin
  for v_slug in select unnest(array['demo', 'other']) loop
    v_tenant := md5('tenant/' || v_slug)::uuid;
    perform set_config('app.tenant_id', v_tenant::text, true), set_config('app.user_id', md5('user/admin@' || v_slug)::text, true);

    -- Square zones of about 6 km around the middle of a district; addresses lie in their middle.
    for v_place in
      select * from (values
        ('karrada', 'Karrada', 'الكرادة', 'کەڕادە', 'Baghdad', 33.2990, 44.4270),
        ('mansour', 'Mansour', 'المنصور', 'مەنسوور', 'Baghdad', 33.3150, 44.3430),
        ('adhamiyah', 'Adhamiyah', 'الأعظمية', 'ئەعزەمییە', 'Baghdad', 33.3690, 44.3640),
        ('kadhimiya', 'Kadhimiya', 'الكاظمية', 'کازمییە', 'Baghdad', 33.3790, 44.2900),
        ('doura', 'Doura', 'الدورة', 'دۆرە', 'Baghdad', 33.2430, 44.3930),
        ('erbil', 'Erbil centre', 'مركز أربيل', 'ناوەندی هەولێر', 'Erbil', 36.1910, 44.0090),
        ('slemani', 'Sulaymaniyah centre', 'مركز السليمانية', 'ناوەندی سلێمانی', 'Sulaymaniyah', 35.5610, 45.4300)
      ) p (key, en, ar, ku, city, latitude, longitude)
    loop
      insert into delivery.zones (id, tenant_id, name, polygon)
      values (md5('zone/' || v_place.key || v_slug)::uuid, v_tenant, v_place.en,
        jsonb_build_array(jsonb_build_array(
          jsonb_build_array(v_place.longitude - 0.03, v_place.latitude - 0.025), jsonb_build_array(v_place.longitude + 0.03, v_place.latitude - 0.025),
          jsonb_build_array(v_place.longitude + 0.03, v_place.latitude + 0.025), jsonb_build_array(v_place.longitude - 0.03, v_place.latitude + 0.025),
          jsonb_build_array(v_place.longitude - 0.03, v_place.latitude - 0.025))));
      insert into delivery.addresses (id, tenant_id, title, full_address, city, country, latitude, longitude, contact_info)
      values (md5('address/' || v_place.key || v_slug)::uuid, v_tenant,
        jsonb_build_object('en', v_place.en, 'ar', v_place.ar, 'ku', v_place.ku),
        case when v_place.city = 'Baghdad' then v_place.ar || '، شارع ١٤، دار ٢٧' else v_place.ku || '، شەقامی ٦٠ مەتری، خانووی ١٢' end,
        v_place.city, 'IQ', v_place.latitude, v_place.longitude, '{"phone": "+9647701234567"}');
    end loop;

    insert into delivery.transfer_processing_points (id, tenant_id, name, code, address_id, metadata)
    select md5('point/' || key || v_slug)::uuid, v_tenant, name, code, md5('address/' || key || v_slug)::uuid, '{"source": "demo"}'
    from (values ('karrada', 'Karrada hub', 'PP-KRD'), ('kadhimiya', 'Kadhimiya hub', 'PP-KDM'), ('erbil', 'Erbil hub', 'PP-EBL')) p (key, name, code);

    insert into delivery.institution_branches (id, tenant_id, institution_user_id, name, code, address_id, default_processing_point_id, contact_info, metadata)
    select md5('branch/' || code || v_slug)::uuid, v_tenant, md5('user/' || owner || '@' || v_slug)::uuid, name, code,
      md5('address/' || key || v_slug)::uuid, md5('point/' || point || v_slug)::uuid, jsonb_build_object('phone', phone), '{"source": "demo"}'
    from (values
      ('institution', 'فرع المنصور', 'BR-MNS', 'mansour', 'karrada', '+9647711000001'),
      ('institution', 'فرع الأعظمية', 'BR-ADH', 'adhamiyah', 'kadhimiya', '+9647711000002'),
      ('institution2', 'Doura branch', 'BR-DRA', 'doura', 'karrada', '+9647711000003'),
      ('institution2', 'لقی سلێمانی', 'BR-SLM', 'slemani', 'erbil', '+9647711000004')
    ) b (owner, name, code, key, point, phone);

    insert into delivery.vehicles (id, tenant_id, name, unit_capacity)
    values (md5('vehicle/van' || v_slug)::uuid, v_tenant, 'Van', 120), (md5('vehicle/bike' || v_slug)::uuid, v_tenant, 'Motorcycle', 15);
    insert into delivery.drivers (tenant_id, user_id, all_zones, vehicle_id)
    values (v_tenant, md5('user/driver1@' || v_slug)::uuid, true, md5('vehicle/van' || v_slug)::uuid),
      (v_tenant, md5('user/driver2@' || v_slug)::uuid, false, md5('vehicle/bike' || v_slug)::uuid);
    insert into delivery.driver_zones (tenant_id, driver_id, zone_id)
    select v_tenant, md5('user/driver2@' || v_slug)::uuid, md5('zone/' || key || v_slug)::uuid from unnest(array['karrada', 'mansour', 'doura']) key;

    insert into warehousing.warehouses (id, tenant_id, name, code, address_id, total_capacity, available_capacity, features)
    values (md5('warehouse/main' || v_slug)::uuid, v_tenant, 'Main warehouse', 'WH-MAIN', md5('address/doura' || v_slug)::uuid, 5000, 5000,
      '{"dock_doors": 4, "cross_docking": true}');

    v_type := md5('type/parcel' || v_slug)::uuid;
    insert into delivery.delivery_types (id, tenant_id, code, name)
    values (v_type, v_tenant, 'parcel', '{"en": "Parcel", "ar": "طرد", "ku": "پاکەت"}');
    insert into delivery.delivery_services (id, tenant_id, code, name, description, service_level, default_price, price_per_km, free_km,
      unit_min, unit_max, estimated_delivery_time_min, estimated_delivery_time_max, allowed_delivery_attempts, delivery_type_id, service_options, priority,
      allow_returns)
    values
      (md5('service/standard' || v_slug)::uuid, v_tenant, 'STD', '{"en": "Standard", "ar": "عادي", "ku": "ئاسایی"}',
        '{"en": "Two to three days", "ar": "من يومين إلى ثلاثة أيام", "ku": "دوو بۆ سێ ڕۆژ"}', 'standard', 3000, 0, 0, 1, 40, 1440, 4320, 3, v_type,
        '{"tracking": true, "signature_required": false, "insurance_available": false}', 1, true),
      (md5('service/express' || v_slug)::uuid, v_tenant, 'EXP', '{"en": "Express", "ar": "سريع", "ku": "خێرا"}',
        '{"en": "Next day", "ar": "اليوم التالي", "ku": "ڕۆژی دواتر"}', 'express', 5000, 50, 10, 1, 40, 360, 1440, 2, v_type,
        '{"tracking": true, "signature_required": true, "insurance_available": true}', 2, false),
      (md5('service/same-day' || v_slug)::uuid, v_tenant, 'SDY', '{"en": "Same day", "ar": "اليوم نفسه", "ku": "هەمان ڕۆژ"}',
        '{"en": "Within eight hours", "ar": "خلال ثماني ساعات", "ku": "لە ماوەی هەشت کاتژمێردا"}', 'same_day', 8000, 100, 5, 1, 10, 120, 480, 1, v_type,
        '{"tracking": true, "signature_required": true, "insurance_available": true}', 3, false);

    insert into tenancy.tenant_settings (tenant_id, module, group_key, settings) values
      (v_tenant, 'delivery', 'transfer_manifest', jsonb_build_object('enabled', true, 'receiving_mode', 'item_scan',
        'allow_driver_create_manifest_from_form', true, 'allow_driver_scan_institution_qr', true, 'allow_driver_scan_item_barcode', true,
        'allow_driver_select_processing_point', true, 'driver_scan_mode', 'continuous', 'delivery_fee_origin', 'processing_point',
        'default_delivery_service_id', md5('service/standard' || v_slug)::uuid,
        'reasons', '[{"value": "damaged", "label": "Damaged parcel", "description": "The parcel or its packing is broken"},
          {"value": "wrong_address", "label": "Wrong address", "description": "The destination cannot be found"},
          {"value": "unreadable_barcode", "label": "Unreadable barcode", "description": "The barcode cannot be scanned"}]'::jsonb)),
      (v_tenant, 'delivery', 'payouts', '{"release": "on_remit", "cycle": "weekly"}'),
      (v_tenant, 'general', 'unit_size', '{"unit_length": 100, "unit_weight": 5, "weight_unit": "kg", "dimension_unit": "cm",
        "volumetric_divisor": 5000, "use_volumetric_weight": true, "missing_unit_size_fallback": "service_min"}'),
      (v_tenant, 'general', 'currency', '{"currency_code": "IQD", "currency_name": "Iraqi dinar", "currency_symbol": "د.ع"}'),
      (v_tenant, 'general', 'timezone', '{"name": "Asia/Baghdad"}'),
      (v_tenant, 'general', 'domestic_country', '{"code": "IQ", "name": "Iraq", "dial_code": "+964"}');

    v_external := money.account_of('external', 'tenant', null, 'IQD');
    for v_institution in select unnest(array['institution', 'institution2']) loop
      v_wallet := money.account_of('wallet', 'institution', md5('user/' || v_institution || '@' || v_slug)::uuid, 'IQD');
      perform money.post((
        select jsonb_agg(jsonb_build_object('journal', 'opening', 'kind', 'wallet_adjustment', 'reference_type', 'demo',
          'reference_id', md5('opening/' || v_institution || v_slug)::uuid, 'description', 'Opening balance', 'account_id', e.account, 'amount', e.amount))
        from (values (v_wallet, 5000000), (v_external, -5000000)) e (account, amount)));
    end loop;
    perform money.account_of('wallet', 'driver', md5('user/driver1@' || v_slug)::uuid, 'IQD'),
      money.account_of('wallet', 'driver', md5('user/driver2@' || v_slug)::uuid, 'IQD');
  end loop;
end $$;

-- The carrier that exists nowhere, to try bookings and reports with.
update integration.carriers set is_active = true where code = 'simulated';
