-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table delivery.deliveries in share row exclusive mode;
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

CREATE OR REPLACE FUNCTION delivery.assignments_follow_deliveries()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenants uuid[];
  v_parcels uuid[];
  v_moved uuid[];
  v_done uuid[];
  v_shown uuid[];
begin
  select array_agg(distinct n.tenant_id), array_agg(distinct coalesce(n.parent_id, n.id)) filter (where c.terms),
    array_agg(n.id) filter (where n.status <> o.status or n.picked_up_at is distinct from o.picked_up_at),
    array_agg(n.id) filter (where n.status = 'delivered' and o.status <> 'delivered')
  into v_tenants, v_parcels, v_moved, v_done
  from new_rows n
  join old_rows o on o.id = n.id
  cross join lateral (select (n.cod_amount, n.delivery_fee, n.currency, n.payer_type, n.payment_method, n.order_id, n.recipient, n.source_snapshot,
      n.pickup_snapshot, n.dropoff_snapshot, n.pickup_warehouse_id, n.transfer_kind, n.carrier_type, n.customer_id, n.institution_user_id, n.barcode,
      n.external_reference_id, n.unit_size, n.notes, n.promised_at, n.deliver_after, n.deliver_before, n.postponed_to)
    is distinct from (o.cod_amount, o.delivery_fee, o.currency, o.payer_type, o.payment_method, o.order_id, o.recipient, o.source_snapshot,
      o.pickup_snapshot, o.dropoff_snapshot, o.pickup_warehouse_id, o.transfer_kind, o.carrier_type, o.customer_id, o.institution_user_id, o.barcode,
      o.external_reference_id, o.unit_size, o.notes, o.promised_at, o.deliver_after, o.deliver_before, o.postponed_to) as terms) c;
  if v_parcels is null and v_moved is null then
    return null;
  end if;
  v_moved := coalesce(v_moved, '{}') || coalesce(v_parcels, '{}') || array(
    select l.id from delivery.deliveries l where l.tenant_id = any (v_tenants) and l.parent_id = any (v_parcels));
  select array_agg(x.id) into v_shown from (
    select a.id from delivery.assignments a
    where a.tenant_id = any (v_tenants) and a.delivery_id = any (v_moved) and a.changed <> pg_current_xact_id()::text::bigint
      and (a.status not in ('pending', 'assigned', 'accepted') or a.delivery_id <> all (coalesce(v_done, '{}')))
    order by a.id for no key update) x;
  if v_shown is not null then
    -- Its trigger says when.
    update delivery.assignments a set updated_at = a.updated_at where a.tenant_id = any (v_tenants) and a.id = any (v_shown);
  end if;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."assignments_follow_deliveries"() FROM "barid_caller";

CREATE TRIGGER assignments_follow_deliveries AFTER UPDATE ON delivery.deliveries REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION delivery.assignments_follow_deliveries();

REVOKE ALL ON FUNCTION "delivery"."assignments_follow_deliveries"() FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128132126';
end $$;

grant execute on function private.schema_version() to barid_api;
