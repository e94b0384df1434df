-- Forty parcels that lie in the main warehouse and wait to be sorted and sent out. They were ordered as staged
-- deliveries and brought in by a driver, through the same functions that serve the API. Runs once.

do $$
declare
  v_tenant uuid := md5('tenant/demo')::uuid;
  v_driver uuid := md5('user/driver1@demo')::uuid;
  v_ops uuid := md5('user/ops@demo')::uuid;
  v_places text[] := array['karrada', 'mansour', 'adhamiyah', 'kadhimiya', 'erbil'];
  v_names text[] := array['زهراء محمود', 'ڕێبین سالار', 'كرار عباس', 'شنۆ بەختیار', 'نور الهدى علي', 'Omar Faris', 'هاوڕێ نەوزاد', 'مريم جاسم'];
  v_legs uuid[] := '{}';
  v_leg uuid;
begin
  if exists (select from delivery.deliveries d where d.tenant_id = v_tenant and d.external_reference_id like 'DEMO-%') then
    return;
  end if;
  perform set_config('app.tenant_id', v_tenant::text, true), set_config('app.sees_tenant', 'on', true),
    set_config('app.grants', '{role:operations_manager,permission:manage:operations:tenant,permission:manage:module:warehouse}', true),
    set_config('app.user_id', v_ops::text, true);
  for n in 1..40 loop
    v_legs := v_legs || (delivery.delivery_create(jsonb_build_object('staged', true, 'institution_user_id', md5('user/institution@demo'),
      'delivery_service_id', md5('service/standarddemo'), 'pickup_address_id', md5('address/mansourdemo'),
      'dropoff_address_id', md5('address/' || v_places[1 + n % 5] || 'demo'), 'payer_type', 'receiver', 'payment_method', 'cash',
      'cod_amount', 5000 * (n % 4), 'unit_size', 1, 'external_reference_id', 'DEMO-' || lpad(n::text, 3, '0'),
      'recipient', jsonb_build_object('name', v_names[1 + n % 8], 'phone', '+96477' || lpad((12000000 + n)::text, 8, '0'))))
      #>> '{delivery,legs,0,id}')::uuid;
  end loop;
  perform delivery.assignment_bulk_create(jsonb_build_object('driver_id', v_driver, 'delivery_ids', to_jsonb(v_legs)));

  perform set_config('app.user_id', v_driver::text, true);
  if exists (select from delivery.assignments a where a.tenant_id = v_tenant and a.delivery_id = any (v_legs) and a.status = 'pending') then
    perform delivery.assignments_answer(jsonb_build_object('status', 'accepted', 'bulk_assignment_id', (
      select a.bulk_assignment_id from delivery.assignments a where a.tenant_id = v_tenant and a.delivery_id = v_legs[1])));
  end if;
  foreach v_leg in array v_legs loop
    perform delivery.delivery_pickup(jsonb_build_object('id', v_leg));
    perform delivery.delivery_depart(jsonb_build_object('id', v_leg));
    perform delivery.delivery_complete(jsonb_build_object('id', v_leg));
  end loop;
end $$;
