-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      alter view tenancy.notifications_list reset (security_barrier);
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

DROP VIEW "tenancy"."notifications_list";

CREATE OR REPLACE FUNCTION tenancy.notifications_read(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_ids uuid[] := case when input ->> 'notification_ids' is not null then app.uuids(input -> 'notification_ids') end;
  v_count integer;
begin
  update tenancy.notifications n set read_at = clock_timestamp()
  where n.user_id = app.user_id() and n.read_at is null and (v_ids is null or n.id = any (v_ids));
  get diagnostics v_count = row_count;
  return jsonb_build_object('updated_count', v_count,
    'unread_count', (select count(*) from tenancy.notifications_mine l where l.read_at is null));
end $function$;

CREATE VIEW "tenancy"."notifications_mine" WITH (security_invoker=true) AS  SELECT id,
    tenant_id,
    type,
    payload,
    read_at,
    created_at
   FROM tenancy.notifications n
  WHERE (user_id = ( SELECT app.user_id() AS user_id));

CREATE VIEW "tenancy"."notifications_list" WITH (security_invoker=true) AS  SELECT id,
    tenant_id,
    type,
    payload,
    read_at,
    created_at
   FROM tenancy.notifications_mine n
  WHERE (type = ANY (ARRAY['assignment_created'::text, 'bulk_assignment_created'::text, 'assignment_returned'::text, 'assignments_handed_over'::text, 'auto_assignment_failed'::text, 'delivery_postponed_in_van'::text, 'picking_assigned'::text, 'delivery_cancelled'::text, 'delivery_changed'::text, 'amount_change_requested'::text, 'amount_change_declined'::text, 'outcome_undone'::text, 'cash_handed_over'::text, 'cash_handover_reversed'::text, 'cod_settlement_reversed'::text, 'market_submitted'::text, 'market_approved'::text, 'market_rejected'::text, 'payment_unmatched'::text, 'shipment_cancelled'::text, 'tenant_invitation'::text]));

GRANT SELECT ON TABLE "tenancy"."notifications_list" TO "barid_caller";

GRANT SELECT ON TABLE "tenancy"."notifications_mine" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129160531';
end $$;

grant execute on function private.schema_version() to barid_api;
