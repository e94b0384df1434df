-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.customer_return_ends(original delivery.deliveries, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.customer_return_input(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_terms(input jsonb)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_people record := delivery.delivery_people(input);
  v_currency record;
  v_owner uuid := coalesce(v_people.institution_user_id, v_people.customer_id);
  v_from delivery.addresses;
  v_to delivery.addresses;
  v_draft delivery.deliveries;
begin
  perform app.keep_currency();
  v_currency := app.currency();
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
  if input ->> 'delivery_flow' is distinct from 'customer_return' then
    perform delivery.require_item_prices(input -> 'package', d.cod_amount, v_currency.decimals, coalesce(input ->> 'package_field', 'package'));
  end if;
  if input ->> 'delivery_flow' = 'customer_return' and (d.cod_amount > 0 or d.payer_type = 'receiver')
      and delivery.is_of_order((input ->> 'original_delivery_id')::uuid) then
    if d.cod_amount > 0 then
      perform app.fail('order_amount_fixed', '{"text_key": "return_of_order_has_no_amount"}');
    elsif not app.has_permission('manage:operations:tenant') then
      perform app.fail('forbidden', '{"text_key": "return_of_order_paid_by_customer"}');
    end if;
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
  -- A zone that is redrawn meanwhile finds this delivery, or this its new zone (delivery.zones_follow).
  perform delivery.lock_service_area(d.tenant_id, false);
  v_from := delivery.delivery_place(input, 'pickup', v_owner);
  v_to := delivery.delivery_place(input, 'dropoff', v_owner);
  d.pickup_address_id := v_from.id;
  d.pickup_zone_id := v_from.zone_id;
  d.dropoff_address_id := v_to.id;
  d.dropoff_zone_id := v_to.zone_id;
  d.pickup_snapshot := coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = v_from.id), delivery.original_place(input, v_from.id));
  d.dropoff_snapshot := coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = v_to.id), delivery.original_place(input, v_to.id));
  d.pickup_warehouse_id := (input ->> 'pickup_warehouse_id')::uuid;
  d.dropoff_warehouse_id := coalesce((input ->> 'dropoff_warehouse_id')::uuid,
    case input ->> 'delivery_flow' when 'customer_return' then delivery.return_ends_in((input ->> 'original_delivery_id')::uuid, v_to.id) end);
  d.recipient := coalesce(input -> 'recipient', '{}');
  d.external_reference_id := input ->> 'external_reference_id';
  d.notes := input ->> 'notes';
  d.promised_at := app.instant(input ->> 'promised_at');
  d.deliver_after := app.instant(input ->> 'deliver_after');
  d.deliver_before := app.instant(input ->> 'deliver_before');
  perform delivery.require_delivery_window(d.deliver_after, d.deliver_before);
  d.carrier_type := coalesce(input ->> 'carrier_type', 'internal');
  d.carrier_code := delivery.carrier_checked(input);
  select * into v_draft from delivery.deliveries x where x.id = (input ->> 'draft_id')::uuid;
  perform delivery.require_carrier_of_office(d, v_draft);
  d.delivery_flow := coalesce(input ->> 'delivery_flow', 'standard');
  d.created_by := app.user_id();
  return delivery.delivery_priced(d, input || jsonb_build_object('agreed_km',
    delivery.draft_km_kept(v_draft, input, v_from, v_to)), v_from, v_to);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  v_terms jsonb;
begin
  if not delivery.draft_changes(d) then
    return delivery.delivery_correct(d, input);
  end if;
  perform delivery.require_owner(d);
  v_terms := delivery.draft_terms(d, input);
  if jsonb_strip_nulls(input) ? 'recipient' then
    v_terms := v_terms || jsonb_build_object('recipient', delivery.recipient_corrected(d.recipient, input -> 'recipient'));
  end if;
  perform delivery.delivery_rewrite(d, delivery.delivery_terms(v_terms), v_terms);
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.draft_changes(d delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return d.status = 'draft' and d.parent_id is null and not delivery.draft_travels(d);
end $function$;

CREATE OR REPLACE FUNCTION delivery.draft_km_kept(d delivery.deliveries, input jsonb, from_address delivery.addresses, to_address delivery.addresses)
 RETURNS double precision
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case when d.delivery_service_id = (input ->> 'delivery_service_id')::uuid then delivery.draft_km(d, from_address, to_address) end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.draft_terms(d delivery.deliveries, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_sent jsonb := jsonb_strip_nulls(input);
  v_old jsonb;
  v_end text;
begin
  v_old := jsonb_strip_nulls(jsonb_build_object('customer_id', d.customer_id, 'institution_user_id', d.institution_user_id,
    'delivery_service_id', d.delivery_service_id, 'payer_type', d.payer_type, 'payment_method', d.payment_method, 'cod_amount', d.cod_amount,
    'unit_size', case d.unit_size_source when 'unit_size' then d.unit_size end, 'package', d.package_details, 'recipient', d.recipient,
    'external_reference_id', d.external_reference_id, 'notes', d.notes, 'promised_at', d.promised_at,
    'deliver_after', d.deliver_after, 'deliver_before', d.deliver_before, 'carrier_type', d.carrier_type, 'carrier_code', d.carrier_code,
    'original_delivery_id', d.original_delivery_id, 'pickup_address_id', d.pickup_address_id, 'dropoff_address_id', d.dropoff_address_id,
    'pickup_warehouse_id', d.pickup_warehouse_id,
    -- Of what goes back the address says it.
    'dropoff_warehouse_id', nullif(delivery.ends_in(d), case d.delivery_flow when 'customer_return'
      then delivery.return_ends_in(d.original_delivery_id, d.dropoff_address_id) end)));
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
  return v_old || v_sent || jsonb_build_object('draft_id', d.id,
    'delivery_flow', case d.delivery_flow when 'pnd_parent' then 'standard' else d.delivery_flow end);
end $function$;

CREATE OR REPLACE FUNCTION delivery.draft_way_missing(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_terms jsonb;
begin
  select * into d from delivery.deliveries x where x.id = (input ->> 'id')::uuid;
  if not found or not delivery.draft_changes(d) then
    return null;
  end if;
  v_terms := delivery.draft_terms(d, input);
  if not delivery.service_by_way((v_terms ->> 'delivery_service_id')::uuid)
      or delivery.draft_km_kept(d, v_terms, delivery.place_known(v_terms, 'pickup'), delivery.place_known(v_terms, 'dropoff')) is not null then
    return null;
  end if;
  return delivery.road_distance_missing(v_terms);
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_ways_missing(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_settings jsonb := tenancy.manifest_settings();
  v_from_source boolean := v_settings ->> 'delivery_fee_origin' = 'source_location';
  v_service uuid := (input ->> 'delivery_service_id')::uuid;
  v_default text := v_settings ->> 'default_delivery_service_id';
  v_to delivery.addresses;
begin
  select a.* into v_to from delivery.addresses a
  where a.id = coalesce((select b.address_id from delivery.institution_branches b where b.id = (input ->> 'destination_branch_id')::uuid),
    (input ->> 'destination_address_id')::uuid);
  return (
    select coalesce(jsonb_agg(jsonb_build_object('from', jsonb_build_array(w.latitude, w.longitude),
      'to', jsonb_build_array(v_to.latitude, v_to.longitude))), '[]')
    from (
      select distinct o.latitude, o.longitude
      from delivery.transfer_manifest_items i
      join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
      join delivery.transfer_processing_points p on p.tenant_id = m.tenant_id and p.id = m.processing_point_id
      left join delivery.deliveries d on d.tenant_id = i.tenant_id and d.id = i.delivery_id
      join delivery.addresses a on a.tenant_id = i.tenant_id and a.id = coalesce(d.ordered_from_address_id, d.pickup_address_id, p.address_id)
      cross join lateral (select
        case when v_from_source then (m.source_snapshot #>> '{address,latitude}')::double precision else a.latitude end as latitude,
        case when v_from_source then (m.source_snapshot #>> '{address,longitude}')::double precision else a.longitude end as longitude) o
      where i.id = any (app.uuids(input -> 'item_ids')) and o.latitude is not null and o.longitude is not null
        and v_to.latitude is not null and v_to.longitude is not null
        and delivery.service_by_way(coalesce(v_service, d.delivery_service_id, v_default::uuid))
        and delivery.road_distance_known(o.latitude, o.longitude, v_to.latitude, v_to.longitude) is null
      limit 20) w);
end $function$;

CREATE OR REPLACE FUNCTION delivery.order_way_missing(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_original delivery.deliveries;
  v_written boolean := input ?| '{pickup,pickup_address_id}' and input ?| '{dropoff,dropoff_address_id}';
begin
  if coalesce((input ->> 'staged')::boolean, false) then
    input := input - '{pickup_warehouse_id,dropoff_warehouse_id}'::text[];
  end if;
  if input ->> 'delivery_flow' = 'customer_return' then
    select p.* into v_original from delivery.deliveries o
    join delivery.deliveries p on p.tenant_id = o.tenant_id and p.id = delivery.parcel_of(o) and p.status = 'delivered'
    where o.id = (input ->> 'original_delivery_id')::uuid;
    if not found then
      return null;
    end if;
    input := jsonb_strip_nulls(jsonb_build_object('delivery_service_id', delivery.return_service())
      || delivery.customer_return_ends(v_original, input)) || input || jsonb_build_object('original_delivery_id', v_original.id);
  end if;
  if not v_written and not delivery.service_by_way((input ->> 'delivery_service_id')::uuid) then
    return null;
  end if;
  return delivery.road_distance_missing(input);
end $function$;

CREATE OR REPLACE FUNCTION delivery.place_known(input jsonb, place text)
 RETURNS delivery.addresses
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> (place || '_address_id'))::uuid;
  a delivery.addresses;
begin
  if v_id is not null then
    select x.* into a from delivery.addresses x where x.id = v_id and exists (select from delivery.usable_addresses u where u.id = x.id);
    return case when a.id is not null then a else jsonb_populate_record(null::delivery.addresses, delivery.original_place(input, v_id)) end;
  elsif jsonb_typeof(input -> place) = 'object' then
    a.latitude := (input #>> array[place, 'latitude'])::double precision;
    a.longitude := (input #>> array[place, 'longitude'])::double precision;
    return a;
  end if;
  select x.* into a from warehousing.warehouses w
  join delivery.addresses x on x.tenant_id = w.tenant_id and x.id = w.address_id
  where w.id = (input ->> (place || '_warehouse_id'))::uuid and w.deleted_at is null;
  return a;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_carrier_of_office(d delivery.deliveries, before delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if (d.carrier_type, lower(d.carrier_code)) is distinct from (coalesce(before.carrier_type, 'internal'), lower(before.carrier_code))
      and not app.has_permission('manage:operations:tenant') then
    perform app.fail('forbidden', '{"field": "carrier_type", "text_key": "carrier_chosen_by_office"}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_service()
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return app.settings('general', 'delivery') #>> '{return_requests,default_delivery_service_id}';
end $function$;

CREATE OR REPLACE FUNCTION delivery.road_distance_missing(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_from delivery.addresses := delivery.place_known(input, 'pickup');
  v_to delivery.addresses := delivery.place_known(input, 'dropoff');
  v_ends double precision[] := array[v_from.latitude, v_from.longitude, v_to.latitude, v_to.longitude];
begin
  if array_position(v_ends, null) is not null or delivery.road_distance_known(v_ends[1], v_ends[2], v_ends[3], v_ends[4]) is not null then
    return null;
  end if;
  return jsonb_build_object('from', v_ends[1:2], 'to', v_ends[3:4]);
end $function$;

CREATE OR REPLACE FUNCTION delivery.service_by_way(service_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (select from delivery.delivery_services s where s.id = service_by_way.service_id and s.price_per_km > 0);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."customer_return_ends"(delivery.deliveries, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."customer_return_ends"(delivery.deliveries, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."draft_changes"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."draft_changes"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."draft_km_kept"(delivery.deliveries, jsonb, delivery.addresses, delivery.addresses) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."draft_km_kept"(delivery.deliveries, jsonb, delivery.addresses, delivery.addresses) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."draft_terms"(delivery.deliveries, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."draft_terms"(delivery.deliveries, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."draft_way_missing"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."draft_way_missing"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."manifest_ways_missing"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."manifest_ways_missing"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."order_way_missing"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."order_way_missing"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."place_known"(jsonb, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."place_known"(jsonb, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_carrier_of_office"(delivery.deliveries, delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_carrier_of_office"(delivery.deliveries, delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."return_service"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."return_service"() TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."service_by_way"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."service_by_way"(uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201092812';
end $$;

grant execute on function private.schema_version() to barid_api;
