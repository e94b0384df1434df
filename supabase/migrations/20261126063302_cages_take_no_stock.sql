-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION warehousing.require_stock_movement(movements private.stock_movement[])
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_bad record;
begin
  select l.*, i.id as known_item, f.id as known_from, t.id as known_to, t.is_active as bin_in_use, t.is_temporary as bin_of_session,
    w.id as known_warehouse into v_bad
  from unnest(movements) l
  left join warehousing.warehouses w on w.tenant_id = v_tenant and w.id = l.warehouse_id and w.deleted_at is null
  left join warehousing.inventory_items i on i.tenant_id = v_tenant and i.id = l.item_id
  left join warehousing.bins f on f.tenant_id = v_tenant and f.warehouse_id = l.warehouse_id and f.id = l.from_bin
  left join warehousing.bins t on t.tenant_id = v_tenant and t.warehouse_id = l.warehouse_id and t.id = l.to_bin
  where i.id is null or w.id is null or (l.comes and f.id is null) or (l.goes and t.id is null)
    or (l.goes and l.from_bin is distinct from l.to_bin and (not t.is_active or t.is_temporary)) or l.quantity is null or l.quantity <= 0
    or (l.goes and l.to_serial is not null and l.quantity <> 1) or (l.goes and i.is_serialized and l.to_serial is null)
  order by l.line limit 1;
  if not found then
    return;
  end if;
  if v_bad.known_warehouse is null then
    perform app.fail('warehouse_not_found', jsonb_build_object('field', 'warehouse_id'));
  elsif v_bad.known_item is null then
    perform app.fail('inventory_item_not_found', jsonb_build_object('field', 'item_id', 'item_id', v_bad.item_id));
  elsif (v_bad.comes and v_bad.known_from is null) or (v_bad.goes and v_bad.known_to is null) then
    perform app.fail('bin_not_found', jsonb_build_object('field', 'bin_id'));
  elsif v_bad.goes and v_bad.from_bin is distinct from v_bad.to_bin and not v_bad.bin_in_use then
    perform app.fail('bin_inactive', jsonb_build_object('field', 'bin_id'));
  elsif v_bad.goes and v_bad.from_bin is distinct from v_bad.to_bin and v_bad.bin_of_session then
    perform app.fail('bin_of_sorting_session');
  elsif v_bad.quantity is null or v_bad.quantity <= 0 then
    perform app.fail('validation_failed', jsonb_build_object('field', v_bad.field));
  elsif v_bad.to_serial is null then
    perform app.fail('serial_number_required', jsonb_build_object('field', 'serial_number', 'item_id', v_bad.item_id));
  else
    perform app.fail('serial_quantity_must_be_one', jsonb_build_object('field', v_bad.field, 'item_id', v_bad.item_id));
  end if;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126063302';
end $$;

grant execute on function private.schema_version() to barid_api;
