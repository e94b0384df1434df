-- ISO 4217 codes, numbers and minor digits of the currencies a tenant may use.
insert into tenancy.currencies (code, numeric_code, exponent, name) values
  ('IQD', '368', 3, '{"en": "Iraqi dinar", "ar": "دينار عراقي", "ku": "دیناری عێراقی"}'),
  ('USD', '840', 2, '{"en": "US dollar", "ar": "دولار أمريكي", "ku": "دۆلاری ئەمریکی"}'),
  ('EUR', '978', 2, '{"en": "Euro", "ar": "يورو", "ku": "یۆرۆ"}'),
  ('GBP', '826', 2, '{"en": "Pound sterling", "ar": "جنيه إسترليني", "ku": "پاوەندی ستەرلینی"}'),
  ('TRY', '949', 2, '{"en": "Turkish lira", "ar": "ليرة تركية", "ku": "لیرەی تورکی"}'),
  ('JOD', '400', 3, '{"en": "Jordanian dinar", "ar": "دينار أردني", "ku": "دیناری ئوردنی"}'),
  ('KWD', '414', 3, '{"en": "Kuwaiti dinar", "ar": "دينار كويتي", "ku": "دیناری کوەیتی"}'),
  ('AED', '784', 2, '{"en": "UAE dirham", "ar": "درهم إماراتي", "ku": "دیرهەمی ئیماراتی"}'),
  ('SAR', '682', 2, '{"en": "Saudi riyal", "ar": "ريال سعودي", "ku": "ڕیاڵی سعوودی"}')
on conflict (code) do update set numeric_code = excluded.numeric_code, exponent = excluded.exponent, name = excluded.name;
