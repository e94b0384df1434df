-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE VIEW "warehousing"."inventory_transactions_list" WITH (security_invoker=true) AS  SELECT t.id,
    t.movement_id,
    t.transaction_type,
    t.quantity,
    jsonb_build_object('id', w.id, 'name', w.name, 'code', w.code) AS warehouse,
    jsonb_build_object('id', t.item_id, 'name', i.name, 'sku', i.sku) AS item,
        CASE
            WHEN (t.from_bin_id IS NOT NULL) THEN jsonb_build_object('id', f.id, 'code', f.code, 'name', f.name)
            ELSE NULL::jsonb
        END AS from_bin,
        CASE
            WHEN (t.to_bin_id IS NOT NULL) THEN jsonb_build_object('id', b.id, 'code', b.code, 'name', b.name)
            ELSE NULL::jsonb
        END AS to_bin,
    t.from_status,
    t.to_status,
    t.lot_number,
    t.serial_number,
        CASE
            WHEN (t.reference_id IS NOT NULL) THEN jsonb_build_object('type', t.reference_type, 'id', t.reference_id)
            ELSE NULL::jsonb
        END AS reference,
    t.reason,
    t.note,
        CASE
            WHEN (t.performed_by IS NOT NULL) THEN jsonb_build_object('id', t.performed_by, 'full_name', COALESCE(p.full_name, ''::text))
            ELSE NULL::jsonb
        END AS performed_by,
    t.created_at,
    t.item_id,
    t.warehouse_id,
    t.reference_id,
    t.performed_by AS performed_by_id
   FROM (((((warehousing.inventory_transactions t
     LEFT JOIN warehousing.warehouses w ON (((w.tenant_id = t.tenant_id) AND (w.id = t.warehouse_id))))
     LEFT JOIN warehousing.inventory_items i ON (((i.tenant_id = t.tenant_id) AND (i.id = t.item_id))))
     LEFT JOIN warehousing.bins f ON (((f.tenant_id = t.tenant_id) AND (f.id = t.from_bin_id))))
     LEFT JOIN warehousing.bins b ON (((b.tenant_id = t.tenant_id) AND (b.id = t.to_bin_id))))
     LEFT JOIN tenancy.profiles p ON ((p.id = t.performed_by)))
  WHERE ((t.transaction_type <> ALL (ARRAY['reserve'::text, 'release'::text])) AND COALESCE((t.warehouse_id = ANY (( SELECT app.own_warehouses() AS own_warehouses)::uuid[])), true));

GRANT SELECT ON TABLE "warehousing"."inventory_transactions_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129063458';
end $$;

grant execute on function private.schema_version() to barid_api;
