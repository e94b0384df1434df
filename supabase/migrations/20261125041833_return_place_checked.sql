-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_cancel(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_operations boolean := app.has_permission('manage:operations:tenant');
  v_under_way text;
  v_ends uuid[];
  v_picks uuid[];
  v_refund jsonb;
  v_waiting delivery.deliveries;
  v_return record;
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
  -- Back to who sent it, as long as its order stays cancelled; unless it was lost or written off, and nothing is left to go back.
  if d.delivery_flow = 'operational_return' and exists (select from delivery.deliveries o
      where o.tenant_id = d.tenant_id and o.id = d.original_delivery_id and o.status = 'cancelled') and not warehousing.return_is_lost(d) then
    perform app.fail('invalid_status_transition',
      jsonb_build_object('from', d.status, 'to', 'cancelled', 'text_key', 'reason_return_of_cancelled'));
  end if;
  select * into v_waiting from delivery.deliveries x
  where x.tenant_id = d.tenant_id and (x.id = d.id or x.parent_id = d.id) and x.delivery_flow in ('standard', 'pnd_outbound')
    and x.status in ('pending', 'assigned', 'accepted') and x.current_warehouse_id is not null
    and (d.picked_up_at is not null or d.ordered_from_address_id is not null)
    and x.current_warehouse_id is distinct from (delivery.ordered_from(d)).warehouse_id;
  if found then
    v_return := delivery.delivery_cancel_waiting(d, v_waiting, input);
    v_refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
    perform delivery.operational_return_shelve(v_return.id, v_return.picks);
    return v_refund || jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'operational_return', delivery.delivery_to_json(v_return.id));
  end if;
  if v_operations then
    v_transfer := delivery.transfer_under_way(d);
    if v_transfer is not null then
      perform app.fail('invalid_status_transition', v_transfer || jsonb_build_object('from', d.status, 'to', 'cancelled'));
    end if;
  end if;
  perform delivery.require_move(d, case when v_operations then '{draft,pending,assigned,accepted}' else '{draft,pending}' end::text[], 'cancelled');
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
  perform delivery.manifest_item_return(d.id);
  v_picks := delivery.delivery_release(d.id);
  v_refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
  perform warehousing.stock_release('picking_order', p.id) from unnest(v_picks) p (id);
  perform warehousing.waybill_remove_delivery(d.id);
  if d.delivery_flow = 'operational_return' then
    perform warehousing.return_unshelved(d.id);
  end if;
  perform storefront.orders_settle();
  return v_refund || jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'operational_return', null);
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_return_place(input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if input ->> 'dropoff_address_id' is not null and not exists (
      select from delivery.addresses a where a.id = (input ->> 'dropoff_address_id')::uuid) then
    perform app.fail('address_not_found', '{"field": "dropoff_address_id"}');
  elsif input ->> 'dropoff_warehouse_id' is not null and not exists (
      select from warehousing.warehouses w where w.id = (input ->> 'dropoff_warehouse_id')::uuid and w.deleted_at is null) then
    perform app.fail('warehouse_not_found', '{"field": "dropoff_warehouse_id"}');
  end if;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."require_return_place"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_return_place"(jsonb) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125041833';
end $$;

grant execute on function private.schema_version() to barid_api;
