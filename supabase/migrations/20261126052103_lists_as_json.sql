-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.assignments_list, money.cod_collections_list in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "delivery"."assignments_list";

DROP VIEW "money"."cod_collections_list";

CREATE OR REPLACE FUNCTION delivery.assignment_stats()
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_recent bigint := (select count(*) from delivery.assignments a
    where a.tenant_id = v_tenant and a.assignment_time >= now() - interval '24 hours');
begin
  if app.sees_tenant() then
    return (
      select jsonb_build_object('totalAssignments', coalesce(sum((s.kept ->> 'entries')::bigint), 0),
        'pendingAssignments', coalesce(sum((s.kept ->> 'entries')::bigint) filter (where s.status = 'pending'), 0),
        'completedAssignments', coalesce(sum((s.kept ->> 'entries')::bigint) filter (where s.status = 'completed'), 0),
        'recentlyAddedCount', v_recent)
      from jsonb_each(app.tally_by('assignments', 'status')) s (status, kept));
  end if;
  return (
    select jsonb_build_object('totalAssignments', count(*), 'pendingAssignments', count(*) filter (where a.status = 'pending'),
      'completedAssignments', count(*) filter (where a.status = 'completed'), 'recentlyAddedCount', v_recent)
    from delivery.assignments a where a.tenant_id = v_tenant and a.driver_id = app.user_id());
end $function$;

CREATE VIEW "delivery"."assignments_list" WITH (security_invoker=true) AS  SELECT id,
    tenant_id,
    delivery_id,
    driver_id,
    vehicle_id,
    bulk_assignment_id,
    assigned_by AS assigned_by_id,
    assignment_time,
    status,
    status AS assignment_status,
    (status = 'pending'::text) AS requires_driver_response,
    sequence_number,
    estimated_pickup_time,
    estimated_delivery_time,
    notes,
    responded_at,
    response_reason,
    ( SELECT json_build_object('id', d.id, 'delivery_code', d.delivery_code, 'external_reference_id', d.external_reference_id, 'customer', ( SELECT json_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone) AS json_build_object
                   FROM tenancy.profiles p
                  WHERE (p.id =
                        CASE
                            WHEN (d.customer_id IS NULL) THEN d.institution_user_id
                            ELSE d.customer_id
                        END)), 'barcode', d.barcode, 'parent_id', d.parent_id, 'leg', d.leg, 'postponed_to', d.postponed_to, 'cod_amount', d.cod_amount, 'delivery_fee', d.delivery_fee, 'currency', d.currency, 'cash_due', d.cash_due, 'parcel', d.parcel, 'sender', d.sender, 'recipient', d.recipient) AS json_build_object
           FROM delivery.deliveries_list d
          WHERE ((d.tenant_id = a.tenant_id) AND (d.id = a.delivery_id))) AS delivery,
    json_build_object('id', driver_id, 'user', ( SELECT json_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone) AS json_build_object
           FROM tenancy.profiles p
          WHERE (p.id = a.driver_id))) AS drivers,
    ( SELECT json_build_object('id', v.id, 'name', v.name, 'image_url', v.image_url) AS json_build_object
           FROM delivery.vehicles v
          WHERE ((v.tenant_id = a.tenant_id) AND (v.id = a.vehicle_id))) AS vehicle,
    ( SELECT json_build_object('id', p.id, 'full_name', p.full_name) AS json_build_object
           FROM tenancy.profiles p
          WHERE (p.id = a.assigned_by)) AS assigned_by,
    ( SELECT json_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone, 'email', p.email) AS json_build_object
           FROM (delivery.deliveries d
             JOIN tenancy.profiles p ON ((p.id =
                CASE
                    WHEN (d.customer_id IS NULL) THEN d.institution_user_id
                    ELSE d.customer_id
                END)))
          WHERE ((d.tenant_id = a.tenant_id) AND (d.id = a.delivery_id))) AS customer,
    ( SELECT json_build_object('status', d.status, 'barcode', d.barcode, 'parent_id', d.parent_id, 'leg', d.leg, 'delivery_flow', d.delivery_flow, 'unit_size', d.unit_size, 'payer_type', d.payer_type, 'payment_method', d.payment_method, 'notes', d.notes, 'pickup',
                CASE
                    WHEN (a.from_warehouse_id IS NULL) THEN d.pickup_address
                    ELSE delivery.warehouse_place(a.tenant_id, a.from_warehouse_id, d.pickup_address)
                END, 'dropoff',
                CASE
                    WHEN (a.to_warehouse_id IS NULL) THEN d.dropoff_address
                    ELSE delivery.warehouse_place(a.tenant_id, a.to_warehouse_id, d.dropoff_address)
                END, 'promised_at', d.promised_at, 'deliver_after', d.deliver_after, 'deliver_before', d.deliver_before, 'picked_up_at', d.picked_up_at, 'cod_amount', d.cod_amount, 'delivery_fee', d.delivery_fee, 'currency', d.currency, 'cash_due', d.cash_due, 'parcel', d.parcel, 'sender', d.sender, 'recipient',
                CASE
                    WHEN (a.to_warehouse_id IS NULL) THEN d.recipient
                    ELSE '{}'::jsonb
                END) AS json_build_object
           FROM delivery.deliveries_list d
          WHERE ((d.tenant_id = a.tenant_id) AND (d.id = a.delivery_id))) AS delivery_details,
    route_details AS route
   FROM delivery.assignments a;

CREATE VIEW "money"."cod_collections_list" WITH (security_invoker=true) AS  SELECT c.id,
    c.delivery_id,
    c.driver_id,
    c.amount,
    c.currency,
    json_build_object('cod', c.cod_amount, 'delivery_fee', c.delivery_fee_amount) AS allocations,
    c.cod_amount,
    c.delivery_fee_amount,
    c.collection_stage,
    c.status,
    c.collected_at,
    c.remitted_at,
    c.settled_at,
    c.delivery_code,
    c.leg_codes,
    c.receiver_name,
    json_build_object('delivery_number', c.delivery_number, 'customer_name', c.customer_name, 'delivery_address', c.delivery_address, 'receiver_name', c.receiver_name) AS delivery_details,
    json_build_object('full_name', p.full_name, 'email', p.email, 'avatar', p.avatar_url) AS driver_info,
    c.remitted_to_user_id,
    c.settlement_payment_id,
    c.external_reference_id,
    c.reversed_at,
    c.customer_name,
    c.delivery_address,
    p.full_name AS driver_name
   FROM (money.cod_collections c
     LEFT JOIN tenancy.profiles p ON ((p.id = c.driver_id)));

REVOKE ALL ON FUNCTION "delivery"."assignment_stats"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."assignment_stats"() TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."assignments_list" TO "barid_caller";

GRANT SELECT ON TABLE "money"."cod_collections_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126052103';
end $$;

grant execute on function private.schema_version() to barid_api;
