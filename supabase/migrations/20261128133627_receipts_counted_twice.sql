-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION warehousing.receiving_order_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_target text := input ->> 'status';
  v_transfer jsonb;
  r warehousing.receiving_orders;
begin
  select * into r from warehousing.receiving_orders o where o.id = v_id;
  if not found then
    perform app.fail('receiving_order_not_found');
  end if;
  if r.delivery_id is not null then
    perform delivery.lock_deliveries(array[r.delivery_id]);
  end if;
  select * into r from warehousing.receiving_orders o where o.id = v_id for no key update;
  perform warehousing.require_works_in(r.warehouse_id);
  if r.status <> v_target then
    if r.status <> 'pending' then
      perform app.fail('invalid_status_transition', jsonb_build_object('from', r.status, 'to', v_target));
    end if;
    if v_target = 'received' then
      -- Recorded before a waybill took it along, it waits for nothing that could come here.
      select delivery.transfer_under_way(d) into v_transfer from delivery.deliveries d where d.tenant_id = r.tenant_id and d.id = r.delivery_id;
      if v_transfer ->> 'waybill_id' is not null then
        perform app.fail('invalid_status_transition', v_transfer || jsonb_build_object('from', r.status, 'to', v_target));
      end if;
      perform warehousing.receipt_take(r.id, input -> 'item_details', input ->> 'notes');
    else
      perform warehousing.receiving_order_cancel(r, input ->> 'notes');
    end if;
  elsif r.status = 'received' then
    perform warehousing.require_same_receipt(r, input -> 'item_details');
  end if;
  return jsonb_build_object('order', warehousing.receiving_order_to_json(v_id));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.require_same_receipt(r warehousing.receiving_orders, details jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_details jsonb := coalesce(nullif(details, 'null'), '[]');
begin
  if exists (
      select from warehousing.receiving_order_items i
      left join warehousing.receipt_entries(r, v_details) n on n.line = i.id
      cross join lateral (select coalesce(n.received_quantity, i.quantity) as received) c
      where i.tenant_id = r.tenant_id and i.receiving_order_id = r.id and (c.received <> i.received_quantity
        or n.bin_id <> i.bin_id
        or n.line is not null and (coalesce(n.condition, case when n.damaged_quantity > 0 then 'damaged' else 'good' end) <> i.condition
          or coalesce(n.damaged_quantity, case n.condition when 'damaged' then c.received else 0 end) <> i.damaged_quantity)))
    or exists (select from warehousing.receipt_entries(r, v_details) n where n.line is null) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', r.status, 'to', r.status, 'text_key', 'reason_received_before',
      'receiver', coalesce((select nullif(p.full_name, '') from tenancy.profiles p where p.id = r.received_by), '–')));
  end if;
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."receipt_entries"(warehousing.receiving_orders, jsonb) FROM "barid_caller";

GRANT EXECUTE ON FUNCTION "warehousing"."receipt_entries"(warehousing.receiving_orders, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."require_same_receipt"(warehousing.receiving_orders, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."require_same_receipt"(warehousing.receiving_orders, jsonb) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128133627';
end $$;

grant execute on function private.schema_version() to barid_api;
