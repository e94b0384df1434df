-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.assignments_list, delivery.deliveries_list in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "delivery"."assignments_list";

DROP VIEW "delivery"."deliveries_list";

CREATE OR REPLACE FUNCTION delivery.delivery_correct(d delivery.deliveries, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries;
  v_field text;
begin
  select * into p from delivery.deliveries x where x.id = delivery.parcel_of(d);
  if not found then
    perform app.fail('forbidden');
  end if;
  perform delivery.require_owner(p);
  if p.status in ('delivered', 'cancelled') or (p.status = 'returned' and p.delivery_flow <> 'pnd_parent') then
    perform app.fail('delivery_ended', jsonb_build_object('status', p.status));
  end if;
  if not app.has_permission('manage:operations:tenant') and p.status not in ('pending', 'assigned', 'accepted') then
    perform app.fail('delivery_already_picked_up');
  end if;
  select k.word into v_field from jsonb_object_keys(input - '{id,package_field}'::text[]) k (word)
  where k.word not in ('recipient', 'notes', 'external_reference_id', 'promised_at', 'deliver_after', 'deliver_before')
  order by k.word limit 1;
  if found then
    perform app.fail('delivery_already_ordered', jsonb_build_object('field', v_field));
  end if;
  perform delivery.require_delivery_window(
    case when input ? 'deliver_after' then app.instant(input ->> 'deliver_after') else p.deliver_after end,
    case when input ? 'deliver_before' then app.instant(input ->> 'deliver_before') else p.deliver_before end);
  perform delivery.delivery_corrected(p.id, input);
  return delivery.delivery_created_to_json(p.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_corrected(parcel uuid, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  update delivery.deliveries x set
    recipient = case when input ? 'recipient' then coalesce(nullif(input -> 'recipient', 'null'), '{}') else x.recipient end,
    notes = case when input ? 'notes' then input ->> 'notes' else x.notes end,
    external_reference_id = case when input ? 'external_reference_id' then input ->> 'external_reference_id' else x.external_reference_id end,
    promised_at = case when input ? 'promised_at' then app.instant(input ->> 'promised_at') else x.promised_at end,
    deliver_after = case when input ? 'deliver_after' then app.instant(input ->> 'deliver_after') else x.deliver_after end,
    deliver_before = case when input ? 'deliver_before' then app.instant(input ->> 'deliver_before') else x.deliver_before end
  where x.tenant_id = v_tenant and (x.id = parcel or (x.parent_id = parcel and x.status not in ('delivered', 'cancelled')));
  perform delivery.drivers_notify(array[parcel]);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_insert(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into delivery.deliveries (id, tenant_id, delivery_code, barcode, external_reference_id, original_delivery_id, delivery_flow, status,
    customer_id, institution_user_id, delivery_service_id, carrier_type, carrier_code, payer_type, payment_method, cod_amount, delivery_fee,
    currency, unit_size, unit_size_source, package_details, distance_km, pickup_address_id, dropoff_address_id, pickup_snapshot,
    dropoff_snapshot, pickup_zone_id, dropoff_zone_id, pickup_warehouse_id, dropoff_warehouse_id, current_warehouse_id, staging_warehouse_id,
    recipient, notes, service_snapshot, status_reason, promised_at, created_by, order_id, deliver_after,
    deliver_before)
  values (d.id, d.tenant_id, d.delivery_code, d.barcode, d.external_reference_id, d.original_delivery_id, d.delivery_flow, d.status,
    d.customer_id, d.institution_user_id, d.delivery_service_id, d.carrier_type, d.carrier_code, d.payer_type, d.payment_method, d.cod_amount,
    d.delivery_fee, d.currency, d.unit_size, d.unit_size_source, d.package_details, d.distance_km, d.pickup_address_id, d.dropoff_address_id,
    d.pickup_snapshot, d.dropoff_snapshot, d.pickup_zone_id, d.dropoff_zone_id, d.pickup_warehouse_id, d.dropoff_warehouse_id,
    d.current_warehouse_id, d.staging_warehouse_id, d.recipient, d.notes, d.service_snapshot, d.status_reason, d.promised_at, d.created_by,
    d.order_id, d.deliver_after, d.deliver_before);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_legs_create(parent_ids uuid[], warehouse uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_first bigint := app.take_numbers('delivery_code', 2 * cardinality(parent_ids));
begin
  insert into delivery.deliveries (tenant_id, delivery_code, barcode, parent_id, leg, sequence_plan, delivery_flow, status,
    customer_id, institution_user_id, delivery_service_id, payer_type, payment_method, delivery_fee, currency, unit_size,
    unit_size_source, package_details, pickup_address_id, dropoff_address_id, pickup_snapshot, dropoff_snapshot,
    pickup_zone_id, dropoff_zone_id, pickup_warehouse_id, dropoff_warehouse_id, recipient, service_snapshot, manifest_id,
    source_snapshot, snapshot_version, label_assignment, label_outdated, external_reference_id, notes, promised_at, created_by,
    deliver_after, deliver_before)
  select p.tenant_id, v_first + 2 * (asked.position - 1) + g.sequence_plan - 1, p.barcode, p.id, g.leg, g.sequence_plan, g.flow, g.status,
    p.customer_id, p.institution_user_id, p.delivery_service_id, p.payer_type, p.payment_method, 0, p.currency, p.unit_size,
    p.unit_size_source, p.package_details,
    case g.leg when 'A' then p.pickup_address_id else a.id end, case g.leg when 'A' then a.id else p.dropoff_address_id end,
    case g.leg when 'A' then p.pickup_snapshot else to_jsonb(a) end, case g.leg when 'A' then to_jsonb(a) else p.dropoff_snapshot end,
    case g.leg when 'A' then p.pickup_zone_id else a.zone_id end, case g.leg when 'A' then a.zone_id else p.dropoff_zone_id end,
    case g.leg when 'B' then w.id end, case g.leg when 'A' then w.id end,
    p.recipient, p.service_snapshot, p.manifest_id, p.source_snapshot, p.snapshot_version, p.label_assignment, p.label_outdated, p.external_reference_id,
    p.notes, p.promised_at, p.created_by, p.deliver_after, p.deliver_before
  from unnest(parent_ids) with ordinality asked (id, position)
  join delivery.deliveries p on p.tenant_id = app.tenant_id() and p.id = asked.id
  join warehousing.warehouses w on w.tenant_id = p.tenant_id and w.id = warehouse
  join delivery.addresses_list a on a.id = w.address_id
  cross join (values ('A', 1, 'pnd_inbound', 'pending'), ('B', 2, 'pnd_outbound', 'draft')) g (leg, sequence_plan, flow, status)
  order by asked.position, g.sequence_plan;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_rewrite(d delivery.deliveries, t delivery.deliveries, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update delivery.deliveries x set barcode = coalesce(input ->> 'barcode', x.barcode), customer_id = t.customer_id,
    institution_user_id = t.institution_user_id, delivery_service_id = t.delivery_service_id, service_snapshot = t.service_snapshot,
    carrier_type = t.carrier_type, carrier_code = t.carrier_code, payer_type = t.payer_type, payment_method = t.payment_method,
    cod_amount = t.cod_amount, delivery_fee = t.delivery_fee, currency = t.currency, unit_size = t.unit_size,
    unit_size_source = t.unit_size_source, package_details = t.package_details, distance_km = t.distance_km,
    pickup_address_id = t.pickup_address_id, dropoff_address_id = t.dropoff_address_id, pickup_snapshot = t.pickup_snapshot,
    dropoff_snapshot = t.dropoff_snapshot, pickup_zone_id = t.pickup_zone_id, dropoff_zone_id = t.dropoff_zone_id,
    pickup_warehouse_id = t.pickup_warehouse_id, recipient = t.recipient, notes = t.notes,
    dropoff_warehouse_id = case when x.transfer_kind is null then t.dropoff_warehouse_id else x.dropoff_warehouse_id end,
    ordered_to_warehouse_id = case when x.transfer_kind is not null then t.dropoff_warehouse_id end,
    external_reference_id = t.external_reference_id, promised_at = t.promised_at, deliver_after = t.deliver_after,
    deliver_before = t.deliver_before
  where x.tenant_id = d.tenant_id and x.id = d.id;
  if t.package_details is distinct from d.package_details then
    perform delivery.delivery_items_clear(d.id);
    t.id := d.id;
    t.delivery_code := d.delivery_code;
    perform delivery.delivery_items_write(array[t]);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_terms(input jsonb)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_people record := delivery.delivery_people(input);
  v_currency record := app.currency();
  v_owner uuid := coalesce(v_people.institution_user_id, v_people.customer_id);
  v_from delivery.addresses;
  v_to delivery.addresses;
begin
  d.tenant_id := app.tenant_id();
  d.customer_id := v_people.customer_id;
  d.institution_user_id := v_people.institution_user_id;
  d.payer_type := input ->> 'payer_type';
  d.payment_method := input ->> 'payment_method';
  -- Of a storefront order, said by storefront.order_delivery_terms() alone: no client names it.
  d.order_id := (input ->> 'order_id')::uuid;
  d.cod_amount := coalesce((input ->> 'cod_amount')::numeric, 0);
  d.currency := v_currency.code;
  if d.cod_amount <> round(d.cod_amount, v_currency.decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'cod_amount', 'currency', d.currency, 'decimals', v_currency.decimals));
  end if;
  if d.cod_amount > 0 and v_owner is null then
    perform app.fail('customer_required_for_cod', '{"field": "customer_id"}');
  end if;
  if d.payment_method = 'wallet' then
    -- The wallet is the sender's; a receiver pays at the door.
    if d.payer_type <> 'sender' then
      perform app.fail('wallet_is_the_senders', '{"field": "payment_method"}');
    end if;
    if v_owner is null then
      perform app.fail('customer_required_for_wallet', '{"field": "customer_id"}');
    end if;
  end if;
  v_from := delivery.delivery_place(input, 'pickup', v_owner);
  v_to := delivery.delivery_place(input, 'dropoff', v_owner);
  d.pickup_address_id := v_from.id;
  d.pickup_zone_id := v_from.zone_id;
  d.dropoff_address_id := v_to.id;
  d.dropoff_zone_id := v_to.zone_id;
  select to_jsonb(a) into d.pickup_snapshot from delivery.addresses_list a where a.id = v_from.id;
  select to_jsonb(a) into d.dropoff_snapshot from delivery.addresses_list a where a.id = v_to.id;
  d.pickup_warehouse_id := (input ->> 'pickup_warehouse_id')::uuid;
  d.dropoff_warehouse_id := (input ->> 'dropoff_warehouse_id')::uuid;
  d.recipient := coalesce(input -> 'recipient', '{}');
  d.external_reference_id := input ->> 'external_reference_id';
  d.notes := input ->> 'notes';
  d.promised_at := app.instant(input ->> 'promised_at');
  d.deliver_after := app.instant(input ->> 'deliver_after');
  d.deliver_before := app.instant(input ->> 'deliver_before');
  perform delivery.require_delivery_window(d.deliver_after, d.deliver_before);
  d.carrier_type := coalesce(input ->> 'carrier_type', 'internal');
  d.carrier_code := case d.carrier_type when 'external' then coalesce(input ->> 'carrier_code',
    app.refuse('carrier_code_required', '{"field": "carrier_code"}')::text) end;
  d.delivery_flow := coalesce(input ->> 'delivery_flow', 'standard');
  d.created_by := app.user_id();
  return delivery.delivery_priced(d, input, v_from, v_to);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  v_sent jsonb := jsonb_strip_nulls(input);
  v_old jsonb;
  v_end text;
begin
  -- A leg that waits as a draft is part of an order.
  if d.status <> 'draft' or d.parent_id is not null then
    return delivery.delivery_correct(d, input);
  end if;
  perform delivery.require_owner(d);
  v_old := jsonb_strip_nulls(jsonb_build_object('customer_id', d.customer_id, 'institution_user_id', d.institution_user_id,
    'delivery_service_id', d.delivery_service_id, 'payer_type', d.payer_type, 'payment_method', d.payment_method, 'cod_amount', d.cod_amount,
    'unit_size', case d.unit_size_source when 'unit_size' then d.unit_size end, 'package', d.package_details, 'recipient', d.recipient,
    'external_reference_id', d.external_reference_id, 'notes', d.notes, 'promised_at', d.promised_at,
    'deliver_after', d.deliver_after, 'deliver_before', d.deliver_before, 'carrier_type', d.carrier_type, 'carrier_code', d.carrier_code,
    'pickup_address_id', d.pickup_address_id, 'dropoff_address_id', d.dropoff_address_id,
    'pickup_warehouse_id', d.pickup_warehouse_id, 'dropoff_warehouse_id', delivery.ends_in(d)));
  v_old := v_old - array(select k.word from jsonb_object_keys(input) k (word) where not v_sent ? k.word);
  -- A place is said in one way: a new one takes the others away.
  foreach v_end in array '{pickup,dropoff}'::text[] loop
    if v_sent ?| array[v_end, v_end || '_address_id', v_end || '_warehouse_id'] then
      v_old := v_old - array[v_end || '_address_id', v_end || '_warehouse_id'];
    end if;
  end loop;
  if v_sent ?| '{customer_id,institution_user_id}' then
    v_old := v_old - '{customer_id,institution_user_id}'::text[];
  end if;
  v_sent := v_old || v_sent || jsonb_build_object('delivery_flow', case d.delivery_flow when 'pnd_parent' then 'standard' else d.delivery_flow end);
  perform delivery.delivery_rewrite(d, delivery.delivery_terms(v_sent), v_sent);
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.operational_return_make(d delivery.deliveries, input jsonb, OUT id uuid, OUT picks uuid[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  n delivery.deliveries;
  v_from record;
  v_service delivery.delivery_services;
begin
  if exists (select from warehousing.receiving_orders r where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.status = 'pending') then
    perform app.fail('delivery_not_in_warehouse');
  end if;
  select * into n from delivery.deliveries x where x.tenant_id = d.tenant_id and x.id = delivery.parcel_of(d);
  select * into v_service from delivery.delivery_services s
  where s.id = coalesce((input ->> 'delivery_service_id')::uuid, n.delivery_service_id) and (input ->> 'delivery_service_id' is null or s.deleted_at is null);
  if not found then
    perform app.fail('service_not_found', '{"field": "delivery_service_id"}');
  end if;
  picks := delivery.delivery_release(n.id);
  v_from := delivery.ordered_from(n);
  n.original_delivery_id := n.id;
  n.id := gen_random_uuid();
  -- A warehouse takes it back under its own name, as somebody's door under theirs.
  n.recipient := jsonb_strip_nulls(jsonb_build_object('name', coalesce(delivery.warehouse_name(n.tenant_id, v_from.warehouse_id),
    delivery.person_name(coalesce(n.institution_user_id, n.customer_id)), app.localized(v_from.snapshot -> 'title')),
    'phone', v_from.snapshot #>> '{contact_info,phone}'));
  n.dropoff_address_id := v_from.address_id;
  n.dropoff_snapshot := v_from.snapshot;
  n.dropoff_zone_id := v_from.zone_id;
  -- The goods of a store are received in their warehouse by themselves, when the parcel is back (storefront.order_goods_expect).
  n.dropoff_warehouse_id := case when n.order_id is null then v_from.warehouse_id end;
  select to_jsonb(a), a.zone_id, a.id into n.pickup_snapshot, n.pickup_zone_id, n.pickup_address_id
  from warehousing.warehouses w join delivery.addresses_list a on a.id = w.address_id
  where w.tenant_id = d.tenant_id and w.id = d.current_warehouse_id;
  n.pickup_warehouse_id := d.current_warehouse_id;
  n.current_warehouse_id := d.current_warehouse_id;
  n.staging_warehouse_id := null;
  n.delivery_flow := 'operational_return';
  n.status := 'pending';
  n.carrier_type := 'internal';
  n.carrier_code := null;
  n.payer_type := 'sender';
  n.payment_method := 'cash';
  n.cod_amount := 0;
  n.delivery_fee := 0;
  n.distance_km := null;
  n.delivery_service_id := v_service.id;
  n.external_reference_id := null;
  -- It brings nothing of the store's order to anybody.
  n.order_id := null;
  n.promised_at := null;
  n.deliver_after := null;
  n.deliver_before := null;
  n.status_reason := input ->> 'reason';
  n.notes := input ->> 'notes';
  n.created_by := app.user_id();
  n.delivery_code := app.take_numbers('delivery_code');
  n.barcode := delivery.barcode_of_code(n.delivery_code);
  perform delivery.delivery_insert(n);
  insert into delivery.delivery_items (tenant_id, delivery_id, position, item_id, name, quantity, weight, length, width, height)
  select i.tenant_id, n.id, i.position, i.item_id, i.name, i.quantity, i.weight, i.length, i.width, i.height
  from delivery.delivery_items i where i.tenant_id = n.tenant_id and i.delivery_id = n.original_delivery_id;
  id := n.id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_delivery_window(deliver_after timestamp with time zone, deliver_before timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if deliver_after >= deliver_before then
    perform app.fail('invalid_delivery_window', '{"field": "deliver_before"}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.sequence_stops(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_start jsonb;
  v_list jsonb;
begin
  perform delivery.sequence_of(v_driver);
  select s.place into v_start
  from (
    select a.delivery_id from delivery.assignments a
    where a.tenant_id = v_tenant and a.driver_id = v_driver and a.status in ('accepted', 'assigned', 'completed', 'returned')
    order by a.assignment_time desc nulls last, a.id desc limit 200
  ) recent
  join delivery.deliveries d on d.tenant_id = v_tenant and d.id = recent.delivery_id
  cross join lateral (values (d.delivered_at, d.dropoff_snapshot), (d.picked_up_at, d.pickup_snapshot)) s (seen_at, place)
  where s.seen_at is not null and s.place ->> 'latitude' is not null and s.place ->> 'longitude' is not null
  order by s.seen_at desc limit 1;

  select coalesce(jsonb_agg(jsonb_build_object('assignment_id', a.id, 'delivery_id', d.id, 'delivery_code', d.delivery_code,
      'picked_up', d.status in ('picked_up', 'in_transit', 'failed'),
      'pickup', case when f.latitude is not null then jsonb_build_object('latitude', f.latitude, 'longitude', f.longitude) end,
      'dropoff', case when t.latitude is not null then jsonb_build_object('latitude', t.latitude, 'longitude', t.longitude) end,
      'pickup_by', a.estimated_pickup_time, 'dropoff_after', case when d.delivery_flow <> 'pnd_inbound' then d.deliver_after end,
      'dropoff_by', case when d.delivery_flow = 'pnd_inbound' then a.estimated_delivery_time
        else least(a.estimated_delivery_time, d.promised_at, d.deliver_before) end)
    order by a.sequence_number, a.assignment_time, a.id), '[]') into v_list
  from delivery.assignments a
  join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
  -- Not from the addresses: a driver does not see every one.
  cross join lateral (
    select (p.place ->> 'latitude')::double precision as latitude, (p.place ->> 'longitude')::double precision as longitude
    from (select delivery.fetched_at(d) as place offset 0) p) f
  cross join lateral (
    select (p.place ->> 'latitude')::double precision as latitude, (p.place ->> 'longitude')::double precision as longitude
    from (select delivery.brought_to(d) as place offset 0) p) t
  where a.tenant_id = v_tenant and a.driver_id = v_driver and a.status in ('pending', 'assigned', 'accepted');
  return jsonb_build_object('start', case when v_start is not null then jsonb_build_object(
    'latitude', v_start -> 'latitude', 'longitude', v_start -> 'longitude') end, 'assignments', v_list);
end $function$;

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
    ( SELECT ((jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'external_reference_id', d.external_reference_id, 'customer', ( SELECT jsonb_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone) AS jsonb_build_object
                   FROM tenancy.profiles p
                  WHERE (p.id =
                        CASE
                            WHEN (d.customer_id IS NULL) THEN d.institution_user_id
                            ELSE d.customer_id
                        END))) || jsonb_build_object('barcode', d.barcode, 'parent_id', d.parent_id, 'leg', d.leg)) || delivery.carried(d.*))
           FROM delivery.deliveries d
          WHERE ((d.tenant_id = a.tenant_id) AND (d.id = a.delivery_id))) AS delivery,
    jsonb_build_object('id', driver_id, 'user', ( SELECT jsonb_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone) AS jsonb_build_object
           FROM tenancy.profiles p
          WHERE (p.id = a.driver_id))) AS drivers,
    ( SELECT jsonb_build_object('id', v.id, 'name', v.name, 'image_url', v.image_url) AS jsonb_build_object
           FROM delivery.vehicles v
          WHERE ((v.tenant_id = a.tenant_id) AND (v.id = a.vehicle_id))) AS vehicle,
    ( SELECT jsonb_build_object('id', p.id, 'full_name', p.full_name) AS jsonb_build_object
           FROM tenancy.profiles p
          WHERE (p.id = a.assigned_by)) AS assigned_by,
    ( SELECT jsonb_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone, 'email', p.email) AS jsonb_build_object
           FROM (delivery.deliveries d
             JOIN tenancy.profiles p ON ((p.id =
                CASE
                    WHEN (d.customer_id IS NULL) THEN d.institution_user_id
                    ELSE d.customer_id
                END)))
          WHERE ((d.tenant_id = a.tenant_id) AND (d.id = a.delivery_id))) AS customer,
    ( SELECT ((jsonb_build_object('status', d.status, 'barcode', d.barcode, 'parent_id', d.parent_id, 'leg', d.leg, 'delivery_flow', d.delivery_flow, 'unit_size', d.unit_size, 'payer_type', d.payer_type, 'payment_method', d.payment_method, 'notes', d.notes, 'pickup',
                CASE
                    WHEN (a.from_warehouse_id IS NULL) THEN d.pickup_snapshot
                    ELSE delivery.warehouse_place(a.tenant_id, a.from_warehouse_id, d.pickup_snapshot)
                END, 'dropoff',
                CASE
                    WHEN (a.to_warehouse_id IS NULL) THEN d.dropoff_snapshot
                    ELSE delivery.warehouse_place(a.tenant_id, a.to_warehouse_id, d.dropoff_snapshot)
                END, 'promised_at', d.promised_at, 'deliver_after', d.deliver_after, 'deliver_before', d.deliver_before, 'picked_up_at', d.picked_up_at) || delivery.carried(d.*)) ||
                CASE
                    WHEN (a.to_warehouse_id IS NULL) THEN '{}'::jsonb
                    ELSE '{"recipient": {}}'::jsonb
                END)
           FROM delivery.deliveries d
          WHERE ((d.tenant_id = a.tenant_id) AND (d.id = a.delivery_id))) AS delivery_details,
    route_details AS route
   FROM delivery.assignments a;

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
            WHEN (customer_id IS NOT NULL) THEN jsonb_build_object('id', customer_id, 'full_name', ( SELECT c.full_name
               FROM tenancy.profiles c
              WHERE (c.id = d.customer_id)), 'phone', ( SELECT c.phone
               FROM tenancy.profiles c
              WHERE (c.id = d.customer_id)))
            ELSE NULL::jsonb
        END AS customer,
        CASE
            WHEN (institution_user_id IS NOT NULL) THEN jsonb_build_object('id', institution_user_id, 'full_name', ( SELECT i.full_name
               FROM tenancy.profiles i
              WHERE (i.id = d.institution_user_id)), 'phone', ( SELECT i.phone
               FROM tenancy.profiles i
              WHERE (i.id = d.institution_user_id)))
            ELSE NULL::jsonb
        END AS institution,
    delivery_service_id,
    jsonb_build_object('id', delivery_service_id, 'code', (service_snapshot ->> 'code'::text), 'name', app.localized((service_snapshot -> 'name'::text))) AS delivery_service,
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
    currency,
    delivery.cash_due_on(d.*) AS cash_due,
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
    delivery.sender_of(d.*) AS sender,
    delivery.recipient_of(d.*) AS recipient,
    notes,
    manifest_id,
    attempts_used,
    ( SELECT jsonb_build_object('id', x.id, 'status', x.status, 'driver_id', x.driver_id, 'driver', jsonb_build_object('id', x.driver_id, 'full_name', p.full_name, 'phone', p.phone), 'vehicle_id', x.vehicle_id, 'assignment_time', x.assignment_time) AS jsonb_build_object
           FROM (delivery.assignments x
             LEFT JOIN tenancy.profiles p ON ((p.id = x.driver_id)))
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
    deliver_before
   FROM delivery.deliveries d;

REVOKE ALL ON FUNCTION "delivery"."require_delivery_window"(timestamp with time zone, timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_delivery_window"(timestamp with time zone, timestamp with time zone) TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."assignments_list" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."deliveries_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125034417';
end $$;

grant execute on function private.schema_version() to barid_api;
