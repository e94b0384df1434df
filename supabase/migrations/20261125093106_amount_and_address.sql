-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table tenancy.profiles, tenancy.tenants in share row exclusive mode;
      lock table delivery.deliveries, delivery.deliveries_list, money.payments in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "delivery"."deliveries_list";

ALTER TABLE "money"."payments" DROP CONSTRAINT "payments_amount_check";

ALTER TABLE "money"."payments" DROP CONSTRAINT "payments_type_check";

CREATE TABLE "delivery"."amount_changes" ("id" uuid NOT NULL DEFAULT gen_random_uuid(), "tenant_id" uuid NOT NULL, "delivery_id" uuid NOT NULL, "old_cod_amount" numeric(18,3) NOT NULL, "new_cod_amount" numeric(18,3) NOT NULL, "currency" character(3) NOT NULL, "reason" text NOT NULL, "kept_items" jsonb, "status" text NOT NULL, "requested_by" uuid, "requested_at" timestamp with time zone NOT NULL DEFAULT clock_timestamp(), "decided_by" uuid, "decided_at" timestamp with time zone, "decline_reason" text, CONSTRAINT "amount_change_state" CHECK ((((status = 'pending'::text) = (decided_at IS NULL)) AND ((decline_reason IS NULL) OR (status = 'declined'::text)))), CONSTRAINT "amount_changes_kept_items_check" CHECK (((jsonb_typeof(kept_items) = 'array'::text) AND (kept_items <> '[]'::jsonb))), CONSTRAINT "amount_changes_new_cod_amount_check" CHECK ((new_cod_amount >= (0)::numeric)), CONSTRAINT "amount_changes_old_cod_amount_check" CHECK ((old_cod_amount >= (0)::numeric)), CONSTRAINT "amount_changes_pkey" PRIMARY KEY (id), CONSTRAINT "amount_changes_reason_check" CHECK ((reason <> ''::text)), CONSTRAINT "amount_changes_status_check" CHECK ((status = ANY (ARRAY['pending'::text, 'approved'::text, 'declined'::text, 'lapsed'::text]))), CONSTRAINT "amount_changes_tenant_id_id_key" UNIQUE (tenant_id, id), CONSTRAINT "kept_items_above_65536_bytes" CHECK ((octet_length((kept_items)::text) <= 65536)), CONSTRAINT "texts_within_bounds" CHECK (((octet_length(reason) <= 4000) AND (octet_length(status) <= 1000) AND (octet_length(decline_reason) <= 4000))));

ALTER TABLE "delivery"."amount_changes" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "delivery"."amount_changes" FORCE ROW LEVEL SECURITY;

ALTER TABLE "delivery"."deliveries" ADD COLUMN "ordered_cod_amount" numeric(18,3);

CREATE OR REPLACE FUNCTION delivery.amount_change_apply(change_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  c delivery.amount_changes;
  d delivery.deliveries;
begin
  select * into strict c from delivery.amount_changes x where x.tenant_id = app.tenant_id() and x.id = change_id and x.status = 'approved';
  update delivery.deliveries x set cod_amount = c.new_cod_amount, ordered_cod_amount = coalesce(x.ordered_cod_amount, x.cod_amount),
    label_outdated = true
  where x.tenant_id = c.tenant_id and x.id = c.delivery_id
  returning * into strict d;
  update delivery.deliveries x set label_outdated = true where x.tenant_id = c.tenant_id and x.parent_id = c.delivery_id;
  perform delivery.drivers_notify(array[c.delivery_id]);
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.amount_changed',
    'entity_type', 'delivery', 'entity_id', d.id, 'event_data', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code,
      'amount_change_id', c.id, 'old_cod_amount', c.old_cod_amount, 'new_cod_amount', c.new_cod_amount, 'currency', c.currency,
      'reason', c.reason, 'requested_by', c.requested_by, 'actor_id', app.user_id()))));
end $function$;

REVOKE ALL ON FUNCTION "delivery"."amount_change_apply"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.amount_change_approve(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries := delivery.lock_amount_change(input);
  c delivery.amount_changes;
begin
  select * into strict c from delivery.amount_changes x where x.tenant_id = p.tenant_id and x.id = (input ->> 'change_id')::uuid;
  perform delivery.require_new_amount(p, delivery.amount_change_role(p), c.new_cod_amount, c.kept_items is not null);
  perform delivery.amount_change_decide(c.id, 'approved', null);
  return delivery.amount_change_to_json(c.id, (input ->> 'id')::uuid);
end $function$;

CREATE OR REPLACE FUNCTION delivery.amount_change_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  p delivery.deliveries := delivery.parcel_terms(d);
  v_role text := delivery.amount_change_role(p);
  v_amount numeric := (input ->> 'cod_amount')::numeric;
  v_kept jsonb;
  v_id uuid;
begin
  perform delivery.require_new_amount(p, v_role, v_amount, coalesce(jsonb_typeof(input -> 'kept_items') = 'array', false));
  v_kept := delivery.kept_items_of(p.id, input -> 'kept_items');
  -- By itself: what reads in the statement that writes would not see it.
  v_id := delivery.amount_change_write(p, v_amount, input ->> 'reason', v_kept, v_role <> 'driver');
  return delivery.amount_change_to_json(v_id, d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.amount_change_decide(p_change uuid, decision text, p_reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update delivery.amount_changes c set status = decision, decline_reason = p_reason, decided_by = app.user_id(), decided_at = clock_timestamp()
  where c.tenant_id = app.tenant_id() and c.id = p_change and c.status = 'pending';
  if decision = 'approved' then
    perform delivery.amount_change_apply(p_change);
  else
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select c.tenant_id, c.requested_by, 'amount_change_declined', jsonb_build_object('delivery_id', c.delivery_id,
      'delivery_code', d.delivery_code, 'amount_change_id', c.id, 'amount', c.new_cod_amount, 'currency', c.currency)
    from delivery.amount_changes c
    join delivery.deliveries d on d.tenant_id = c.tenant_id and d.id = c.delivery_id
    where c.tenant_id = app.tenant_id() and c.id = p_change and c.requested_by is distinct from app.user_id() and c.requested_by is not null;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.amount_change_decline(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries := delivery.lock_amount_change(input);
begin
  perform delivery.amount_change_decide((input ->> 'change_id')::uuid, 'declined', input ->> 'reason');
  return delivery.amount_change_to_json((input ->> 'change_id')::uuid, (input ->> 'id')::uuid);
end $function$;

CREATE OR REPLACE FUNCTION delivery.amount_change_role(p delivery.deliveries)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if app.has_permission('manage:operations:tenant') then
    return 'office';
  elsif p.order_id is null and coalesce(app.user_id() in (p.customer_id, p.institution_user_id), false) then
    return 'owner';
  elsif exists (
      select from delivery.assignments a
      join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
      where a.tenant_id = p.tenant_id and a.driver_id = app.user_id() and a.status in ('assigned', 'accepted')
        and (d.id = p.id or d.parent_id = p.id)) then
    return 'driver';
  end if;
  return app.refuse('forbidden');
end $function$;

CREATE OR REPLACE FUNCTION delivery.amount_change_to_json(change_id uuid, delivery_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('delivery', delivery.delivery_to_json(amount_change_to_json.delivery_id), 'amount_change', (
    select to_jsonb(c) - 'tenant_id' from delivery.amount_changes_list c where c.id = change_id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.amount_change_write(p delivery.deliveries, amount numeric, p_reason text, kept jsonb, decided boolean)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
begin
  if exists (select from delivery.amount_changes c where c.tenant_id = p.tenant_id and c.delivery_id = p.id and c.status = 'pending') then
    perform app.fail('amount_change_pending');
  end if;
  insert into delivery.amount_changes (tenant_id, delivery_id, old_cod_amount, new_cod_amount, currency, reason, kept_items, status, requested_by,
    decided_by, decided_at)
  values (app.tenant_id(), p.id, p.cod_amount, amount, p.currency, p_reason, kept, case when decided then 'approved' else 'pending' end, app.user_id(),
    case when decided then app.user_id() end, case when decided then clock_timestamp() end)
  returning id into v_id;
  if decided then
    perform delivery.amount_change_apply(v_id);
  else
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select distinct app.tenant_id(), u.user_id, 'amount_change_requested', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
      'amount_change_id', v_id, 'amount', amount, 'currency', p.currency)
    from tenancy.tenant_users u
    left join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
    where u.tenant_id = app.tenant_id() and u.is_active and (r.role_key in ('tenant_admin', 'operations_manager', 'dispatcher')
      or (p.order_id is null and u.user_id in (p.customer_id, p.institution_user_id)));
  end if;
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.amount_changes_lapse()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not exists (select from new_rows n join old_rows o on o.id = n.id where n.status <> o.status) then
    return null;
  end if;
  update delivery.amount_changes c set status = 'lapsed', decided_at = clock_timestamp()
  from new_rows n join old_rows o on o.id = n.id
  where n.status <> o.status and n.parent_id is null and c.tenant_id = n.tenant_id and c.delivery_id = n.id and c.status = 'pending'
    and (n.status in ('delivered', 'cancelled') or (n.status = 'returned' and n.delivery_flow <> 'pnd_parent'));
  return null;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."amount_changes_lapse"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.amount_changes_read(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
begin
  select * into d from delivery.deliveries x where x.id = (input ->> 'id')::uuid;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  return jsonb_build_object(
    'rows', (select coalesce(jsonb_agg(to_jsonb(r) - 'tenant_id' order by r.requested_at desc, r.id desc), '[]') from (
      select * from delivery.amount_changes_list c where c.tenant_id = d.tenant_id and c.delivery_id = delivery.parcel_of(d)
      order by c.requested_at desc nulls last, c.id desc limit (input ->> 'limit')::bigint offset (input ->> 'offset')::bigint) r),
    'total', (select count(*) from delivery.amount_changes c where c.tenant_id = d.tenant_id and c.delivery_id = delivery.parcel_of(d)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.cod_ordered_on(d delivery.deliveries)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return case d.delivery_flow when 'pnd_inbound' then 0 else (
    select coalesce(p.ordered_cod_amount, p.cod_amount) from delivery.deliveries p where p.tenant_id = app.tenant_id() and p.id = d.parent_id) end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_priced(d delivery.deliveries, input jsonb, from_address delivery.addresses, to_address delivery.addresses)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_service delivery.delivery_services;
  v_km double precision := delivery.road_distance_km(from_address.latitude, from_address.longitude, to_address.latitude, to_address.longitude);
  v_owner uuid := coalesce(d.institution_user_id, d.customer_id);
  v_agreed boolean := d.order_id is not null;
  v_service_field jsonb := jsonb_build_object('field', coalesce(input ->> 'service_field', 'delivery_service_id'));
  v_quote record;
begin
  if input ->> 'delivery_service_id' is null then
    perform app.fail('delivery_service_id_required', '{"field": "delivery_service_id"}');
  end if;
  select * into v_service from delivery.delivery_services s
  where s.id = (input ->> 'delivery_service_id')::uuid and (s.deleted_at is null or v_agreed);
  if not found then
    perform app.fail('service_not_found', v_service_field);
  end if;
  if not v_agreed and (not v_service.active or not delivery.service_reaches(v_service, to_address.zone_id)
      or (v_owner is not null and not delivery.service_open_to(v_service, v_owner))) then
    perform app.fail('delivery_service_not_available', v_service_field);
  end if;
  if d.delivery_flow = 'customer_return' and not v_service.allow_returns then
    perform app.fail('service_not_for_returns', v_service_field);
  end if;
  v_quote := delivery.quote(v_service, input -> 'package', (input ->> 'unit_size')::numeric, v_km,
    app.settings('general', 'unit_size'), (app.currency()).decimals);
  if v_quote.error_code is not null and not (v_agreed and v_quote.error_code = 'can_not_use_this_delivery_for_this_unit_size') then
    perform app.fail(v_quote.error_code,
      coalesce(v_quote.error_params, '{}') || jsonb_build_object('field', coalesce(input ->> 'package_field', 'package')));
  end if;
  if v_km is null and v_service.price_per_km > 0 and not v_agreed then
    perform app.fail('invalid_coordinates',
      jsonb_build_object('field', case when from_address.latitude is null then 'pickup_location'
        else coalesce(input ->> 'dropoff_field', 'delivery_location') end));
  end if;
  d.delivery_service_id := v_service.id;
  d.service_snapshot := jsonb_build_object('id', v_service.id, 'code', v_service.code, 'name', v_service.name,
    'service_level', v_service.service_level, 'default_price', v_service.default_price, 'price_per_km', v_service.price_per_km,
    'free_km', v_service.free_km);
  d.package_details := input -> 'package';
  -- The customer of an order was told its fee, and paid or pays it with the order.
  d.delivery_fee := case when v_agreed then (input ->> 'delivery_fee')::numeric else v_quote.price end;
  d.unit_size := v_quote.unit_size;
  d.unit_size_source := v_quote.unit_size_source;
  d.distance_km := round(v_km::numeric, 3);
  return d;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_redirect(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_dry_run boolean := coalesce((input ->> 'dry_run')::boolean, false);
  v_office boolean := app.has_permission('manage:operations:tenant');
  d delivery.deliveries;
  p delivery.deliveries;
  v_to delivery.addresses;
  v_terms record;
  v_difference numeric;
  v_unassigned uuid[];
begin
  if not v_dry_run then
    perform delivery.lock_manifest_item(v_id);
    d := delivery.lock_delivery(v_id);
  else
    select * into d from delivery.deliveries x where x.id = v_id;
    if not found then
      perform app.fail('delivery_not_found');
    end if;
  end if;
  p := delivery.parcel_terms(d);
  perform delivery.require_owner(p);
  if input ->> 'charge' is not null and not v_office then
    perform app.fail('forbidden');
  end if;
  perform delivery.require_changeable(p);
  if not v_office and delivery.was_picked_up(p) then
    perform app.fail('delivery_already_picked_up');
  end if;
  perform delivery.require_no_return(p);
  v_to := delivery.redirect_place(p, input, v_dry_run);
  v_terms := delivery.redirect_terms(p, v_to, input ->> 'charge' is not null);
  v_difference := (v_terms.priced).delivery_fee - p.delivery_fee;
  if exists (select from delivery.redirect_misfits(p.id, v_to.zone_id) m where m.in_hand) then
    perform app.fail('redirect_needs_other_driver', jsonb_build_object('field', 'dropoff_address_id'));
  end if;
  v_unassigned := array(select m.assignment_id from delivery.redirect_misfits(p.id, v_to.zone_id) m);
  if not v_dry_run then
    perform delivery.redirect_write(p, v_to.id, v_terms.priced, input -> 'recipient', v_unassigned);
  end if;
  if v_terms.charged = 'wallet' then
    perform money.delivery_fee_change(p.id, v_difference, v_dry_run);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'dry_run', v_dry_run, 'driver_unassigned', v_unassigned <> '{}',
    'price', jsonb_build_object('before', p.delivery_fee, 'after', (v_terms.priced).delivery_fee, 'difference', v_difference,
      'currency', p.currency, 'charged', v_terms.charged));
end $function$;

CREATE OR REPLACE FUNCTION delivery.driver_reaches(tenant uuid, driver uuid, zone_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (select from delivery.drivers r where r.tenant_id = tenant and r.user_id = driver and r.all_zones)
    or exists (select from delivery.driver_zones z
      where z.tenant_id = tenant and z.driver_id = driver and z.zone_id = driver_reaches.zone_id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.kept_items_agreed(parcel uuid, OUT changed boolean, OUT kept_items jsonb)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  select true, c.kept_items into changed, kept_items from delivery.amount_changes c
  where c.tenant_id = app.tenant_id() and c.delivery_id = parcel and c.status = 'approved'
  order by c.decided_at desc, c.id desc limit 1;
  changed := coalesce(changed, false);
end $function$;

CREATE OR REPLACE FUNCTION delivery.kept_items_of(parcel uuid, kept jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_units numeric;
  v_wrong boolean;
  v_all numeric;
begin
  if coalesce(jsonb_typeof(kept), 'null') = 'null' then
    return null;
  end if;
  select sum(k.quantity), count(*) <> count(distinct k.delivery_item_id) or bool_or(i.id is null or k.quantity not between 1 and i.quantity)
  into v_units, v_wrong
  from jsonb_to_recordset(kept) k (delivery_item_id uuid, quantity bigint)
  left join delivery.delivery_items i on i.tenant_id = v_tenant and i.delivery_id = parcel and i.id = k.delivery_item_id;
  select sum(i.quantity) into v_all from delivery.delivery_items i where i.tenant_id = v_tenant and i.delivery_id = parcel;
  if coalesce(v_wrong or v_units >= v_all, true) then
    perform app.fail('partial_items_invalid', '{"field": "kept_items"}');
  end if;
  return (
    select jsonb_agg(jsonb_build_object('delivery_item_id', k.delivery_item_id, 'quantity', k.quantity) order by k.position)
    from rows from (jsonb_to_recordset(kept) as (delivery_item_id uuid, quantity bigint)) with ordinality k (delivery_item_id, quantity, position));
end $function$;

CREATE OR REPLACE FUNCTION delivery.legs_take_destination(parcels uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update delivery.deliveries leg set
    recipient = parent.recipient,
    delivery_service_id = parent.delivery_service_id,
    service_snapshot = parent.service_snapshot,
    unit_size = parent.unit_size,
    unit_size_source = parent.unit_size_source,
    label_outdated = true,
    dropoff_address_id = case leg.leg when 'B' then parent.dropoff_address_id else leg.dropoff_address_id end,
    dropoff_snapshot = case leg.leg when 'B' then parent.dropoff_snapshot else leg.dropoff_snapshot end,
    dropoff_zone_id = case leg.leg when 'B' then parent.dropoff_zone_id else leg.dropoff_zone_id end
  from delivery.deliveries parent
  where parent.tenant_id = app.tenant_id() and parent.id = any (parcels)
    and leg.tenant_id = parent.tenant_id and leg.parent_id = parent.id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_amount_change(input jsonb)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries := delivery.parcel_terms(delivery.lock_delivery((input ->> 'id')::uuid));
  v_status text;
begin
  perform delivery.require_owner(p);
  select c.status into v_status from delivery.amount_changes c
  where c.tenant_id = p.tenant_id and c.id = (input ->> 'change_id')::uuid and c.delivery_id = p.id;
  if not found then
    perform app.fail('amount_change_not_found');
  elsif v_status <> 'pending' then
    perform app.fail('amount_change_not_pending', jsonb_build_object('status', v_status));
  end if;
  return p;
end $function$;

CREATE OR REPLACE FUNCTION delivery.order_change_misfit(d delivery.deliveries, service delivery.delivery_services, zone_id uuid, unit_size numeric, quote_error text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_driver uuid;
begin
  if not delivery.service_allows(service, d.institution_user_id, zone_id) then
    return 'delivery_service_not_available';
  elsif quote_error is not null then
    return quote_error;
  end if;
  select a.driver_id into v_driver from delivery.assignments a
  where a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('pending', 'assigned', 'accepted') limit 1;
  if found and not delivery.driver_reaches(d.tenant_id, v_driver, zone_id) then
    return 'driver_not_allowed_in_delivery_zone';
  end if;
  return case when unit_size <> d.unit_size and exists (
    select from delivery.deliveries l
    join delivery.assignments a on a.tenant_id = l.tenant_id and a.delivery_id = l.id and a.status in ('pending', 'assigned', 'accepted')
    where l.tenant_id = d.tenant_id and (l.id = d.id or l.parent_id = d.id)) then 'delivery_already_assigned' end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.order_changes_write(changes private.order_change[], destination jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_branch uuid := (destination ->> 'branch_id')::uuid;
  v_address uuid := (destination ->> 'address_id')::uuid;
  v_address_snapshot jsonb;
  v_delivery_ids uuid[] := array(select c.delivery_id from unnest(changes) c);
begin
  if v_delivery_ids = '{}' then
    return;
  end if;
  select to_jsonb(a) into v_address_snapshot from delivery.addresses_list a where a.id = v_address;

  update money.payments payment set status = 'CANCELLED'
  where payment.tenant_id = v_tenant and payment.status = 'SUCCESS' and payment.type in ('DELIVERY_FEE', 'DELIVERY_FEE_CHANGE')
    and payment.delivery_id = any (array(select c.delivery_id from unnest(changes) c where c.new_payment_id is not null));
  -- `reference` is the id of the payment that this one replaces.
  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id,
    delivery_id, reference, actor_id, processed_at)
  select c.new_payment_id, v_tenant, 'DELIVERY', 'DELIVERY_FEE', 'SUCCESS', 'wallet', c.price, (app.currency()).code, c.wallet_id,
    c.delivery_id, c.payment_id::text, app.user_id(), now()
  from unnest(changes) c where c.new_payment_id is not null;

  update delivery.deliveries parent set
    dropoff_address_id = v_address,
    dropoff_snapshot = v_address_snapshot,
    dropoff_zone_id = (v_address_snapshot ->> 'zone_id')::uuid,
    recipient = destination -> 'recipient',
    delivery_service_id = c.service_id,
    service_snapshot = delivery.service_snapshot(c.service_id),
    delivery_fee = c.price,
    unit_size = c.unit_size,
    unit_size_source = c.unit_size_source,
    distance_km = c.distance_km,
    label_outdated = true
  from unnest(changes) c
  where parent.tenant_id = v_tenant and parent.id = c.delivery_id;
  perform delivery.legs_take_destination(v_delivery_ids);
  update delivery.transfer_manifest_items item set
    destination_branch_id = v_branch,
    destination_address_id = case when v_branch is null then v_address end
  where item.tenant_id = v_tenant
    and item.id = any (array(select c.item_id from unnest(changes) c));

  perform delivery.drivers_notify(v_delivery_ids);
  perform delivery.routes_remeasure(v_delivery_ids);
  perform delivery.manifest_events_add((
    select jsonb_agg(jsonb_build_object('manifest_id', c.manifest_id, 'manifest_item_id', c.item_id,
      'event_type', 'destination_changed', 'payload', jsonb_build_object(
        'delivery_id', c.delivery_id, 'delivery_code', c.delivery_code,
        'destination_branch_id', v_branch, 'destination_address_id', v_address,
        'delivery_service_id', c.service_id, 'price_difference', c.difference)) order by c.position)
    from unnest(changes) c));
end $function$;

CREATE OR REPLACE FUNCTION delivery.priced_from(d delivery.deliveries, OUT latitude double precision, OUT longitude double precision)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_place jsonb := coalesce(d.ordered_from_snapshot, d.pickup_snapshot);
begin
  if d.manifest_id is not null and tenancy.manifest_settings() ->> 'delivery_fee_origin' = 'source_location' then
    select m.source_snapshot -> 'address' into v_place from delivery.transfer_manifests m where m.tenant_id = d.tenant_id and m.id = d.manifest_id;
  end if;
  latitude := (v_place ->> 'latitude')::double precision;
  longitude := (v_place ->> 'longitude')::double precision;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_misfits(parcel uuid, zone_id uuid)
 RETURNS TABLE(assignment_id uuid, delivery_id uuid, driver_id uuid, in_hand boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
begin
  return query
  select a.id, d.id, a.driver_id, d.status in ('picked_up', 'in_transit', 'failed')
  from delivery.deliveries d
  join delivery.assignments a on a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('pending', 'assigned', 'accepted')
  where d.tenant_id = v_tenant and (d.id = parcel or d.parent_id = parcel)
    and d.delivery_flow <> 'pnd_inbound' and not delivery.is_transferred(d) and d.status <> 'returned'
    and not delivery.driver_reaches(d.tenant_id, a.driver_id, redirect_misfits.zone_id)
  order by a.id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_place(p delivery.deliveries, input jsonb, dry_run boolean)
 RETURNS delivery.addresses
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  a delivery.addresses;
begin
  if not dry_run or input ->> 'dropoff_address_id' is not null then
    return delivery.delivery_place(input, 'dropoff', coalesce(p.institution_user_id, p.customer_id));
  end if;
  a.latitude := (input #>> '{dropoff,latitude}')::double precision;
  a.longitude := (input #>> '{dropoff,longitude}')::double precision;
  a.zone_id := delivery.zone_at(p.tenant_id, a.latitude, a.longitude);
  return a;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_terms(p delivery.deliveries, to_address delivery.addresses, charge_wallet boolean, OUT priced delivery.deliveries, OUT charged text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_from record := delivery.priced_from(p);
  v_start delivery.addresses;
  v_taken boolean := money.delivery_fee_taken(p.id);
begin
  v_start.latitude := v_from.latitude;
  v_start.longitude := v_from.longitude;
  priced := delivery.delivery_priced(p, jsonb_build_object('delivery_service_id', p.delivery_service_id, 'unit_size', p.unit_size,
    'delivery_fee', p.delivery_fee, 'package_field', 'dropoff_address_id', 'service_field', 'dropoff_address_id',
    'dropoff_field', 'dropoff_address'), v_start, to_address);
  if p.order_id is not null or to_address.id = p.dropoff_address_id or (v_taken and not charge_wallet) then
    priced.delivery_fee := p.delivery_fee;
    priced.service_snapshot := p.service_snapshot;
  end if;
  charged := case when priced.delivery_fee = p.delivery_fee then 'none' when p.payment_method = 'wallet' or v_taken then 'wallet' else 'cash' end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_way_missing(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_from record;
begin
  select * into d from delivery.deliveries x where x.id = (input ->> 'id')::uuid;
  if not found then
    return null;
  end if;
  v_from := delivery.priced_from(delivery.parcel_terms(d));
  return delivery.road_distance_missing((input - 'id') || jsonb_build_object('pickup',
    jsonb_build_object('latitude', v_from.latitude, 'longitude', v_from.longitude)));
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
    recipient = case when jsonb_typeof(redirect_write.recipient) = 'object' then redirect_write.recipient else x.recipient end,
    delivery_fee = priced.delivery_fee,
    service_snapshot = priced.service_snapshot,
    distance_km = priced.distance_km,
    -- It ends at a door now; a transfer to another warehouse on the way stays.
    dropoff_warehouse_id = case when x.transfer_kind is not null then x.dropoff_warehouse_id end,
    ordered_to_warehouse_id = null,
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

CREATE OR REPLACE FUNCTION delivery.require_changeable(p delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if p.status = 'draft' then
    perform app.fail('delivery_is_draft');
  elsif p.status in ('delivered', 'cancelled') or (p.status = 'returned' and p.delivery_flow <> 'pnd_parent') then
    perform app.fail('delivery_ended', jsonb_build_object('status', p.status));
  elsif p.delivery_flow = 'operational_return' then
    perform app.fail('operational_return_fixed');
  elsif delivery.shipment_lives(p.id) then
    perform app.fail('shipment_booked');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_new_amount(p delivery.deliveries, role text, amount numeric, for_part boolean)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_decimals integer := money.decimals_of(p.currency);
begin
  if p.order_id is not null then
    perform app.fail('order_amount_fixed');
  end if;
  perform delivery.require_changeable(p);
  if amount <> round(amount, v_decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'cod_amount', 'currency', p.currency, 'decimals', v_decimals));
  elsif amount > 0 and coalesce(p.institution_user_id, p.customer_id) is null then
    perform app.fail('customer_required_for_cod', '{"field": "cod_amount"}');
  elsif role = 'owner' and amount > p.cod_amount and delivery.was_picked_up(p) then
    perform app.fail('amount_may_only_fall', jsonb_build_object('field', 'cod_amount', 'cod_amount', p.cod_amount));
  elsif amount = p.cod_amount and not for_part then
    perform app.fail('amount_unchanged', jsonb_build_object('field', 'cod_amount', 'cod_amount', p.cod_amount));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.shipment_lives(parcel uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  return exists (
    select from integration.carrier_shipments s
    join delivery.deliveries d on d.tenant_id = s.tenant_id and d.id = s.delivery_id
    where s.tenant_id = v_tenant and (d.id = parcel or d.parent_id = parcel) and s.status <> 'cancelled');
end $function$;

CREATE OR REPLACE FUNCTION delivery.was_picked_up(d delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return d.picked_up_at is not null or d.status not in ('draft', 'pending', 'assigned', 'accepted');
end $function$;

CREATE OR REPLACE FUNCTION money.cod_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, driver_id uuid, carrier_code text, user_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select 'driver_cash', p.driver_id, null::text, null::uuid, p.currency, p.in_hand, p.ledger, array(
      select c.id from money.cod_collections c
      where c.tenant_id = tenant and c.driver_id = p.driver_id and c.currency = p.currency and c.collected_at <= as_of
        and coalesce(c.remitted_at, c.settled_at, 'infinity') > as_of
      order by c.collected_at, c.id limit 100)
  from money.cod_positions(tenant, as_of) p where p.in_hand <> p.ledger
  union all
  select 'collection_journal', c.driver_id, null, null, c.currency, c.amount, b.amount, array[c.id]
  from money.cod_collections c
  left join lateral (
    select sum(e.amount) as amount from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'driver_cash' and a.owner_user_id = c.driver_id
    where t.tenant_id = tenant and t.kind = 'cash_collected' and t.reference_type = 'cod_collection' and t.reference_id = c.id
  ) b on true
  where c.tenant_id = tenant and c.collected_at <= as_of and c.amount is distinct from b.amount
  union all
  select 'settlement_items', s.driver_id, null, null, s.currency, s.total, i.total, i.rows
  from money.cod_settlements s
  left join lateral (
    select sum(i.amount) as total, sum(i.delivery_fee_amount) as fees, count(*) as entries,
      bool_or(i.reversed_at is distinct from s.reversed_at) as torn, array_agg(i.cod_collection_id) as rows
    from money.cod_settlement_items i where i.tenant_id = tenant and i.payment_id = s.payment_id
  ) i on true
  where s.tenant_id = tenant and s.settled_at <= as_of
    and (s.total is distinct from i.total or s.fee_total is distinct from i.fees or s.collections is distinct from i.entries or i.torn)
  union all
  select 'settled_row', c.driver_id, null, null, c.currency, i.amount, c.amount, array[c.id]
  from money.cod_collections c
  left join money.cod_settlement_items i on i.tenant_id = c.tenant_id and i.cod_collection_id = c.id and i.reversed_at is null
  left join money.cod_settlements s on s.tenant_id = i.tenant_id and s.payment_id = i.payment_id
  where c.tenant_id = tenant and c.collected_at <= as_of and (
    i.payment_id is distinct from c.settlement_payment_id
    or (i.payment_id is not null and (i.amount <> c.amount or i.cod_amount <> c.cod_amount or s.driver_id <> c.driver_id
      or c.status <> case s.method when 'remit' then 'remitted' else 'settled_by_wallet' end)))
  union all
  select 'settlement_journal', s.driver_id, null, null, s.currency, n.taken, b.amount, array[s.payment_id]
  from money.cod_settlements s
  cross join lateral (select case when s.reversed_at <= as_of then 0 else -s.total end as taken) n
  left join lateral (
    select sum(e.amount) as amount from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'driver_cash' and a.owner_user_id = s.driver_id
    where t.tenant_id = tenant and t.kind in ('cod_settlement', 'cod_settlement_REVERSAL') and t.reference_type = 'payment'
      and t.reference_id = s.payment_id and t.created_at <= as_of
  ) b on true
  where s.tenant_id = tenant and s.settled_at <= as_of and not s.historical and b.amount is distinct from n.taken
  union all
  select 'driver_shortage', m.driver_id, null, null, m.currency, sum(m.open), sum(m.ledger), array_agg(m.id) filter (where m.id is not null)
  from (
    select s.driver_id, s.currency::text as currency, s.shortage as open, 0 as ledger, s.payment_id as id
    from money.cod_settlements s
    join money.cash_handovers h on h.tenant_id = s.tenant_id and h.id = s.shortage_handover_id
    where s.tenant_id = tenant and s.settled_at <= as_of and (s.reversed_at is null or s.reversed_at > as_of)
      and (h.resolved_at is null or h.resolved_at > as_of)
    union all
    select a.owner_user_id, a.currency::text, 0, e.amount, null
    from money.accounts a
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at <= as_of
    where a.tenant_id = tenant and a.kind = 'driver_shortage'
  ) m
  group by m.driver_id, m.currency having sum(m.open) <> sum(m.ledger)
  union all
  select 'cod_credit', null, null, null, r.currency, r.cod, p.paid, r.rows
  from (
    select c.currency, sum(c.cod_amount) as cod, (array_agg(c.id order by c.collected_at desc, c.id) filter (where not exists (
      select from money.payments q where q.tenant_id = tenant and q.delivery_id = c.delivery_id and q.type = 'COD_COLLECTION'
        and q.status = 'SUCCESS' and q.amount = c.cod_amount)))[1:100] as rows
    from (
      select x.id, x.delivery_id, x.currency::text as currency, x.cod_amount, x.collected_at from money.cod_collections x where x.tenant_id = tenant
      union all
      select x.id, x.delivery_id, x.currency::text, x.cod_amount, x.collected_at from money.carrier_collections x where x.tenant_id = tenant
    ) c
    where c.cod_amount > 0 and c.collected_at <= as_of group by c.currency
  ) r
  left join lateral (
    select coalesce(sum(q.amount), 0) as paid from money.payments q
    where q.tenant_id = tenant and q.type = 'COD_COLLECTION' and q.status = 'SUCCESS' and q.currency = r.currency and q.processed_at <= as_of
  ) p on true
  where r.cod <> p.paid
  union all
  select 'fee_change', null, null, null, p.currency, p.amount, b.paid, array[p.id]
  from money.payments p
  left join lateral (
    select -sum(e.amount) as paid from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id and e.account_id = p.account_id
    where t.tenant_id = tenant and t.kind = 'delivery_fee_change' and t.reference_type = 'payment' and t.reference_id = p.id
  ) b on true
  where p.tenant_id = tenant and p.type = 'DELIVERY_FEE_CHANGE' and p.processed_at <= as_of and p.amount is distinct from b.paid
  union all
  select 'ledger', a.owner_user_id, a.carrier_code, null, a.currency, e.total, a.balance, array[a.id]
  from money.accounts a
  cross join lateral (
    select coalesce(sum(e.amount), 0) as total, count(*) as entries from money.ledger_entries e
    where e.tenant_id = tenant and e.account_id = a.id
  ) e
  where a.tenant_id = tenant and (a.balance <> e.total or a.version <> e.entries)
  union all
  select d.kind, null, d.carrier_code, null, d.currency, d.expected, d.found, d.rows from money.carrier_differences(tenant, as_of) d
  union all
  select d.kind, null, null, d.user_id, d.currency, d.expected, d.found, d.rows from money.desk_differences(tenant, as_of) d
  union all
  select d.kind, d.driver_id, null, null, d.currency, d.expected, d.found, d.rows from money.driver_pay_differences(tenant, as_of) d
$function$;

CREATE OR REPLACE FUNCTION money.delivery_fee_change(p_delivery uuid, difference numeric, dry_run boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_owner uuid;
  v_wallet uuid;
  v_payment uuid := gen_random_uuid();
  v_payer money.accounts;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  v_owner := coalesce(d.institution_user_id, d.customer_id);
  if difference = 0 then
    return;
  elsif v_owner is null then
    perform app.fail('customer_required_for_wallet', '{"field": "charge"}');
  elsif dry_run then
    select * into v_payer from money.accounts a
    where a.tenant_id = d.tenant_id and a.kind = 'wallet' and a.currency = d.currency and (difference > 0 and a.owner_user_id = v_owner
      and a.owner_type = case when d.institution_user_id is null then 'customer' else 'institution' end
      or difference < 0 and a.owner_type = 'tenant');
    if coalesce(v_payer.balance, 0) < abs(difference) then
      perform money.wallet_short(v_payer, -abs(difference));
    end if;
    return;
  end if;
  v_wallet := money.owner_wallet(d);
  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id, delivery_id, actor_id, processed_at)
  values (v_payment, d.tenant_id, 'DELIVERY', 'DELIVERY_FEE_CHANGE', 'SUCCESS', 'wallet', difference, d.currency, v_wallet, d.id, app.user_id(), now());
  perform money.post_journal('delivery_fee_change', 'payment', v_payment, 'Delivery ' || d.delivery_code,
    array[v_wallet, money.account_of('wallet', 'tenant', null, d.currency::text)], array[-difference, difference]);
end $function$;

CREATE OR REPLACE FUNCTION money.delivery_fee_refund(p_delivery uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_paid money.payments;
  v_change money.payments;
  v_total numeric;
  v_in_cash numeric;
  v_wallet uuid;
  v_payment uuid;
  v_line jsonb;
  v_cash boolean;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  update money.payments p set status = 'CANCELLED', processed_at = now()
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type = 'DELIVERY_FEE' and p.status = 'pending';
  perform from money.payments p
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type in ('DELIVERY_FEE', 'DELIVERY_FEE_CHANGE') and p.status = 'SUCCESS'
  order by p.id for no key update;
  if exists (select from money.payments r where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.type = 'REFUND') then
    return '{"refunded": false, "refund_due": null}';
  end if;
  select * into v_paid from money.payments p
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type = 'DELIVERY_FEE' and p.status = 'SUCCESS'
    and (p.payment_method <> 'cash' or d.order_id is null) and p.amount > 0;
  select * into v_change from money.payments p
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type = 'DELIVERY_FEE_CHANGE' and p.status = 'SUCCESS'
  order by p.created_at, p.id limit 1;
  v_total := coalesce(v_paid.amount, 0) + coalesce((
    select sum(p.amount) from money.payments p
    where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type = 'DELIVERY_FEE_CHANGE' and p.status = 'SUCCESS'), 0);
  v_cash := coalesce(v_paid.payment_method = 'cash', false);
  v_in_cash := case when v_cash then v_paid.amount else 0 end;
  v_wallet := coalesce(v_paid.account_id, v_change.account_id, case when not (v_cash and d.payer_type = 'receiver') then money.owner_wallet(d) end);
  if v_total = 0 or v_wallet is null and not v_cash then
    return '{"refunded": false, "refund_due": null}';
  elsif v_wallet is null then
    insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, delivery_id, reference, actor_id)
    values (d.tenant_id, 'DELIVERY', 'REFUND', 'pending', 'cash', v_total, d.currency, d.id, v_paid.id::text, app.user_id())
    returning id into v_payment;
    return jsonb_build_object('refunded', false, 'refund_due', jsonb_build_object('id', v_payment, 'amount', v_total,
      'currency', d.currency, 'payer', money.payer_contact(d)));
  end if;
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, delivery_id, reference,
    actor_id, processed_at)
  values (d.tenant_id, 'DELIVERY', 'REFUND', 'SUCCESS', 'wallet', v_total, d.currency, v_wallet, d.id,
    coalesce(v_paid.id, v_change.id)::text, app.user_id(), now())
  returning id into v_payment;
  v_line := jsonb_build_object('journal', 'refund', 'kind', 'delivery_fee_refund', 'reference_type', 'payment',
    'reference_id', coalesce(v_paid.id, v_change.id), 'description', 'Delivery ' || d.delivery_code);
  -- Cash came from outside, the rest out of the tenant's wallet; where less than the cash is left, the tenant gets that back.
  perform money.post((
    select jsonb_agg(v_line || jsonb_build_object('account_id', e.account, 'amount', e.amount) order by e.position)
    from (values
      (1, case when v_cash then money.account_of('external', 'tenant', null, d.currency::text) end, -v_in_cash),
      (2, case when v_total <> v_in_cash then money.account_of('wallet', 'tenant', null, d.currency::text) end, v_in_cash - v_total),
      (3, v_wallet, v_total)) e (position, account, amount)
    where e.amount <> 0));
  return '{"refunded": true, "refund_due": null}';
end $function$;

CREATE OR REPLACE FUNCTION money.delivery_fee_taken(p_delivery uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (select from money.payments p where p.tenant_id = app.tenant_id() and p.delivery_id = p_delivery
    and p.type = 'DELIVERY_FEE' and p.status = 'SUCCESS' and p.payment_method = 'cash');
end $function$;

ALTER TABLE "delivery"."amount_changes" ADD CONSTRAINT "amount_changes_decided_by_fkey" FOREIGN KEY (decided_by) REFERENCES tenancy.profiles(id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."amount_changes" ADD CONSTRAINT "amount_changes_requested_by_fkey" FOREIGN KEY (requested_by) REFERENCES tenancy.profiles(id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."amount_changes" ADD CONSTRAINT "amount_changes_tenant_id_delivery_id_fkey" FOREIGN KEY (tenant_id, delivery_id) REFERENCES delivery.deliveries(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."amount_changes" ADD CONSTRAINT "amount_changes_tenant_id_fkey" FOREIGN KEY (tenant_id) REFERENCES tenancy.tenants(id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."deliveries" ADD CONSTRAINT "deliveries_ordered_cod_amount_check" CHECK ((ordered_cod_amount >= (0)::numeric)) NOT VALID;

ALTER TABLE "money"."payments" ADD CONSTRAINT "payments_check" CHECK (((amount >= (0)::numeric) OR (type = 'DELIVERY_FEE_CHANGE'::text))) NOT VALID;

ALTER TABLE "money"."payments" ADD CONSTRAINT "payments_type_check" CHECK ((type = ANY (ARRAY['DELIVERY_FEE'::text, 'COD_COLLECTION'::text, 'COD_SETTLEMENT'::text, 'ORDER'::text, 'WALLET_ADJUSTMENT'::text, 'WALLET_ADJUSTMENT_REVERSAL'::text, 'WALLET_TOPUP'::text, 'REFUND'::text, 'DELIVERY_FEE_CHANGE'::text]))) NOT VALID;

CREATE VIEW "delivery"."amount_changes_list" WITH (security_invoker=true) AS  SELECT id,
    tenant_id,
    delivery_id,
    old_cod_amount,
    new_cod_amount,
    currency,
    reason,
    kept_items,
    status,
        CASE
            WHEN (requested_by IS NOT NULL) THEN jsonb_build_object('id', requested_by, 'full_name', delivery.person_name(requested_by))
            ELSE NULL::jsonb
        END AS requested_by,
    requested_at,
        CASE
            WHEN (decided_by IS NOT NULL) THEN jsonb_build_object('id', decided_by, 'full_name', delivery.person_name(decided_by))
            ELSE NULL::jsonb
        END AS decided_by,
    decided_at,
    decline_reason
   FROM delivery.amount_changes c;

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
        CASE
            WHEN (parent_id IS NULL) THEN COALESCE(ordered_cod_amount, cod_amount)
            ELSE delivery.cod_ordered_on(d.*)
        END AS ordered_cod_amount,
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

CREATE UNIQUE INDEX amount_change_pending ON delivery.amount_changes USING btree (tenant_id, delivery_id) WHERE (status = 'pending'::text);

CREATE INDEX amount_changes_decider ON delivery.amount_changes USING btree (decided_by) WHERE (decided_by IS NOT NULL);

CREATE INDEX amount_changes_delivery ON delivery.amount_changes USING btree (tenant_id, delivery_id, requested_at DESC NULLS LAST, id DESC);

CREATE INDEX amount_changes_requester ON delivery.amount_changes USING btree (requested_by) WHERE (requested_by IS NOT NULL);

CREATE TRIGGER audit_delete AFTER DELETE ON delivery.amount_changes REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE TRIGGER audit_insert AFTER INSERT ON delivery.amount_changes REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE TRIGGER audit_update AFTER UPDATE ON delivery.amount_changes REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE TRIGGER amount_changes_lapse AFTER UPDATE ON delivery.deliveries REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION delivery.amount_changes_lapse();

CREATE POLICY "tenant" ON "delivery"."amount_changes" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (EXISTS ( SELECT
   FROM delivery.deliveries d
  WHERE ((d.tenant_id = amount_changes.tenant_id) AND (d.id = amount_changes.delivery_id)))) OR (EXISTS ( SELECT
   FROM delivery.deliveries d
  WHERE ((d.tenant_id = amount_changes.tenant_id) AND (d.parent_id = amount_changes.delivery_id)))))));

CREATE POLICY "write_delete" ON "delivery"."amount_changes" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "delivery"."amount_changes" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "delivery"."amount_changes" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

REVOKE ALL ON FUNCTION "delivery"."amount_change_apply"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."amount_change_approve"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."amount_change_approve"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."amount_change_create"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."amount_change_create"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."amount_change_decide"(uuid, text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."amount_change_decide"(uuid, text, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."amount_change_decline"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."amount_change_decline"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."amount_change_role"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."amount_change_role"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."amount_change_to_json"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."amount_change_to_json"(uuid, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."amount_change_write"(delivery.deliveries, numeric, text, jsonb, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."amount_change_write"(delivery.deliveries, numeric, text, jsonb, boolean) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."amount_changes_lapse"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."amount_changes_read"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."amount_changes_read"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."cod_ordered_on"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."cod_ordered_on"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."delivery_redirect"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."delivery_redirect"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."driver_reaches"(uuid, uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."driver_reaches"(uuid, uuid, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."kept_items_agreed"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."kept_items_agreed"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."kept_items_of"(uuid, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."kept_items_of"(uuid, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."legs_take_destination"(uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."legs_take_destination"(uuid[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."lock_amount_change"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."lock_amount_change"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."priced_from"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."priced_from"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."redirect_misfits"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirect_misfits"(uuid, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."redirect_place"(delivery.deliveries, jsonb, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirect_place"(delivery.deliveries, jsonb, boolean) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."redirect_terms"(delivery.deliveries, delivery.addresses, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirect_terms"(delivery.deliveries, delivery.addresses, boolean) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."redirect_way_missing"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirect_way_missing"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."redirect_write"(delivery.deliveries, uuid, delivery.deliveries, jsonb, uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirect_write"(delivery.deliveries, uuid, delivery.deliveries, jsonb, uuid[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_changeable"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_changeable"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_new_amount"(delivery.deliveries, text, numeric, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_new_amount"(delivery.deliveries, text, numeric, boolean) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."shipment_lives"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."shipment_lives"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."was_picked_up"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."was_picked_up"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."delivery_fee_change"(uuid, numeric, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."delivery_fee_change"(uuid, numeric, boolean) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."delivery_fee_taken"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."delivery_fee_taken"(uuid) TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."amount_changes" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."amount_changes_list" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."deliveries_list" TO "barid_caller";

insert into integration.event_types (event_type, source_module, entity_type, event_data)
select t.event_type, e.source_module, e.entity_type, e.event_data::jsonb
from (values
  -- Deliveries: parcels; a leg shows in its parcel.
  ('{delivery.created}'::text[], 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "status": "string", "delivery_flow": "string",
      "customer_id": "uuid?", "institution_user_id": "uuid?", "external_reference_id": "string?", "reason": "string?", "actor_id": "uuid?"}'),
  ('{delivery.pending,delivery.assigned,delivery.accepted,delivery.picked_up,delivery.in_transit,delivery.delivered,delivery.failed,
      delivery.returned,delivery.cancelled}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "status": "string", "from_status": "string",
      "delivery_flow": "string", "customer_id": "uuid?", "institution_user_id": "uuid?", "external_reference_id": "string?",
      "reason": "string?", "actor_id": "uuid?"}'),
  ('{delivery.auto_assignment_failed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "attempts": "integer", "passed_over": "object", "actor_id": "uuid?"}'),
  ('{delivery.amount_changed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "amount_change_id": "uuid", "old_cod_amount": "number", "new_cod_amount": "number",
      "currency": "string", "reason": "string", "requested_by": "uuid?", "actor_id": "uuid?"}'),
  ('{delivery.redirected}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "previous_address_id": "uuid", "dropoff_address_id": "uuid",
      "dropoff_zone_id": "uuid?", "delivery_fee": "number", "price_difference": "number", "currency": "string",
      "driver_unassigned": "boolean", "actor_id": "uuid?"}'),
  ('{delivery_exception.opened}', 'delivery', 'delivery_exception',
    '{"exception_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "type": "string", "receiving_order_id": "uuid?",
      "actor_id": "uuid?"}'),
  ('{delivery_exception.resolved}', 'delivery', 'delivery_exception',
    '{"exception_id": "uuid", "delivery_id": "uuid", "resolution": "string", "actor_id": "uuid?"}'),

  -- Drivers' work.
  ('{assignment.created}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string", "total_units": "number",
      "actor_id": "uuid?"}'),
  ('{assignment.accepted,assignment.rejected}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string", "actor_id": "uuid"}'),
  ('{driver.duty_changed}', 'delivery', 'driver', '{"driver_id": "uuid", "on_duty": "boolean", "actor_id": "uuid?"}'),
  ('{assignment.returned}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "delivery_id": "uuid", "driver_id": "uuid", "status": "string",
      "actor_id": "uuid?"}'),
  ('{bulk_assignment.created}', 'delivery', 'bulk_assignment',
    '{"bulk_assignment_id": "uuid", "assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string",
      "total_units": "number", "actor_id": "uuid?"}'),
  ('{bulk_assignment.accepted,bulk_assignment.rejected}', 'delivery', 'bulk_assignment',
    '{"bulk_assignment_id": "uuid", "assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string",
      "actor_id": "uuid"}'),

  -- Cash and wallets.
  ('{cod_settlement.created,cod_settlement.reversed}', 'delivery', 'cod_settlement',
    '{"settlement_payment_id": "uuid", "method": "string", "driver_id": "uuid", "receiver_id": "uuid?", "currency": "string",
      "total": "number", "collections": "integer", "actor_id": "uuid"}'),
  ('{cash_handover.counted,cash_handover.discrepancy}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number", "currency": "string",
      "actor_id": "uuid?"}'),
  ('{cash_handover.cancelled}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number?", "currency": "string",
      "actor_id": "uuid?"}'),
  ('{cash_transfer.created,cash_transfer.reversed}', 'delivery', 'cash_transfer',
    '{"cash_transfer_id": "uuid", "kind": "string", "from_owner_type": "string", "from_user_id": "uuid?", "to_user_id": "uuid?",
      "currency": "string", "amount": "number", "reference": "string?", "actor_id": "uuid"}'),
  ('{driver_pay.accrued}', 'delivery', 'driver_pay',
    '{"driver_pay_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "driver_id": "uuid", "amount": "number",
      "currency": "string", "actor_id": "uuid?"}'),
  ('{driver_pay.paid}', 'delivery', 'driver_payout',
    '{"payout_id": "uuid", "driver_id": "uuid", "method": "string", "amount": "number", "currency": "string", "count": "integer",
      "reference": "string?", "actor_id": "uuid"}'),
  ('{cod.mismatch}', 'delivery', 'tenant', '{"differences": "array"}'),
  ('{wallet.topped_up}', 'payment', 'payment',
    '{"payment_id": "uuid", "account_id": "uuid", "amount": "number", "currency": "string"}'),
  ('{payment.unmatched}', 'payment', 'payment_webhook_event',
    '{"payment_event_id": "uuid", "gateway_code": "string", "reason": "string", "payment_id": "uuid?", "order_id": "uuid?",
      "gateway_order_id": "string?", "gateway_transaction_id": "string?", "amount": "string?", "amount_unit": "string?",
      "currency": "string?"}'),

  -- Warehouses.
  ('{picking_order.started,picking_order.completed,picking_order.cancelled,picking_order.handed_off}', 'warehousing', 'picking_order',
    '{"picking_order_id": "uuid", "reference_number": "string", "warehouse_id": "uuid", "delivery_id": "uuid?", "from": "string",
      "to": "string", "actor_id": "uuid?"}'),
  ('{receiving_order.received}', 'warehousing', 'receiving_order',
    '{"receiving_order_id": "uuid", "reference_number": "string", "warehouse_id": "uuid", "delivery_id": "uuid?", "source": "string",
      "actor_id": "uuid?"}'),
  ('{inventory.received}', 'warehousing', 'warehouse',
    '{"receipt_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "actor_id": "uuid?"}'),
  ('{inventory.returned}', 'warehousing', 'warehouse',
    '{"return_id": "uuid", "warehouse_id": "uuid", "reason": "string", "lines": "integer", "units": "integer", "actor_id": "uuid?"}'),
  ('{inventory.written_off}', 'warehousing', 'warehouse',
    '{"write_off_id": "uuid", "warehouse_id": "uuid", "reason": "string", "lines": "integer", "units": "integer", "actor_id": "uuid?"}'),
  ('{inventory.moved}', 'warehousing', 'warehouse',
    '{"move_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "actor_id": "uuid?"}'),
  ('{inventory.adjusted}', 'warehousing', 'warehouse',
    '{"adjustment_id": "uuid", "warehouse_id": "uuid", "item_id": "uuid", "delta": "integer", "actor_id": "uuid?"}'),
  ('{inventory.counted}', 'warehousing', 'warehouse',
    '{"count_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "differences": "integer", "units_found": "integer",
      "units_missing": "integer", "actor_id": "uuid?"}'),
  ('{inventory_transfer.completed}', 'warehousing', 'inventory_transfer',
    '{"inventory_transfer_id": "uuid", "reference_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "lines": "integer", "actor_id": "uuid?"}'),
  ('{sorting_session.completed}', 'warehousing', 'sorting_session',
    '{"session_id": "uuid", "warehouse_id": "uuid", "sorted_count": "integer", "actor_id": "uuid?"}'),
  ('{waybill.sealed}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid?", "actor_id": "uuid?"}'),
  ('{waybill.cancelled}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid?", "delivery_ids": "array", "actor_id": "uuid?"}'),
  ('{waybill.handed_over}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "delivery_count": "integer", "actor_id": "uuid?"}'),
  ('{waybill.received}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "received_count": "integer", "missing_count": "integer", "missing_delivery_ids": "array", "actor_id": "uuid?"}'),
  ('{waybill.closed}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "actor_id": "uuid?"}'),
  ('{stock.mismatch}', 'warehousing', 'tenant', '{"differences": "array"}'),

  -- External carriers.
  ('{shipment.booked}', 'carriers', 'delivery',
    '{"shipment_id": "uuid", "delivery_id": "uuid", "carrier_code": "string", "tracking_number": "string", "actor_id": "uuid?"}'),
  ('{shipment.cancelled}', 'carriers', 'delivery',
    '{"shipment_id": "uuid", "delivery_id": "uuid", "carrier_code": "string", "actor_id": "uuid?"}'),
  ('{carrier_cash.unbooked}', 'carriers', 'delivery',
    '{"delivery_id": "uuid", "shipment_id": "uuid", "carrier_code": "string", "amount": "number", "currency": "string", "status": "string",
      "outcome": "string"}'),
  ('{carrier_remittance.created,carrier_remittance.reversed}', 'carriers', 'carrier_remittance',
    '{"carrier_remittance_id": "uuid", "carrier_code": "string", "currency": "string", "amount": "number", "collections": "integer",
      "reference": "string", "actor_id": "uuid?"}'),

  -- Stores.
  ('{order.created,order.paid,order.payment_failed}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "actor_id": "uuid?"}'),
  ('{order.awaiting_approval,order.approved,order.confirmed,order.shipped,order.delivered,order.completed,order.cancelled}',
    'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "from_status": "string",
      "payment_status": "string", "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?",
      "reason": "string?", "actor_id": "uuid?"}'),
  ('{order.shortened,order.refund_due}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "actor_id": "uuid?"}'),
  ('{order.refunded}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "payment_id": "uuid", "actor_id": "uuid?"}'),
  ('{review.created}', 'storefront', 'review',
    '{"review_id": "uuid", "product_id": "uuid", "rating": "integer", "status": "string", "actor_id": "uuid"}'),
  ('{review.approved,review.rejected}', 'storefront', 'review',
    '{"review_id": "uuid", "product_id": "uuid", "rating": "integer", "status": "string", "actor_id": "uuid?"}'),
  ('{customer.joined}', 'storefront', 'customer', '{"customer_id": "uuid", "market_id": "uuid", "actor_id": "uuid"}'),
  ('{market.created,market.updated,market.submitted,market.approved,market.rejected,market.published,market.unpublished,
      market.deactivated}', 'storefront', 'market',
    '{"market_id": "uuid", "code": "integer", "store_name": "string", "status": "string", "publish_status": "string",
      "needs_reapproval": "boolean", "actor_id": "uuid?"}'),
  ('{custom_domain.connected,custom_domain.verified,custom_domain.unverified,custom_domain.lost,custom_domain.disconnected}', 'storefront', 'custom_domain',
    '{"custom_domain_id": "uuid", "market_id": "uuid", "custom_domain": "string", "status": "string", "actor_id": "uuid?"}'),

  -- Companies, and the system itself.
  ('{tenant.created,tenant.updated}', 'tenants', 'tenant', '{"status": "string", "actor_id": "uuid?"}'),
  ('{tenant.activated,tenant.suspended,tenant.archived}', 'tenants', 'tenant',
    '{"status": "string", "previous_status": "string", "actor_id": "uuid?"}'),
  ('{tenant.subscription_started,tenant.subscription_cancelled}', 'tenants', 'tenant',
    '{"status": "string", "type": "string", "actor_id": "uuid?"}'),
  ('{tenant.modules_changed}', 'tenants', 'tenant', '{"status": "string", "enabled": "array", "actor_id": "uuid?"}'),
  ('{api_key.expiring}', 'tenants', 'api_key',
    '{"api_key_id": "uuid", "name": "string", "hint": "string?", "expires_at": "timestamp", "created_by": "uuid?"}'),
  ('{tenant_user.joined,tenant_user.left}', 'tenants', 'user',
    '{"user_id": "uuid", "tenant_user_type": "string", "actor_id": "uuid"}'),
  ('{tenant_wizard.rollback_failed}', 'tenants', 'tenant', '{"run_id": "uuid", "tenant_id": "uuid", "actor_id": "uuid?"}'),
  ('{webhook_subscription.disabled}', 'webhooks', 'webhook_subscription', '{"subscription_id": "uuid", "reason": "string"}'),
  -- Of the module whose job it was, and of the one whose subscription is tried.
  ('{job.dead}', null, 'tenant', '{"job_id": "integer", "kind": "string", "attempts": "integer"}'),
  ('{webhook.test}', null, 'test', '{"test": "boolean"}')
) e (event_types, source_module, entity_type, event_data)
cross join unnest(e.event_types) t (event_type)
on conflict (event_type) do update set source_module = excluded.source_module, entity_type = excluded.entity_type,
  event_data = excluded.event_data;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125093106';
end $$;

grant execute on function private.schema_version() to barid_api;
