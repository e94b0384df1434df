-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION warehousing.warehouse_delete(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid := (input ->> 'id')::uuid;
begin
  -- Incoming stock locks the warehouse until it has arrived; stock that comes later finds it deleted.
  perform from warehousing.warehouses w where w.id = v_id and w.deleted_at is null for update;
  if not found then
    perform app.fail('warehouse_not_found');
  end if;
  if exists (select from warehousing.stock s where s.tenant_id = v_tenant and s.warehouse_id = v_id and s.quantity > 0) then
    perform app.fail('warehouse_has_inventory');
  end if;
  if exists (select from warehousing.receiving_orders r where r.tenant_id = v_tenant and r.warehouse_id = v_id and r.status = 'pending')
    or exists (select from warehousing.picking_orders p
      where p.tenant_id = v_tenant and p.warehouse_id = v_id and p.status in ('pending', 'in_progress'))
    or exists (select from warehousing.sorting_sessions n where n.tenant_id = v_tenant and n.warehouse_id = v_id and n.status = 'active')
    or exists (select from warehousing.waybills b where b.tenant_id = v_tenant and b.status in ('drafted', 'in_transit')
      and v_id in (b.source_warehouse_id, b.destination_warehouse_id))
    -- A parcel that was missing may turn up.
    or exists (select from warehousing.waybills b join warehousing.waybill_discrepancies x on x.tenant_id = b.tenant_id and x.waybill_id = b.id
      where b.tenant_id = v_tenant and b.destination_warehouse_id = v_id and b.status = 'received' and x.status = 'open')
    -- Goods that a shop sent itself may come back.
    or exists (select from storefront.storefront_order_parts p join storefront.storefront_orders o on o.tenant_id = p.tenant_id and o.id = p.order_id
      where p.tenant_id = v_tenant and p.warehouse_id = v_id and p.left_at is not null and p.delivery_id is null and o.status = 'shipped')
    or exists (select from delivery.deliveries d where d.tenant_id = v_tenant and d.status not in ('delivered', 'returned', 'cancelled')
      and v_id in (d.pickup_warehouse_id, d.dropoff_warehouse_id, d.ordered_to_warehouse_id, d.ordered_from_warehouse_id, d.current_warehouse_id,
        d.staging_warehouse_id)
      -- A waybill that was cancelled, or has arrived, leaves the drafts of its pieces of inventory, and nothing of them is on its way.
      and not (d.status = 'draft' and delivery.is_for_waybill(d) and not exists (
        select from warehousing.waybill_deliveries x where x.tenant_id = d.tenant_id and x.delivery_id = d.id and x.is_open))) then
    perform app.fail('warehouse_in_use');
  end if;
  if (app.settings('general', 'warehouse') ->> 'default_warehouse_id')::uuid = v_id then
    perform app.fail('warehouse_in_use_by_settings', jsonb_build_object('setting_references',
      jsonb_build_array(jsonb_build_object('source', 'general.warehouse', 'setting_key', 'default_warehouse_id'))));
  end if;
  update warehousing.warehouses w set deleted_at = now() where w.id = v_id;
  return '{}';
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201000219';
end $$;

grant execute on function private.schema_version() to barid_api;
