-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      alter view warehousing.picking_orders_list reset (security_barrier);
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

DROP VIEW "warehousing"."picking_orders_list";

CREATE OR REPLACE FUNCTION warehousing.picking_lines_end(p_order warehousing.picking_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update warehousing.picking_order_items i
  set status = case i.picked_quantity when i.quantity then 'picked' when 0 then 'missing' else 'short' end
  where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id and i.status in ('pending', 'picked', 'short', 'missing');
end $function$;

CREATE VIEW "warehousing"."picking_orders_list" WITH (security_invoker=true) AS  SELECT o.id,
    o.tenant_id,
    o.warehouse_id,
    o.reference_number,
    o.external_reference,
    o.order_type,
    o.priority,
    o.status,
    ( SELECT COALESCE(jsonb_agg(jsonb_build_object('item_id', i.item_id, 'bin_id', i.bin_id, 'quantity', i.quantity, 'picked_quantity', i.picked_quantity, 'status', i.status) ORDER BY i."position"), '[]'::jsonb) AS "coalesce"
           FROM warehousing.picking_order_items i
          WHERE ((i.tenant_id = o.tenant_id) AND (i.picking_order_id = o.id))) AS item_details,
    ((jsonb_build_object('start_time', NULL::unknown, 'end_time', NULL::unknown, 'picker_notes', NULL::unknown) || o.picking_progress) || ( SELECT jsonb_build_object('total_items', COALESCE(sum(i.quantity), (0)::numeric), 'picked_items', COALESCE(sum(i.picked_quantity), (0)::numeric)) AS jsonb_build_object
           FROM warehousing.picking_order_items i
          WHERE ((i.tenant_id = o.tenant_id) AND (i.picking_order_id = o.id)))) AS picking_progress,
    o.notes,
    o.due_date,
    o.completed_date,
    o.assigned_to,
    o.created_by,
    o.delivery_id,
    o.order_id,
    o.created_at,
    o.updated_at,
        CASE
            WHEN (o.created_by IS NOT NULL) THEN jsonb_build_object('id', o.created_by, 'full_name', COALESCE(c.full_name, ''::text))
            ELSE NULL::jsonb
        END AS created_by_user,
        CASE
            WHEN (o.assigned_to IS NOT NULL) THEN jsonb_build_object('id', o.assigned_to, 'full_name', COALESCE(a.full_name, ''::text))
            ELSE NULL::jsonb
        END AS assigned_to_user,
    jsonb_build_object('id', o.warehouse_id, 'name', w.name, 'code', w.code) AS warehouse
   FROM (((warehousing.picking_orders o
     LEFT JOIN warehousing.warehouses w ON (((w.tenant_id = o.tenant_id) AND (w.id = o.warehouse_id))))
     LEFT JOIN tenancy.profiles c ON ((c.id = o.created_by)))
     LEFT JOIN tenancy.profiles a ON ((a.id = o.assigned_to)))
  WHERE (COALESCE((o.warehouse_id = ANY (( SELECT app.own_warehouses() AS own_warehouses)::uuid[])), true) OR (o.assigned_to = ( SELECT app.user_id() AS user_id)));

GRANT SELECT ON TABLE "warehousing"."picking_orders_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128134134';
end $$;

grant execute on function private.schema_version() to barid_api;
