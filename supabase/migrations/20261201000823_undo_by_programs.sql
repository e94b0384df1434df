-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.outcome_undo(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  o delivery.outcomes;
  v_parcel delivery.deliveries;
  v_obstacle record;
  v_cash jsonb;
begin
  -- The outcome is read under the lock of its delivery.
  d := delivery.lock_for_undo((input ->> 'id')::uuid);
  o := delivery.outcome_of(d.id);
  v_parcel := delivery.parcel_terms(d);
  if not app.has_permission('manage:operations:tenant') and o.id is not null and o.driver_id is distinct from app.user_id() then
    perform app.fail('forbidden');
  end if;
  perform delivery.lock_outcome_effects(o, d);
  v_obstacle := delivery.outcome_obstacle(o, d);
  if v_obstacle.code is not null then
    perform app.fail(v_obstacle.code, v_obstacle.params);
  end if;
  perform delivery.outcome_withdraw(o, d, input ->> 'reason');
  v_cash := money.cash_uncollected(v_parcel.id, o.created_at, input ->> 'reason');
  if o.result = 'returned' then
    perform money.delivery_fee_unrefund(v_parcel.id, o.created_at, input ->> 'reason');
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.outcome_undone',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'result', o.result, 'reason', input ->> 'reason', 'actor_id', app.user_id()))));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select d.tenant_id, o.driver_id, 'outcome_undone', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'result', o.result)
  where o.driver_id is not null and o.driver_id is distinct from app.user_id();
  -- Last: it locks accounts, as the accrual does.
  perform money.driver_pay_unaccrue(d.id, input ->> 'reason');
  if o.driver_id is not null and v_cash <> '{"cod": 0, "delivery_fee": 0}' then
    perform money.handover_uncovered(o.driver_id, v_parcel.currency);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id),
    'cash', v_cash || jsonb_build_object('currency', v_parcel.currency));
end $function$;

CREATE OR REPLACE FUNCTION delivery.pickup_undo(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  a delivery.assignments := delivery.require_carrier(d);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  c money.cod_collections := delivery.lock_pickup_cash(d);
  v_cash jsonb;
begin
  perform delivery.require_pickup_undoable(d, delivery.pickup_of(d.id), c);
  perform delivery.pickup_withdraw(d, input ->> 'reason');
  v_cash := money.cash_uncollected(v_parcel.id, c.collected_at, input ->> 'reason');
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.pickup_undone',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'reason', input ->> 'reason', 'actor_id', app.user_id()))));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select d.tenant_id, a.driver_id, 'pickup_undone', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code)
  where a.driver_id is not null and a.driver_id is distinct from app.user_id();
  if c.id is not null then
    perform money.handover_uncovered(c.driver_id, c.currency);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id),
    'cash', v_cash || jsonb_build_object('currency', v_parcel.currency));
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201000823';
end $$;

grant execute on function private.schema_version() to barid_api;
