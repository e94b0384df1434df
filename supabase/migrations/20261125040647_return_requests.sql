-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.deliveries, tenancy.profiles, tenancy.tenants in share row exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

CREATE TABLE "delivery"."return_requests" ("id" uuid NOT NULL DEFAULT gen_random_uuid(), "tenant_id" uuid NOT NULL, "delivery_id" uuid NOT NULL, "status" text NOT NULL DEFAULT 'requested'::text, "requested_by" uuid, "requested_at" timestamp with time zone NOT NULL DEFAULT now(), "decided_by" uuid, "decided_at" timestamp with time zone, "reason" text, CONSTRAINT "return_request_state" CHECK ((((status = 'requested'::text) = (decided_at IS NULL)) AND ((status = 'declined'::text) = (reason IS NOT NULL)))), CONSTRAINT "return_requested_once" UNIQUE (tenant_id, delivery_id), CONSTRAINT "return_requests_pkey" PRIMARY KEY (id), CONSTRAINT "return_requests_status_check" CHECK ((status = ANY (ARRAY['requested'::text, 'approved'::text, 'declined'::text]))), CONSTRAINT "return_requests_tenant_id_id_key" UNIQUE (tenant_id, id), CONSTRAINT "texts_within_bounds" CHECK (((octet_length(status) <= 1000) AND (octet_length(reason) <= 4000))));

ALTER TABLE "delivery"."return_requests" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "delivery"."return_requests" FORCE ROW LEVEL SECURITY;

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
      v_filled := v_filled || jsonb_build_object('dropoff_address_id', (delivery.ordered_from(v_original)).address_id);
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
  v_staged boolean := coalesce((input ->> 'staged')::boolean, false);
  -- An owner's return that waits for the office is a draft until then.
  v_asked boolean := input ->> 'delivery_flow' = 'customer_return' and input ->> 'status' is distinct from 'draft' and delivery.return_needs_approval();
begin
  if input ->> 'delivery_flow' = 'customer_return' then
    input := delivery.customer_return_input(input);
    -- Two returns of one delivery at the same moment: the second waits here and then finds the first.
    perform delivery.lock_deliveries(array[(input ->> 'original_delivery_id')::uuid]);
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
  d.id := delivery.delivery_write(d);
  if v_asked then
    perform delivery.return_request_ask(d.id);
  end if;
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_created_to_json(delivery_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_get(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_parcel uuid;
  v_family uuid[];
begin
  select * into d from delivery.deliveries x where x.id = (input ->> 'id')::uuid;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  v_parcel := delivery.parcel_of(d);
  v_family := array(select x.id from delivery.deliveries x where x.tenant_id = d.tenant_id and x.parent_id = d.id) || d.id || v_parcel;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id) || jsonb_build_object(
    'package_details', d.package_details, 'staging_warehouse_id', d.staging_warehouse_id,
    'auto_assignment', case when app.sees_tenant() then delivery.auto_assignment_to_json(d.id) end,
    'label_edition', d.label_edition, 'label_outdated', d.label_outdated,
    'return_request', delivery.return_request_to_json(d.id),
    'legs', (select coalesce(jsonb_agg(to_jsonb(l) order by l.sequence_plan), '[]') from delivery.deliveries_list l where l.parent_id = d.id),
    'exceptions', (select coalesce(jsonb_agg(to_jsonb(e) - 'delivery' order by e.created_at desc, e.id), '[]')
      from delivery.delivery_exceptions_list e where e.delivery_id = any (v_family)),
    'collections', (select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'driver_id', c.driver_id, 'collection_stage', c.collection_stage,
        'amount', c.amount, 'cod_amount', c.cod_amount, 'delivery_fee_amount', c.delivery_fee_amount,
        'allocations', jsonb_build_object('cod', c.cod_amount, 'delivery_fee', c.delivery_fee_amount), 'currency', c.currency,
        'status', c.status, 'collected_at', c.collected_at) order by c.collected_at), '[]')
      from money.cod_collections c where c.tenant_id = d.tenant_id and c.delivery_id = v_parcel),
    'items', (select coalesce(jsonb_agg(jsonb_build_object('id', i.id, 'item_id', i.item_id, 'name', i.name, 'sku', i.sku,
        'quantity', i.quantity, 'weight', i.weight, 'length', i.length, 'width', i.width, 'height', i.height) order by i.position), '[]')
      from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = v_parcel),
    'history', (select coalesce(jsonb_agg(jsonb_build_object('id', h.id, 'from_status', h.from_status, 'to_status', h.to_status,
        'actor', case when h.actor_id is not null then jsonb_build_object('id', h.actor_id, 'full_name', coalesce(delivery.person_name(h.actor_id), '')) end,
        'note', h.note, 'created_at', h.created_at, 'occurred_at', h.occurred_at,
        'place', case when h.latitude is not null then jsonb_build_object('latitude', h.latitude, 'longitude', h.longitude,
          'distance_m', h.distance_m) end) order by h.id), '[]')
      from delivery.delivery_status_history h where h.tenant_id = d.tenant_id and h.delivery_id = d.id),
    'proofs', (select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'delivery_id', p.delivery_id, 'stage', p.stage, 'kind', p.kind,
        'url', p.url, 'signed_by', p.signed_by, 'created_by', p.created_by, 'created_at', p.created_at) order by p.created_at, p.id), '[]')
      from delivery.delivery_proofs p where p.tenant_id = d.tenant_id and p.delivery_id = any (v_family)),
    'payments', (select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'type', p.type, 'status', p.status, 'payment_method', p.payment_method,
        'amount', p.amount, 'currency', p.currency, 'processed_at', p.processed_at, 'created_at', p.created_at) order by p.created_at, p.id), '[]')
      from money.payments p where p.tenant_id = d.tenant_id and p.delivery_id = v_parcel),
    'handoff', (select to_jsonb(h) from delivery.handoffs_list h where h.delivery_id = any (v_family) order by h.created_at desc limit 1),
    'returns', (select coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'delivery_code', r.delivery_code, 'barcode', r.barcode,
        'status', r.status, 'delivery_flow', r.delivery_flow) order by r.created_at), '[]')
      from delivery.deliveries r where r.tenant_id = d.tenant_id and r.original_delivery_id = v_parcel),
    'proof_requirements', jsonb_build_object('pickup', delivery.proof_needs(d, 'pickup'), 'delivery', delivery.proof_needs(d, 'delivery')),
    'policy', (select delivery.service_policy(s) from delivery.delivery_services s where s.tenant_id = d.tenant_id and s.id = d.delivery_service_id)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_operational_return(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  v_made record;
begin
  if d.delivery_flow not in ('pnd_outbound', 'pnd_inbound', 'standard') or d.current_warehouse_id is null then
    perform app.fail('delivery_not_in_warehouse', coalesce(delivery.transfer_under_way(d), '{}'));
  end if;
  perform delivery.require_move(d, case d.delivery_flow when 'pnd_inbound' then '{returned}'::text[] else '{pending,returned}' end, 'returned');
  if d.delivery_flow = 'standard' and d.current_warehouse_id = (delivery.return_destination(d, input)).warehouse_id then
    perform app.fail('invalid_status_transition',
      jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_lies_at_sender'));
  end if;
  if d.status = 'pending' then
    update delivery.deliveries x set status_reason = input ->> 'reason', status_notes = input ->> 'notes'
    where x.tenant_id = d.tenant_id and x.id = d.id;
  end if;
  v_made := delivery.operational_return_make(d, input);
  perform delivery.operational_return_shelve(v_made.id, v_made.picks);
  return delivery.delivery_created_to_json(v_made.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_submit(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
begin
  perform delivery.require_owner(d);
  if d.parent_id is not null then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'pending'));
  end if;
  perform delivery.require_move(d, '{draft}', 'pending');
  if d.delivery_flow = 'customer_return' then
    if not delivery.return_needs_approval() then
      perform delivery.return_request_decide(d.id, 'approved', null);
    elsif exists (select from delivery.return_requests q where q.tenant_id = d.tenant_id and q.delivery_id = d.id) then
      perform app.fail('return_request_pending');
    else
      perform delivery.return_request_ask(d.id);
      return delivery.delivery_created_to_json(d.id);
    end if;
  end if;
  update delivery.deliveries x set status = 'pending' where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.delivery_confirm(d);
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_return_request(p_delivery uuid)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery(p_delivery);
  v_status text;
begin
  select q.status into v_status from delivery.return_requests q where q.tenant_id = d.tenant_id and q.delivery_id = d.id;
  if v_status is distinct from 'requested' or d.status <> 'draft' then
    perform app.fail('return_request_not_pending', jsonb_build_object('status', v_status));
  end if;
  return d;
end $function$;

CREATE OR REPLACE FUNCTION delivery.operational_return_make(d delivery.deliveries, input jsonb, OUT id uuid, OUT picks uuid[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  n delivery.deliveries;
  v_to record;
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
  v_to := delivery.return_destination(n, input);
  n.original_delivery_id := n.id;
  n.id := gen_random_uuid();
  -- A warehouse takes it back under its own name, as somebody's door under theirs.
  n.recipient := jsonb_strip_nulls(jsonb_build_object('name', coalesce(delivery.warehouse_name(n.tenant_id, v_to.warehouse_id),
    delivery.person_name(coalesce(n.institution_user_id, n.customer_id)), app.localized(v_to.snapshot -> 'title')),
    'phone', v_to.snapshot #>> '{contact_info,phone}'));
  n.dropoff_address_id := v_to.address_id;
  n.dropoff_snapshot := v_to.snapshot;
  n.dropoff_zone_id := v_to.zone_id;
  -- The goods of a store are received in their warehouse by themselves, when the parcel is back (storefront.order_goods_expect).
  n.dropoff_warehouse_id := case when n.order_id is null then v_to.warehouse_id end;
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

CREATE OR REPLACE FUNCTION delivery.return_destination(d delivery.deliveries, input jsonb, OUT address_id uuid, OUT snapshot jsonb, OUT warehouse_id uuid, OUT zone_id uuid)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_named boolean := num_nonnulls(input ->> 'dropoff_address_id', input ->> 'dropoff_warehouse_id') > 0;
  v_mode text := delivery.return_destination_mode();
  v_sender record := delivery.ordered_from(d);
begin
  if v_named and d.order_id is not null then
    perform app.fail('return_destination_fixed',
      jsonb_build_object('field', case when input ->> 'dropoff_address_id' is null then 'dropoff_warehouse_id' else 'dropoff_address_id' end));
  elsif v_named then
    warehouse_id := (input ->> 'dropoff_warehouse_id')::uuid;
    address_id := (input ->> 'dropoff_address_id')::uuid;
  elsif v_mode = 'choose' and d.order_id is null then
    perform app.fail('return_destination_required', '{"field": "dropoff_address_id"}');
  elsif v_mode = 'warehouse' and d.order_id is null then
    warehouse_id := nullif(delivery.returns_warehouse(), d.current_warehouse_id);
  end if;
  if warehouse_id is not null then
    select w.address_id into address_id from warehousing.warehouses w
    where w.tenant_id = d.tenant_id and w.id = return_destination.warehouse_id and w.deleted_at is null;
    if not found then
      perform app.fail('warehouse_not_found', '{"field": "dropoff_warehouse_id"}');
    elsif warehouse_id = d.current_warehouse_id then
      perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_lies_there'));
    end if;
  end if;
  if address_id is null then
    address_id := v_sender.address_id;
    snapshot := v_sender.snapshot;
    warehouse_id := v_sender.warehouse_id;
    zone_id := v_sender.zone_id;
    return;
  end if;
  select to_jsonb(a), a.zone_id into snapshot, zone_id from delivery.addresses_list a where a.id = return_destination.address_id;
  if not found then
    perform app.fail('address_not_found', '{"field": "dropoff_address_id"}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_destination_mode()
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_mode text := app.settings('general', 'delivery') #>> '{return_requests,destination_mode}';
begin
  return case when v_mode in ('warehouse', 'choose') then v_mode else 'sender' end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_needs_approval()
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return not app.has_permission('manage:operations:tenant')
    and not app.boolean_or(app.settings('general', 'delivery') #> '{return_requests,auto_approval}', true);
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_request_approve(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform delivery.lock_return_request((input ->> 'id')::uuid);
  return delivery.delivery_submit(input);
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_request_ask(p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into delivery.return_requests (tenant_id, delivery_id, requested_by) values (app.tenant_id(), p_delivery, app.user_id());
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_request_decide(p_delivery uuid, decision text, p_reason text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if delivery.return_needs_approval() then
    perform app.fail('forbidden');
  end if;
  update delivery.return_requests q set status = decision, reason = p_reason, decided_by = app.user_id(), decided_at = now()
  where q.tenant_id = app.tenant_id() and q.delivery_id = p_delivery and q.status = 'requested';
  return found;
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_request_decline(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_return_request((input ->> 'id')::uuid);
begin
  update delivery.deliveries x set status = 'cancelled', status_reason = input ->> 'reason' where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.return_request_decide(d.id, 'declined', input ->> 'reason');
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_request_to_json(p_delivery uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object('status', q.status, 'reason', q.reason, 'requested_at', q.requested_at, 'decided_at', q.decided_at,
      'decided_by', case when q.decided_by is not null then jsonb_build_object('id', q.decided_by, 'full_name', delivery.person_name(q.decided_by)) end)
    from delivery.return_requests q where q.tenant_id = app.tenant_id() and q.delivery_id = p_delivery);
end $function$;

CREATE OR REPLACE FUNCTION delivery.returns_warehouse()
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
begin
  select w.id into v_id from warehousing.warehouses w
  where w.tenant_id = app.tenant_id() and w.id::text = lower(app.settings('general', 'warehouse') ->> 'default_warehouse_id')
    and w.deleted_at is null and w.status in ('active', 'full');
  return coalesce(v_id, app.refuse('return_destination_required', '{"field": "dropoff_warehouse_id"}'));
end $function$;

ALTER TABLE "delivery"."return_requests" ADD CONSTRAINT "return_requests_decided_by_fkey" FOREIGN KEY (decided_by) REFERENCES tenancy.profiles(id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."return_requests" ADD CONSTRAINT "return_requests_requested_by_fkey" FOREIGN KEY (requested_by) REFERENCES tenancy.profiles(id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."return_requests" ADD CONSTRAINT "return_requests_tenant_id_delivery_id_fkey" FOREIGN KEY (tenant_id, delivery_id) REFERENCES delivery.deliveries(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."return_requests" ADD CONSTRAINT "return_requests_tenant_id_fkey" FOREIGN KEY (tenant_id) REFERENCES tenancy.tenants(id) ON DELETE RESTRICT;

CREATE INDEX return_requests_decider ON delivery.return_requests USING btree (decided_by) WHERE (decided_by IS NOT NULL);

CREATE INDEX return_requests_requester ON delivery.return_requests USING btree (requested_by) WHERE (requested_by IS NOT NULL);

CREATE INDEX return_requests_status ON delivery.return_requests USING btree (tenant_id, status, requested_at);

CREATE TRIGGER audit_delete AFTER DELETE ON delivery.return_requests REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE TRIGGER audit_insert AFTER INSERT ON delivery.return_requests REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE TRIGGER audit_update AFTER UPDATE ON delivery.return_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE POLICY "tenant" ON "delivery"."return_requests" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (EXISTS ( SELECT
   FROM delivery.deliveries d
  WHERE ((d.tenant_id = return_requests.tenant_id) AND (d.id = return_requests.delivery_id)))))));

CREATE POLICY "write_delete" ON "delivery"."return_requests" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "delivery"."return_requests" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "delivery"."return_requests" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

REVOKE ALL ON FUNCTION "delivery"."lock_return_request"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."lock_return_request"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."return_destination"(delivery.deliveries, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."return_destination"(delivery.deliveries, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."return_destination_mode"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."return_destination_mode"() TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."return_needs_approval"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."return_needs_approval"() TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."return_request_approve"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."return_request_approve"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."return_request_ask"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."return_request_ask"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."return_request_decide"(uuid, text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."return_request_decide"(uuid, text, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."return_request_decline"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."return_request_decline"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."return_request_to_json"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."return_request_to_json"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."returns_warehouse"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."returns_warehouse"() TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."return_requests" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125040647';
end $$;

grant execute on function private.schema_version() to barid_api;
