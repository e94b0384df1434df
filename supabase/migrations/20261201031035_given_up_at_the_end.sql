-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION storefront.order_part_given_up(part storefront.storefront_order_parts)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from warehousing.picking_orders k
    join storefront.storefront_order_part_items g on g.tenant_id = k.tenant_id and g.part_id = part.id and g.quantity > g.short
    join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id and i.inventory_item_id is not null
    where k.tenant_id = part.tenant_id and k.id = part.picking_order_id and k.status = 'cancelled');
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_stranded(o storefront.storefront_orders, lines jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('part_id', p.id, 'warehouse_id', p.warehouse_id, 'dropoff_address_id', d.dropoff_address_id,
      'recipient', d.recipient,
      'units', z.units, 'unmeasured', z.unmeasured, 'lines', z.lines) order by p.position), '[]')
    from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status = 'cancelled'
    cross join lateral (
      select sum(i.unit_size * (g.quantity - g.short)) as units, bool_or(i.id is null) as unmeasured,
        jsonb_agg(jsonb_build_object('line', l.line, 'quantity', g.quantity - g.short) order by g.position) as lines
      from storefront.storefront_order_part_items g
      join rows from (jsonb_to_recordset(lines) as (order_item_id uuid, inventory_item_id uuid)) with ordinality
        l (order_item_id, inventory_item_id, line) on l.order_item_id = g.order_item_id
      left join warehousing.inventory_items i on i.tenant_id = g.tenant_id and i.id = l.inventory_item_id
      where g.tenant_id = p.tenant_id and g.part_id = p.id and g.quantity > g.short) z
    where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is null and z.lines is not null and not storefront.order_part_given_up(p)
      and o.status in ('approved', 'confirmed', 'shipped'));
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_part_given_up"(storefront.storefront_order_parts) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_part_given_up"(storefront.storefront_order_parts) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201031035';
end $$;

grant execute on function private.schema_version() to barid_api;
