-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      alter view delivery.delivery_imports_list reset (security_barrier);
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "delivery"."delivery_imports_list";

CREATE OR REPLACE FUNCTION delivery.delivery_confirm(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if d.staging_warehouse_id is not null then
    perform delivery.delivery_legs_create(array[d.id], d.staging_warehouse_id);
  end if;
  perform money.delivery_fee_charge(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.import_cancel(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_import delivery.delivery_imports;
  v_deliveries uuid[];
  v_senders uuid[];
  v_delivery uuid;
  v_cancelled uuid[] := '{}';
  v_left jsonb := '{}';
  v_detail text;
begin
  select * into v_import from delivery.delivery_imports i where i.id = (input ->> 'id')::uuid for no key update;
  if not found then
    perform app.fail('import_not_found');
  end if;
  v_deliveries := array(
    select l.delivery_id from delivery.delivery_import_lines l
    join delivery.deliveries d on d.tenant_id = l.tenant_id and d.id = l.delivery_id and d.status <> 'cancelled'
    where l.tenant_id = v_import.tenant_id and l.import_id = v_import.id order by l.line);
  perform delivery.lock_deliveries(v_deliveries);
  if app.has_permission('manage:operations:tenant') then
    perform delivery.lock_drivers_of(v_deliveries);
  end if;
  select array_agg(distinct s.id) into v_senders
  from delivery.deliveries d cross join unnest(array[d.customer_id, d.institution_user_id]) s (id)
  where d.tenant_id = v_import.tenant_id and d.id = any (v_deliveries) and d.payment_method = 'wallet';
  if v_senders is not null then
    perform money.lock_wallets(v_senders);
  end if;
  foreach v_delivery in array v_deliveries loop
    begin
      perform delivery.require_unhandled(v_delivery);
      perform delivery.parcel_cancel(input || jsonb_build_object('id', v_delivery));
      v_cancelled := v_cancelled || v_delivery;
    exception when sqlstate 'RULE0' then
      get stacked diagnostics v_detail = pg_exception_detail;
      v_left := v_left || jsonb_build_object(v_delivery, jsonb_build_object('code', sqlerrm, 'params', v_detail::jsonb - 'language'));
    end;
  end loop;
  if cardinality(v_cancelled) > 0 then
    update delivery.delivery_imports i set cancelled_at = clock_timestamp(), cancelled_by = app.user_id() where i.id = v_import.id;
  end if;
  return (
    select jsonb_build_object('import_id', v_import.id, 'cancelled', cardinality(v_cancelled), 'left', coalesce(jsonb_agg(jsonb_build_object(
      'delivery_id', d.id, 'delivery_code', d.delivery_code, 'status', d.status) || (v_left -> d.id::text) order by p.position), '[]'))
    from unnest(v_deliveries) with ordinality p (id, position)
    join delivery.deliveries d on d.tenant_id = v_import.tenant_id and d.id = p.id
    where v_left ? d.id::text);
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_drivers_of(delivery_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  perform from delivery.drivers r
  where r.tenant_id = v_tenant and r.user_id in (
    select a.driver_id from delivery.open_assignments a
    join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
    where a.tenant_id = v_tenant and (d.id = any (delivery_ids) or d.parent_id = any (delivery_ids)))
  order by r.user_id for no key update;
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_staging_driver()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if delivery.staging_warehouse() is not null then
    perform from delivery.drivers d where d.tenant_id = app.tenant_id() and d.user_id = delivery.staging_driver() for no key update;
    perform app.lock_numbers('delivery_code', true);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_change_destination(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_dry_run boolean := coalesce((input ->> 'dry_run')::boolean, false);
  v_key text := case when not v_dry_run then input ->> 'idempotency_key' end;
  v_service uuid := (input ->> 'delivery_service_id')::uuid;
  v_destination jsonb;
  v_answer jsonb;
begin
  if v_key is not null then
    v_answer := private.idempotency_claim(app.request_setting('operation'), v_key,
      jsonb_strip_nulls(input - 'idempotency_key'), 'idempotency_conflict');
    if v_answer is not null then
      return jsonb_build_object('replayed', true, 'answer', v_answer);
    end if;
  end if;
  v_destination := delivery.manifest_place(input) || jsonb_build_object('service_id', v_service);
  if v_service is not null then
    perform delivery.require_manifest_service(v_service);
  end if;
  if not v_dry_run and jsonb_array_length(input -> 'item_ids') > (input ->> 'orders_max')::integer then
    return jsonb_build_object('pending', input -> 'item_ids', 'destination', v_destination,
      'since', coalesce(private.idempotency_since(app.request_setting('operation'), v_key), now()),
      'asker', jsonb_build_object('userId', app.user_id(), 'tenantId', app.tenant_id()));
  end if;
  return delivery.manifest_changes_outcome(jsonb_build_object('idempotency_key', v_key, 'item_ids', input -> 'item_ids')
    || delivery.manifest_orders_change(jsonb_build_object('item_ids', input -> 'item_ids', 'destination', v_destination, 'dry_run', v_dry_run)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_changes_outcome(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_key text := input ->> 'idempotency_key';
  v_since timestamptz := (input ->> 'since')::timestamptz;
  v_answer jsonb;
begin
  with said as materialized (
    select c.item_id, c.price_difference, null::text as code, null::jsonb as params
    from jsonb_to_recordset(input -> 'changed') c (item_id uuid, price_difference numeric)
    union all
    select f.item_id, null, f.code, f.params from jsonb_to_recordset(input -> 'failures') f (item_id uuid, code text, params jsonb)
  ), asked as (
    select a.place, a.id, coalesce(nullif(s.price_difference, 0), e.price_difference, s.price_difference) as price_difference, s.params,
      case when s.item_id is null and e.price_difference is null then 'order_change_interrupted' else s.code end as code,
      d.id as delivery_id, d.delivery_code, d.status
    from unnest(app.uuids(input -> 'item_ids')) with ordinality a (id, place)
    left join said s on s.item_id = a.id
    left join lateral (
      select (h.payload ->> 'price_difference')::numeric as price_difference from delivery.transfer_manifest_events h
      where s.code is null and h.tenant_id = app.tenant_id() and h.manifest_item_id = a.id and h.event_type = 'destination_changed'
        and h.created_at >= v_since and h.actor_id is not distinct from app.user_id()
      order by h.id desc limit 1) e on true
    left join delivery.transfer_manifest_items i on i.id = a.id
    left join delivery.deliveries d on d.tenant_id = i.tenant_id and d.id = i.delivery_id
  )
  select jsonb_build_object(
    'changed', coalesce(jsonb_agg(jsonb_build_object('item_id', a.id, 'price_difference', a.price_difference,
      'delivery', jsonb_build_object('id', a.delivery_id, 'delivery_code', a.delivery_code, 'status', a.status)) order by a.place)
      filter (where a.code is null), '[]'),
    'failed', coalesce(jsonb_agg(jsonb_build_object('item_id', a.id, 'code', a.code, 'params', a.params) order by a.place)
      filter (where a.code is not null), '[]'))
  into v_answer from asked a;
  -- As in delivery.manifest_orders_outcome: what is not whole, or nothing, is not remembered.
  if v_key is not null and v_answer -> 'changed' = '[]' then
    perform private.idempotency_forget(app.request_setting('operation'), v_key);
  elsif v_key is not null and not v_answer -> 'failed' @> '[{"code": "order_change_interrupted"}]' then
    v_answer := private.idempotency_store(app.request_setting('operation'), v_key, v_answer);
  end if;
  return jsonb_build_object('answer', v_answer);
end $function$;

CREATE OR REPLACE FUNCTION delivery.order_change_obstacle(item_id uuid, i delivery.transfer_manifest_items, d delivery.deliveries)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case
    when i.id is null then 'item_not_found'
    when i.status = 'void' then 'item_void'
    when d.id is null then 'item_has_no_order'
    when d.status in ('delivered', 'returned', 'cancelled') then 'delivery_ended'
    when d.status not in ('pending', 'assigned', 'accepted') or delivery.waits_on_the_road(d) or exists (
      select from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id
        and l.status not in ('draft', 'pending', 'assigned', 'accepted')) or delivery.return_under_way(d.id) is not null then 'delivery_already_picked_up'
    when exists (select from integration.carrier_shipments c
      where c.tenant_id = d.tenant_id and c.delivery_id = d.id and delivery.booking_binds(c)) then 'shipment_with_other_carrier'
  end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.parcel_cancel(input jsonb, OUT delivery_id uuid, OUT return_id uuid, OUT refund jsonb)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_operations boolean := app.has_permission('manage:operations:tenant');
  v_under_way text;
  v_ends uuid[];
  v_picks uuid[];
  v_waiting delivery.deliveries;
  v_return record;
  v_missing boolean;
  v_transfer jsonb;
begin
  -- Also where nothing goes back: a wrong place is an error of the caller.
  perform delivery.require_return_place(input);
  perform delivery.lock_manifest_item((input ->> 'id')::uuid);
  d := delivery.lock_delivery((input ->> 'id')::uuid);
  select * into d from delivery.deliveries x where x.id = delivery.parcel_of(d);
  if not found then
    perform app.fail('forbidden');
  end if;
  perform delivery.require_owner(d);
  -- Back to who sent it, as long as its order stays cancelled, or as it ended at the door; unless it was lost or written off, and nothing is
  -- left to go back.
  if (d.made_at_door or d.delivery_flow = 'operational_return' and exists (select from delivery.deliveries o
      where o.tenant_id = d.tenant_id and o.id = d.original_delivery_id and o.status = 'cancelled')) and not warehousing.return_is_lost(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'cancelled',
      'text_key', case when d.made_at_door then 'reason_return_from_door' else 'reason_return_of_cancelled' end));
  end if;
  v_waiting := delivery.waiting_on_its_way(d);
  if v_waiting.id is not null then
    v_missing := warehousing.parcel_is_missing(d, v_waiting.current_warehouse_id);
    v_return := delivery.delivery_cancel_waiting(d, v_waiting, not v_missing, input);
    refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
    if v_missing then
      perform warehousing.stock_release('picking_order', p.id) from unnest(v_return.picks) p (id);
      perform warehousing.waybill_remove_delivery(d.id);
      perform delivery.parcel_at(d.id, null);
    else
      perform delivery.operational_return_shelve(v_return.id, v_return.picks);
    end if;
    perform storefront.orders_settle();
    delivery_id := d.id;
    return_id := v_return.id;
    return;
  end if;
  if v_operations then
    v_transfer := delivery.transfer_under_way(d);
    if v_transfer is not null then
      perform app.fail('invalid_status_transition', v_transfer || jsonb_build_object('from', d.status, 'to', 'cancelled'));
    end if;
  end if;
  perform delivery.require_move(d, case when v_operations then '{draft,pending,assigned,accepted}' else '{draft,pending}' end::text[], 'cancelled');
  if delivery.waits_on_the_road(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'cancelled', 'text_key', 'reason_on_the_road'));
  end if;
  select l.status into v_under_way from delivery.deliveries l
  where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.status not in ('draft', 'pending', 'assigned', 'accepted') limit 1;
  if found then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', v_under_way, 'to', 'cancelled'));
  end if;
  -- A parent that has legs follows them.
  v_ends := array(select l.id from delivery.deliveries l
    where l.tenant_id = d.tenant_id and l.parent_id = d.id and d.delivery_flow = 'pnd_parent');
  if cardinality(v_ends) = 0 then
    v_ends := array[d.id];
  end if;
  update delivery.deliveries x set status = 'cancelled', status_reason = input ->> 'reason', status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = any (v_ends);
  if d.delivery_flow = 'customer_return' and d.status = 'draft' then
    perform delivery.return_request_cancel(d.id);
  end if;
  perform delivery.manifest_item_return(d.id);
  v_picks := delivery.delivery_release(d.id);
  refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
  perform warehousing.stock_release('picking_order', p.id) from unnest(v_picks) p (id);
  perform warehousing.waybill_remove_delivery(d.id);
  if d.delivery_flow = 'operational_return' then
    perform warehousing.return_unshelved(d.id);
  end if;
  perform storefront.orders_settle();
  delivery_id := d.id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.waits_on_the_road(p delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return p.status in ('pending', 'assigned', 'accepted') and p.picked_up_at is not null and p.current_warehouse_id is null
    and not delivery.leaves_warehouse(p);
end $function$;

CREATE OR REPLACE FUNCTION delivery.zones_find_deliveries(was delivery.zones, became delivery.zones)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_boxes jsonb := jsonb_build_object('boxes', jsonb_build_array(
    jsonb_build_array(was.west, was.south, was.east, was.north), jsonb_build_array(became.west, became.south, became.east, became.north)));
begin
  perform app.job_add('delivery.zones_follow', v_boxes);
  perform app.job_add('delivery.zones_follow', v_boxes, run_at => now() + interval '2 minutes');
end $function$;

CREATE OR REPLACE FUNCTION private.idempotency_since(operation text, key text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select k.created_at from app.idempotency_keys k
    where k.scope = private.idempotency_scope() and k.operation = idempotency_since.operation and k.key = idempotency_since.key);
end $function$;

CREATE VIEW "delivery"."delivery_imports_list" WITH (security_invoker=true) AS  SELECT i.id,
    i.created_at,
        CASE
            WHEN (i.created_by IS NOT NULL) THEN jsonb_build_object('id', i.created_by, 'full_name', delivery.person_name(i.created_by))
            ELSE NULL::jsonb
        END AS created_by,
    i.cancelled_at,
        CASE
            WHEN (i.cancelled_by IS NOT NULL) THEN jsonb_build_object('id', i.cancelled_by, 'full_name', delivery.person_name(i.cancelled_by))
            ELSE NULL::jsonb
        END AS cancelled_by,
    c.imported,
    c.cancelled,
    c.cancellable
   FROM (delivery.delivery_imports i
     CROSS JOIN LATERAL ( SELECT count(*) AS imported,
            count(*) FILTER (WHERE (d.status = 'cancelled'::text)) AS cancelled,
            count(*) FILTER (WHERE ((d.status = ANY (ARRAY['draft'::text, 'pending'::text, 'assigned'::text, 'accepted'::text])) AND (d.picked_up_at IS NULL))) AS cancellable
           FROM (delivery.delivery_import_lines l
             JOIN delivery.deliveries d ON (((d.tenant_id = l.tenant_id) AND (d.id = l.delivery_id))))
          WHERE ((l.tenant_id = i.tenant_id) AND (l.import_id = i.id))) c);

REVOKE ALL ON FUNCTION "delivery"."lock_drivers_of"(uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."lock_drivers_of"(uuid[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."waits_on_the_road"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."waits_on_the_road"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "private"."idempotency_since"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."idempotency_since"(text, text) TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."delivery_imports_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201030701';
end $$;

grant execute on function private.schema_version() to barid_api;
