-- Demo people. Password of everybody: Barid-demo-1. Ids are derived from names, so that every fresh
-- database is the same. Runs once, on a database without these tenants.

-- The functions log in with this password on development machines only.
alter role barid_api with login password 'barid-local';

insert into tenancy.tenants (id, name, slug, status, contact_info)
values
  (md5('tenant/demo')::uuid, '{"en": "Dijla Express", "ar": "دجلة إكسبريس", "ku": "دیجلە ئێکسپرێس"}', 'demo', 'active',
    '{"email": "admin@demo.test", "phone": "+9647700000001"}'),
  (md5('tenant/other')::uuid, '{"en": "Zagros Cargo", "ar": "زاگروس كارغو", "ku": "زاگرۆس کارگۆ"}', 'other', 'active',
    '{"email": "admin@other.test", "phone": "+9647500000001"}');

do $$
declare
  v_tenant text;
  v_person record;
  v_id uuid;
  v_email text;
begin
  for v_tenant in select unnest(array['demo', 'other']) loop
    for v_person in
      select * from (values
        ('admin', 'staff', 'tenant_admin', 'Tenant administrator', 'سعاد الجبوري', 'نەسرین عوسمان'),
        ('ops', 'staff', 'operations_manager', 'Operations manager', 'حيدر العبيدي', 'ئازاد کەریم'),
        ('dispatcher', 'staff', 'dispatcher', 'Dispatcher', 'زينب كاظم', 'شیلان ڕەسوڵ'),
        ('warehouse', 'staff', 'warehouse_manager', 'Warehouse manager', 'عمر الدليمي', 'هێمن سەعید'),
        ('staff', 'staff', 'warehouse_staff', 'Warehouse staff', 'نور محمد', 'چیمەن عەلی'),
        ('driver1', 'driver', 'driver', 'Driver', 'علي حسن', 'ڕێبوار ئەحمەد'),
        ('driver2', 'driver', 'driver', 'Driver', 'مصطفى جاسم', 'کاروان مەحموود'),
        ('institution', 'institution', 'institution', 'Institution', 'صيدلية الرافدين', 'دەرمانخانەی گوڵان'),
        ('institution2', 'institution', 'institution', 'Institution', 'مكتبة المتنبي', 'کتێبخانەی ئاوێر'),
        ('customer', 'customer', 'customer', 'Customer', 'Sara Hadi', 'Dilan Aziz')
      ) p (part, type, role, label, name_demo, name_other)
    loop
      v_id := md5('user/' || v_person.part || '@' || v_tenant)::uuid;
      v_email := v_person.part || '@' || v_tenant || '.test';
      insert into auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, confirmation_token,
        recovery_token, email_change_token_new, email_change, raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
      values ('00000000-0000-0000-0000-000000000000', v_id, 'authenticated', 'authenticated', v_email,
        extensions.crypt('Barid-demo-1', extensions.gen_salt('bf', 6)), now(), '', '', '', '',
        '{"provider": "email", "providers": ["email"]}',
        jsonb_build_object('demo', v_person.label || ' of ' || v_tenant), now(), now());
      insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, updated_at)
      values (v_id::text, v_id, jsonb_build_object('sub', v_id, 'email', v_email, 'email_verified', true), 'email', now(), now());
      insert into tenancy.profiles (id, full_name, email, phone)
      values (v_id, case v_tenant when 'demo' then v_person.name_demo else v_person.name_other end, v_email,
        '+96477' || lpad((abs(hashtext(v_email)) % 100000000)::text, 8, '0'))
      on conflict (id) do update set full_name = excluded.full_name, email = excluded.email, phone = excluded.phone;
      insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
      values (md5('tenant/' || v_tenant)::uuid, v_id, v_person.type);
      insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
      values (md5('tenant/' || v_tenant)::uuid, v_id, v_person.role);
    end loop;
  end loop;

  v_id := md5('user/system@barid')::uuid;
  insert into auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, confirmation_token,
    recovery_token, email_change_token_new, email_change, raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
  values ('00000000-0000-0000-0000-000000000000', v_id, 'authenticated', 'authenticated', 'system@barid.test',
    extensions.crypt('Barid-demo-1', extensions.gen_salt('bf', 6)), now(), '', '', '', '',
    '{"provider": "email", "providers": ["email"]}', '{"demo": "System administrator"}', now(), now());
  insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, updated_at)
  values (v_id::text, v_id, jsonb_build_object('sub', v_id, 'email', 'system@barid.test', 'email_verified', true), 'email', now(), now());
  insert into tenancy.profiles (id, full_name, email) values (v_id, 'System administrator', 'system@barid.test')
  on conflict (id) do update set full_name = excluded.full_name, email = excluded.email;
  insert into tenancy.system_users (user_id, role) values (v_id, 'system_admin');
end $$;
