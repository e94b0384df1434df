-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      alter view delivery.ended_deliveries reset (security_barrier);
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

DROP VIEW "delivery"."ended_deliveries";

CREATE VIEW "delivery"."ended_deliveries" WITH (security_invoker=true) AS  SELECT d.tenant_id,
    d.id AS delivery_id,
    a.driver_id,
    d.created_at,
    (NOT ((d.delivery_flow = 'pnd_inbound'::text) AND (d.status = 'delivered'::text))) AS counted,
    ((d.parent_id IS NOT NULL) AND (d.picked_up_at IS NOT NULL)) AS handled_leg,
    (d.status = 'delivered'::text) AS successful,
        CASE
            WHEN (d.status = 'delivered'::text) THEN (t.delivered_at <= COALESCE(d.promised_at,
            CASE
                WHEN (d.dropoff_warehouse_id IS NULL) THEN p.promised_at
                ELSE NULL::timestamp with time zone
            END))
            ELSE NULL::boolean
        END AS on_time,
        CASE
            WHEN (d.status = 'delivered'::text) THEN round((EXTRACT(epoch FROM (t.delivered_at - t.picked_up_at)) / (60)::numeric), 2)
            ELSE NULL::numeric
        END AS minutes,
        CASE
            WHEN ((d.status <> 'cancelled'::text) OR (d.picked_up_at IS NOT NULL)) THEN COALESCE(round(((a.route_details ->> 'distance_km'::text))::numeric, 3), d.distance_km)
            ELSE NULL::numeric
        END AS distance_km,
        CASE
            WHEN ((d.status = 'delivered'::text) AND ((d.parent_id IS NULL) OR (d.dropoff_warehouse_id IS NULL))) THEN
            CASE
                WHEN ((d.order_id IS NOT NULL) AND (d.cod_amount > (0)::numeric)) THEN d.cod_amount
                ELSE COALESCE((p.cod_amount + p.delivery_fee), (d.cod_amount + d.delivery_fee))
            END
            ELSE (0)::numeric
        END AS value
   FROM ((((delivery.deliveries d
     LEFT JOIN delivery.deliveries p ON (((p.tenant_id = d.tenant_id) AND (p.id = d.parent_id))))
     CROSS JOIN LATERAL ( SELECT a_1.driver_id,
            a_1.route_details,
            a_1.status,
            a_1.assignment_time
           FROM delivery.assignments a_1
          WHERE ((a_1.tenant_id = d.tenant_id) AND (a_1.delivery_id = d.id) AND (a_1.status <> 'rejected'::text))
          ORDER BY a_1.assignment_time DESC, a_1.id DESC
         LIMIT 1) a)
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN (d.picked_up_at IS NOT NULL) THEN LEAST(d.picked_up_at, ( SELECT h.occurred_at
                       FROM delivery.delivery_status_history h
                      WHERE ((h.tenant_id = d.tenant_id) AND (h.delivery_id = d.id) AND (h.to_status = 'picked_up'::text) AND (h.from_status = ANY (ARRAY['assigned'::text, 'accepted'::text])))
                      ORDER BY h.id DESC
                     LIMIT 1))
                    ELSE NULL::timestamp with time zone
                END AS picked_up_at) f)
     CROSS JOIN LATERAL ( SELECT f.picked_up_at,
            GREATEST(f.picked_up_at, LEAST(d.delivered_at, ( SELECT h.occurred_at
                   FROM delivery.delivery_status_history h
                  WHERE ((h.tenant_id = d.tenant_id) AND (h.delivery_id = d.id) AND (h.to_status = 'delivered'::text))
                  ORDER BY h.id DESC
                 LIMIT 1))) AS delivered_at) t)
  WHERE ((d.status = ANY (ARRAY['delivered'::text, 'failed'::text, 'returned'::text, 'cancelled'::text])) AND (d.carrier_type = 'internal'::text) AND ((a.status <> 'returned'::text) OR (d.status = 'cancelled'::text) OR ((d.status <> 'delivered'::text) AND ((d.picked_up_at >= a.assignment_time) OR ( SELECT (h.to_status = ANY (ARRAY['picked_up'::text, 'in_transit'::text, 'failed'::text, 'delivered'::text]))
           FROM delivery.delivery_status_history h
          WHERE ((h.tenant_id = d.tenant_id) AND (h.delivery_id = d.id) AND (h.created_at <= a.assignment_time))
          ORDER BY h.id DESC
         LIMIT 1)))) AND (NOT (d.made_at_door AND (d.status = 'cancelled'::text) AND (NOT (d.status_reason IS DISTINCT FROM 'outcome_undone'::text)))) AND ((d.status <> 'cancelled'::text) OR ( SELECT (h.from_status <> ALL (ARRAY['draft'::text, 'pending'::text]))
           FROM delivery.delivery_status_history h
          WHERE ((h.tenant_id = d.tenant_id) AND (h.delivery_id = d.id) AND (h.to_status = 'cancelled'::text))
          ORDER BY h.id DESC
         LIMIT 1)));

-- Figures of before are counted anew, by the times that were reported.
update delivery.performance_state set rebuild_asked_at = clock_timestamp();

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128134338';
end $$;

grant execute on function private.schema_version() to barid_api;
