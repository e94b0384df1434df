-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_depart(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
begin
  perform delivery.require_carrier(d);
  perform delivery.require_move(d, case d.carrier_type when 'external' then '{pending,picked_up}'::text[] else '{picked_up}' end, 'in_transit');
  perform delivery.move_reported(d, input, delivery.fetched_at(d));
  perform storefront.require_order_picked(d.id);
  if d.status = 'pending' then
    perform money.require_sender_cash(delivery.parcel_terms(d));
  end if;
  update delivery.deliveries x set status = 'in_transit', picked_up_at = coalesce(x.picked_up_at, clock_timestamp())
  where x.tenant_id = d.tenant_id and x.id = d.id;
  if d.status = 'pending' then
    perform delivery.carrier_takes(d);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $function$;

CREATE OR REPLACE FUNCTION integration.cash_for_carrier(d delivery.deliveries, collects_cash boolean)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_door record := money.cash_due(v_parcel, 'dropoff');
  v_due numeric := case when d.delivery_flow = 'pnd_inbound' then 0 else v_door.cod + v_door.delivery_fee end;
begin
  if v_due > 0 and not collects_cash then
    perform app.fail('carrier_collects_no_cash', jsonb_build_object('amount', v_due, 'currency', v_parcel.currency));
  end if;
  perform money.require_sender_cash(v_parcel);
  return v_due;
end $function$;

CREATE OR REPLACE FUNCTION money.require_sender_cash(parcel delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_due record;
begin
  parcel.delivery_fee := parcel.delivery_fee - money.delivery_fee_borne(parcel.id);
  v_due := money.cash_due(parcel, 'pickup');
  if v_due.cod + v_due.delivery_fee > 0 and not exists (
      select from money.cod_collections x
      where x.tenant_id = parcel.tenant_id and x.delivery_id = parcel.id and x.collection_stage = 'pickup' and x.reversed_at is null) then
    perform app.fail('sender_cash_not_collected', jsonb_build_object('amount', v_due.cod + v_due.delivery_fee, 'currency', parcel.currency));
  end if;
end $function$;

REVOKE ALL ON FUNCTION "money"."require_sender_cash"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."require_sender_cash"(delivery.deliveries) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126184608';
end $$;

grant execute on function private.schema_version() to barid_api;
