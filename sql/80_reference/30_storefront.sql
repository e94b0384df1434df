-- What stores are filed under, what a new one begins with, and how shops can be paid. The two settings are
-- the platform's to change, so an entry that exists stays.
insert into tenancy.system_settings (key, value) values
  ('directory_categories', '[
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
  ('storefront_default_categories', '[
    {"en": "General", "ar": "عام", "ku": "گشتی"},
    {"en": "New arrivals", "ar": "وصل حديثاً", "ku": "تازە گەیشتوو"},
    {"en": "Offers", "ar": "عروض", "ku": "ئۆفەرەکان"}]')
on conflict (key) do nothing;

insert into storefront.payment_method_types (id, code, type, gateway_code, name, position) values
  ('5a1e0000-0000-4000-8000-000000000001', 'cash_on_delivery', 'cash_on_delivery', null,
    '{"en": "Cash on delivery", "ar": "الدفع عند الاستلام", "ku": "پارەدان لە کاتی گەیاندن"}', 1),
  ('5a1e0000-0000-4000-8000-000000000002', 'wallet', 'wallet', null,
    '{"en": "Wallet", "ar": "المحفظة", "ku": "جزدان"}', 2),
  ('5a1e0000-0000-4000-8000-000000000003', 'gatewayone', 'gateway', 'gatewayone',
    '{"en": "Card", "ar": "بطاقة", "ku": "کارت"}', 3)
on conflict (id) do update set code = excluded.code, type = excluded.type, gateway_code = excluded.gateway_code,
  name = excluded.name, position = excluded.position;
