-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      alter view warehousing.inventory_list reset (security_barrier);
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

DROP VIEW "warehousing"."inventory_list";

CREATE VIEW "warehousing"."inventory_list" WITH (security_invoker=true) AS  SELECT s.id,
    s.warehouse_id,
    s.bin_id,
    s.item_id,
    s.status,
    s.lot_number,
    s.serial_number,
    s.quantity,
    s.reserved_for_type,
    s.reserved_for_id,
    jsonb_build_object('id', i.id, 'name', i.name, 'sku', i.sku) AS item,
    jsonb_build_object('id', b.id, 'code', b.code, 'name', b.name) AS bin,
    jsonb_build_object('id', w.id, 'name', w.name, 'code', w.code) AS warehouse,
    s.created_at,
    s.updated_at
   FROM (((warehousing.stock s
     LEFT JOIN warehousing.inventory_items i ON (((i.tenant_id = s.tenant_id) AND (i.id = s.item_id))))
     LEFT JOIN warehousing.bins b ON (((b.tenant_id = s.tenant_id) AND (b.id = s.bin_id))))
     LEFT JOIN warehousing.warehouses w ON (((w.tenant_id = s.tenant_id) AND (w.id = s.warehouse_id))))
  WHERE ((s.quantity > 0) AND (COALESCE((s.warehouse_id = ANY (( SELECT app.own_warehouses() AS own_warehouses)::uuid[])), true) OR ((s.reserved_for_id IS NOT NULL) AND (EXISTS ( SELECT
           FROM warehousing.picking_orders o
          WHERE ((o.tenant_id = s.tenant_id) AND (o.assigned_to = ( SELECT app.user_id() AS user_id)) AND (o.warehouse_id = s.warehouse_id) AND ((s.reserved_for_id = o.id) OR (s.reserved_for_id = o.order_id))))))));

GRANT SELECT ON TABLE "warehousing"."inventory_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128135049';
end $$;

grant execute on function private.schema_version() to barid_api;
