-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION app.import_lines(core text, made text[], input jsonb, common jsonb DEFAULT '{}'::jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_lines jsonb[] := array(select l.line from jsonb_array_elements(input -> 'lines') with ordinality l (line, position) order by l.position);
  v_call text := format('select %I.%I($1) #>> $2', split_part(core, '.', 1), split_part(core, '.', 2));
  v_from integer := 1;
  v_to integer := cardinality(v_lines);
  v_at integer;
  v_id text;
  v_new text[];
  v_ids text[] := '{}';
  v_errors jsonb[] := '{}';
  v_constraint text;
  v_detail text;
  v_answer jsonb;
begin
  begin
    while v_from <= cardinality(v_lines) loop
      begin
        v_new := '{}';
        v_at := v_from;
        while v_at <= v_to loop
          if v_lines[v_at] ? 'unclear' then
            perform app.require_clear_amount(v_lines[v_at] ->> 'unclear');
          end if;
          execute v_call into v_id using (v_lines[v_at] -> 'input') || common, made;
          v_new := v_new || v_id;
          v_at := v_at + 1;
        end loop;
        v_ids := v_ids || v_new;
        v_from := v_to + 2;
        v_to := cardinality(v_lines);
      exception when sqlstate 'RULE0' or integrity_constraint_violation or data_exception then
        get stacked diagnostics v_constraint = constraint_name, v_detail = pg_exception_detail;
        v_errors := v_errors || jsonb_build_object('line', v_lines[v_at] -> 'line', 'code', sqlerrm, 'state', sqlstate,
          'constraint', v_constraint,
          'params', case when sqlstate = 'RULE0' then v_detail::jsonb - 'language' else '{}' end);
        v_to := v_at - 1;
      end;
    end loop;
    -- A dry run would miss constraints that wait for the commit.
    set constraints all immediate;
    if (input ->> 'dry_run')::boolean then
      raise exception using errcode = 'UNDO0', message = 'dry run';
    end if;
  exception when sqlstate 'UNDO0' then
    null;
  end;
  -- A line that ran twice may have failed twice, since others write meanwhile.
  select jsonb_build_object('ids', v_ids, 'error_count', count(*), 'errors', coalesce(jsonb_agg(e.error order by e.line) filter (where e.number <= 100), '[]'))
  into v_answer
  from (
    select u.line, u.error, row_number() over (order by u.line) as number from (
      select distinct on (x.line) x.line, x.error
      from (select (n.error ->> 'line')::integer as line, n.error from unnest(v_errors) n (error)) x order by x.line
    ) u
  ) e;
  if not (input ->> 'dry_run')::boolean
    and (v_answer ->> 'error_count')::integer + coalesce((input ->> 'refused')::integer, 0) > 0 then
    perform app.fail('import_has_errors', v_answer - 'ids');
  end if;
  return v_answer;
end $function$;

CREATE OR REPLACE FUNCTION app.require_clear_amount(field text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_currency record := app.currency();
begin
  if v_currency.decimals < 3 then
    perform app.fail('too_many_decimals', jsonb_build_object('field', field, 'currency', v_currency.code, 'decimals', v_currency.decimals,
      'text_key', 'amount_may_be_thousands'));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.assignments_demand(plan jsonb, field text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_code text := plan ->> 'code';
  v_concerned jsonb;
  v_line jsonb;
  v_text text;
begin
  if v_code is not null then
    perform app.fail(v_code, jsonb_build_object('field', case when v_code like '%vehicle%' then 'vehicle_id' else 'driver_id' end));
  end if;
  -- Wrong requests before conflicts, and capacity last: what does not fit may only be what comes too much.
  select l.line ->> 'code' into v_code
  from jsonb_array_elements(plan -> 'lines') with ordinality l (line, place)
  where l.line ->> 'code' is not null
  order by coalesce(array_position('{duplicate_deliveries,delivery_not_found}', l.line ->> 'code'),
    2 + array_position('{deliveries_zone_context_incomplete,driver_not_allowed_in_zones,insufficient_vehicle_capacity}', l.line ->> 'code') * 2,
    3), l.place
  limit 1;
  if v_code is null then
    return;
  end if;
  select jsonb_agg(l.line -> 'requested_id' order by l.place) into v_concerned
  from jsonb_array_elements(plan -> 'lines') with ordinality l (line, place) where l.line ->> 'code' = v_code;
  if v_code = 'deliveries_zone_context_incomplete' then
    v_text := 'place_unknown_' || delivery.ends_unknown(array(
      select (l.line ->> 'delivery_id')::uuid from jsonb_array_elements(plan -> 'lines') l (line) where l.line ->> 'code' = v_code));
  end if;
  if field = 'delivery_id' then
    v_line := plan -> 'lines' -> 0;
    v_code := case
      when v_code = 'deliveries_zone_context_incomplete' then 'delivery_zone_validation_unavailable'
      when v_code = 'driver_not_allowed_in_zones' and (v_line ->> 'pickup_open')::boolean then 'driver_not_allowed_in_delivery_zone'
      when v_code = 'driver_not_allowed_in_zones' and (v_line ->> 'dropoff_open')::boolean then 'driver_not_allowed_in_pickup_zone'
      else v_code end;
  end if;
  perform app.fail(v_code, jsonb_strip_nulls(jsonb_build_object('field', field, 'delivery_ids', v_concerned, 'text_key', v_text,
    'missing_zones', (select jsonb_agg(distinct z.id) from jsonb_array_elements(plan -> 'lines') l (line)
      cross join lateral jsonb_array_elements(l.line -> 'missing_zones') z (id) where l.line ->> 'code' = 'driver_not_allowed_in_zones'),
    'capacity', plan -> 'capacity', 'used', plan -> 'used')));
end $function$;

CREATE OR REPLACE FUNCTION delivery.carrier_checked(input jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if input ->> 'carrier_type' is distinct from 'external' then
    return null;
  elsif input ->> 'carrier_code' is null then
    perform app.fail('carrier_code_required', '{"field": "carrier_code"}');
  elsif not exists (select from integration.carriers c where c.code = input ->> 'carrier_code' and c.is_active and not c.is_internal) then
    perform app.fail('carrier_not_found', '{"field": "carrier_code"}');
  end if;
  return input ->> 'carrier_code';
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_carrier(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  v_carrier text;
begin
  perform delivery.require_move(d, '{draft,pending}', d.status);
  -- Its legs would be given to drivers of ours all the same.
  if input ->> 'carrier_type' = 'external' and d.delivery_flow = 'pnd_parent' then
    perform app.fail('delivery_goes_in_legs');
  end if;
  if input ->> 'carrier_type' = 'external' then
    perform delivery.require_not_for_waybill(d);
  end if;
  v_carrier := delivery.carrier_checked(input);
  if exists (
      select from integration.carrier_shipments s
      where s.tenant_id = d.tenant_id and s.delivery_id = d.id and delivery.booking_binds(s)
        and s.carrier_code is distinct from v_carrier) then
    perform app.fail('shipment_with_other_carrier');
  end if;
  perform integration.shipments_end(array[d.id]);
  update delivery.deliveries x set carrier_type = input ->> 'carrier_type', carrier_code = v_carrier
  where x.tenant_id = d.tenant_id and x.id = d.id;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $function$;

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
  if delivery.has_ended(p) then
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
  perform delivery.require_time_ahead(input, p);
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
    recipient = n.recipient,
    notes = n.notes,
    label_outdated = x.label_outdated or x.label_edition > 0 and delivery.label_differs(x.recipient, x.notes, n.recipient, n.notes),
    external_reference_id = case when input ? 'external_reference_id' then input ->> 'external_reference_id' else x.external_reference_id end,
    promised_at = case when input ? 'promised_at' then app.instant(input ->> 'promised_at') else x.promised_at end,
    deliver_after = case when input ? 'deliver_after' then app.instant(input ->> 'deliver_after') else x.deliver_after end,
    deliver_before = case when input ? 'deliver_before' then app.instant(input ->> 'deliver_before') else x.deliver_before end
  from (
    select o.id, case when input ? 'recipient' then delivery.recipient_corrected(o.recipient, input -> 'recipient') else o.recipient end as recipient,
      case when input ? 'notes' then input ->> 'notes' else o.notes end as notes
    from delivery.deliveries o
    where o.tenant_id = v_tenant and (o.id = parcel or (o.parent_id = parcel and o.status not in ('delivered', 'cancelled')))
  ) n
  where x.tenant_id = v_tenant and x.id = n.id;
  perform delivery.drivers_notify(array[parcel]);
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
  perform delivery.require_time_ahead(input);
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

CREATE OR REPLACE FUNCTION delivery.delivery_rewrite(d delivery.deliveries, t delivery.deliveries, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if t.carrier_type = 'external' and d.carrier_type <> 'external' then
    perform delivery.require_not_for_waybill(d);
  end if;
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
    deliver_before = t.deliver_before, label_outdated = x.label_outdated or x.label_edition > 0 and (
      delivery.label_differs(x.recipient, x.notes, t.recipient, t.notes)
      or (x.barcode, x.customer_id, x.institution_user_id, x.service_snapshot -> 'name', x.payer_type, x.cod_amount, x.delivery_fee,
          x.currency, x.unit_size, x.package_details, x.pickup_snapshot, x.dropoff_snapshot)
        is distinct from (coalesce(input ->> 'barcode', x.barcode), t.customer_id, t.institution_user_id, t.service_snapshot -> 'name',
          t.payer_type, t.cod_amount, t.delivery_fee, t.currency, t.unit_size, t.package_details, t.pickup_snapshot, t.dropoff_snapshot))
  where x.tenant_id = d.tenant_id and x.id = d.id;
  -- The contents of a part that comes back are those of its original, and a piece of inventory is what it is.
  if t.package_details is distinct from d.package_details and not d.returns_part and not delivery.is_for_waybill(d) then
    perform delivery.delivery_items_clear(d.id);
    t.id := d.id;
    t.original_delivery_id := d.original_delivery_id;
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
  v_currency record;
  v_owner uuid := coalesce(v_people.institution_user_id, v_people.customer_id);
  v_from delivery.addresses;
  v_to delivery.addresses;
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
  select to_jsonb(a) into d.pickup_snapshot from delivery.addresses_list a where a.id = v_from.id;
  select to_jsonb(a) into d.dropoff_snapshot from delivery.addresses_list a where a.id = v_to.id;
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
  if v_sent ? 'recipient' then
    v_sent := v_sent || jsonb_build_object('recipient', delivery.recipient_corrected(d.recipient, input -> 'recipient'));
  end if;
  perform delivery.require_time_ahead(input, d);
  v_sent := v_old || v_sent || jsonb_build_object('delivery_flow', case d.delivery_flow when 'pnd_parent' then 'standard' else d.delivery_flow end);
  perform delivery.delivery_rewrite(d, delivery.delivery_terms(v_sent), v_sent);
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.draft_ordered(d delivery.deliveries)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  t delivery.deliveries := d;
  v_from delivery.addresses;
  v_to delivery.addresses;
  v_people record;
begin
  perform app.keep_currency();
  perform delivery.require_draft_stands(d);
  perform delivery.require_time_ahead(jsonb_build_object('deliver_before', d.deliver_before, 'promised_at', d.promised_at));
  perform delivery.carrier_checked(jsonb_build_object('carrier_type', d.carrier_type, 'carrier_code', d.carrier_code));
  -- One of two persons would be forbidden to name the other.
  if app.sees_tenant() or num_nonnulls(d.customer_id, d.institution_user_id) < 2 then
    v_people := delivery.delivery_people(jsonb_build_object('customer_id', d.customer_id, 'institution_user_id', d.institution_user_id,
      'original_delivery_id', d.original_delivery_id));
    t.customer_id := v_people.customer_id;
    t.institution_user_id := v_people.institution_user_id;
  end if;
  t.currency := (app.currency()).code;
  perform delivery.lock_service_area(d.tenant_id, false);
  -- An address that its owner alone sees is where the draft says.
  t.pickup_snapshot := coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = d.pickup_address_id), d.pickup_snapshot);
  t.dropoff_snapshot := coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = d.dropoff_address_id), d.dropoff_snapshot);
  v_from := jsonb_populate_record(null::delivery.addresses, t.pickup_snapshot);
  v_to := jsonb_populate_record(null::delivery.addresses, t.dropoff_snapshot);
  t.pickup_zone_id := v_from.zone_id;
  t.dropoff_zone_id := v_to.zone_id;
  t := delivery.delivery_priced(t, jsonb_strip_nulls(jsonb_build_object('delivery_service_id', d.delivery_service_id,
    'unit_size', case d.unit_size_source when 'unit_size' then d.unit_size end, 'package', d.package_details,
    'agreed_km', delivery.draft_km(d, v_from, v_to))), v_from, v_to);
  if (t.delivery_fee, t.currency) is distinct from (d.delivery_fee, d.currency) then
    perform app.fail('delivery_price_changed', jsonb_build_object('price_before', d.delivery_fee, 'price_after', t.delivery_fee,
      'currency', t.currency));
  end if;
  return t;
end $function$;

CREATE OR REPLACE FUNCTION delivery.ends_unknown(delivery_ids uuid[])
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  return (
    select case when bool_or(u.pickup) and bool_or(u.dropoff) then 'both' when bool_or(u.pickup) then 'pickup' else 'dropoff' end
    from delivery.deliveries d
    cross join lateral (
      select d.pickup_zone_id is null and (select f.latitude is null from delivery.addresses f
          where f.tenant_id = d.tenant_id and f.id = d.pickup_address_id) as pickup,
        d.dropoff_zone_id is null and (select t.latitude is null from delivery.addresses t
          where t.tenant_id = d.tenant_id and t.id = d.dropoff_address_id) as dropoff) u
    where d.tenant_id = v_tenant and d.id = any (delivery_ids));
end $function$;

CREATE OR REPLACE FUNCTION delivery.label_differs(recipient jsonb, notes text, new_recipient jsonb, new_notes text)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return (recipient ->> 'name', recipient ->> 'phone', notes) is distinct from (new_recipient ->> 'name', new_recipient ->> 'phone', new_notes);
end $function$;

CREATE OR REPLACE FUNCTION delivery.recipient_corrected(recipient jsonb, sent jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce(nullif(app.merge_patch(recipient, sent), 'null'), '{}');
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_write(p delivery.deliveries, to_address uuid, priced delivery.deliveries, recipient jsonb, unassigned uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_place jsonb;
  v_ends_in uuid := delivery.redirect_ends_in(p, to_address);
  v_family uuid[] := p.id || array(select l.id from delivery.deliveries l where l.tenant_id = v_tenant and l.parent_id = p.id);
begin
  select to_jsonb(a) into strict v_place from delivery.addresses x join delivery.addresses_list a on a.id = x.id
  where x.tenant_id = v_tenant and x.id = to_address;
  perform from delivery.drivers r
  where r.tenant_id = v_tenant and r.user_id in (
    select a.driver_id from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (unassigned))
  order by r.user_id for no key update;
  perform delivery.assignments_return(unassigned, 'redirected');
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select a.tenant_id, a.driver_id, 'assignment_returned', jsonb_build_object('assignment_id', a.id, 'delivery_id', a.delivery_id)
  from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (unassigned) and a.driver_id is distinct from app.user_id();
  update delivery.deliveries x set
    dropoff_address_id = to_address,
    dropoff_snapshot = v_place,
    dropoff_zone_id = (v_place ->> 'zone_id')::uuid,
    recipient = case when jsonb_typeof(redirect_write.recipient) = 'object' then delivery.recipient_corrected(x.recipient, redirect_write.recipient)
      else x.recipient end,
    delivery_fee = priced.delivery_fee,
    service_snapshot = priced.service_snapshot,
    distance_km = priced.distance_km,
    -- A transfer to another warehouse on the way stays.
    dropoff_warehouse_id = case when x.transfer_kind is null then v_ends_in else x.dropoff_warehouse_id end,
    ordered_to_warehouse_id = case when x.transfer_kind is not null then v_ends_in end,
    label_outdated = true
  where x.tenant_id = v_tenant and x.id = p.id;
  perform delivery.legs_take_destination(array[p.id]);
  if p.manifest_item_id is not null then
    update delivery.transfer_manifest_items i set destination_branch_id = null, destination_address_id = to_address
    where i.tenant_id = v_tenant and i.id = p.manifest_item_id;
    perform delivery.manifest_event_add(p.manifest_id, 'destination_changed', jsonb_build_object('delivery_id', p.id,
      'delivery_code', p.delivery_code, 'destination_branch_id', null, 'destination_address_id', to_address,
      'delivery_service_id', p.delivery_service_id, 'price_difference', priced.delivery_fee - p.delivery_fee), p.manifest_item_id);
  end if;
  perform delivery.drivers_notify(array[p.id]);
  perform delivery.routes_remeasure(v_family);
  -- The driver did not refuse it, and the office has not taken it in hand: the search for another one begins anew.
  if unassigned <> '{}' and (delivery.auto_assignment_settings()).enabled and delivery.is_auto_assignable(p) then
    perform delivery.searches_begin(array[p.id]);
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.redirected',
    'entity_type', 'delivery', 'entity_id', p.id, 'event_data', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
      'previous_address_id', p.dropoff_address_id, 'dropoff_address_id', to_address, 'dropoff_zone_id', v_place -> 'zone_id',
      'delivery_fee', priced.delivery_fee, 'price_difference', priced.delivery_fee - p.delivery_fee, 'currency', p.currency,
      'driver_unassigned', unassigned <> '{}', 'actor_id', app.user_id()))));
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_point(point_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_active boolean;
begin
  select p.is_active into v_active from delivery.transfer_processing_points p where p.id = point_id for key share;
  if not found then
    perform app.fail('processing_point_not_found', '{"field": "default_processing_point_id"}');
  elsif not v_active then
    perform app.fail('processing_point_inactive', '{"field": "default_processing_point_id"}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_service_price(input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_currency record := app.currency();
  v_price numeric := (input ->> 'default_price')::numeric;
begin
  if v_price <> round(v_price, v_currency.decimals) then
    perform app.fail('too_many_decimals',
      jsonb_build_object('field', 'default_price', 'currency', v_currency.code, 'decimals', v_currency.decimals));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_time_ahead(input jsonb, was delivery.deliveries DEFAULT NULL::delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  perform app.fail('invalid_delivery_window', jsonb_build_object('field', v.field, 'text_key', 'delivery_time_is_over'))
  from (values ('deliver_before', was.deliver_before), ('promised_at', was.promised_at)) v (field, stands)
  cross join lateral (select app.instant(input ->> v.field) as moment) n
  where n.moment <= now() and n.moment is distinct from v.stands;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_zone(zone_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  perform from delivery.zones z where z.id = require_zone.zone_id;
  if not found then
    perform app.fail('zone_not_found', '{"field": "zone_id"}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.service_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_service delivery.delivery_services;
begin
  perform delivery.require_delivery_type((input ->> 'delivery_type_id')::uuid);
  perform delivery.require_service_ranges((input ->> 'unit_min')::numeric, (input ->> 'unit_max')::numeric,
    (input ->> 'estimated_delivery_time_min')::numeric, (input ->> 'estimated_delivery_time_max')::numeric);
  perform delivery.require_service_price(input);
  insert into delivery.delivery_services (tenant_id, code, name, description, image_url, priority, service_level,
    default_price, price_per_km, free_km, estimated_delivery_time_min, estimated_delivery_time_max,
    allowed_delivery_attempts, unit_min, unit_max, service_options, delivery_type_id, active, allow_returns,
    access_mode, zone_access_mode, zone_selector_type, policy_mode, policy_overrides)
  values (app.tenant_id(), input ->> 'code', delivery.translated(input -> 'name'), delivery.translated(input -> 'description'),
    input ->> 'image_url', (input ->> 'priority')::integer, input ->> 'service_level',
    coalesce((input ->> 'default_price')::numeric, 0), coalesce((input ->> 'price_per_km')::numeric, 0),
    coalesce((input ->> 'free_km')::numeric, 0), (input ->> 'estimated_delivery_time_min')::numeric,
    (input ->> 'estimated_delivery_time_max')::numeric, coalesce((input ->> 'allowed_delivery_attempts')::integer, 1),
    (input ->> 'unit_min')::numeric, (input ->> 'unit_max')::numeric, coalesce(input -> 'service_options', '{}'),
    (input ->> 'delivery_type_id')::uuid, coalesce((input ->> 'active')::boolean, true),
    coalesce((input ->> 'allow_returns')::boolean, false), coalesce(input ->> 'access_mode', 'all_users'),
    coalesce(input ->> 'zone_access_mode', 'all_zones'), coalesce(input ->> 'zone_selector_type', 'zone'),
    coalesce(input ->> 'policy_mode', 'tenant'), coalesce(input -> 'policy_overrides', '{}'))
  returning * into v_service;
  perform delivery.service_set_users(v_service, input -> 'user_ids');
  perform delivery.service_set_zones(v_service, input -> 'zone_ids', input -> 'zone_tag_ids');
  return jsonb_build_object('id', v_service.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.service_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_service delivery.delivery_services := delivery.lock_service((input ->> 'id')::uuid);
  v_references jsonb;
  -- The service as it shall be: what is sent over what is stored, a null as well.
  v_wanted delivery.delivery_services := jsonb_populate_record(v_service, input - array['name', 'description', 'service_options']);
begin
  perform delivery.require_service_ranges(v_wanted.unit_min, v_wanted.unit_max,
    v_wanted.estimated_delivery_time_min, v_wanted.estimated_delivery_time_max);
  perform delivery.require_service_price(input);
  if v_wanted.delivery_type_id <> v_service.delivery_type_id then
    perform delivery.require_delivery_type(v_wanted.delivery_type_id);
    v_references := delivery.service_setting_references(v_service.id);
    if v_references <> '[]' then
      perform app.fail('delivery_service_type_change_blocked_by_settings', jsonb_build_object('setting_references', v_references));
    end if;
  end if;
  if v_service.active and not v_wanted.active then
    v_references := jsonb_path_query_array(delivery.service_setting_references(v_service.id),
      '$[*] ? (@.setting_key like_regex "default_delivery_service_id$")');
    if v_references <> '[]' then
      perform app.fail('delivery_service_in_use_by_settings', jsonb_build_object('setting_references', v_references));
    end if;
  end if;
  update delivery.delivery_services s set
    name = case when input ? 'name' then delivery.translated(input -> 'name', s.name) else s.name end,
    description = case when input ? 'description' then delivery.translated(input -> 'description', s.description) else s.description end,
    service_options = s.service_options || coalesce(input -> 'service_options', '{}'),
    code = v_wanted.code, image_url = v_wanted.image_url, priority = v_wanted.priority, service_level = v_wanted.service_level,
    default_price = v_wanted.default_price, price_per_km = v_wanted.price_per_km, free_km = v_wanted.free_km,
    estimated_delivery_time_min = v_wanted.estimated_delivery_time_min,
    estimated_delivery_time_max = v_wanted.estimated_delivery_time_max,
    allowed_delivery_attempts = v_wanted.allowed_delivery_attempts, unit_min = v_wanted.unit_min, unit_max = v_wanted.unit_max,
    delivery_type_id = v_wanted.delivery_type_id, active = v_wanted.active, allow_returns = v_wanted.allow_returns,
    access_mode = v_wanted.access_mode, zone_access_mode = v_wanted.zone_access_mode,
    zone_selector_type = v_wanted.zone_selector_type, policy_mode = v_wanted.policy_mode,
    policy_overrides = v_wanted.policy_overrides
  where s.id = v_service.id
  returning * into v_service;
  perform delivery.service_set_users(v_service, input -> 'user_ids');
  perform delivery.service_set_zones(v_service, input -> 'zone_ids', input -> 'zone_tag_ids');
  return '{}';
end $function$;

CREATE OR REPLACE FUNCTION delivery.shipment_labels(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_zone text := app.timezone();
  v_unknown jsonb;
  v_labels jsonb;
  v_codes bigint[] := array(select c::bigint from jsonb_array_elements_text(input -> 'delivery_codes') c);
begin
  select jsonb_agg(c.code order by c.position) into v_unknown from unnest(v_codes) with ordinality c (code, position)
  where not exists (select from delivery.deliveries d where d.delivery_code = c.code);
  if v_unknown is not null then
    perform app.fail('delivery_not_found', jsonb_build_object('delivery_codes', v_unknown));
  end if;
  perform delivery.labels_printed(array(select distinct delivery.parcel_of(d) from delivery.deliveries d where d.delivery_code = any (v_codes)));
  select
    jsonb_agg(jsonb_build_object(
      'template', d.label_assignment,
      'delivery_code', d.delivery_code,
      'edition', d.label_edition,
      'mark', case when d.status = 'cancelled' then d.status else (
        select p.status from delivery.deliveries p
        where p.tenant_id = d.tenant_id and p.id = delivery.parcel_of(d) and p.status in ('draft', 'delivered', 'returned', 'cancelled')) end,
      'barcode', d.barcode,
      'tenant_name', app.localized(t.name),
      'service_name', app.localized(d.service_snapshot -> 'name'),
      'created_on', to_char(d.created_at at time zone v_zone, 'YYYY-MM-DD'),
      'sender', coalesce(delivery.sender_of(d), jsonb_build_object('name', delivery.warehouse_name(d.tenant_id, d.pickup_warehouse_id), 'phone', null))
        || jsonb_build_object('address', d.pickup_snapshot ->> 'full_address', 'city', d.pickup_snapshot ->> 'city'),
      'recipient', jsonb_build_object('name', coalesce(case d.delivery_flow when 'pnd_inbound'
          then delivery.warehouse_name(d.tenant_id, d.dropoff_warehouse_id) else d.recipient ->> 'name' end, ''),
        'phone', case when d.delivery_flow <> 'pnd_inbound' then d.recipient ->> 'phone' end,
        'address', d.dropoff_snapshot ->> 'full_address', 'city', d.dropoff_snapshot ->> 'city'),
      'cod_amount', nullif((delivery.parcel_terms(d)).cod_amount, 0),
      'delivery_fee', nullif((delivery.parcel_terms(d)).delivery_fee, 0),
      'currency', d.currency,
      'decimals', money.decimals_of(d.currency),
      'payer', d.payer_type,
      'unit_size', trim_scale(d.unit_size)::text,
      'pieces', greatest(1, coalesce(jsonb_array_length(case when jsonb_typeof(d.package_details -> 'items') = 'array'
        then d.package_details -> 'items' end), 1)),
      'notes', d.notes,
      'manifest', case when d.source_snapshot is not null then jsonb_build_object(
        'number', d.source_snapshot #>> '{manifest,number}',
        'institution', coalesce(d.source_snapshot #>> '{source,institution,full_name}', ''),
        'branch_name', coalesce(d.source_snapshot #>> '{source,branch,name}', ''),
        'branch_code', coalesce(d.source_snapshot #>> '{source,branch,code}', ''),
        'item_barcode', coalesce(d.source_snapshot #>> '{item,barcode_value}', d.barcode)) end
    ) order by a.position)
  into v_labels
  from unnest(v_codes) with ordinality a (code, position)
  join delivery.deliveries d on d.delivery_code = a.code
  join tenancy.tenants t on t.id = d.tenant_id;
  return v_labels;
end $function$;

CREATE OR REPLACE FUNCTION delivery.zone_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_zone delivery.zones;
begin
  perform delivery.lock_service_area(app.tenant_id(), true);
  insert into delivery.zones (tenant_id, name, polygon)
  values (app.tenant_id(), input ->> 'name', input -> 'polygon')
  returning * into v_zone;
  perform delivery.zone_set_tags(v_zone.id, app.uuids(coalesce(input -> 'tag_ids', '[]')));
  perform delivery.zones_find_addresses(v_zone, v_zone);
  perform delivery.zones_find_deliveries(v_zone, v_zone);
  return delivery.zone_to_json(v_zone.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.zone_of_end(tenant uuid, address uuid, snapshot jsonb, stands uuid, boxes jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_latitude double precision := (snapshot ->> 'latitude')::double precision;
  v_longitude double precision := (snapshot ->> 'longitude')::double precision;
begin
  if not exists (select from jsonb_array_elements(boxes) b (box)
      where v_longitude between (b.box ->> 0)::double precision and (b.box ->> 2)::double precision
        and v_latitude between (b.box ->> 1)::double precision and (b.box ->> 3)::double precision)
    or exists (select from delivery.addresses a where a.tenant_id = tenant and a.id = address and a.zone_chosen) then
    return stands;
  end if;
  return delivery.zone_at(tenant, v_latitude, v_longitude);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."zone_of_end"(uuid, uuid, jsonb, uuid, jsonb) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.zone_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_old delivery.zones;
  v_new delivery.zones;
begin
  perform delivery.lock_service_area(app.tenant_id(), true);
  select * into v_old from delivery.zones z where z.id = v_id;
  if not found then
    perform app.fail('zone_not_found');
  end if;
  update delivery.zones z set
    name = coalesce(input ->> 'name', z.name),
    polygon = coalesce(input -> 'polygon', z.polygon),
    is_active = coalesce((input ->> 'is_active')::boolean, z.is_active)
  where z.id = v_id
  returning * into v_new;
  if input ? 'tag_ids' then
    perform delivery.zone_set_tags(v_id, app.uuids(input -> 'tag_ids'));
  end if;
  if v_new.polygon <> v_old.polygon or v_new.is_active <> v_old.is_active then
    perform delivery.zones_find_addresses(v_old, v_new);
    perform delivery.zones_find_deliveries(v_old, v_new);
  end if;
  return delivery.zone_to_json(v_id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.zones_find_deliveries(was delivery.zones, became delivery.zones)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.job_add('delivery.zones_follow', jsonb_build_object('boxes', jsonb_build_array(
    jsonb_build_array(was.west, was.south, was.east, was.north), jsonb_build_array(became.west, became.south, became.east, became.north))));
end $function$;

CREATE OR REPLACE FUNCTION delivery.zones_follow(tenant uuid, boxes text, many integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_boxes jsonb := boxes::jsonb;
  v_ids uuid[];
begin
  perform set_config('app.tenant_id', tenant::text, true);
  v_ids := array(
    select d.id from delivery.deliveries d
    where d.tenant_id = tenant and d.status in ('draft', 'pending', 'assigned', 'accepted', 'picked_up', 'in_transit', 'failed')
      and (d.pickup_zone_id is distinct from delivery.zone_of_end(tenant, d.pickup_address_id, d.pickup_snapshot, d.pickup_zone_id, v_boxes)
        or d.dropoff_zone_id is distinct from delivery.zone_of_end(tenant, d.dropoff_address_id, d.dropoff_snapshot, d.dropoff_zone_id, v_boxes))
    order by d.id limit many);
  if v_ids = '{}' then
    return 0;
  end if;
  perform delivery.lock_deliveries(v_ids);
  -- As they are now: one may have been sent elsewhere, or have ended, while this waited.
  update delivery.deliveries d set
    pickup_zone_id = z.pickup,
    pickup_snapshot = d.pickup_snapshot || jsonb_build_object('zone_id', z.pickup),
    dropoff_zone_id = z.dropoff,
    dropoff_snapshot = d.dropoff_snapshot || jsonb_build_object('zone_id', z.dropoff)
  from (
    select x.id, delivery.zone_of_end(tenant, x.pickup_address_id, x.pickup_snapshot, x.pickup_zone_id, v_boxes) as pickup,
      delivery.zone_of_end(tenant, x.dropoff_address_id, x.dropoff_snapshot, x.dropoff_zone_id, v_boxes) as dropoff
    from delivery.deliveries x where x.tenant_id = tenant and x.id = any (v_ids)
  ) z
  where d.tenant_id = tenant and d.id = z.id and d.status not in ('delivered', 'returned', 'cancelled')
    and (z.pickup, z.dropoff) is distinct from (d.pickup_zone_id, d.dropoff_zone_id);
  return cardinality(v_ids);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."zones_follow"(uuid, text, integer) FROM "barid_caller";

REVOKE ALL ON FUNCTION "app"."require_clear_amount"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "app"."require_clear_amount"(text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."carrier_checked"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."carrier_checked"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."ends_unknown"(uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."ends_unknown"(uuid[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."label_differs"(jsonb, text, jsonb, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."label_differs"(jsonb, text, jsonb, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."recipient_corrected"(jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."recipient_corrected"(jsonb, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_service_price"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_service_price"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_time_ahead"(jsonb, delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_time_ahead"(jsonb, delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."zone_of_end"(uuid, uuid, jsonb, uuid, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."zones_find_deliveries"(delivery.zones, delivery.zones) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."zones_find_deliveries"(delivery.zones, delivery.zones) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."zones_follow"(uuid, text, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."zones_follow"(uuid, text, integer) TO "barid_api";

-- Deliveries that have not ended and have the zone of a map before: found once, everywhere.
insert into app.jobs (tenant_id, kind, payload)
select t.id, 'delivery.zones_follow', '{"boxes": [[-180, -90, 180, 90]]}' from tenancy.tenants t
where exists (select from delivery.zones z where z.tenant_id = t.id);

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129065351';
end $$;

grant execute on function private.schema_version() to barid_api;
