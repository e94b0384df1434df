-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table tenancy.tenant_users in share row exclusive mode;
      lock table delivery.assignments_list, delivery.branches_list, delivery.deliveries_carried, delivery.deliveries_list, delivery.drivers_list, delivery.handoffs_list, delivery.institutions_list, delivery.manifest_exceptions_list, delivery.manifest_items_search_rows, delivery.manifests_list, money.cod_collections_list, tenancy.profiles, tenancy.tenants_list in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP TRIGGER "audit_update" ON "tenancy"."profiles";

DROP VIEW "delivery"."assignments_list";

DROP VIEW "delivery"."branches_list";

DROP VIEW "delivery"."drivers_list";

DROP VIEW "delivery"."handoffs_list";

DROP VIEW "delivery"."deliveries_carried";

DROP VIEW "delivery"."deliveries_list";

DROP VIEW "delivery"."institutions_list";

DROP VIEW "delivery"."manifest_exceptions_list";

DROP VIEW "delivery"."manifest_items_search_rows";

DROP VIEW "delivery"."manifests_list";

DROP VIEW "money"."cod_collections_list";

DROP VIEW "tenancy"."tenants_list";

ALTER TABLE "tenancy"."profiles" ADD COLUMN "left_tenants" uuid[];

CREATE OR REPLACE FUNCTION delivery.deliveries_matching(part text)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 20
 SET search_path TO ''
AS $function$
declare
  v_patterns text[] := app.contact_patterns(part);
begin
  return query execute $query$
    select d.id from delivery.deliveries d where d.tenant_id = $1 and (d.delivery_code::text || ' ' || d.barcode || ' '
      || coalesce(d.external_reference_id, '') || ' ' || coalesce(d.recipient ->> 'name', '') || ' ' || coalesce(d.recipient ->> 'phone', ''))
      operator(pg_catalog.~~*) any ($2)
    and (d.delivery_code::text || ' ' || d.barcode || ' ' || coalesce(d.external_reference_id, '') || ' ' || coalesce(d.recipient ->> 'name', '')
      || ' ' || coalesce(d.recipient ->> 'phone', '') || '') operator(pg_catalog.~~*) any ($3)
    and ($4 or d.delivery_flow <> 'pnd_inbound' or $5 in (d.customer_id, d.institution_user_id)
      or (d.delivery_code::text || ' ' || d.barcode || ' ' || coalesce(d.external_reference_id, '')) operator(pg_catalog.~~*) any ($3))
  $query$ using app.tenant_id(), app.index_patterns(v_patterns), v_patterns, app.sees_tenant(), app.user_id();
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_institution uuid := (input ->> 'institution_user_id')::uuid;
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_branch delivery.institution_branches;
  v_point delivery.transfer_processing_points;
  v_address uuid;
  v_id uuid;
begin
  perform delivery.require_manifest_creator(input);
  if v_driver is null and not app.has_permission('manage:operations:tenant') and app.has_role('driver') then
    v_driver := app.user_id();
  end if;
  perform delivery.require_institution(v_institution);
  if v_driver is not null then
    perform delivery.require_driver(v_driver);
  end if;

  select b.* into v_branch from delivery.institution_branches b
  where b.tenant_id = app.tenant_id() and b.id = (input ->> 'source_branch_id')::uuid and b.institution_user_id = v_institution
  for key share;
  if v_branch.id is null then
    perform app.fail('branch_not_found');
  elsif not v_branch.is_active then
    perform app.fail('branch_inactive');
  elsif coalesce(input ->> 'processing_point_id', v_branch.default_processing_point_id::text) is null then
    perform app.fail('processing_point_required', '{"field": "processing_point_id"}');
  end if;
  select p.* into v_point from delivery.transfer_processing_points p
  where p.tenant_id = app.tenant_id() and p.id = coalesce((input ->> 'processing_point_id')::uuid, v_branch.default_processing_point_id)
  for key share;
  if v_point.id is null then
    perform app.fail('processing_point_not_found');
  elsif not v_point.is_active then
    perform app.fail('processing_point_inactive');
  end if;
  v_address := coalesce((input ->> 'source_address_id')::uuid, v_branch.address_id);
  -- Staff see every address; a parcel's origin is the tenant's or the institution's own.
  if not exists (select from delivery.addresses a where a.tenant_id = app.tenant_id() and a.id = v_address
      and (a.owner_user_id is null or a.owner_user_id = v_institution)
      and exists (select from delivery.usable_addresses u where u.id = a.id)) then
    perform app.fail('address_not_found');
  end if;
  perform delivery.require_destinations(
    array_remove(array[(input ->> 'destination_branch_id')::uuid], null),
    array_remove(array[(input ->> 'destination_address_id')::uuid], null));

  insert into delivery.transfer_manifests (tenant_id, manifest_number, institution_user_id, source_branch_id, source_address_id,
    source_snapshot, processing_point_id, driver_id, destination_branch_id, destination_address_id, creation_source, notes, created_by)
  select app.tenant_id(), delivery.manifest_number(app.take_numbers('manifest_number')), v_institution, v_branch.id, a.id,
    jsonb_build_object(
      'branch', jsonb_build_object('id', v_branch.id, 'name', v_branch.name, 'code', v_branch.code, 'contact_info', v_branch.contact_info),
      'address', to_jsonb(a),
      'institution', jsonb_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone)),
    v_point.id, v_driver, (input ->> 'destination_branch_id')::uuid, (input ->> 'destination_address_id')::uuid,
    input ->> 'creation_source', input ->> 'notes', app.user_id()
  from delivery.addresses_list a
  join tenancy.people p on p.id = v_institution
  where a.id = v_address
  returning id into v_id;
  perform delivery.manifest_event_add(v_id, 'manifest_created', jsonb_build_object('creation_source', input -> 'creation_source'));
  if jsonb_array_length(coalesce(input -> 'items', '[]')) > 0 then
    perform delivery.manifest_items_insert(v_id, input -> 'items');
  end if;
  return delivery.manifest_get(jsonb_build_object('id', v_id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_place(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_address uuid;
  v_branch uuid;
  v_recipient jsonb;
begin
  if input ->> 'destination_branch_id' is not null then
    select b.id, b.address_id,
      jsonb_build_object('name', b.name, 'phone', coalesce(
        nullif(b.contact_info ->> 'phone', ''), nullif(a.contact_info ->> 'phone', ''), p.phone))
    into v_branch, v_address, v_recipient
    from delivery.institution_branches b
    join delivery.addresses a on a.tenant_id = b.tenant_id and a.id = b.address_id
    left join tenancy.people p on p.id = b.institution_user_id
    where b.id = (input ->> 'destination_branch_id')::uuid and b.is_active;
    if not found then
      perform app.fail('branch_not_found', '{"field": "destination_branch_id"}');
    end if;
  else
    select a.id, jsonb_build_object('name', coalesce(app.localized(a.title), a.full_address), 'phone', a.contact_info ->> 'phone')
    into v_address, v_recipient
    from delivery.addresses a where a.id = (input ->> 'destination_address_id')::uuid;
    if not found then
      perform app.fail('address_not_found', '{"field": "destination_address_id"}');
    end if;
  end if;
  return jsonb_build_object('address_id', v_address, 'branch_id', v_branch, 'recipient', v_recipient);
end $function$;

CREATE OR REPLACE FUNCTION delivery.performance_detail(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_this date := date_trunc('month', now() at time zone app.timezone())::date;
  v_who jsonb;
  v_months jsonb;
  v_now jsonb;
  v_before jsonb;
begin
  select jsonb_build_object('driver_id', d.user_id, 'driver_name', p.full_name, 'avatar_url', to_jsonb(p) -> 'avatar_url') into v_who
  from delivery.drivers d join tenancy.people p on p.id = d.user_id where d.tenant_id = v_tenant and d.user_id = v_driver;
  if v_who is null then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  end if;
  select jsonb_agg(jsonb_build_object('year', extract(year from g.month)::integer, 'month', extract(month from g.month)::integer,
      'total_deliveries', coalesce(m.total_deliveries, 0), 'successful_deliveries', coalesce(m.successful_deliveries, 0),
      'failed_deliveries', coalesce(m.failed_deliveries, 0), 'on_time_deliveries', coalesce(m.on_time_deliveries, 0),
      'late_deliveries', coalesce(m.late_deliveries, 0), 'handled_legs', coalesce(m.handled_legs, 0),
      'success_rate', delivery.percent(m.successful_deliveries, m.total_deliveries),
      'on_time_rate', delivery.percent(m.on_time_deliveries, m.on_time_deliveries + m.late_deliveries),
      'average_delivery_time_minutes', round(m.total_minutes / nullif(m.timed_deliveries, 0), 2),
      'total_distance_traveled', coalesce(m.total_distance_km, 0),
      'kilometers_per_delivery', round(m.total_distance_km / nullif(m.measured_deliveries, 0), 3),
      'total_delivery_value', coalesce(m.total_delivery_value, 0)) order by g.month) into v_months
  from generate_series(v_this - interval '5 months', v_this, interval '1 month') g (month)
  left join delivery.driver_performance m on m.tenant_id = v_tenant and m.driver_id = v_driver
    and m.period_year = extract(year from g.month) and m.period_month = extract(month from g.month);
  v_now := v_months -> 5;
  v_before := v_months -> 4;
  return jsonb_build_object('driver', v_who, 'current_month', v_now, 'previous_month', v_before, 'history', v_months,
    'changes', (select jsonb_object_agg(c.name, delivery.percent_change((v_before ->> c.field)::numeric, (v_now ->> c.field)::numeric))
      from (values ('total_deliveries', 'total_deliveries'), ('success_rate', 'success_rate'), ('on_time_rate', 'on_time_rate'),
        ('avg_delivery_time', 'average_delivery_time_minutes'), ('total_delivery_value', 'total_delivery_value')) c (name, field)),
    'computed_at', (select s.computed_at from delivery.performance_state s where s.tenant_id = v_tenant));
end $function$;

CREATE OR REPLACE FUNCTION money.cod_found(search text)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 20
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_patterns text[] := app.contains_patterns(search);
  v_probes text[] := app.index_patterns(v_patterns);
  v_mine uuid := case when not app.sees_tenant() then app.user_id() end;
  v_drivers uuid[] := array(
    select p.id from delivery.drivers d join tenancy.people p on p.id = d.user_id
    where d.tenant_id = v_tenant and (p.full_name ilike any (v_patterns) or p.email ilike any (v_patterns)));
begin
  return query
    select c.id from money.cod_collections c
    where c.tenant_id = v_tenant and c.search_text ilike any (v_probes) and (c.search_text || '') ilike any (v_patterns)
      and (v_mine is null or c.driver_id = v_mine)
    union
    select c.id from money.cod_collections c
    where c.tenant_id = v_tenant and c.driver_id = any (v_drivers) and (v_mine is null or c.driver_id = v_mine);
end $function$;

CREATE OR REPLACE FUNCTION money.payer_contact(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if d.payer_type = 'receiver' then
    return jsonb_build_object('name', d.recipient ->> 'name', 'phone', d.recipient ->> 'phone');
  end if;
  return (
    select jsonb_build_object('name', coalesce(p.full_name, app.localized(f.place -> 'title')),
      'phone', coalesce(p.phone, f.place #>> '{contact_info,phone}'))
    from (values (coalesce(d.ordered_from_snapshot, d.pickup_snapshot))) f (place)
    left join tenancy.people p on p.id = coalesce(d.institution_user_id, d.customer_id));
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_snapshot_to_json(o storefront.storefront_orders)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object(
    'customer', (
      select jsonb_build_object('id', p.id, 'full_name', p.full_name, 'email', p.email, 'phone', p.phone)
      from tenancy.people p where p.id = o.user_id),
    'items', (
      select coalesce(jsonb_agg(jsonb_build_object('id', i.id, 'product_id', i.product_id, 'product_name', i.product_name,
        'images', i.images, 'quantity', i.quantity, 'unit_price', i.unit_price, 'total', i.total,
        'variant', jsonb_build_object('id', i.variant_id, 'sku', i.sku, 'attributes', i.attributes),
        'warehouse_item', case when w.id is not null then jsonb_build_object('id', w.id, 'name', w.name, 'sku', w.sku) end)
        order by i.position), '[]')
      from storefront.storefront_order_items i
      left join warehousing.inventory_items w on w.tenant_id = i.tenant_id and w.id = i.inventory_item_id
      where i.tenant_id = o.tenant_id and i.order_id = o.id));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.account_is_deleted(user_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from auth.users u
    join tenancy.tenant_users m on m.tenant_id = app.tenant_id() and m.user_id = u.id
    where u.id = account_is_deleted.user_id and u.deleted_at is not null);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.follow_auth_user()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_told jsonb := coalesce(new.raw_user_meta_data, '{}');
  v_name text := left(coalesce(v_told ->> 'full_name', v_told ->> 'name', ''), 200);
begin
  if tg_op = 'INSERT' then
    insert into tenancy.profiles (id, email, full_name, first_name, last_name, phone, avatar_url, made_by_tenant)
    values (new.id, new.email, v_name, left(v_told ->> 'first_name', 100),
      left(v_told ->> 'last_name', 100), left(v_told ->> 'phone', 40), substring(left(v_told ->> 'avatar_url', 2000) from '^https://[^[:space:]]+$'),
      tenancy.account_creator(new.id))
    on conflict (id) do nothing;
  elsif to_jsonb(new) ->> 'deleted_at' is not null then
    perform tenancy.account_ended(new.id);
    update tenancy.profiles set email = null, phone = null, avatar_url = null where id = new.id;
  else
    update tenancy.profiles p set email = new.email, full_name = coalesce(nullif(p.full_name, ''), v_name)
    where p.id = new.id;
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.keep_left_tenants()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- Of two tenants that are left at once, the later one reads the other.
  perform from tenancy.profiles p where p.id = new.user_id for no key update;
  update tenancy.profiles p set left_tenants = tenancy.left_tenants_of(p.id) where p.id = new.user_id;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "tenancy"."keep_left_tenants"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION tenancy.left_tenants_of(user_id uuid)
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return nullif(array(
    select u.tenant_id from tenancy.tenant_users u where u.user_id = left_tenants_of.user_id and u.left_at is not null order by 1), '{}');
end $function$;

REVOKE ALL ON FUNCTION "tenancy"."left_tenants_of"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION tenancy.profile_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant text := coalesce(app.tenant_id()::text, '');
begin
  perform set_config('app.tenant_id', '', true);
  update tenancy.profiles p set
    full_name = coalesce(input ->> 'full_name', p.full_name),
    first_name = case when input ? 'first_name' then input ->> 'first_name' else p.first_name end,
    last_name = case when input ? 'last_name' then input ->> 'last_name' else p.last_name end,
    phone = case when input ? 'phone' then input ->> 'phone' else p.phone end,
    avatar_url = case when input ? 'avatar_url' then input ->> 'avatar_url' else p.avatar_url end
  where p.id = app.user_id();
  perform set_config('app.tenant_id', v_tenant, true);
  return tenancy.me_get('{}');
end $function$;

CREATE OR REPLACE FUNCTION tenancy.tenant_writer(writer uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object('id', p.id, 'email', p.email) from tenancy.people p
    join tenancy.tenants t on t.id = app.tenant_id() and writer in (t.created_by, t.updated_by)
    where p.id = writer);
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
  -- Looked at once the membership is held, which Auth's deletion changes too.
  if input ->> 'is_active' = 'true' and tenancy.account_is_deleted(v_user) then
    perform app.fail('user_field_fixed', '{"field": "is_active"}');
  end if;
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

CREATE OR REPLACE FUNCTION warehousing.picking_order_get(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('order', app.found((
    select to_jsonb(o) || jsonb_build_object(
    'created_by_user', case when o.created_by is not null then jsonb_build_object('id', o.created_by, 'full_name', coalesce(c.full_name, ''),
      'first_name', c.first_name, 'last_name', c.last_name, 'email', c.email) end,
    'assigned_to_user', case when o.assigned_to is not null then jsonb_build_object('id', o.assigned_to, 'full_name', coalesce(a.full_name, ''),
      'first_name', a.first_name, 'last_name', a.last_name, 'email', a.email) end)
    from warehousing.picking_orders_list o
    left join tenancy.people c on c.id = o.created_by
    left join tenancy.people a on a.id = o.assigned_to
    where o.id = (input ->> 'id')::uuid), 'picking_order_not_found'));
end $function$;

CREATE VIEW "tenancy"."people" WITH (security_invoker=true) AS  SELECT id,
    full_name,
    first_name,
    last_name,
        CASE
            WHEN ((( SELECT app.tenant_id() AS tenant_id) = ANY (left_tenants)) IS NOT TRUE) THEN email
            ELSE NULL::text
        END AS email,
        CASE
            WHEN ((( SELECT app.tenant_id() AS tenant_id) = ANY (left_tenants)) IS NOT TRUE) THEN phone
            ELSE NULL::text
        END AS phone,
        CASE
            WHEN ((( SELECT app.tenant_id() AS tenant_id) = ANY (left_tenants)) IS NOT TRUE) THEN avatar_url
            ELSE NULL::text
        END AS avatar_url
   FROM tenancy.profiles p;

CREATE VIEW "delivery"."branches_list" WITH (security_invoker=true) AS  SELECT b.id,
    b.institution_user_id,
    b.name,
    b.code,
    b.address_id,
    b.default_processing_point_id,
    b.contact_info,
    b.metadata,
    b.is_active,
    b.created_at,
    b.updated_at,
    to_jsonb(a.*) AS address,
        CASE
            WHEN (p.id IS NOT NULL) THEN jsonb_build_object('id', p.id, 'name', p.name, 'code', p.code)
            ELSE NULL::jsonb
        END AS default_processing_point,
    jsonb_build_object('id', i.id, 'full_name', i.full_name, 'phone', i.phone) AS institution_user
   FROM (((delivery.institution_branches b
     JOIN delivery.addresses_list a ON ((a.id = b.address_id)))
     JOIN tenancy.people i ON ((i.id = b.institution_user_id)))
     LEFT JOIN delivery.transfer_processing_points p ON (((p.tenant_id = b.tenant_id) AND (p.id = b.default_processing_point_id))));

CREATE VIEW "delivery"."deliveries_list" WITH (security_invoker=true) AS  SELECT id,
    tenant_id,
    delivery_code,
    barcode,
    external_reference_id,
    status,
    status_reason,
    status_notes,
    delivery_flow,
    parent_id,
    leg,
    sequence_plan,
    original_delivery_id,
    (parent_id IS NOT NULL) AS is_leg,
    customer_id,
    institution_user_id,
        CASE
            WHEN (customer_id IS NOT NULL) THEN COALESCE(( SELECT jsonb_build_object('id', c.id, 'full_name', c.full_name, 'phone', c.phone) AS jsonb_build_object
               FROM tenancy.people c
              WHERE (c.id = d.customer_id)), jsonb_build_object('id', customer_id, 'full_name', NULL::unknown, 'phone', NULL::unknown))
            ELSE NULL::jsonb
        END AS customer,
        CASE
            WHEN (institution_user_id IS NOT NULL) THEN COALESCE(( SELECT jsonb_build_object('id', i.id, 'full_name', i.full_name, 'phone', i.phone) AS jsonb_build_object
               FROM tenancy.people i
              WHERE (i.id = d.institution_user_id)), jsonb_build_object('id', institution_user_id, 'full_name', NULL::unknown, 'phone', NULL::unknown))
            ELSE NULL::jsonb
        END AS institution,
    delivery_service_id,
    jsonb_build_object('id', delivery_service_id, 'code', (service_snapshot ->> 'code'::text), 'name', COALESCE(NULLIF((service_snapshot #>> ARRAY['name'::text, ( SELECT app.language() AS language)]), ''::text), app.localized((service_snapshot -> 'name'::text)))) AS delivery_service,
    carrier_type,
    carrier_code,
    payer_type,
    payment_method,
        CASE
            WHEN (parent_id IS NULL) THEN delivery_fee
            ELSE ((delivery.due_on(d.*) ->> 'delivery_fee'::text))::numeric
        END AS price,
        CASE
            WHEN (parent_id IS NULL) THEN delivery_fee
            ELSE ((delivery.due_on(d.*) ->> 'delivery_fee'::text))::numeric
        END AS delivery_fee,
        CASE
            WHEN (parent_id IS NULL) THEN cod_amount
            ELSE ((delivery.due_on(d.*) ->> 'cod_amount'::text))::numeric
        END AS cod_amount,
        CASE
            WHEN (parent_id IS NULL) THEN COALESCE(ordered_cod_amount, cod_amount)
            ELSE delivery.cod_ordered_on(d.*)
        END AS ordered_cod_amount,
    currency,
    money.cash_due_on(d.*) AS cash_due,
        CASE
            WHEN (parent_id IS NOT NULL) THEN delivery.parcel_of_leg_to_json(d.*)
            ELSE NULL::jsonb
        END AS parcel,
    unit_size,
    unit_size_source,
    distance_km,
    pickup_address_id,
    dropoff_address_id,
    pickup_snapshot AS pickup_address,
    dropoff_snapshot AS dropoff_address,
    pickup_zone_id,
    dropoff_zone_id,
    pickup_warehouse_id,
    dropoff_warehouse_id,
    current_warehouse_id,
        CASE
            WHEN ((delivery_flow = 'pnd_outbound'::text) OR ((delivery_flow = 'operational_return'::text) AND (pickup_warehouse_id IS NOT NULL))) THEN NULL::jsonb
            WHEN (((source_snapshot #>> '{source,institution,full_name}'::text[]) IS NOT NULL) AND ((source_snapshot #>> '{source,institution,phone}'::text[]) IS NOT NULL)) THEN jsonb_build_object('name', (source_snapshot #> '{source,institution,full_name}'::text[]), 'phone', (source_snapshot #> '{source,institution,phone}'::text[]))
            ELSE ( SELECT jsonb_build_object('name', COALESCE((d.source_snapshot #>> '{source,institution,full_name}'::text[]), s.full_name, ( SELECT app.localized(t.name) AS localized
                       FROM tenancy.tenants t
                      WHERE (t.id = ( SELECT app.tenant_id() AS tenant_id)))), 'phone', COALESCE((d.source_snapshot #>> '{source,institution,phone}'::text[]), s.phone)) AS jsonb_build_object
               FROM (( SELECT
                            CASE
                                WHEN (d.institution_user_id IS NULL) THEN d.customer_id
                                ELSE d.institution_user_id
                            END AS id) o
                 LEFT JOIN tenancy.people s ON ((s.id = o.id))))
        END AS sender,
        CASE
            WHEN (delivery_flow = 'pnd_inbound'::text) THEN jsonb_strip_nulls(jsonb_build_object('received_by', (recipient -> 'received_by'::text)))
            ELSE recipient
        END AS recipient,
    notes,
    manifest_id,
    attempts_used,
    ( SELECT jsonb_build_object('id', x.id, 'status', x.status, 'driver_id', x.driver_id, 'driver', jsonb_build_object('id', x.driver_id, 'full_name', p.full_name, 'phone', p.phone), 'vehicle_id', x.vehicle_id, 'assignment_time', x.assignment_time) AS jsonb_build_object
           FROM (delivery.assignments x
             LEFT JOIN tenancy.people p ON ((p.id = x.driver_id)))
          WHERE ((x.tenant_id = d.tenant_id) AND (x.delivery_id = d.id) AND (x.status <> 'rejected'::text))
          ORDER BY (x.status = ANY (ARRAY['pending'::text, 'assigned'::text, 'accepted'::text])) DESC, x.assignment_time DESC
         LIMIT 1) AS assignment,
    promised_at,
    picked_up_at,
    delivered_at,
    created_by,
    created_at,
    updated_at,
    deliver_after,
    deliver_before,
    postponed_to,
    delivered_in_part
   FROM delivery.deliveries d;

CREATE VIEW "delivery"."assignments_list" WITH (security_invoker=true) AS  SELECT id,
    tenant_id,
    delivery_id,
    driver_id,
    vehicle_id,
    bulk_assignment_id,
    assigned_by AS assigned_by_id,
    assignment_time,
    status,
    status AS assignment_status,
    (status = 'pending'::text) AS requires_driver_response,
    sequence_number,
    estimated_pickup_time,
    estimated_delivery_time,
    notes,
    responded_at,
    response_reason,
    ( SELECT json_build_object('id', d.id, 'delivery_code', d.delivery_code, 'external_reference_id', d.external_reference_id, 'customer', ( SELECT json_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone) AS json_build_object
                   FROM tenancy.people p
                  WHERE (p.id =
                        CASE
                            WHEN (d.customer_id IS NULL) THEN d.institution_user_id
                            ELSE d.customer_id
                        END)), 'barcode', d.barcode, 'parent_id', d.parent_id, 'leg', d.leg, 'postponed_to', d.postponed_to, 'cod_amount', d.cod_amount, 'delivery_fee', d.delivery_fee, 'currency', d.currency, 'cash_due', d.cash_due, 'parcel', d.parcel, 'sender', d.sender, 'recipient', d.recipient) AS json_build_object
           FROM delivery.deliveries_list d
          WHERE ((d.tenant_id = a.tenant_id) AND (d.id = a.delivery_id))) AS delivery,
    json_build_object('id', driver_id, 'user', ( SELECT json_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone) AS json_build_object
           FROM tenancy.people p
          WHERE (p.id = a.driver_id))) AS drivers,
    ( SELECT json_build_object('id', v.id, 'name', v.name, 'image_url', v.image_url) AS json_build_object
           FROM delivery.vehicles v
          WHERE ((v.tenant_id = a.tenant_id) AND (v.id = a.vehicle_id))) AS vehicle,
    ( SELECT json_build_object('id', p.id, 'full_name', p.full_name) AS json_build_object
           FROM tenancy.profiles p
          WHERE (p.id = a.assigned_by)) AS assigned_by,
    ( SELECT json_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone, 'email', p.email) AS json_build_object
           FROM (delivery.deliveries d
             JOIN tenancy.people p ON ((p.id =
                CASE
                    WHEN (d.customer_id IS NULL) THEN d.institution_user_id
                    ELSE d.customer_id
                END)))
          WHERE ((d.tenant_id = a.tenant_id) AND (d.id = a.delivery_id))) AS customer,
    ( SELECT json_build_object('status', d.status, 'barcode', d.barcode, 'parent_id', d.parent_id, 'leg', d.leg, 'delivery_flow', d.delivery_flow, 'unit_size', d.unit_size, 'payer_type', d.payer_type, 'payment_method', d.payment_method, 'notes', d.notes, 'pickup',
                CASE
                    WHEN (a.from_warehouse_id IS NULL) THEN d.pickup_address
                    ELSE delivery.warehouse_place(a.tenant_id, a.from_warehouse_id, d.pickup_address)
                END, 'dropoff',
                CASE
                    WHEN (a.to_warehouse_id IS NULL) THEN d.dropoff_address
                    ELSE delivery.warehouse_place(a.tenant_id, a.to_warehouse_id, d.dropoff_address)
                END, 'promised_at', d.promised_at, 'deliver_after', d.deliver_after, 'deliver_before', d.deliver_before, 'picked_up_at', d.picked_up_at, 'cod_amount', d.cod_amount, 'delivery_fee', d.delivery_fee, 'currency', d.currency, 'cash_due', d.cash_due, 'parcel', d.parcel, 'sender', d.sender, 'recipient',
                CASE
                    WHEN (a.to_warehouse_id IS NULL) THEN d.recipient
                    ELSE '{}'::jsonb
                END) AS json_build_object
           FROM delivery.deliveries_list d
          WHERE ((d.tenant_id = a.tenant_id) AND (d.id = a.delivery_id))) AS delivery_details,
    route_details AS route
   FROM delivery.assignments a;

CREATE VIEW "delivery"."deliveries_carried" WITH (security_invoker=true) AS  SELECT id,
    tenant_id,
    jsonb_build_object('cod_amount', cod_amount, 'delivery_fee', delivery_fee, 'currency', currency, 'cash_due', cash_due, 'parcel', parcel, 'sender', sender, 'recipient', recipient) AS carried
   FROM delivery.deliveries_list d;

CREATE VIEW "delivery"."drivers_list" WITH (security_invoker=true) AS  SELECT d.user_id AS id,
    jsonb_build_object('id', d.user_id, 'full_name', p.full_name, 'phone', p.phone, 'email', p.email) AS "user",
        CASE
            WHEN (v.id IS NOT NULL) THEN jsonb_build_object('id', v.id, 'name', v.name, 'image_url', v.image_url)
            ELSE NULL::jsonb
        END AS vehicle,
    d.all_zones,
    ( SELECT COALESCE(jsonb_agg(z.zone_id ORDER BY z.zone_id), '[]'::jsonb) AS "coalesce"
           FROM delivery.driver_zones z
          WHERE ((z.tenant_id = d.tenant_id) AND (z.driver_id = d.user_id))) AS zone_ids,
    d.status,
    d.capacity_used,
    COALESCE((s.on_duty AND (s.last_heartbeat_at > (now() - ( SELECT delivery.offline_after() AS offline_after)))), false) AS is_online,
    (EXISTS ( SELECT
           FROM tenancy.tenant_settings s_1
          WHERE ((s_1.tenant_id = d.tenant_id) AND (s_1.module = 'delivery'::text) AND (s_1.group_key = 'assignment_change_settings'::text) AND ((s_1.settings ->> 'default_driver_id'::text) = (d.user_id)::text)))) AS is_default,
    d.created_at,
    d.updated_at,
    p.full_name,
    p.phone,
    COALESCE(s.on_duty, false) AS on_duty,
    s.last_heartbeat_at,
        CASE
            WHEN (( SELECT app.has_permission('manage:operations:tenant'::text) AS has_permission) OR (d.user_id = ( SELECT app.user_id() AS user_id))) THEN delivery.position_to_json(s.*)
            ELSE NULL::jsonb
        END AS last_position
   FROM (((delivery.drivers d
     JOIN tenancy.people p ON ((p.id = d.user_id)))
     LEFT JOIN delivery.driver_presence s ON (((s.tenant_id = d.tenant_id) AND (s.driver_id = d.user_id))))
     LEFT JOIN delivery.vehicles v ON (((v.tenant_id = d.tenant_id) AND (v.id = d.vehicle_id))));

CREATE VIEW "delivery"."handoffs_list" WITH (security_invoker=true) AS  SELECT h.id,
    h.tenant_id,
    h.delivery_id,
    h.picking_order_id,
    h.assignment_id,
    h.driver_id,
    h.status,
    h.custody,
    h.warehouse_id,
    h.completed_at,
    h.created_at,
    h.updated_at,
    (jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode, 'status', d.status, 'delivery_flow', d.delivery_flow, 'parent_id', d.parent_id, 'leg', d.leg) || ( SELECT c.carried
           FROM delivery.deliveries_carried c
          WHERE ((c.tenant_id = h.tenant_id) AND (c.id = h.delivery_id)))) AS delivery,
    jsonb_build_object('id', w.id, 'name', w.name, 'code', w.code) AS warehouse,
        CASE
            WHEN (h.driver_id IS NOT NULL) THEN jsonb_build_object('id', h.driver_id, 'full_name', p.full_name)
            ELSE NULL::jsonb
        END AS driver
   FROM (((delivery.package_handoffs h
     LEFT JOIN delivery.deliveries d ON (((d.tenant_id = h.tenant_id) AND (d.id = h.delivery_id))))
     LEFT JOIN warehousing.warehouses w ON (((w.tenant_id = h.tenant_id) AND (w.id = h.warehouse_id))))
     LEFT JOIN tenancy.profiles p ON ((p.id = h.driver_id)));

CREATE VIEW "delivery"."institutions_list" WITH (security_invoker=true) AS  SELECT p.id,
    p.full_name,
    p.email,
    p.phone,
    p.avatar_url AS avatar,
    ( SELECT count(*) AS count
           FROM delivery.institution_branches b
          WHERE ((b.tenant_id = u.tenant_id) AND (b.institution_user_id = u.user_id) AND b.is_active)) AS branches_count,
    ( SELECT jsonb_build_object('balance', a.balance, 'currency', a.currency) AS jsonb_build_object
           FROM money.accounts a
          WHERE ((a.tenant_id = u.tenant_id) AND (a.owner_user_id = u.user_id) AND (a.kind = 'wallet'::text) AND (a.owner_type = 'institution'::text))
          ORDER BY ((a.currency)::text = COALESCE(( SELECT (s.settings ->> 'currency_code'::text)
                   FROM tenancy.tenant_settings s
                  WHERE ((s.tenant_id = u.tenant_id) AND (s.module = 'general'::text) AND (s.group_key = 'currency'::text))), 'IQD'::text)) DESC, a.created_at, a.id
         LIMIT 1) AS wallet,
    u.is_active,
    u.created_at
   FROM (tenancy.tenant_users u
     JOIN tenancy.people p ON ((p.id = u.user_id)))
  WHERE ((u.tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (u.tenant_user_type = 'institution'::text) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (u.user_id = ( SELECT app.user_id() AS user_id))));

CREATE VIEW "delivery"."manifest_exceptions_list" WITH (security_invoker=true) AS  SELECT x.id,
    x.manifest_item_id,
    COALESCE(i.barcode_value, x.barcode_value) AS barcode_value,
    i.status AS item_status,
    x.manifest_id,
    m.manifest_number,
    m.status AS manifest_status,
        CASE
            WHEN (m.id IS NOT NULL) THEN jsonb_build_object('id', m.institution_user_id, 'full_name', p.full_name, 'phone', p.phone)
            ELSE NULL::jsonb
        END AS institution,
    jsonb_build_object('value', x.reason, 'label', ( SELECT
                CASE jsonb_typeof((r_1.reason -> 'label'::text))
                    WHEN 'object'::text THEN app.localized((r_1.reason -> 'label'::text))
                    ELSE (r_1.reason ->> 'label'::text)
                END AS "case"
           FROM (tenancy.tenant_settings s
             CROSS JOIN LATERAL jsonb_array_elements(
                CASE jsonb_typeof((s.settings -> 'reasons'::text))
                    WHEN 'array'::text THEN (s.settings -> 'reasons'::text)
                    ELSE '[]'::jsonb
                END) r_1(reason))
          WHERE ((s.tenant_id = x.tenant_id) AND (s.module = 'delivery'::text) AND (s.group_key = 'transfer_manifest'::text) AND ((r_1.reason ->> 'value'::text) = x.reason))
         LIMIT 1)) AS reason,
    x.notes,
    to_jsonb(x.photo_urls) AS photo_urls,
    x.status,
        CASE
            WHEN (x.created_by IS NOT NULL) THEN jsonb_build_object('id', x.created_by, 'full_name', c.full_name)
            ELSE NULL::jsonb
        END AS created_by,
    x.created_at,
    x.resolved_at,
        CASE
            WHEN (x.status = 'resolved'::text) THEN jsonb_build_object('outcome', x.outcome, 'notes', x.resolution_notes, 'resolved_by',
            CASE
                WHEN (x.resolved_by IS NOT NULL) THEN jsonb_build_object('id', x.resolved_by, 'full_name', r.full_name)
                ELSE NULL::jsonb
            END)
            ELSE NULL::jsonb
        END AS resolution
   FROM (((((delivery.transfer_manifest_exceptions x
     LEFT JOIN delivery.transfer_manifest_items i ON (((i.tenant_id = x.tenant_id) AND (i.id = x.manifest_item_id))))
     LEFT JOIN delivery.transfer_manifests m ON (((m.tenant_id = x.tenant_id) AND (m.id = x.manifest_id))))
     LEFT JOIN tenancy.people p ON ((p.id = m.institution_user_id)))
     LEFT JOIN tenancy.profiles c ON ((c.id = x.created_by)))
     LEFT JOIN tenancy.profiles r ON ((r.id = x.resolved_by)));

CREATE VIEW "delivery"."manifest_items_search_rows" WITH (security_invoker=true) AS  SELECT i.id AS manifest_item_id,
    i.barcode_value,
    i.status,
    m.id AS manifest_id,
    m.manifest_number,
    m.status AS manifest_status,
    jsonb_build_object('id', m.institution_user_id, 'full_name', p.full_name, 'phone', p.phone) AS institution,
    jsonb_build_object('id', b.id, 'name', b.name, 'code', b.code) AS source_branch,
        CASE
            WHEN (i.destination_address_id IS NULL) THEN COALESCE(i.destination_branch_id, m.destination_branch_id)
            ELSE NULL::uuid
        END AS destination_branch_id,
        CASE
            WHEN (i.destination_branch_id IS NULL) THEN COALESCE(i.destination_address_id, m.destination_address_id)
            ELSE NULL::uuid
        END AS destination_address_id,
    i.delivery_id,
    (i.delivery_id IS NOT NULL) AS already_has_order,
    i.created_at
   FROM (((delivery.transfer_manifest_items i
     JOIN delivery.transfer_manifests m ON (((m.tenant_id = i.tenant_id) AND (m.id = i.manifest_id))))
     JOIN delivery.institution_branches b ON (((b.tenant_id = m.tenant_id) AND (b.id = m.source_branch_id))))
     LEFT JOIN tenancy.people p ON ((p.id = m.institution_user_id)));

CREATE VIEW "delivery"."manifests_list" WITH (security_invoker=true) AS  SELECT m.id,
    m.manifest_number,
    m.status,
    m.creation_source,
    m.institution_user_id,
    m.driver_id,
    m.processing_point_id,
    jsonb_build_object('id', m.institution_user_id, 'full_name', i.full_name, 'phone', i.phone) AS institution,
    jsonb_build_object('id', m.source_branch_id, 'name', b.name, 'code', b.code) AS source_branch,
    jsonb_build_object('id', m.processing_point_id, 'name', p.name, 'code', p.code) AS processing_point,
        CASE
            WHEN (m.driver_id IS NOT NULL) THEN jsonb_build_object('id', m.driver_id, 'full_name', d.full_name)
            ELSE NULL::jsonb
        END AS driver,
    m.source_address_id,
    m.destination_branch_id,
    m.destination_address_id,
    m.notes,
    ( SELECT count(*) AS count
           FROM delivery.transfer_manifest_items x
          WHERE ((x.tenant_id = m.tenant_id) AND (x.manifest_id = m.id))) AS items_count,
    COALESCE((m.received_count)::bigint, ( SELECT count(*) AS count
           FROM delivery.transfer_manifest_items x
          WHERE ((x.tenant_id = m.tenant_id) AND (x.manifest_id = m.id) AND (x.received_at IS NOT NULL)))) AS received_count,
    ( SELECT count(*) AS count
           FROM delivery.transfer_manifest_exceptions x
          WHERE ((x.tenant_id = m.tenant_id) AND (x.manifest_id = m.id) AND (x.status = 'open'::text))) AS open_exceptions_count,
    m.picked_up_at,
    m.departed_at,
    m.driver_arrived_at,
    m.receiving_started_at,
    m.receiver_id,
    m.received_at,
    m.received_by,
    m.processing_started_at,
    m.completed_at,
    m.cancelled_at,
    m.cancel_reason,
    m.created_by,
    m.created_at,
    m.updated_at
   FROM ((((delivery.transfer_manifests m
     LEFT JOIN tenancy.people i ON ((i.id = m.institution_user_id)))
     LEFT JOIN tenancy.profiles d ON ((d.id = m.driver_id)))
     LEFT JOIN delivery.institution_branches b ON (((b.tenant_id = m.tenant_id) AND (b.id = m.source_branch_id))))
     LEFT JOIN delivery.transfer_processing_points p ON (((p.tenant_id = m.tenant_id) AND (p.id = m.processing_point_id))));

CREATE VIEW "money"."cod_collections_list" WITH (security_invoker=true) AS  SELECT c.id,
    c.delivery_id,
    c.driver_id,
    c.amount,
    c.currency,
    json_build_object('cod', c.cod_amount, 'delivery_fee', c.delivery_fee_amount) AS allocations,
    c.cod_amount,
    c.delivery_fee_amount,
    c.collection_stage,
    c.status,
    c.collected_at,
    c.remitted_at,
    c.settled_at,
    c.delivery_code,
    c.leg_codes,
    c.receiver_name,
    json_build_object('delivery_number', c.delivery_number, 'customer_name', c.customer_name, 'delivery_address', c.delivery_address, 'receiver_name', c.receiver_name) AS delivery_details,
    json_build_object('full_name', p.full_name, 'email', p.email, 'avatar', p.avatar_url) AS driver_info,
    c.remitted_to_user_id,
    c.settlement_payment_id,
    c.external_reference_id,
    c.reversed_at,
    c.customer_name,
    c.delivery_address,
    p.full_name AS driver_name
   FROM (money.cod_collections c
     LEFT JOIN tenancy.people p ON ((p.id = c.driver_id)));

CREATE VIEW "tenancy"."tenants_list" WITH (security_invoker=true) AS  SELECT id,
    name,
    slug,
    status,
    contact_info,
    metadata,
    logo_url,
    subscription_status,
    app.is_effective(t.*) AS effective_active,
    effective_until,
    created_at,
    created_by,
    updated_at,
    updated_by,
    ( SELECT jsonb_build_object('id', p.id, 'email', p.email) AS jsonb_build_object
           FROM tenancy.people p
          WHERE (p.id = t.created_by)) AS created_by_user,
    ( SELECT jsonb_build_object('id', p.id, 'email', p.email) AS jsonb_build_object
           FROM tenancy.people p
          WHERE (p.id = t.updated_by)) AS updated_by_user,
    jsonb_build_object('count', tenancy.members_of(id)) AS tenant_users
   FROM tenancy.tenants t;

CREATE TRIGGER audit_update AFTER UPDATE ON tenancy.profiles REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT WHEN ((app.tenant_id() IS NOT NULL)) EXECUTE FUNCTION private.audit('email,made_by_tenant,proven_at,left_tenants');

CREATE TRIGGER keep_left_tenants AFTER UPDATE OF left_at ON tenancy.tenant_users FOR EACH ROW WHEN (((new.left_at IS NULL) <> (old.left_at IS NULL))) EXECUTE FUNCTION tenancy.keep_left_tenants();

REVOKE ALL ON FUNCTION "tenancy"."account_is_deleted"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."account_is_deleted"(uuid) TO "barid_caller";

-- Those who have left a tenant before.
update tenancy.profiles p set left_tenants = tenancy.left_tenants_of(p.id)
where exists (select from tenancy.tenant_users u where u.user_id = p.id and u.left_at is not null);

REVOKE ALL ON FUNCTION "tenancy"."keep_left_tenants"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "tenancy"."left_tenants_of"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "tenancy"."profile_update"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."profile_update"(jsonb) TO "barid_caller";

REVOKE ALL ("first_name") ON TABLE "tenancy"."profiles" FROM "barid_caller";

GRANT UPDATE ("first_name") ON TABLE "tenancy"."profiles" TO "barid_caller";

REVOKE ALL ("last_name") ON TABLE "tenancy"."profiles" FROM "barid_caller";

GRANT UPDATE ("last_name") ON TABLE "tenancy"."profiles" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."assignments_list" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."branches_list" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."deliveries_carried" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."deliveries_list" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."drivers_list" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."handoffs_list" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."institutions_list" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."manifest_exceptions_list" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."manifest_items_search_rows" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."manifests_list" TO "barid_caller";

GRANT SELECT ON TABLE "money"."cod_collections_list" TO "barid_caller";

GRANT SELECT ON TABLE "tenancy"."people" TO "barid_caller";

GRANT SELECT ON TABLE "tenancy"."tenants_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126163618';
end $$;

grant execute on function private.schema_version() to barid_api;
