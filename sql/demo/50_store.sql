-- A demo store in each tenant, open for business, and money in the wallets of its customer and of the drivers.
-- May run again: it adds what is missing.

do $$
declare
  v_slug text;
  v_tenant uuid;
  v_market uuid;
  v_person record;
begin
  for v_slug in select unnest(array['demo', 'other']) loop
    v_tenant := md5('tenant/' || v_slug)::uuid;
    v_market := md5('market/' || v_slug)::uuid;
    perform set_config('app.tenant_id', v_tenant::text, true), set_config('app.sees_tenant', 'on', true),
      set_config('app.user_id', md5('user/admin@' || v_slug)::text, true);

    insert into storefront.markets (id, tenant_id, store_name, directory_category, status, publish_status, tagline, settings, theme_settings,
      submitted_at, approved_by, approved_at, admin_notes, created_by)
    values (v_market, v_tenant, case v_slug when 'demo' then 'suq-dijla' else 'bazar-zagros' end, 'grocery', 'approved', 'published',
      '{"en": "From the market to your door", "ar": "من السوق إلى بابك", "ku": "لە بازاڕەوە بۆ بەر دەرگات"}',
      '{"currency": "IQD", "payment_methods": ["cash_on_delivery", "wallet", "gateway"], "auto_create_delivery": true}',
      '{"primary_color": "#0b6e4f", "theme_style": "light"}', now(), md5('user/system@barid')::uuid, now(), 'Demo', app.user_id())
    on conflict do nothing;

    insert into storefront.product_categories (id, tenant_id, market_id, name, sort_order)
    select md5('category/' || c.key || v_slug)::uuid, v_tenant, v_market, jsonb_build_object('en', c.en, 'ar', c.ar, 'ku', c.ku), c.place
    from (values ('food', 'Food', 'مواد غذائية', 'خۆراک', 1), ('home', 'Home', 'المنزل', 'ماڵەوە', 2), ('phones', 'Phones', 'هواتف', 'مۆبایل', 3))
      c (key, en, ar, ku, place)
    on conflict do nothing;

    insert into storefront.products (id, tenant_id, market_id, category_id, name, description, images, created_by)
    select md5('product/' || p.key || v_slug)::uuid, v_tenant, v_market, md5('category/' || p.category || v_slug)::uuid,
      jsonb_build_object('en', p.en, 'ar', p.ar, 'ku', p.ku), '{}', jsonb_build_array('https://cdn.demo.test/' || p.key || '.jpg'), app.user_id()
    from (values
      ('tea', 'food', 'Ceylon tea', 'شاي سيلان', 'چای سیلان'),
      ('kleicha', 'food', 'Kleicha with dates', 'كليچة تمر', 'کلێچەی خورما'),
      ('honey', 'food', 'Hawraman honey', 'عسل هورامان', 'هەنگوینی هەورامان'),
      ('dibs', 'food', 'Date syrup', 'دبس تمر', 'دۆشاوی خورما'),
      ('fan', 'home', 'Rechargeable fan', 'مروحة شحن', 'پانکەی بارگاویکراو'),
      ('phone', 'phones', 'Smartphone', 'هاتف ذكي', 'مۆبایلی زیرەک')
    ) p (key, category, en, ar, ku)
    on conflict do nothing;

    insert into storefront.product_variants (id, tenant_id, product_id, sku, price, compare_at_price, inventory_item_id, attributes, position)
    select md5('variant/' || v.sku || v_slug)::uuid, v_tenant, md5('product/' || v.product || v_slug)::uuid, v.sku, v.price, v.before,
      md5('item/' || v.item || v_slug)::uuid, v.attributes::jsonb, v.place
    from (values
      ('tea', 'TEA-450', 6500, null, 'TEA-450', '{"weight": "450 g"}', 1),
      ('kleicha', 'KLE-1KG', 12000, 14000, 'KLE-1KG', '{"weight": "1 kg"}', 1),
      ('honey', 'HON-500', 25000, null, 'HON-500', '{"weight": "500 g"}', 1),
      ('dibs', 'DIB-700', 4500, null, 'DIB-700', '{"weight": "700 g"}', 1),
      ('fan', 'FAN-12', 48000, 55000, 'FAN-12', '{"color": "white"}', 1),
      ('phone', 'PHO-A1', 245000, null, 'PHO-A1', '{"storage": "128 GB"}', 1)
    ) v (product, sku, price, before, item, attributes, place)
    on conflict do nothing;

    insert into delivery.addresses (id, tenant_id, title, full_address, city, country, latitude, longitude, contact_info, owner_user_id)
    values (md5('address/home' || v_slug)::uuid, v_tenant, '{"en": "Home", "ar": "البيت", "ku": "ماڵ"}', 'الكرادة، شارع ٦٢، دار ٩',
      'Baghdad', 'IQ', 33.3001, 44.4252, '{"phone": "+9647801112233"}', md5('user/customer@' || v_slug)::uuid)
    on conflict do nothing;
    insert into storefront.customer_addresses (tenant_id, user_id, address_id, is_default)
    values (v_tenant, md5('user/customer@' || v_slug)::uuid, md5('address/home' || v_slug)::uuid, true)
    on conflict do nothing;

    -- A shop buys and sends; drivers can settle collected cash out of their wallets.
    for v_person in
      select p.*, md5('user/' || p.part || '@' || v_slug)::uuid as id
      from (values ('customer', 'customer', 1000000), ('driver1', 'driver', 500000), ('driver2', 'driver', 250000)) p (part, type, amount)
      where not exists (select from money.ledger_transactions t where t.tenant_id = v_tenant and t.reference_type = 'demo'
        and t.reference_id = md5('opening/' || p.part || v_slug)::uuid)
    loop
      perform money.post((
        select jsonb_agg(jsonb_build_object('journal', 'opening', 'kind', 'wallet_adjustment', 'reference_type', 'demo',
          'reference_id', md5('opening/' || v_person.part || v_slug)::uuid, 'description', 'Opening balance', 'account_id', e.account, 'amount', e.amount))
        from (values (money.account_of('wallet', v_person.type, v_person.id, 'IQD'), v_person.amount),
          (money.account_of('external', 'tenant', null, 'IQD'), -v_person.amount)) e (account, amount)));
    end loop;
  end loop;
end $$;
