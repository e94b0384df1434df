-- Deliveries come to be: as drafts, which bind nobody, or as orders, which are paid for and wait for a driver.

-- The warehouse a staged delivery goes through. Fails: warehouse_not_found, staging_warehouse_required.
create or replace function delivery.staging_of(input jsonb) returns uuid
language plpgsql stable set search_path = '' as $$
declare
  v_field text := case when input ->> 'warehouse_id' is not null then 'warehouse_id'
    when input ->> 'dropoff_warehouse_id' is not null then 'dropoff_warehouse_id' else 'pickup_warehouse_id' end;
  v_asked uuid := (input ->> v_field)::uuid;
  v_id uuid;
begin
  select w.id into v_id from warehousing.warehouses w
  where w.id = coalesce(v_asked, delivery.default_warehouse()) and delivery.warehouse_stages(w);
  if v_id is null and v_asked is not null then
    perform app.fail('warehouse_not_found', jsonb_build_object('field', v_field));
  elsif v_id is null then
    perform app.fail('staging_warehouse_required', '{"field": "warehouse_id"}');
  end if;
  return v_id;
end $$;

-- The ends of a customer's return of a parcel that its input leaves out: from where the parcel was brought, to where the setting
-- general.delivery.return_requests.destination_mode says; what a store's order brought goes back to its sender, or to the
-- default warehouse where that which sent it is no more.
-- -> {pickup_address_id?, dropoff_address_id? | dropoff_warehouse_id?}; null is a place that there is not, none that somebody has to choose.
create or replace function delivery.customer_return_ends(original delivery.deliveries, input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_mode text := delivery.return_destination_mode();
  v_home uuid := delivery.sold_from(original);
  v_sender record := delivery.ordered_from(original);
  v_ends jsonb := '{}';
begin
  if num_nonnulls(input -> 'pickup', input ->> 'pickup_address_id', input ->> 'pickup_warehouse_id') = 0 then
    v_ends := jsonb_build_object('pickup_address_id', original.dropoff_address_id);
  end if;
  if num_nonnulls(input -> 'dropoff', input ->> 'dropoff_address_id', input ->> 'dropoff_warehouse_id') > 0 then
    return v_ends;
  end if;
  return v_ends || case
    when original.order_id is not null and v_home is null and v_sender.warehouse_id is not null and delivery.default_warehouse() is not null
      then jsonb_build_object('dropoff_warehouse_id', delivery.default_warehouse())
    when original.order_id is not null or v_mode = 'sender' then jsonb_build_object('dropoff_address_id', coalesce(v_home, v_sender.address_id))
    when v_mode = 'warehouse' then jsonb_build_object('dropoff_warehouse_id', delivery.default_warehouse())
    else '{}' end;
end $$;

-- The service of a return that names none.
create or replace function delivery.return_service() returns text
language plpgsql stable set search_path = '' as $$
begin
  return app.settings('general', 'delivery') #>> '{return_requests,default_delivery_service_id}';
end $$;

-- Fills what a customer's return takes over from what it returns: people and places, the other way round.
-- Fails: delivery_not_found, original_not_delivered, return_destination_required.
create or replace function delivery.customer_return_input(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_original delivery.deliveries;
  v_sender record;
  v_ends jsonb;
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
  v_sender := delivery.ordered_from(v_original);
  v_ends := delivery.customer_return_ends(v_original, input);
  v_filled := v_ends || jsonb_build_object('delivery_service_id', delivery.return_service());
  if input ->> 'customer_id' is null and input ->> 'institution_user_id' is null then
    v_filled := v_filled || jsonb_build_object('customer_id', v_original.customer_id, 'institution_user_id', v_original.institution_user_id);
  end if;
  if num_nonnulls(input -> 'dropoff', input ->> 'dropoff_address_id', input ->> 'dropoff_warehouse_id') = 0 then
    if v_ends -> 'dropoff_warehouse_id' = 'null' then
      perform app.fail('return_destination_required', '{"field": "dropoff_warehouse_id"}');
    elsif not v_ends ?| '{dropoff_address_id,dropoff_warehouse_id}' then
      perform app.fail('return_destination_required', '{"field": "dropoff_address_id"}');
    end if;
    v_filled := v_filled || jsonb_build_object('recipient', delivery.return_receiver(v_original,
      coalesce((v_ends ->> 'dropoff_warehouse_id')::uuid, v_sender.warehouse_id),
      case when not v_ends ? 'dropoff_warehouse_id' then v_sender.snapshot end));
  end if;
  return jsonb_strip_nulls(v_filled) || input || jsonb_build_object('original_delivery_id', v_original.id);
end $$;

-- Writes what is in parcels: the items of each one's package, or the parcel as one. Pricing has checked the measurements, ordering the
-- prices. Orders of manifests collect nothing, and what comes back is not sold: neither has prices.
create or replace function delivery.delivery_items_write(parcels delivery.deliveries[]) returns void
language plpgsql set search_path = '' as $$
begin
  insert into delivery.delivery_items (tenant_id, delivery_id, position, name, quantity, weight, length, width, height, unit_price)
  select d.tenant_id, d.id, n.position, coalesce(nullif(trim(left(n.item ->> 'name', 200)), ''), 'Parcel ' || d.delivery_code),
    -- Five calls for each item that says nothing cost more than its row.
    coalesce(case when n.item ? 'quantity' then (delivery.read_measure(n.item -> 'quantity')).measure end, 1),
    case when n.item ? 'weight' then (delivery.read_measure(n.item -> 'weight')).measure end,
    case when n.item ? 'length' then (delivery.read_measure(n.item -> 'length')).measure end,
    case when n.item ? 'width' then (delivery.read_measure(n.item -> 'width')).measure end,
    case when n.item ? 'height' then (delivery.read_measure(n.item -> 'height')).measure end,
    case when d.manifest_id is null and d.original_delivery_id is null then (delivery.read_price(n.item -> 'unit_price')).price end
  from unnest(parcels) d
  cross join lateral jsonb_array_elements(
    case when jsonb_typeof(d.package_details -> 'items') = 'array' and jsonb_array_length(d.package_details -> 'items') > 0
      then d.package_details -> 'items' else '[{}]' end) with ordinality n (item, position);
end $$;

-- Writes what is in a parcel where that is known by item.
-- contents: [{item_id?, name, sku?, quantity, weight?, length?, width?, height?, returned_item_id?}]
create or replace function delivery.delivery_contents_write(parcel uuid, contents jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  insert into delivery.delivery_items (tenant_id, delivery_id, position, item_id, name, sku, quantity, weight, length, width, height, returned_item_id)
  select app.tenant_id(), parcel, c.position, c.item_id, c.name, c.sku, c.quantity, c.weight, c.length, c.width, c.height, c.returned_item_id
  from rows from (jsonb_to_recordset(contents) as (item_id uuid, name text, sku text, quantity bigint, weight numeric, length numeric,
    width numeric, height numeric, returned_item_id uuid)) with ordinality
    c (item_id, name, sku, quantity, weight, length, width, height, returned_item_id, position);
end $$;

-- A draft becomes an order: a staged one gets its legs, and its fee is charged, codes before wallets. The delivery is locked and pending.
create or replace function delivery.delivery_confirm(d delivery.deliveries) returns void
language plpgsql set search_path = '' as $$
begin
  if d.staging_warehouse_id is not null then
    perform delivery.delivery_legs_create(array[d.id], d.staging_warehouse_id);
  end if;
  perform money.delivery_fee_charge(d.id);
end $$;

-- Makes a delivery. {delivery_service_id, payer_type, payment_method, pickup and dropoff (see delivery_place), customer_id?,
-- institution_user_id?, cod_amount?, unit_size?, package?, recipient?, staged?, warehouse_id?, status? draft|pending,
-- delivery_flow? standard|customer_return, original_delivery_id?, return_items?, barcode?, external_reference_id?, notes?, promised_at?,
-- deliver_after?, deliver_before?, carrier_type?, carrier_code?} -> the delivery
-- Fails: what delivery_terms, staging_of, customer_return_input and returned_contents fail with, delivery_goes_in_legs,
-- insufficient_wallet_balance, delivery_barcode_taken.
create or replace function delivery.delivery_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
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
    perform delivery.require_carried_in_one(d.delivery_flow, d.carrier_type);
  end if;
  -- By itself: what reads in the statement that writes would not see it.
  d.returns_part := v_contents is not null;
  d.id := delivery.delivery_write(d, v_contents);
  if v_asked then
    perform delivery.return_request_ask(d.id);
  end if;
  return delivery.delivery_created_to_json(d.id);
end $$;

-- Numbers a delivery whose terms are known, writes it and, unless it is a draft, orders it. From its number to the end of
-- the transaction nobody else of the tenant gets one. -> its id
-- contents: what is in it where that is known by item, see delivery.delivery_contents_write; else its package says it.
-- Fails: insufficient_wallet_balance, delivery_barcode_taken, return_already_exists.
create or replace function delivery.delivery_write(d delivery.deliveries, contents jsonb default null) returns uuid
language plpgsql set search_path = '' as $$
begin
  d.id := gen_random_uuid();
  d.status := coalesce(d.status, 'pending');
  d.delivery_code := app.take_numbers('delivery_code');
  d.barcode := coalesce(d.barcode, delivery.barcode_of_code(d.delivery_code));
  perform delivery.delivery_insert(d);
  if contents is null then
    perform delivery.delivery_items_write(array[d]);
  else
    perform delivery.delivery_contents_write(d.id, contents);
  end if;
  if d.status = 'pending' then
    perform delivery.delivery_confirm(d);
  end if;
  return d.id;
end $$;

-- The barcode of a delivery that came with none.
create or replace function delivery.barcode_of_code(code bigint) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return 'PD' || lpad(code::text, 10, '0');
end $$;

-- Writes a delivery that has been worked out.
create or replace function delivery.delivery_insert(d delivery.deliveries) returns void
language plpgsql set search_path = '' as $$
begin
  insert into delivery.deliveries (id, tenant_id, delivery_code, barcode, external_reference_id, original_delivery_id, delivery_flow, status,
    customer_id, institution_user_id, delivery_service_id, carrier_type, carrier_code, payer_type, payment_method, cod_amount, delivery_fee,
    currency, unit_size, unit_size_source, package_details, distance_km, pickup_address_id, dropoff_address_id, pickup_snapshot,
    dropoff_snapshot, pickup_zone_id, dropoff_zone_id, pickup_warehouse_id, dropoff_warehouse_id, current_warehouse_id, staging_warehouse_id,
    recipient, notes, service_snapshot, status_reason, promised_at, created_by, order_id, deliver_after,
    deliver_before, made_at_door, returns_part)
  values (d.id, d.tenant_id, d.delivery_code, d.barcode, d.external_reference_id, d.original_delivery_id, d.delivery_flow, d.status,
    d.customer_id, d.institution_user_id, d.delivery_service_id, d.carrier_type, d.carrier_code, d.payer_type, d.payment_method, d.cod_amount,
    d.delivery_fee, d.currency, d.unit_size, d.unit_size_source, d.package_details, d.distance_km, d.pickup_address_id, d.dropoff_address_id,
    d.pickup_snapshot, d.dropoff_snapshot, d.pickup_zone_id, d.dropoff_zone_id, d.pickup_warehouse_id, d.dropoff_warehouse_id,
    d.current_warehouse_id, d.staging_warehouse_id, d.recipient, d.notes, d.service_snapshot, d.status_reason, d.promised_at, d.created_by,
    d.order_id, d.deliver_after, d.deliver_before, coalesce(d.made_at_door, false), coalesce(d.returns_part, false));
end $$;

-- The answer of creating and changing a delivery.
create or replace function delivery.delivery_created_to_json(delivery_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (select jsonb_build_object('id', d.id, 'delivery', jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode,
    'status', d.status, 'delivery_flow', d.delivery_flow, 'price', d.delivery_fee, 'unit_size', d.unit_size,
    'unit_size_source', d.unit_size_source, 'currency', d.currency, 'cod_amount', d.cod_amount,
    'original_delivery_id', d.original_delivery_id, 'legs', (
      select coalesce(jsonb_agg(jsonb_build_object('id', l.id, 'leg', l.leg, 'sequence_plan', l.sequence_plan,
        'delivery_code', l.delivery_code, 'status', l.status) order by l.sequence_plan), '[]')
      from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id))
    || case d.delivery_flow when 'customer_return' then jsonb_build_object('return_request', delivery.return_request_to_json(d.id)) else '{}' end)
  from delivery.deliveries d where d.id = delivery_created_to_json.delivery_id);
end $$;
