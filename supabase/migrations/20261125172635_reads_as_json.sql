-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.assignments_list, delivery.deliveries_list, delivery.handoffs_list in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "delivery"."assignments_list";

DROP VIEW "delivery"."deliveries_list";

DROP VIEW "delivery"."handoffs_list";

DROP FUNCTION "delivery"."cash_due_on"(delivery.deliveries);

DROP FUNCTION "delivery"."recipient_of"(delivery.deliveries);

DROP FUNCTION "private"."call"(jsonb, jsonb, text, jsonb);

DROP FUNCTION "private"."read"(jsonb, jsonb, text, jsonb);

CREATE OR REPLACE FUNCTION app.language()
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce(nullif(current_setting('app.language', true), ''), 'en');
end $function$;

CREATE OR REPLACE FUNCTION app.localized(translations jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce(
    nullif(translations ->> app.language(), ''),
    nullif(translations ->> 'en', ''),
    (select t.value from jsonb_each_text(translations) t where t.value <> '' order by t.key limit 1));
end $function$;

CREATE OR REPLACE FUNCTION app.tally(tally text, wanted jsonb DEFAULT '{}'::jsonb, of_all boolean DEFAULT false)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  v_kind app.tally_kinds;
  v_tenant uuid := app.tenant_id();
  v_answer jsonb;
begin
  select k.* into v_kind from app.tally_kinds k where k.tally = tally;
  if v_kind.tally is null or exists (select from jsonb_object_keys(wanted) w (name) where w.name <> all (v_kind.dims)) then
    raise exception '% is not counted by %', tally, wanted;
  end if;
  if v_tenant is null or of_all then
    return (
      select jsonb_build_object('entries', coalesce(sum(t.entries), 0), 'amount', coalesce(sum(t.amount), 0))
      from app.tallies t
      where t.tally = tally
        and not exists (
          select from unnest(v_kind.dims, t.dims) d (name, value)
          where wanted ? d.name and lower(d.value) is distinct from lower(coalesce(wanted ->> d.name, ''))));
  end if;
  -- Most lists ask for all.
  if wanted = '{}' then
    select jsonb_build_object('entries', coalesce(sum(t.entries), 0), 'amount', coalesce(sum(t.amount), 0)) into v_answer
    from app.tallies t
    where t.tenant_id = v_tenant and t.tally = tally;
    return v_answer;
  end if;
  select jsonb_build_object('entries', coalesce(sum(t.entries), 0), 'amount', coalesce(sum(t.amount), 0)) into v_answer
  from app.tallies t
  where t.tenant_id = v_tenant and t.tally = tally
    and not exists (
      select from unnest(v_kind.dims, t.dims) d (name, value)
      where wanted ? d.name and lower(d.value) is distinct from lower(coalesce(wanted ->> d.name, '')));
  return v_answer;
end $function$;

CREATE OR REPLACE FUNCTION delivery.assignments_open(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_driver delivery.drivers := delivery.require_self_assignment();
  v_vehicle delivery.vehicles;
  v_seen delivery.driver_presence;
  v_zones uuid[] := array(select z.zone_id from delivery.driver_zones z where z.tenant_id = v_tenant and z.driver_id = v_driver.user_id);
  v_detour double precision;
  v_near jsonb;
  v_open uuid[];
begin
  select * into v_vehicle from delivery.vehicles v where v.tenant_id = v_tenant and v.id = v_driver.vehicle_id;
  select * into v_seen from delivery.driver_presence s where s.tenant_id = v_tenant and s.driver_id = v_driver.user_id;
  if delivery.driver_problem(v_driver, v_vehicle) is not null then
    return '{"rows": [], "total": 0}';
  end if;
  v_detour := delivery.detour_factor(v_seen.latitude);
  select jsonb_agg(jsonb_build_object('id', n.id, 'km', n.km) order by n.km nulls last, n.created_at, n.id) into v_near
  from (
    select d.id, d.created_at, delivery.way_to(v_seen.latitude, v_seen.longitude, delivery.fetched_at(d), v_detour) as km
    from delivery.deliveries d
    where d.tenant_id = v_tenant and d.status = 'pending' and d.postponed_to is null and d.carrier_type = 'internal' and d.delivery_flow <> 'pnd_parent'
      and d.unit_size <= v_vehicle.unit_capacity - v_driver.capacity_used
      and (v_driver.all_zones or d.pickup_zone_id = any (v_zones) and d.dropoff_zone_id = any (v_zones))
    order by km nulls last, d.created_at, d.id limit 300) n;
  -- Each by itself: whether there is room for all of them is not asked.
  v_open := array(
    select e.delivery_id from delivery.assignments_evaluate(array(select x.id from jsonb_to_recordset(v_near) x (id uuid)), v_driver.user_id, 'Infinity') e
    where e.code is null);
  return jsonb_build_object('total', cardinality(v_open), 'rows', (
    select coalesce(jsonb_agg(jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'delivery_flow', d.delivery_flow,
        'leg', d.leg, 'unit_size', d.unit_size, 'distance_km', round(o.km::numeric, 3),
        'pickup', delivery.place_without_people(delivery.fetched_at(d)), 'dropoff', delivery.place_without_people(delivery.brought_to(d)),
        'cash_due', money.cash_due_on(d), 'currency', d.currency, 'deliver_after', d.deliver_after, 'deliver_before', d.deliver_before,
        'promised_at', d.promised_at, 'created_at', d.created_at) order by o.km nulls last, d.created_at, d.id), '[]')
    from (
      select x.id, x.km from jsonb_to_recordset(v_near) x (id uuid, km double precision)
      join delivery.deliveries y on y.tenant_id = v_tenant and y.id = x.id
      where x.id = any (v_open)
      order by x.km nulls last, y.created_at, x.id limit (input ->> 'limit')::bigint offset (input ->> 'offset')::bigint) o
    join delivery.deliveries d on d.tenant_id = v_tenant and d.id = o.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.carried(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (select r.carried from delivery.deliveries_carried r where r.tenant_id = d.tenant_id and r.id = d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.sender_of(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (select r.sender from delivery.deliveries_list r where r.tenant_id = d.tenant_id and r.id = d.id);
end $function$;

CREATE OR REPLACE FUNCTION money.cash_due_on(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_cod numeric := d.cod_amount;
  v_fee numeric := d.delivery_fee;
  v_by_sender boolean := d.payer_type = 'sender';
  v_in_cash boolean := d.payment_method = 'cash' or (d.payment_method = 'gateway' and d.order_id is null);
  v_no_pickup boolean;
  v_no_door boolean;
  p delivery.deliveries;
begin
  -- Of a leg the terms are those of its parcel.
  if d.parent_id is not null then
    select x.* into p from delivery.deliveries x where x.tenant_id = v_tenant and x.id = d.parent_id;
    v_cod := p.cod_amount;
    v_fee := p.delivery_fee;
    v_by_sender := p.payer_type = 'sender';
    v_in_cash := p.payment_method = 'cash' or (p.payment_method = 'gateway' and p.order_id is null);
  end if;
  if not v_in_cash then
    v_fee := 0;
  end if;
  v_no_door := d.status in ('delivered', 'cancelled') or d.delivery_flow = 'pnd_inbound' or delivery.is_transferred(d);
  v_no_pickup := d.status = 'cancelled' or v_fee = 0 or not v_by_sender;
  if not v_no_pickup then
    v_no_pickup := exists (select from money.cod_collections c
      where c.tenant_id = v_tenant and c.delivery_id = coalesce(d.parent_id, d.id) and c.collection_stage = 'pickup' and c.reversed_at is null)
    or d.delivery_flow = 'pnd_outbound' and exists (select from delivery.deliveries a
      where a.tenant_id = v_tenant and a.parent_id = d.parent_id and a.delivery_flow = 'pnd_inbound'
        and a.status in ('draft', 'pending', 'assigned', 'accepted'));
  end if;
  return jsonb_build_object(
    'pickup', jsonb_build_object('cod', 0, 'delivery_fee', case when v_no_pickup then 0 else v_fee end, 'currency', coalesce(p.currency, d.currency)),
    'delivery', jsonb_build_object('cod', case when v_no_door then 0 else v_cod end,
      'delivery_fee', case when v_by_sender or v_no_door then 0 else v_fee end, 'currency', coalesce(p.currency, d.currency)));
end $function$;

CREATE OR REPLACE FUNCTION money.cash_to_take(d delivery.deliveries, stage text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_terms delivery.deliveries;
begin
  if d.parent_id is null then
    v_terms := delivery.parcel_terms(d);
    d.cod_amount := v_terms.cod_amount;
    d.delivery_fee := v_terms.delivery_fee;
  end if;
  return money.cash_due_on(d) -> case stage when 'dropoff' then 'delivery' else stage end;
end $function$;

CREATE OR REPLACE FUNCTION private.call(claims jsonb, rule jsonb, work text, input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_language text;
  v_answer jsonb;
  v_key text := claims ->> 'idempotency_key';
  v_refused private.refused;
begin
  v_language := private.enter(claims, rule);
  if v_key is not null then
    -- For cores that remember for longer than the engine does.
    perform set_config('app.idempotency_key', v_key, true);
    v_answer := private.idempotency_claim(claims ->> 'operation', v_key, input - 'made', coalesce(rule ->> 'conflict', 'idempotency_conflict'));
    if v_answer is not null then
      return json_build_object('data', v_answer, 'replayed', true, 'language', v_language, 'tenant', app.tenant_id(),
      'api_key', app.request_setting('api_key_id'), 'call_id', claims ->> 'call_id');
    end if;
  end if;
  if rule #> '{version,expected}' is not null then
    perform private.version_expect(rule -> 'version');
  end if;
  execute format('select %I.%I($1)', split_part(work, '.', 1), split_part(work, '.', 2)) into v_answer using input;
  if v_key is not null then
    perform private.idempotency_store(claims ->> 'operation', v_key, coalesce(v_answer, 'null'));
  end if;
  if not coalesce((rule ->> 'reads_only')::boolean, false) then
    -- A deferred constraint that fails at the commit would be an error outside of this block.
    set constraints all immediate;
  end if;
  return json_build_object('data', v_answer, 'language', v_language, 'tenant', app.tenant_id(),
      'api_key', app.request_setting('api_key_id'), 'call_id', claims ->> 'call_id',
    'version', case when rule ? 'version' then private.version_of(rule -> 'version') end,
    'jobs', coalesce(nullif(current_setting('app.jobs_queued', true), ''), 'off') = 'on',
    'events', coalesce(nullif(current_setting('app.events_queued', true), ''), 'off') = 'on');
exception when sqlstate 'RULE0' or integrity_constraint_violation or data_exception or insufficient_privilege then
  get stacked diagnostics v_refused.state = returned_sqlstate, v_refused.message = message_text, v_refused.detail = pg_exception_detail,
    v_refused.constraint_name = constraint_name, v_refused.context = pg_exception_context;
  if v_refused.message = 'internal_server_error' then
    raise;
  end if;
  return private.refusal(v_refused, claims)::json;
end $function$;

CREATE OR REPLACE FUNCTION private.read(claims jsonb, rule jsonb, statement text, params jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_language text;
  v_answer json;
  v_total bigint;
  v_refused private.refused;
begin
  v_language := private.enter(claims, rule);
  if params -> 'one_plan' is distinct from 'true' then
    execute statement into v_answer, v_total using params;
    if v_total is null and params ? 'count' then
      execute params ->> 'count' into v_total using params;
    end if;
  else
    perform set_config('plan_cache_mode', 'force_generic_plan', true);
    select k.answer, k.total into v_answer, v_total from private.read_kept(statement, params) k;
    if v_total is null and params ? 'count' then
      select k.total into v_total from private.read_kept('select null, (' || (params ->> 'count') || ')', params) k;
    end if;
  end if;
  return json_build_object('data', v_answer, 'total', v_total, 'language', v_language, 'tenant', app.tenant_id(),
      'api_key', app.request_setting('api_key_id'), 'call_id', claims ->> 'call_id',
    'version', case when rule ? 'version' then private.version_of(rule -> 'version') end);
exception when sqlstate 'RULE0' or integrity_constraint_violation or data_exception or insufficient_privilege then
  get stacked diagnostics v_refused.state = returned_sqlstate, v_refused.message = message_text, v_refused.detail = pg_exception_detail,
    v_refused.constraint_name = constraint_name, v_refused.context = pg_exception_context;
  if v_refused.message = 'internal_server_error' then
    raise;
  end if;
  return private.refusal(v_refused, claims)::json;
end $function$;

CREATE OR REPLACE FUNCTION private.read_kept(statement text, params jsonb, OUT answer json, OUT total bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_plan text := 'list_' || md5(statement);
begin
  execute format('execute %I (%L)', v_plan, params) into answer, total;
exception when invalid_sql_statement_name then
  perform private.plan_keep(v_plan, statement);
  execute format('execute %I (%L)', v_plan, params) into answer, total;
end $function$;

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
               FROM tenancy.profiles c
              WHERE (c.id = d.customer_id)), jsonb_build_object('id', customer_id, 'full_name', NULL::unknown, 'phone', NULL::unknown))
            ELSE NULL::jsonb
        END AS customer,
        CASE
            WHEN (institution_user_id IS NOT NULL) THEN COALESCE(( SELECT jsonb_build_object('id', i.id, 'full_name', i.full_name, 'phone', i.phone) AS jsonb_build_object
               FROM tenancy.profiles i
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
            ELSE ( SELECT jsonb_build_object('name', COALESCE((d.source_snapshot #>> '{source,institution,full_name}'::text[]), s.full_name, ( SELECT app.localized(t.name) AS localized
                       FROM tenancy.tenants t
                      WHERE (t.id = ( SELECT app.tenant_id() AS tenant_id)))), 'phone', COALESCE((d.source_snapshot #>> '{source,institution,phone}'::text[]), s.phone)) AS jsonb_build_object
               FROM (( SELECT
                            CASE
                                WHEN (d.institution_user_id IS NULL) THEN d.customer_id
                                ELSE d.institution_user_id
                            END AS id) o
                 LEFT JOIN tenancy.profiles s ON ((s.id = o.id))))
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
             LEFT JOIN tenancy.profiles p ON ((p.id = x.driver_id)))
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
    ( SELECT jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'external_reference_id', d.external_reference_id, 'customer', ( SELECT jsonb_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone) AS jsonb_build_object
                   FROM tenancy.profiles p
                  WHERE (p.id =
                        CASE
                            WHEN (d.customer_id IS NULL) THEN d.institution_user_id
                            ELSE d.customer_id
                        END)), 'barcode', d.barcode, 'parent_id', d.parent_id, 'leg', d.leg, 'postponed_to', d.postponed_to, 'cod_amount', d.cod_amount, 'delivery_fee', d.delivery_fee, 'currency', d.currency, 'cash_due', d.cash_due, 'parcel', d.parcel, 'sender', d.sender, 'recipient', d.recipient) AS jsonb_build_object
           FROM delivery.deliveries_list d
          WHERE ((d.tenant_id = a.tenant_id) AND (d.id = a.delivery_id))) AS delivery,
    jsonb_build_object('id', driver_id, 'user', ( SELECT jsonb_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone) AS jsonb_build_object
           FROM tenancy.profiles p
          WHERE (p.id = a.driver_id))) AS drivers,
    ( SELECT jsonb_build_object('id', v.id, 'name', v.name, 'image_url', v.image_url) AS jsonb_build_object
           FROM delivery.vehicles v
          WHERE ((v.tenant_id = a.tenant_id) AND (v.id = a.vehicle_id))) AS vehicle,
    ( SELECT jsonb_build_object('id', p.id, 'full_name', p.full_name) AS jsonb_build_object
           FROM tenancy.profiles p
          WHERE (p.id = a.assigned_by)) AS assigned_by,
    ( SELECT jsonb_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone, 'email', p.email) AS jsonb_build_object
           FROM (delivery.deliveries d
             JOIN tenancy.profiles p ON ((p.id =
                CASE
                    WHEN (d.customer_id IS NULL) THEN d.institution_user_id
                    ELSE d.customer_id
                END)))
          WHERE ((d.tenant_id = a.tenant_id) AND (d.id = a.delivery_id))) AS customer,
    ( SELECT jsonb_build_object('status', d.status, 'barcode', d.barcode, 'parent_id', d.parent_id, 'leg', d.leg, 'delivery_flow', d.delivery_flow, 'unit_size', d.unit_size, 'payer_type', d.payer_type, 'payment_method', d.payment_method, 'notes', d.notes, 'pickup',
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
                END) AS jsonb_build_object
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

REVOKE ALL ON FUNCTION "app"."language"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "app"."language"() TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."cash_due_on"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cash_due_on"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "private"."call"(jsonb, jsonb, text, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."call"(jsonb, jsonb, text, jsonb) TO "barid_api";

REVOKE ALL ON FUNCTION "private"."read"(jsonb, jsonb, text, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."read"(jsonb, jsonb, text, jsonb) TO "barid_api";

REVOKE ALL ON FUNCTION "private"."read_kept"(text, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."read_kept"(text, jsonb) TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."assignments_list" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."deliveries_carried" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."deliveries_list" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."handoffs_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125172635';
end $$;

grant execute on function private.schema_version() to barid_api;
