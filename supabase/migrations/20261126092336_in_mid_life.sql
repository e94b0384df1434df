-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.deliveries, tenancy.tenant_modules, tenancy.tenant_settings in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP TRIGGER "order_keeps_its_beginning" ON "delivery"."deliveries";

ALTER TABLE "tenancy"."tenant_modules" ALTER COLUMN "updated_at" SET DEFAULT clock_timestamp();

ALTER TABLE "tenancy"."tenant_settings" ALTER COLUMN "updated_at" SET DEFAULT clock_timestamp();

CREATE OR REPLACE FUNCTION delivery.customer_return_input(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_original delivery.deliveries;
  v_mode text := delivery.return_destination_mode();
  v_filled jsonb;
begin
  select p.* into v_original from delivery.deliveries o
  join delivery.deliveries p on p.tenant_id = o.tenant_id and p.id = delivery.parcel_of(o)
  where o.id = (input ->> 'original_delivery_id')::uuid;
  if not found then
    perform app.fail('delivery_not_found', '{"field": "original_delivery_id"}');
  end if;
  if v_original.status <> 'delivered' or v_original.delivery_flow in ('customer_return', 'operational_return') then
    perform app.fail('original_not_delivered', jsonb_build_object('field', 'original_delivery_id', 'status', v_original.status));
  end if;
  v_filled := jsonb_build_object('delivery_service_id',
    app.settings('general', 'delivery') #>> '{return_requests,default_delivery_service_id}');
  if input ->> 'customer_id' is null and input ->> 'institution_user_id' is null then
    v_filled := v_filled || jsonb_build_object('customer_id', v_original.customer_id, 'institution_user_id', v_original.institution_user_id);
  end if;
  if num_nonnulls(input -> 'pickup', input ->> 'pickup_address_id', input ->> 'pickup_warehouse_id') = 0 then
    v_filled := v_filled || jsonb_build_object('pickup_address_id', v_original.dropoff_address_id);
  end if;
  if num_nonnulls(input -> 'dropoff', input ->> 'dropoff_address_id', input ->> 'dropoff_warehouse_id') = 0 then
    if v_original.order_id is not null or v_mode = 'sender' then
      v_filled := v_filled || jsonb_build_object('dropoff_address_id',
        coalesce(delivery.sold_from(v_original), (delivery.ordered_from(v_original)).address_id));
    elsif v_mode = 'warehouse' then
      v_filled := v_filled || jsonb_build_object('dropoff_warehouse_id', delivery.returns_warehouse());
    else
      perform app.fail('return_destination_required', '{"field": "dropoff_address_id"}');
    end if;
  end if;
  return jsonb_strip_nulls(v_filled) || input || jsonb_build_object('original_delivery_id', v_original.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_contents jsonb;
  v_staged boolean := coalesce((input ->> 'staged')::boolean, false);
  -- An owner's return that waits for the office is a draft until then.
  v_asked boolean := input ->> 'delivery_flow' = 'customer_return' and input ->> 'status' is distinct from 'draft' and delivery.return_needs_approval();
begin
  if input ->> 'delivery_flow' = 'customer_return' then
    -- Before it is looked at: of two returns at the same moment the second finds the first, and one beside an undo finds it undone.
    perform delivery.lock_deliveries(array[(input ->> 'original_delivery_id')::uuid]);
    input := delivery.customer_return_input(input);
    v_contents := delivery.returned_contents((input ->> 'original_delivery_id')::uuid, input -> 'return_items');
  end if;
  if v_staged then
    input := input || jsonb_build_object('warehouse_id', delivery.staging_of(input)) - '{pickup_warehouse_id,dropoff_warehouse_id}'::text[];
  end if;
  d := delivery.delivery_terms(input);
  d.original_delivery_id := (input ->> 'original_delivery_id')::uuid;
  d.status := case when v_asked then 'draft' else input ->> 'status' end;
  d.barcode := input ->> 'barcode';
  if v_staged then
    d.delivery_flow := 'pnd_parent';
    d.staging_warehouse_id := (input ->> 'warehouse_id')::uuid;
  end if;
  -- By itself: what reads in the statement that writes would not see it.
  d.returns_part := v_contents is not null;
  d.id := delivery.delivery_write(d, v_contents);
  if v_asked then
    perform delivery.return_request_ask(d.id);
  end if;
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.driver_problem(driver delivery.drivers, vehicle delivery.vehicles)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case
    when driver.status <> 'active' or not exists (select from tenancy.tenant_users u
      where u.tenant_id = driver.tenant_id and u.user_id = driver.user_id and u.is_active and u.tenant_user_type = 'driver') then 'driver_not_active'
    when vehicle.id is null then 'driver_has_no_vehicle'
    when not vehicle.is_active then 'vehicle_inactive'
  end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.search_step(tenant uuid, delivery_id uuid)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_settings record;
  s delivery.driver_searches;
  d delivery.deliveries;
  v_offer delivery.assignments;
  v_reasons jsonb;
  v_drivers uuid[];
  v_driver uuid;
  v_plan jsonb;
begin
  perform set_config('app.tenant_id', tenant::text, true);
  perform pg_advisory_xact_lock(hashtextextended('driver searches ' || tenant, 0));
  perform delivery.lock_deliveries(array[search_step.delivery_id]);
  select * into s from delivery.driver_searches x where x.tenant_id = tenant and x.delivery_id = search_step.delivery_id for no key update;
  if not found or s.next_attempt_at is null or s.next_attempt_at > clock_timestamp() then
    return 'not_due';
  end if;
  v_settings := delivery.auto_assignment_settings();
  -- Its time passed while nobody looked: the company was suspended, or the functions were away, and the driver could not answer. It is
  -- open for its whole time again.
  if s.status = 'offered' and s.next_attempt_at < clock_timestamp() - interval '5 minutes' then
    perform delivery.search_continue(s, 'offered', v_settings.retry_after);
    return 'offered';
  end if;
  if s.status = 'offered' then
    select * into v_offer from delivery.assignments a
    where a.tenant_id = tenant and a.delivery_id = s.delivery_id and a.status = 'pending';
    return delivery.search_withdraw(s, v_offer);
  end if;
  select * into d from delivery.deliveries x where x.tenant_id = tenant and x.id = s.delivery_id;
  if d.status <> 'pending' or d.postponed_to is not null or not delivery.is_auto_assignable(d) then
    update delivery.driver_searches x set status = 'off', next_attempt_at = null where x.tenant_id = tenant and x.delivery_id = d.id;
    return 'off';
  end if;
  if s.attempts >= v_settings.max_attempts then
    return delivery.search_fail(s, d);
  end if;

  with ranked as materialized (select r.place, r.driver_id, r.reasons from delivery.driver_ranking(d) r)
  select array(select r.driver_id from ranked r where r.reasons = '{}' order by r.place), (
    select jsonb_object_agg(c.reason, c.count) from (
      select r.reasons[1] as reason, count(*) from ranked r
      where r.reasons[1] in ('offline', 'capacity', 'zone', 'away', 'declined') group by 1) c)
  into v_drivers, v_reasons;
  -- The ranking and the plan know the same rules; the plan has the last word.
  foreach v_driver in array v_drivers loop
    v_plan := delivery.assignments_plan(array[d.id], v_driver, null, false);
    exit when v_plan ->> 'code' is null and v_plan #>> '{lines,0,code}' is null;
    v_plan := null;
  end loop;
  s.passed_over := delivery.drivers_passed_over(v_reasons);
  s.attempts := s.attempts + 1;
  if v_plan is null then
    if s.attempts >= v_settings.max_attempts then
      return delivery.search_fail(s, d);
    end if;
    perform delivery.search_continue(s, 'searching', v_settings.retry_after);
    return 'nobody';
  end if;
  v_plan := delivery.assignments_plan(array[d.id], v_driver, null, true);
  if v_plan ->> 'code' is not null or v_plan #>> '{lines,0,code}' is not null then
    return 'again';
  end if;
  perform delivery.search_continue(s, 'offered', v_settings.retry_after);
  perform delivery.assignments_write(v_plan, '{}');
  update delivery.driver_searches x set status = 'assigned', next_attempt_at = null
  from delivery.assignments a
  where x.tenant_id = tenant and x.delivery_id = d.id and a.tenant_id = tenant and a.delivery_id = d.id and a.status = 'assigned';
  return case when found then 'assigned' else 'offered' end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.searches_due(tenant uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(s.delivery_id order by s.next_attempt_at, s.delivery_id), '[]')
    from (
      select x.delivery_id, x.next_attempt_at from delivery.driver_searches x
      where x.tenant_id = tenant and x.next_attempt_at <= now()
        and exists (select from tenancy.tenants t where t.id = tenant and app.is_effective(t))
      order by x.next_attempt_at, x.delivery_id limit 100) s);
end $function$;

CREATE OR REPLACE FUNCTION delivery.searches_sweep()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid;
  v_count integer := 0;
begin
  for v_tenant in
    select s.tenant_id from delivery.driver_searches s
    join tenancy.tenants t on t.id = s.tenant_id and app.is_effective(t)
    where s.next_attempt_at <= now()
      and not exists (select from app.jobs j where j.tenant_id = s.tenant_id and j.kind = 'delivery.auto_assignment'
        and j.status in ('queued', 'running') and j.run_at <= now())
    group by s.tenant_id
  loop
    perform set_config('app.tenant_id', v_tenant::text, true);
    perform app.job_add('delivery.auto_assignment', '{}');
    v_count := v_count + 1;
  end loop;
  perform set_config('app.tenant_id', '', true);
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION delivery.sold_from(d delivery.deliveries)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(d.tenant_id);
  return (
    select w.address_id from warehousing.warehouses w
    where w.tenant_id = d.tenant_id and d.order_id is not null and w.deleted_at is null
      and w.id = case when d.ordered_from_address_id is null then d.pickup_warehouse_id else d.ordered_from_warehouse_id end);
end $function$;

CREATE OR REPLACE FUNCTION delivery.warehouse_moves(warehouse uuid, from_address uuid, to_address uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_to delivery.addresses;
  v_snapshot jsonb;
  v_parcels uuid[];
begin
  if not app.has_permission('manage:operations:tenant') then
    perform app.fail('forbidden');
  end if;
  select a.* into strict v_to from delivery.addresses a where a.tenant_id = v_tenant and a.id = to_address;
  select to_jsonb(a) into v_snapshot from delivery.addresses_list a where a.id = to_address;
  v_parcels := array(
    select distinct delivery.parcel_of(d) from delivery.deliveries d
    where d.tenant_id = v_tenant and d.status not in ('delivered', 'returned', 'cancelled')
      and (d.pickup_warehouse_id = warehouse and d.pickup_address_id = from_address
        or d.ordered_from_warehouse_id = warehouse and d.ordered_from_address_id = from_address
        or delivery.ends_in(d) = warehouse and d.dropoff_address_id = from_address));
  if v_parcels = '{}' then
    return;
  end if;
  perform delivery.lock_deliveries(v_parcels);
  update delivery.deliveries d set
    pickup_address_id = case when m.begins then to_address else d.pickup_address_id end,
    pickup_snapshot = case when m.begins then v_snapshot else d.pickup_snapshot end,
    pickup_zone_id = case when m.begins then v_to.zone_id else d.pickup_zone_id end,
    ordered_from_address_id = case when m.began then to_address else d.ordered_from_address_id end,
    ordered_from_snapshot = case when m.began then v_snapshot else d.ordered_from_snapshot end,
    dropoff_address_id = case when m.ends then to_address else d.dropoff_address_id end,
    dropoff_snapshot = case when m.ends then v_snapshot else d.dropoff_snapshot end,
    dropoff_zone_id = case when m.ends then v_to.zone_id else d.dropoff_zone_id end,
    label_outdated = d.label_outdated or m.ends and d.label_edition > 0
  from (
    select x.id, x.pickup_warehouse_id is not distinct from warehouse and x.pickup_address_id = from_address as begins,
      x.ordered_from_warehouse_id is not distinct from warehouse and x.ordered_from_address_id is not distinct from from_address as began,
      delivery.ends_in(x) is not distinct from warehouse and x.dropoff_address_id = from_address as ends
    from delivery.deliveries x
    where x.tenant_id = v_tenant and (x.id = any (v_parcels) or x.parent_id = any (v_parcels))
      and x.status not in ('delivered', 'returned', 'cancelled')
  ) m
  where d.tenant_id = v_tenant and d.id = m.id and (m.begins or m.began or m.ends);
  perform delivery.drivers_notify(v_parcels);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.change_currency(code text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if exists (select from money.accounts a
      where a.tenant_id = app.tenant_id() and a.currency <> code and a.version > 0)
    or exists (select from delivery.deliveries d
      where d.tenant_id = app.tenant_id() and d.currency <> code and d.status not in ('delivered', 'returned', 'cancelled'))
    or exists (select from storefront.storefront_orders o
      where o.tenant_id = app.tenant_id() and o.currency <> code and o.status not in ('delivered', 'completed', 'cancelled'))
    or tenancy.prices_need_coins() then
    perform app.fail('currency_in_use', '{"field": "general.currency.settings.currency_code"}');
  end if;
  perform money.account_of('wallet', u.tenant_user_type, u.user_id, code)
  from tenancy.tenant_users u
  where u.tenant_id = app.tenant_id() and u.tenant_user_type in ('driver', 'institution', 'customer');
  -- A shop names the currency of its prices.
  update storefront.markets m set settings = m.settings || jsonb_build_object('currency', change_currency.code)
  where m.tenant_id = app.tenant_id() and m.settings ->> 'currency' <> change_currency.code;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.change_decimals(code text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if exists (select from money.accounts a where a.tenant_id = app.tenant_id() and a.currency = code and a.version > 0)
    or exists (select from delivery.deliveries d
      where d.tenant_id = app.tenant_id() and d.currency = code and d.status not in ('delivered', 'returned', 'cancelled'))
    or exists (select from storefront.storefront_orders o
      where o.tenant_id = app.tenant_id() and o.currency = code and o.status not in ('delivered', 'completed', 'cancelled'))
    or tenancy.prices_need_coins() then
    perform app.fail('currency_in_use', '{"field": "general.currency.settings.decimals"}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.prices_need_coins()
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_decimals integer := (app.currency()).decimals;
begin
  return exists (
    select from storefront.product_variants v
    where v.tenant_id = app.tenant_id() and v.archived_at is null
      and (v.price <> round(v.price, v_decimals) or v.compare_at_price <> round(v.compare_at_price, v_decimals)));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.user_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_user uuid := (input ->> 'user_id')::uuid;
  v_before jsonb;
  v_was_admin boolean;
  v_fixed text;
begin
  -- One change of a tenant's users at a time: two administrators must not remove each other.
  perform from tenancy.tenants t where t.id = app.tenant_id() for no key update;
  v_before := tenancy.user_to_json(v_user);
  v_was_admin := tenancy.is_active_admin(v_user);
  select k.key into v_fixed from jsonb_each(input) k
  where k.value is distinct from v_before -> k.key
    and (k.key in ('email', 'tenant_user_type')
      or k.key in ('full_name', 'phone') and v_user is distinct from app.user_id() and not tenancy.is_member_only_here(v_user))
  order by k.key limit 1;
  if v_fixed is not null then
    perform app.fail('user_field_fixed', jsonb_build_object('field', v_fixed));
  end if;
  if input ->> 'is_active' = 'false' and v_user = app.user_id() then
    perform app.fail('cannot_deactivate_self');
  end if;

  update tenancy.profiles p set
    full_name = coalesce(input ->> 'full_name', p.full_name),
    phone = case when input ? 'phone' then input ->> 'phone' else p.phone end
  where p.id = v_user and input ?| array['full_name', 'phone'];
  update tenancy.tenant_users u set
    is_business = coalesce((input ->> 'is_business')::boolean, u.is_business),
    is_active = coalesce((input ->> 'is_active')::boolean, u.is_active),
    employee_id = case when input ? 'employee_id' then input ->> 'employee_id' else u.employee_id end
  where u.tenant_id = app.tenant_id() and u.user_id = v_user and input ?| array['is_business', 'is_active', 'employee_id'];
  if input ? 'roles' then
    perform tenancy.require_roles(v_before ->> 'tenant_user_type', input -> 'roles');
    delete from tenancy.tenant_user_roles r
    where r.tenant_id = app.tenant_id() and r.user_id = v_user and not input -> 'roles' ? r.role_key;
    insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
    select app.tenant_id(), v_user, r.key from jsonb_array_elements_text(input -> 'roles') r (key)
    on conflict do nothing;
  end if;
  -- Clients that send whole rows repeat what is: a driver whom operations gave a rest stays inactive.
  if (input ->> 'is_active')::boolean <> (v_before ->> 'is_active')::boolean then
    update delivery.drivers d set status = case when (input ->> 'is_active')::boolean then 'active' else 'inactive' end
    where d.tenant_id = app.tenant_id() and d.user_id = v_user and v_before ->> 'tenant_user_type' = 'driver';
  end if;
  if v_was_admin and not tenancy.is_active_admin(v_user) then
    perform tenancy.require_another_admin();
  end if;
  return jsonb_build_object('user', tenancy.user_to_json(v_user), 'stopped_api_keys', tenancy.api_keys_stopped(v_user));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.parcels_advance(parcels uuid[], warehouse uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_family uuid[] := array(select d.id from delivery.deliveries d
    where d.tenant_id = v_tenant and (d.id = any (parcels) or d.parent_id = any (parcels)));
  v_here delivery.addresses;
  v_snapshot jsonb;
begin
  select a.* into v_here from warehousing.warehouses h
  join delivery.addresses a on a.tenant_id = h.tenant_id and a.id = h.address_id
  where h.tenant_id = v_tenant and h.id = warehouse;
  select to_jsonb(a) into v_snapshot from delivery.addresses_list a where a.id = v_here.id;
  perform warehousing.receipts_withdraw(f.id) from unnest(v_family) f (id);
  perform delivery.parcel_at(p.id, warehouse) from unnest(parcels) p (id);
  update delivery.deliveries d set status = 'in_transit'
  where d.tenant_id = v_tenant and d.id = any (v_family) and d.delivery_flow not in ('pnd_parent', 'pnd_inbound')
    and (d.status = 'failed' or d.status = 'returned' and delivery.leaves_warehouse(d));
  update delivery.deliveries d set status = case when e.ends then 'delivered' else 'pending' end, status_reason = null, status_notes = null,
    delivered_at = case when e.ends then clock_timestamp() end,
    pickup_warehouse_id = case when e.ends then d.pickup_warehouse_id else warehouse end,
    pickup_address_id = case when e.ends then d.pickup_address_id else v_here.id end,
    pickup_snapshot = case when e.ends then d.pickup_snapshot else v_snapshot end,
    pickup_zone_id = case when e.ends then d.pickup_zone_id else v_here.zone_id end,
    -- Parcels that continue from here do not end here.
    dropoff_warehouse_id = case when e.ends then warehouse else nullif(delivery.ends_in(d), warehouse) end,
    transfer_kind = null, ordered_to_warehouse_id = null
  from (
    select x.id, (delivery.ends_in(x) is not distinct from warehouse
        or x.dropoff_warehouse_id is not distinct from warehouse and x.dropoff_address_id = v_here.id)
      and c.cod + c.delivery_fee = 0 as ends
    from delivery.deliveries x cross join lateral money.cash_due(x, 'dropoff') c
    where x.tenant_id = v_tenant
      and ((x.id = any (parcels) and x.delivery_flow <> 'pnd_parent') or (x.parent_id = any (parcels) and x.delivery_flow = 'pnd_outbound'))
  ) e
  where d.tenant_id = v_tenant and d.id = e.id and d.status = 'in_transit';
end $function$;

CREATE OR REPLACE FUNCTION warehousing.transfer_ends(d delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_due record := money.cash_due(d, 'dropoff');
begin
  return v_due.cod + v_due.delivery_fee = 0 and (delivery.ends_in(d) is not distinct from d.dropoff_warehouse_id or exists (
    select from warehousing.warehouses w
    where w.tenant_id = app.tenant_id() and w.id = d.dropoff_warehouse_id and w.address_id = d.dropoff_address_id));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.warehouse_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_warehouse warehousing.warehouses;
  v_wanted warehousing.warehouses;
  v_from uuid := (select w.address_id from warehousing.warehouses w where w.id = (input ->> 'id')::uuid and w.deleted_at is null);
begin
  -- Parcels are locked before their warehouse.
  if (input ->> 'address_id')::uuid <> v_from then
    perform delivery.require_public_address((input ->> 'address_id')::uuid);
    perform delivery.warehouse_moves((input ->> 'id')::uuid, v_from, (input ->> 'address_id')::uuid);
  end if;
  select * into v_warehouse from warehousing.warehouses w
  where w.id = (input ->> 'id')::uuid and w.deleted_at is null for no key update;
  if not found then
    perform app.fail('warehouse_not_found');
  end if;
  v_wanted := jsonb_populate_record(v_warehouse, input);
  if not input ? 'status' and input ? 'available_capacity' then
    v_wanted.status := case
      when v_wanted.available_capacity <= 0 and v_wanted.status = 'active' then 'full'
      when (v_wanted.available_capacity > 0) is not false and v_wanted.status = 'full' then 'active'
      else v_wanted.status end;
  end if;
  -- A list of those who may is not one of those who may not.
  if v_wanted.access_mode <> v_warehouse.access_mode and v_wanted.access_mode <> 'all_users' and input -> 'user_ids' is null then
    perform app.fail('invalid_customer_ids', '{"field": "user_ids", "text_key": "reason_warehouse_users"}');
  end if;
  update warehousing.warehouses w set name = v_wanted.name, code = v_wanted.code, address_id = v_wanted.address_id,
    status = v_wanted.status, total_capacity = v_wanted.total_capacity, available_capacity = v_wanted.available_capacity,
    features = v_wanted.features, access_mode = v_wanted.access_mode
  where w.id = v_warehouse.id
  returning * into v_warehouse;
  perform warehousing.warehouse_set_users(v_warehouse, input -> 'user_ids');
  return warehousing.warehouse_get(jsonb_build_object('id', v_warehouse.id));
end $function$;

CREATE TRIGGER order_keeps_its_beginning BEFORE UPDATE OF pickup_address_id ON delivery.deliveries FOR EACH ROW WHEN (((old.delivery_flow = 'standard'::text) AND (old.status <> 'draft'::text) AND (old.ordered_from_address_id IS NULL) AND (old.pickup_address_id <> new.pickup_address_id) AND ((new.pickup_warehouse_id IS NULL) OR (new.pickup_warehouse_id IS DISTINCT FROM old.pickup_warehouse_id)))) EXECUTE FUNCTION delivery.order_keeps_its_beginning();

REVOKE ALL ON FUNCTION "delivery"."sold_from"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."sold_from"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."warehouse_moves"(uuid, uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."warehouse_moves"(uuid, uuid, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "tenancy"."prices_need_coins"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."prices_need_coins"() TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126092336';
end $$;

grant execute on function private.schema_version() to barid_api;
