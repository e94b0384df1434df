-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table warehousing.picking_orders in share row exclusive mode;
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

CREATE OR REPLACE FUNCTION warehousing.picking_withdrawn()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select old.tenant_id, old.assigned_to, 'picking_withdrawn', jsonb_build_object('picking_order_id', old.id,
    'reference_number', old.reference_number, 'warehouse_id', old.warehouse_id,
    'reason', case when new.status = 'cancelled' then 'cancelled' else 'reassigned' end)
  where old.assigned_to is distinct from app.user_id();
  return null;
end $function$;

CREATE TRIGGER withdrawn AFTER UPDATE OF status, assigned_to ON warehousing.picking_orders FOR EACH ROW WHEN (((old.assigned_to IS NOT NULL) AND (old.status = ANY (ARRAY['pending'::text, 'in_progress'::text])) AND ((new.status = 'cancelled'::text) OR (new.assigned_to IS DISTINCT FROM old.assigned_to)))) EXECUTE FUNCTION warehousing.picking_withdrawn();

REVOKE ALL ON FUNCTION "warehousing"."picking_withdrawn"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."picking_withdrawn"() TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128133732';
end $$;

grant execute on function private.schema_version() to barid_api;
