-- Roles and what each may do. Drivers, institutions and customers have no permission: they reach their
-- own rows only.
insert into tenancy.roles (key, name) values
  ('tenant_admin', '{"en": "Tenant administrator", "ar": "مدير الشركة", "ku": "بەڕێوەبەری کۆمپانیا"}'),
  ('operations_manager', '{"en": "Operations manager", "ar": "مدير العمليات", "ku": "بەڕێوەبەری کارگێڕی"}'),
  ('dispatcher', '{"en": "Dispatcher", "ar": "موزع المهام", "ku": "دابەشکاری ئەرک"}'),
  ('warehouse_manager', '{"en": "Warehouse manager", "ar": "مدير المستودع", "ku": "بەڕێوەبەری کۆگا"}'),
  ('warehouse_staff', '{"en": "Warehouse staff", "ar": "موظف مستودع", "ku": "کارمەندی کۆگا"}'),
  ('driver', '{"en": "Driver", "ar": "سائق", "ku": "شۆفێر"}'),
  ('institution', '{"en": "Institution", "ar": "مؤسسة", "ku": "دامەزراوە"}'),
  ('customer', '{"en": "Customer", "ar": "زبون", "ku": "کڕیار"}')
on conflict (key) do update set name = excluded.name;

insert into tenancy.permissions (key, name) values
  ('view:tenant', '{"en": "See the tenant''s data", "ar": "الاطلاع على بيانات الشركة", "ku": "بینینی داتای کۆمپانیا"}'),
  ('manage:tenant', '{"en": "Administer the tenant", "ar": "إدارة الشركة", "ku": "بەڕێوەبردنی کۆمپانیا"}'),
  ('manage:operations:tenant', '{"en": "Run operations", "ar": "إدارة العمليات", "ku": "بەڕێوەبردنی کارگێڕی"}'),
  ('manage:module:warehouse', '{"en": "Run the warehouse", "ar": "إدارة المستودع", "ku": "بەڕێوەبردنی کۆگا"}'),
  ('manage:system', '{"en": "Administer the system", "ar": "إدارة النظام", "ku": "بەڕێوەبردنی سیستەم"}'),
  ('manage:user_access:system', '{"en": "Administer access of all users", "ar": "إدارة صلاحيات جميع المستخدمين", "ku": "بەڕێوەبردنی دەسەڵاتی هەموو بەکارهێنەران"}'),
  ('view:metrics:system', '{"en": "Read the metrics of the system", "ar": "الاطلاع على مقاييس النظام", "ku": "بینینی پێوەرەکانی سیستەم"}')
on conflict (key) do update set name = excluded.name;

insert into tenancy.role_permissions (role_key, permission_key) values
  ('tenant_admin', 'view:tenant'), ('tenant_admin', 'manage:tenant'),
  ('tenant_admin', 'manage:operations:tenant'), ('tenant_admin', 'manage:module:warehouse'),
  ('operations_manager', 'view:tenant'), ('operations_manager', 'manage:operations:tenant'), ('operations_manager', 'manage:module:warehouse'),
  ('dispatcher', 'view:tenant'), ('dispatcher', 'manage:operations:tenant'),
  ('warehouse_manager', 'view:tenant'), ('warehouse_manager', 'manage:module:warehouse'),
  ('warehouse_staff', 'view:tenant')
on conflict do nothing;
