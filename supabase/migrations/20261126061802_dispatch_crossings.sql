-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.ended_deliveries in access exclusive mode;
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

CREATE OR REPLACE FUNCTION delivery.assignment_bulk_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_dry boolean := coalesce((input ->> 'dry_run')::boolean, false);
  v_ids uuid[] := app.uuids(input -> 'delivery_ids');
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_replaces boolean := coalesce((input ->> 'replace_offer')::boolean, false);
  v_plan jsonb;
begin
  if v_dry and v_replaces then
    begin
      perform delivery.offers_withdraw(v_ids, v_driver);
      v_plan := delivery.assignments_plan(v_ids, v_driver, null, false);
      raise exception using errcode = 'DRYRN';
    exception when sqlstate 'DRYRN' then
      return delivery.assignments_preview(v_plan);
    end;
  elsif v_dry then
    return delivery.assignments_preview(delivery.assignments_plan(v_ids, v_driver, null, false));
  elsif v_replaces then
    perform delivery.offers_withdraw(v_ids, v_driver);
  end if;
  v_plan := delivery.assignments_plan(v_ids, v_driver, null, true);
  perform delivery.assignments_demand(v_plan, 'delivery_ids');
  return delivery.bulk_made(v_plan, delivery.assignments_write(v_plan, '{"bulk": true}'));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_operational_return(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  v_made record;
begin
  if d.delivery_flow not in ('pnd_outbound', 'pnd_inbound', 'standard') or d.current_warehouse_id is null then
    perform app.fail('delivery_not_in_warehouse', coalesce(delivery.transfer_under_way(d), '{}'));
  end if;
  perform delivery.require_move(d, case d.delivery_flow when 'pnd_inbound' then '{returned}'::text[] else '{pending,returned}' end, 'returned');
  if d.delivery_flow = 'standard' and d.current_warehouse_id = (delivery.return_destination(d, input)).warehouse_id then
    perform app.fail('invalid_status_transition',
      jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_lies_at_sender'));
  end if;
  if d.status = 'pending' then
    update delivery.deliveries x set status_reason = input ->> 'reason', status_notes = input ->> 'notes'
    where x.tenant_id = d.tenant_id and x.id = d.id;
    -- No driver is looked for who would bring it on.
    update delivery.driver_searches s set status = 'off', next_attempt_at = null
    where s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status in ('searching', 'failed');
  end if;
  v_made := delivery.operational_return_make(d, input);
  perform delivery.operational_return_shelve(v_made.id, v_made.picks);
  return delivery.delivery_created_to_json(v_made.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.parcels_in_hand(driver uuid)
 RETURNS bigint[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return array(
    select h.delivery_code from (
      select d.delivery_code, d.status from delivery.assignments a
      join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
      where a.tenant_id = app.tenant_id() and a.driver_id = driver and a.status in ('pending', 'assigned', 'accepted')
        and (a.status <> 'pending' or a.handed_over_from is null)
      union all
      -- A parcel that is being handed over is in the hands of the driver who gives it.
      select d.delivery_code, d.status from delivery.assignments a
      join delivery.assignments g on g.tenant_id = a.tenant_id and g.id = a.handed_over_from
      join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
      where a.tenant_id = app.tenant_id() and a.status = 'pending' and g.driver_id = driver
    ) h
    where h.status in ('picked_up', 'in_transit', 'failed', 'returned')
    order by h.delivery_code);
end $function$;

CREATE OR REPLACE FUNCTION delivery.searches_follow_deliveries()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_over uuid[];
  v_open boolean;
begin
  if tg_op = 'INSERT' then
    if (delivery.auto_assignment_settings()).enabled then
      perform delivery.searches_begin(array(select n.id from new_rows n
        where n.tenant_id = app.tenant_id() and n.status = 'pending' and delivery.is_auto_assignable(n)));
    end if;
    return null;
  end if;
  select array_agg(n.id) filter (where (n.status not in ('pending', 'assigned', 'accepted') or n.carrier_type <> 'internal')
      and (n.status <> o.status or n.carrier_type <> o.carrier_type)),
    coalesce(bool_or(n.status = 'pending' and n.postponed_to is null
      and (o.status not in ('pending', 'assigned', 'accepted') or o.postponed_to is not null or o.carrier_type <> n.carrier_type)), false)
  into v_over, v_open
  from new_rows n join old_rows o on o.id = n.id;
  if v_over is not null then
    update delivery.driver_searches s set status = 'off', next_attempt_at = null
    from new_rows n
    where n.id = any (v_over) and s.tenant_id = n.tenant_id and s.delivery_id = n.id and s.status in ('searching', 'offered', 'failed');
  end if;
  -- Deliveries that drivers lose before pickup are the affair of their assignments.
  if v_open and (delivery.auto_assignment_settings()).enabled then
    perform delivery.searches_begin(array(select n.id from new_rows n join old_rows o on o.id = n.id
      where n.tenant_id = app.tenant_id() and n.status = 'pending' and n.postponed_to is null
        and (o.status not in ('pending', 'assigned', 'accepted') or o.postponed_to is not null or o.carrier_type <> n.carrier_type)
        and delivery.is_auto_assignable(n)));
  end if;
  return null;
end $function$;

CREATE VIEW "delivery"."ended_deliveries" WITH (security_invoker=true) AS  SELECT d.tenant_id,
    d.id AS delivery_id,
    a.driver_id,
    d.created_at,
    (NOT ((d.delivery_flow = 'pnd_inbound'::text) AND (d.status = 'delivered'::text))) AS counted,
    ((d.parent_id IS NOT NULL) AND (d.picked_up_at IS NOT NULL)) AS handled_leg,
    (d.status = 'delivered'::text) AS successful,
        CASE
            WHEN (d.status = 'delivered'::text) THEN (d.delivered_at <= COALESCE(d.promised_at,
            CASE
                WHEN (d.dropoff_warehouse_id IS NULL) THEN p.promised_at
                ELSE NULL::timestamp with time zone
            END))
            ELSE NULL::boolean
        END AS on_time,
        CASE
            WHEN (d.status = 'delivered'::text) THEN round((EXTRACT(epoch FROM (d.delivered_at - d.picked_up_at)) / (60)::numeric), 2)
            ELSE NULL::numeric
        END AS minutes,
        CASE
            WHEN ((d.status <> 'cancelled'::text) OR (d.picked_up_at IS NOT NULL)) THEN COALESCE(round(((a.route_details ->> 'distance_km'::text))::numeric, 3), d.distance_km)
            ELSE NULL::numeric
        END AS distance_km,
        CASE
            WHEN ((d.status = 'delivered'::text) AND ((d.parent_id IS NULL) OR (d.dropoff_warehouse_id IS NULL))) THEN COALESCE((p.cod_amount + p.delivery_fee), (d.cod_amount + d.delivery_fee))
            ELSE (0)::numeric
        END AS value
   FROM ((delivery.deliveries d
     LEFT JOIN delivery.deliveries p ON (((p.tenant_id = d.tenant_id) AND (p.id = d.parent_id))))
     CROSS JOIN LATERAL ( SELECT a_1.driver_id,
            a_1.route_details,
            a_1.status,
            a_1.assignment_time
           FROM delivery.assignments a_1
          WHERE ((a_1.tenant_id = d.tenant_id) AND (a_1.delivery_id = d.id) AND (a_1.status <> 'rejected'::text))
          ORDER BY a_1.assignment_time DESC, a_1.id DESC
         LIMIT 1) a)
  WHERE ((d.status = ANY (ARRAY['delivered'::text, 'failed'::text, 'returned'::text, 'cancelled'::text])) AND (d.carrier_type = 'internal'::text) AND ((a.status <> 'returned'::text) OR (d.status = 'cancelled'::text) OR ((d.status <> 'delivered'::text) AND ((d.picked_up_at >= a.assignment_time) OR ( SELECT (h.to_status = ANY (ARRAY['picked_up'::text, 'in_transit'::text, 'failed'::text, 'delivered'::text]))
           FROM delivery.delivery_status_history h
          WHERE ((h.tenant_id = d.tenant_id) AND (h.delivery_id = d.id) AND (h.created_at <= a.assignment_time))
          ORDER BY h.id DESC
         LIMIT 1)))) AND ((d.status <> 'cancelled'::text) OR ( SELECT (h.from_status <> ALL (ARRAY['draft'::text, 'pending'::text]))
           FROM delivery.delivery_status_history h
          WHERE ((h.tenant_id = d.tenant_id) AND (h.delivery_id = d.id) AND (h.to_status = 'cancelled'::text))
          ORDER BY h.id DESC
         LIMIT 1)));

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126061802';
end $$;

grant execute on function private.schema_version() to barid_api;
