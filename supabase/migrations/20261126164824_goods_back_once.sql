-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION warehousing.parcel_arrives(p_delivery uuid, p_warehouse uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_order uuid;
  r warehousing.receiving_orders;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  if d.delivery_flow = 'operational_return' and d.status = 'delivered' and exists (
      select from storefront.storefront_order_parts p
      where p.tenant_id = d.tenant_id and p.delivery_id = d.original_delivery_id and p.picking_order_id is not null and p.left_at is not null) then
    perform delivery.originals_come_back(array[d.original_delivery_id]);
    return null;
  end if;
  v_order := warehousing.receipt_open(d, p_warehouse, 'inbound');
  select * into strict r from warehousing.receiving_orders x where x.tenant_id = d.tenant_id and x.id = v_order;
  if not app.boolean_or(app.settings('general', 'warehouse') -> 'handoff_required', false)
      and warehousing.default_receiving_bin(p_warehouse) is not null and not warehousing.receipt_is_of_goods(r) then
    perform warehousing.receipt_take(v_order, null, null);
  end if;
  return v_order;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126164824';
end $$;

grant execute on function private.schema_version() to barid_api;
