-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.assignments_list, delivery.deliveries_carried, delivery.deliveries_list, delivery.handoffs_list in access exclusive mode;
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

DROP VIEW "delivery"."handoffs_list";

DROP VIEW "delivery"."deliveries_carried";

DROP VIEW "delivery"."deliveries_list";

CREATE VIEW "delivery"."deliveries_list" WITH (security_invoker=true) AS  SELECT id,
    tenant_id,
    delivery_code,
    barcode,
    external_reference_id,
    status,
    status_reason,
    status_notes,
    delivery_flow,
    parent_id,
    leg,
    sequence_plan,
    original_delivery_id,
    (parent_id IS NOT NULL) AS is_leg,
    customer_id,
    institution_user_id,
        CASE
            WHEN (customer_id IS NOT NULL) THEN COALESCE(( SELECT jsonb_build_object('id', c.id, 'full_name', c.full_name, 'phone', c.phone) AS jsonb_build_object
               FROM tenancy.people c
              WHERE (c.id = d.customer_id)), jsonb_build_object('id', customer_id, 'full_name', NULL::unknown, 'phone', NULL::unknown))
            ELSE NULL::jsonb
        END AS customer,
        CASE
            WHEN (institution_user_id IS NOT NULL) THEN COALESCE(( SELECT jsonb_build_object('id', i.id, 'full_name', i.full_name, 'phone', i.phone) AS jsonb_build_object
               FROM tenancy.people i
              WHERE (i.id = d.institution_user_id)), jsonb_build_object('id', institution_user_id, 'full_name', NULL::unknown, 'phone', NULL::unknown))
            ELSE NULL::jsonb
        END AS institution,
    delivery_service_id,
    jsonb_build_object('id', delivery_service_id, 'code', (service_snapshot ->> 'code'::text), 'name', COALESCE(NULLIF((service_snapshot #>> ARRAY['name'::text, ( SELECT app.language() AS language)]), ''::text), app.localized((service_snapshot -> 'name'::text)))) AS delivery_service,
    carrier_type,
    carrier_code,
    payer_type,
    payment_method,
        CASE
            WHEN (parent_id IS NULL) THEN delivery_fee
            ELSE ((delivery.due_on(d.*) ->> 'delivery_fee'::text))::numeric
        END AS price,
        CASE
            WHEN (parent_id IS NULL) THEN delivery_fee
            ELSE ((delivery.due_on(d.*) ->> 'delivery_fee'::text))::numeric
        END AS delivery_fee,
        CASE
            WHEN (parent_id IS NULL) THEN cod_amount
            ELSE ((delivery.due_on(d.*) ->> 'cod_amount'::text))::numeric
        END AS cod_amount,
        CASE
            WHEN (parent_id IS NULL) THEN COALESCE(ordered_cod_amount, cod_amount)
            ELSE delivery.cod_ordered_on(d.*)
        END AS ordered_cod_amount,
    currency,
    money.cash_due_on(d.*) AS cash_due,
        CASE
            WHEN (parent_id IS NOT NULL) THEN delivery.parcel_of_leg_to_json(d.*)
            ELSE NULL::jsonb
        END AS parcel,
    unit_size,
    unit_size_source,
    distance_km,
    pickup_address_id,
    dropoff_address_id,
    pickup_snapshot AS pickup_address,
    dropoff_snapshot AS dropoff_address,
    pickup_zone_id,
    dropoff_zone_id,
    pickup_warehouse_id,
    dropoff_warehouse_id,
    current_warehouse_id,
        CASE
            WHEN ((delivery_flow = 'pnd_outbound'::text) OR ((delivery_flow = 'operational_return'::text) AND (pickup_warehouse_id IS NOT NULL))) THEN NULL::jsonb
            WHEN (((source_snapshot #>> '{source,institution,full_name}'::text[]) IS NOT NULL) AND ((source_snapshot #>> '{source,institution,phone}'::text[]) IS NOT NULL)) THEN jsonb_build_object('name', (source_snapshot #> '{source,institution,full_name}'::text[]), 'phone', (source_snapshot #> '{source,institution,phone}'::text[]))
            WHEN (order_id IS NOT NULL) THEN ( SELECT jsonb_build_object('name', app.localized(t.name), 'phone', (t.contact_info ->> 'phone'::text)) AS jsonb_build_object
               FROM tenancy.tenants t
              WHERE (t.id = ( SELECT app.tenant_id() AS tenant_id)))
            ELSE ( SELECT jsonb_build_object('name', COALESCE((d.source_snapshot #>> '{source,institution,full_name}'::text[]), s.full_name, ( SELECT app.localized(t.name) AS localized
                       FROM tenancy.tenants t
                      WHERE (t.id = ( SELECT app.tenant_id() AS tenant_id)))), 'phone', COALESCE((d.source_snapshot #>> '{source,institution,phone}'::text[]), s.phone)) AS jsonb_build_object
               FROM (( SELECT
                            CASE
                                WHEN (d.institution_user_id IS NULL) THEN d.customer_id
                                ELSE d.institution_user_id
                            END AS id) o
                 LEFT JOIN tenancy.people s ON ((s.id = o.id))))
        END AS sender,
        CASE
            WHEN (delivery_flow = 'pnd_inbound'::text) THEN jsonb_strip_nulls(jsonb_build_object('received_by', (recipient -> 'received_by'::text)))
            ELSE recipient
        END AS recipient,
    notes,
    manifest_id,
    attempts_used,
    ( SELECT jsonb_build_object('id', x.id, 'status', x.status, 'driver_id', x.driver_id, 'driver', jsonb_build_object('id', x.driver_id, 'full_name', p.full_name, 'phone', p.phone), 'vehicle_id', x.vehicle_id, 'assignment_time', x.assignment_time) AS jsonb_build_object
           FROM (delivery.assignments x
             LEFT JOIN tenancy.people p ON ((p.id = x.driver_id)))
          WHERE ((x.tenant_id = d.tenant_id) AND (x.delivery_id = d.id) AND (x.status <> 'rejected'::text))
          ORDER BY (x.status = ANY (ARRAY['pending'::text, 'assigned'::text, 'accepted'::text])) DESC, x.assignment_time DESC
         LIMIT 1) AS assignment,
    promised_at,
    picked_up_at,
    delivered_at,
    created_by,
    created_at,
    updated_at,
    deliver_after,
    deliver_before,
    postponed_to,
    delivered_in_part
   FROM delivery.deliveries d;

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
                   FROM tenancy.people p
                  WHERE (p.id =
                        CASE
                            WHEN (d.customer_id IS NULL) THEN d.institution_user_id
                            ELSE d.customer_id
                        END)), 'barcode', d.barcode, 'parent_id', d.parent_id, 'leg', d.leg, 'postponed_to', d.postponed_to, 'cod_amount', d.cod_amount, 'delivery_fee', d.delivery_fee, 'currency', d.currency, 'cash_due', d.cash_due, 'parcel', d.parcel, 'sender', d.sender, 'recipient', d.recipient) AS json_build_object
           FROM delivery.deliveries_list d
          WHERE ((d.tenant_id = a.tenant_id) AND (d.id = a.delivery_id))) AS delivery,
    json_build_object('id', driver_id, 'user', ( SELECT json_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone) AS json_build_object
           FROM tenancy.people p
          WHERE (p.id = a.driver_id))) AS drivers,
    ( SELECT json_build_object('id', v.id, 'name', v.name, 'image_url', v.image_url) AS json_build_object
           FROM delivery.vehicles v
          WHERE ((v.tenant_id = a.tenant_id) AND (v.id = a.vehicle_id))) AS vehicle,
    ( SELECT json_build_object('id', p.id, 'full_name', p.full_name) AS json_build_object
           FROM tenancy.profiles p
          WHERE (p.id = a.assigned_by)) AS assigned_by,
    ( SELECT json_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone, 'email', p.email) AS json_build_object
           FROM (delivery.deliveries d
             JOIN tenancy.people p ON ((p.id =
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

CREATE VIEW "delivery"."deliveries_carried" WITH (security_invoker=true) AS  SELECT id,
    tenant_id,
    jsonb_build_object('cod_amount', cod_amount, 'delivery_fee', delivery_fee, 'currency', currency, 'cash_due', cash_due, 'parcel', parcel, 'sender', sender, 'recipient', recipient) AS carried
   FROM delivery.deliveries_list d;

CREATE VIEW "delivery"."handoffs_list" WITH (security_invoker=true) AS  SELECT h.id,
    h.tenant_id,
    h.delivery_id,
    h.picking_order_id,
    h.assignment_id,
    h.driver_id,
    h.status,
    h.custody,
    h.warehouse_id,
    h.completed_at,
    h.created_at,
    h.updated_at,
    (jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode, 'status', d.status, 'delivery_flow', d.delivery_flow, 'parent_id', d.parent_id, 'leg', d.leg) || ( SELECT c.carried
           FROM delivery.deliveries_carried c
          WHERE ((c.tenant_id = h.tenant_id) AND (c.id = h.delivery_id)))) AS delivery,
    jsonb_build_object('id', w.id, 'name', w.name, 'code', w.code) AS warehouse,
        CASE
            WHEN (h.driver_id IS NOT NULL) THEN jsonb_build_object('id', h.driver_id, 'full_name', p.full_name)
            ELSE NULL::jsonb
        END AS driver
   FROM (((delivery.package_handoffs h
     LEFT JOIN delivery.deliveries d ON (((d.tenant_id = h.tenant_id) AND (d.id = h.delivery_id))))
     LEFT JOIN warehousing.warehouses w ON (((w.tenant_id = h.tenant_id) AND (w.id = h.warehouse_id))))
     LEFT JOIN tenancy.profiles p ON ((p.id = h.driver_id)));

GRANT SELECT ON TABLE "delivery"."assignments_list" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."deliveries_carried" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."deliveries_list" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."handoffs_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126192251';
end $$;

grant execute on function private.schema_version() to barid_api;
