-- The modules, which a tenant has unless tenancy.tenant_modules says no, and what the system's settings are until somebody sets them.
-- An id is made of the key, so that it is the same in every project.
insert into tenancy.modules (id, key, position, name) values
  (md5('module/delivery')::uuid, 'delivery', 1, '{"en": "Delivery", "ar": "التوصيل", "ku": "گەیاندن"}'),
  (md5('module/cod')::uuid, 'cod', 2, '{"en": "Cash on delivery", "ar": "الدفع عند الاستلام", "ku": "پارەدان لە کاتی وەرگرتن"}'),
  (md5('module/warehousing')::uuid, 'warehousing', 3, '{"en": "Warehousing", "ar": "المستودعات", "ku": "کۆگاکردن"}'),
  (md5('module/storefront')::uuid, 'storefront', 4, '{"en": "Online store", "ar": "المتجر الإلكتروني", "ku": "فرۆشگای ئۆنلاین"}'),
  (md5('module/carriers')::uuid, 'carriers', 5, '{"en": "External carriers", "ar": "شركات النقل الخارجية", "ku": "گوێزەرەوە دەرەکییەکان"}'),
  (md5('module/webhooks')::uuid, 'webhooks', 6, '{"en": "Webhooks", "ar": "إشعارات الويب", "ku": "ئاگادارکەرەوەکانی وێب"}')
on conflict (id) do update set position = excluded.position, name = excluded.name;

insert into tenancy.system_settings (key, value) values
  -- false: tenants need no subscription.
  ('tenant_subscription.enabled', 'false'),
  ('storefront.directory_categories', '[
    {"key": "general", "name": {"en": "General", "ar": "عام", "ku": "گشتی"}},
    {"key": "fashion", "name": {"en": "Fashion", "ar": "أزياء", "ku": "جلوبەرگ"}},
    {"key": "electronics", "name": {"en": "Electronics", "ar": "إلكترونيات", "ku": "ئەلیکترۆنیات"}},
    {"key": "grocery", "name": {"en": "Groceries", "ar": "بقالة", "ku": "خۆراک"}},
    {"key": "restaurants", "name": {"en": "Restaurants", "ar": "مطاعم", "ku": "چێشتخانە"}},
    {"key": "beauty", "name": {"en": "Beauty and care", "ar": "جمال وعناية", "ku": "جوانکاری و چاودێری"}},
    {"key": "home", "name": {"en": "Home and garden", "ar": "المنزل والحديقة", "ku": "ماڵ و باخچە"}},
    {"key": "books", "name": {"en": "Books and stationery", "ar": "كتب وقرطاسية", "ku": "کتێب و قرتاسیە"}},
    {"key": "sports", "name": {"en": "Sports", "ar": "رياضة", "ku": "وەرزش"}},
    {"key": "toys", "name": {"en": "Toys and children", "ar": "ألعاب وأطفال", "ku": "یاری و منداڵان"}}]'),
  -- Null: every currency there is.
  ('currencies.enabled', 'null')
on conflict (key) do nothing;
