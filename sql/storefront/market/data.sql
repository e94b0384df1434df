-- How shops can be paid. Which of them a shop takes is its setting.
insert into storefront.payment_method_types (id, code, type, gateway_code, name, position) values
  ('5a1e0000-0000-4000-8000-000000000001', 'cash_on_delivery', 'cash_on_delivery', null,
    '{"en": "Cash on delivery", "ar": "الدفع عند الاستلام", "ku": "پارەدان لە کاتی گەیاندن"}', 1),
  ('5a1e0000-0000-4000-8000-000000000002', 'wallet', 'wallet', null,
    '{"en": "Wallet", "ar": "المحفظة", "ku": "جزدان"}', 2),
  ('5a1e0000-0000-4000-8000-000000000003', 'gatewayone', 'gateway', 'gatewayone',
    '{"en": "Card", "ar": "بطاقة", "ku": "کارت"}', 3),
  ('5a1e0000-0000-4000-8000-000000000004', 'razorpay', 'gateway', 'razorpay',
    '{"en": "Razorpay", "ar": "رازورباي", "ku": "ڕازۆرپەی"}', 4)
on conflict (id) do update set code = excluded.code, type = excluded.type, gateway_code = excluded.gateway_code,
  name = excluded.name, position = excluded.position;
