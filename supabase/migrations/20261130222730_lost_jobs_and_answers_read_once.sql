-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      alter view delivery.recipient_answers_list reset (security_barrier);
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

DROP VIEW "delivery"."recipient_answers_list";

CREATE OR REPLACE FUNCTION private.jobs_claim(kinds text[], batch integer DEFAULT 10, lease interval DEFAULT '00:02:00'::interval)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_lost app.jobs;
  v_jobs jsonb;
begin
  for v_lost in
    update app.jobs j set status = 'dead', finished_at = now(), last_error = 'its runner ended each time', lease_until = null, lease_token = null
    where j.kind = any (kinds) and j.run_at <= now() and j.status = 'running' and j.lease_until < now() and j.attempts >= greatest(j.attempts_max, 8)
    returning j.*
  loop
    perform private.job_dead_announce(v_lost);
  end loop;
  with due as (
    select j.id from app.jobs j
    where j.kind = any (kinds) and j.run_at <= now()
      and (j.status = 'queued' or (j.status = 'running' and j.lease_until < now()))
      and not exists (
        select from app.jobs e where e.entity_key = j.entity_key and e.id < j.id and e.status in ('queued', 'running'))
    order by j.run_at, j.id
    limit batch
    for update of j skip locked
  ), leased as (
    update app.jobs j set status = 'running', attempts = j.attempts + 1, lease_until = now() + lease,
      lease_token = gen_random_uuid()
    from due where j.id = due.id
    returning j.*
  )
  select coalesce(jsonb_agg(jsonb_build_object('id', l.id, 'tenant_id', l.tenant_id, 'kind', l.kind,
    'payload', l.payload, 'attempts', l.attempts, 'lease_token', l.lease_token, 'trace_context', l.trace_context) order by l.id), '[]')
  into v_jobs from leased l;
  return v_jobs;
end $function$;

CREATE VIEW "delivery"."recipient_answers_list" WITH (security_invoker=true) AS  SELECT r.id,
    r.tenant_id,
    r.delivery_id,
    p.delivery_code,
    p.status AS delivery_status,
    r.wanted_day,
    r.note,
    r.latitude,
    r.longitude,
    r.answered_at,
    r.times
   FROM (delivery.recipient_answers r
     LEFT JOIN LATERAL ( SELECT t.id,
            t.tenant_id,
            t.delivery_code,
            t.barcode,
            t.external_reference_id,
            t.parent_id,
            t.original_delivery_id,
            t.leg,
            t.sequence_plan,
            t.delivery_flow,
            t.status,
            t.customer_id,
            t.institution_user_id,
            t.delivery_service_id,
            t.carrier_type,
            t.carrier_code,
            t.payer_type,
            t.payment_method,
            t.cod_amount,
            t.delivery_fee,
            t.currency,
            t.unit_size,
            t.unit_size_source,
            t.package_details,
            t.distance_km,
            t.pickup_address_id,
            t.dropoff_address_id,
            t.pickup_snapshot,
            t.dropoff_snapshot,
            t.pickup_zone_id,
            t.dropoff_zone_id,
            t.pickup_warehouse_id,
            t.dropoff_warehouse_id,
            t.transfer_kind,
            t.ordered_to_warehouse_id,
            t.ordered_from_address_id,
            t.ordered_from_snapshot,
            t.ordered_from_warehouse_id,
            t.current_warehouse_id,
            t.staging_warehouse_id,
            t.recipient,
            t.notes,
            t.service_snapshot,
            t.order_id,
            t.manifest_id,
            t.manifest_item_id,
            t.source_snapshot,
            t.snapshot_version,
            t.label_edition,
            t.label_outdated,
            t.label_assignment,
            t.status_reason,
            t.status_notes,
            t.attempts_used,
            t.promised_at,
            t.picked_up_at,
            t.delivered_at,
            t.created_by,
            t.created_at,
            t.updated_at,
            t.changed,
            t.deliver_after,
            t.deliver_before,
            t.ordered_cod_amount,
            t.attempts_exhausted,
            t.returns_part,
            t.postponed_to,
            t.overnight_notice_at,
            t.made_at_door,
            t.delivered_in_part
           FROM (delivery.deliveries d
             CROSS JOIN LATERAL delivery.parcel_terms(d.*) t(id, tenant_id, delivery_code, barcode, external_reference_id, parent_id, original_delivery_id, leg, sequence_plan, delivery_flow, status, customer_id, institution_user_id, delivery_service_id, carrier_type, carrier_code, payer_type, payment_method, cod_amount, delivery_fee, currency, unit_size, unit_size_source, package_details, distance_km, pickup_address_id, dropoff_address_id, pickup_snapshot, dropoff_snapshot, pickup_zone_id, dropoff_zone_id, pickup_warehouse_id, dropoff_warehouse_id, transfer_kind, ordered_to_warehouse_id, ordered_from_address_id, ordered_from_snapshot, ordered_from_warehouse_id, current_warehouse_id, staging_warehouse_id, recipient, notes, service_snapshot, order_id, manifest_id, manifest_item_id, source_snapshot, snapshot_version, label_edition, label_outdated, label_assignment, status_reason, status_notes, attempts_used, promised_at, picked_up_at, delivered_at, created_by, created_at, updated_at, changed, deliver_after, deliver_before, ordered_cod_amount, attempts_exhausted, returns_part, postponed_to, overnight_notice_at, made_at_door, delivered_in_part))
          WHERE ((d.tenant_id = r.tenant_id) AND ((d.id = r.delivery_id) OR (d.parent_id = r.delivery_id)))
         LIMIT 1) p ON (true));

GRANT SELECT ON TABLE "delivery"."recipient_answers_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130222730';
end $$;

grant execute on function private.schema_version() to barid_api;
