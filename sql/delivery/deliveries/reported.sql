-- Where and when a step happened, as the device that reported it says. The history keeps it beside the server's own time.

-- The name of a report in the history: the call, of an outcome with its result.
create or replace function delivery.reported_as(input jsonb) returns text
language plpgsql stable set search_path = '' as $$
begin
  return concat_ws(' ', app.request_setting('operation'), input ->> 'result');
end $$;

-- Refuses a report that the history has already: of one person the same call, of an outcome with the same result, at the same time of the
-- device. Reports come up to 72 hours late and their keys are remembered for 24, so that one which is sent again can come after an undo, or
-- a retry, that makes its move possible once more. Two different reports may have one time.
-- d: the delivery to move. {id, occurred_at?, result?}; id is the one that the caller named: of a staged parcel the report may have been of
-- its leg before this one. The family is locked. Fails: delivery_status_changed {status, status_reason}.
create or replace function delivery.require_first_report(d delivery.deliveries, input jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_at timestamptz := app.instant(input ->> 'occurred_at');
  v_ids uuid[];
begin
  if v_at is null then
    return;
  end if;
  v_ids := case when d.parent_id = (input ->> 'id')::uuid
    then array(select l.id from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.parent_id) else array[d.id] end;
  if exists (select from delivery.delivery_status_history h
      where h.tenant_id = d.tenant_id and h.delivery_id = any (v_ids) and h.occurred_at = v_at and h.reported_as = delivery.reported_as(input)
        and h.actor_id is not distinct from app.user_id()) then
    perform app.fail('delivery_status_changed', jsonb_build_object('text_key', 'step_reported_already', 'delivery_ids', array[d.id],
      'status', d.status, 'status_reason', d.status_reason));
  end if;
end $$;

-- The delivery that a step is reported of, its family locked; what was reported already is known before it is asked whose the delivery is now,
-- or whether the move is possible. {id, occurred_at?, result?}
-- Fails: what delivery.delivery_to_move and delivery.require_first_report fail with.
create or replace function delivery.delivery_reported(input jsonb) returns delivery.deliveries
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries;
begin
  if input ->> 'occurred_at' is not null then
    perform delivery.lock_redirected((input ->> 'id')::uuid, app.instant(input ->> 'occurred_at'));
  end if;
  d := delivery.delivery_to_move((input ->> 'id')::uuid);
  perform delivery.require_first_report(d, input);
  return d;
end $$;

-- Notes for the history of this transaction's moves of a parcel what a step's input says: {latitude?, longitude?, occurred_at?}, with the metres
-- to `place`, where the step should happen: a pickup, a departure and a return where it is fetched, everything else where it goes. Worked out
-- before the move, which may change where the parcel goes.
-- occurred_at is kept as sent, whenever the report arrives: a driver without a network reports later.
-- All reports of steps pass here before they move anything; `id` is the delivery as the caller named it.
-- Fails: invalid_occurred_at {server_time} (more than 72 hours old, or more than 2 minutes ahead).
create or replace function delivery.move_reported(d delivery.deliveries, input jsonb, place jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_at timestamptz := app.instant(input ->> 'occurred_at');
begin
  if v_at not between now() - interval '72 hours' and now() + interval '2 minutes' then
    perform app.fail('invalid_occurred_at', jsonb_build_object('field', 'occurred_at', 'server_time', clock_timestamp()) || case when v_at > now()
      then jsonb_build_object('text_key', 'occurred_at_ahead', 'time', app.clock(v_at), 'now', app.clock(clock_timestamp())) else '{}' end);
  end if;
  if v_at is not null or input ->> 'latitude' is not null then
    perform set_config('app.reported', jsonb_build_object('parcel', delivery.parcel_of(d), 'delivery', d.id,
      'reported_as', case when v_at is not null then delivery.reported_as(input) end,
      'latitude', input -> 'latitude', 'longitude', input -> 'longitude', 'occurred_at', v_at,
      'distance_m', round(app.distance_km((place ->> 'latitude')::double precision, (place ->> 'longitude')::double precision,
        (input ->> 'latitude')::double precision, (input ->> 'longitude')::double precision) * 1000))::text, true);
  end if;
end $$;

-- The time that this transaction's report of a parcel came with; null: it came without one.
create or replace function delivery.reported_at(d delivery.deliveries) returns timestamptz
language plpgsql stable set search_path = '' as $$
declare
  v_said jsonb := nullif(current_setting('app.reported', true), '')::jsonb;
begin
  return case when (v_said ->> 'parcel')::uuid = delivery.parcel_of(d) then (v_said ->> 'occurred_at')::timestamptz end;
end $$;
