-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.booking_binds(s integration.carrier_shipments)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(s.tenant_id);
  return s.status <> 'cancelled' and not delivery.booking_brought_back(s) and not exists (
    select from delivery.deliveries d where d.tenant_id = s.tenant_id and d.id = s.delivery_id and d.status = 'delivered');
end $function$;

CREATE OR REPLACE FUNCTION delivery.booking_brought_back(s integration.carrier_shipments)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return s.status = 'booked' and exists (
    select from warehousing.receiving_orders r
    join delivery.deliveries d on d.tenant_id = r.tenant_id and d.id = r.delivery_id and d.status = 'pending'
    where r.tenant_id = s.tenant_id and r.delivery_id = s.delivery_id and r.status = 'received' and r.source <> 'inbound'
      and r.received_at > s.booked_at);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."booking_brought_back"(integration.carrier_shipments) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.return_request_ask(p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into delivery.return_requests (tenant_id, delivery_id, requested_by) values (app.tenant_id(), p_delivery, app.user_id());
  perform tenancy.notify_roles(d.tenant_id, '{tenant_admin,operations_manager,dispatcher}', 'return_requested',
    jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'original_delivery_id', d.original_delivery_id))
  from delivery.deliveries d where d.tenant_id = app.tenant_id() and d.id = p_delivery;
end $function$;

CREATE OR REPLACE FUNCTION delivery.tracked_carrier(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object('code', s.carrier_code, 'tracking_number', s.tracking_number)
    from delivery.deliveries l
    join integration.carrier_shipments s on s.tenant_id = l.tenant_id and s.delivery_id = l.id
    where l.tenant_id = d.tenant_id and (l.id = d.id or l.parent_id = d.id) and s.status <> 'cancelled' and s.tracking_number is not null
      and (l.status = 'delivered' and l.delivery_flow <> 'pnd_inbound' or delivery.booking_binds(s))
    order by s.booked_at desc nulls last, s.id desc limit 1);
end $function$;

CREATE OR REPLACE FUNCTION integration.shipments_end(deliveries uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  s integration.carrier_shipments;
begin
  for s in
    update integration.carrier_shipments t set status = 'cancelled', cancelled_at = now()
    where t.tenant_id = app.tenant_id() and t.delivery_id = any (deliveries) and t.status = 'booked' and delivery.booking_brought_back(t)
    returning t.*
  loop
    perform integration.shipment_cancelled_emit(s);
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION integration.webhooks_purge()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  -- Asked once for each subscription that something old waits for, and not for each delivery.
  with waited_for as materialized (
    select distinct x.subscription_id as id from integration.webhook_events x
    where x.created_at < now() - interval '90 days' and (x.next_attempt_at is not null or x.claim_token is not null)
  ), silent as materialized (
    select w.id from waited_for w
    where (select integration.hears(s) from integration.webhook_subscriptions s where s.id = w.id) is not true
  )
  delete from integration.webhook_events e where e.id in (
    select x.id from integration.webhook_events x
    where x.created_at < now() - interval '90 days' and (x.next_attempt_at is null and x.claim_token is null
      or coalesce(x.claimed_at < now() - interval '1 day', true) and x.subscription_id in (select s.id from silent s))
    order by x.created_at limit 50000 for update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION money.cash_desk_for(asked uuid, owner_type text, currency text)
 RETURNS money.accounts
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  v_owner uuid;
  v_id uuid;
  v_desk money.accounts;
begin
  if not money.has_desk()
      or ((owner_type = 'tenant' or asked <> app.user_id()) and not app.has_permission('manage:tenant')) then
    perform app.fail('forbidden');
  end if;
  if owner_type = 'staff' then
    -- Operations managers do not settle for the office, but it is a driver alone who remits and has to name who took the cash.
    v_owner := case when asked is null and not money.settles_for_office() then app.user_id() else money.cod_receiver(asked, 'to_user_id') end;
  end if;
  -- A statement of its own: the one that reads has to see an account that is new.
  v_id := money.account_of('cash_on_hand', owner_type, v_owner, currency);
  select a.* into v_desk from money.accounts a where a.tenant_id = app.tenant_id() and a.id = v_id;
  return v_desk;
end $function$;

CREATE OR REPLACE FUNCTION money.desk_movements_found(search text)
 RETURNS TABLE(id uuid)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_patterns text[] := app.contains_patterns(search);
begin
  return query
    select x.id from (
      select c.id, c.reference, c.notes from money.cash_transfers c where c.tenant_id = v_tenant
      union all
      select m.id, m.reference, null from money.merchant_payouts m where m.tenant_id = v_tenant and m.method = 'cash'
      union all
      select d.id, d.reference, d.notes from money.driver_payouts d where d.tenant_id = v_tenant and d.method = 'cash'
      union all
      select s.payment_id, s.reference, s.notes from money.cod_settlements s where s.tenant_id = v_tenant and s.method = 'remit'
      union all
      select r.id, r.reference, r.notes from money.carrier_remittances r where r.tenant_id = v_tenant
      union all
      select h.id, null, h.notes from money.cash_handovers h where h.tenant_id = v_tenant and h.notes is not null
    ) x
    where app.folded(concat_ws(E'\n', x.reference, x.notes)) ilike any (v_patterns);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.waybill_hand_over(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  w warehousing.waybills := warehousing.lock_waybill((input ->> 'id')::uuid);
  v_parcels uuid[];
  v_stuck record;
begin
  perform warehousing.require_works_in(w.source_warehouse_id);
  perform warehousing.require_waybill(w, 'drafted', true);
  v_parcels := warehousing.lock_waybill_parcels(w);
  w.driver_id := (input ->> 'driver_id')::uuid;
  w.vehicle_id := warehousing.waybill_vehicle(w.driver_id, (input ->> 'vehicle_id')::uuid);
  v_parcels := warehousing.waybill_without_gone(w, v_parcels);
  select d.id, d.status into v_stuck from delivery.deliveries d
  where d.tenant_id = w.tenant_id and d.id = any (v_parcels)
    and not (d.status in ('draft', 'pending') or (d.delivery_flow = 'pnd_parent' and exists (
      select from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.delivery_flow = 'pnd_outbound' and l.status = 'pending')))
  limit 1;
  if found then
    perform app.fail('waybill_delivery_not_ready', jsonb_build_object('delivery_id', v_stuck.id, 'status', v_stuck.status));
  end if;
  perform app.fail('waybill_delivery_not_ready', jsonb_build_object('delivery_id', p.id, 'status', 'pending', 'text_key', 'reason_is_booked'))
  from unnest(v_parcels) p (id) where delivery.shipment_lives(p.id);
  perform integration.shipments_end(array(select d.id from delivery.deliveries d
    where d.tenant_id = w.tenant_id and (d.id = any (v_parcels) or d.parent_id = any (v_parcels))));
  update warehousing.waybills x set status = 'in_transit', driver_id = w.driver_id, vehicle_id = w.vehicle_id, handed_over_at = clock_timestamp()
  where x.tenant_id = w.tenant_id and x.id = w.id;
  update delivery.deliveries d set status = 'in_transit', status_reason = null, status_notes = w.waybill_number
  where d.tenant_id = w.tenant_id and d.status = 'pending'
    and ((d.id = any (v_parcels) and d.delivery_flow <> 'pnd_parent') or (d.parent_id = any (v_parcels) and d.delivery_flow = 'pnd_outbound'));
  perform delivery.parcel_at(p.id, null) from unnest(v_parcels) p (id);
  perform warehousing.waybill_event_emit(w, 'handed_over', jsonb_build_object('delivery_count', cardinality(v_parcels)));
  perform warehousing.stock_exit('waybill', w.id, 'transfer_out');
  perform warehousing.waybill_takes_along(w, v_parcels);
  return warehousing.waybill_get(input);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."booking_brought_back"(integration.carrier_shipments) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130234713';
end $$;

grant execute on function private.schema_version() to barid_api;
