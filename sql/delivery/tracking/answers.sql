-- The answer of a recipient by the link: a wish, which moves nothing. The office agrees to a day by the outcome `postponed`, and to another
-- place by a redirect.

-- True of a parcel p while its recipient may answer: it has not ended, is not sent back to its sender, and no booking with another carrier binds
-- it, whose own system takes answers.
create or replace function delivery.takes_answers(p delivery.deliveries) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return not delivery.has_ended(p) and not delivery.is_sent_back(p) and not delivery.shipment_lives(p.id);
end $$;

-- The answer for a parcel p as its link shows it, and the days that may be wanted now. A link may have been passed on: what was said is not given
-- back, but that it was. -> {answer: {wanted_day, note_given, location_given, answered_at} or null, wanted_days: {first, last} or null}
create or replace function delivery.tracking_answer_to_json(p delivery.deliveries) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object(
    'answer', (
      select jsonb_build_object('wanted_day', a.wanted_day, 'note_given', a.note is not null, 'location_given', a.latitude is not null,
        'answered_at', a.answered_at)
      from delivery.recipient_answers a where a.tenant_id = p.tenant_id and a.delivery_id = p.id),
    'wanted_days', case when delivery.takes_answers(p) then delivery.postponement_days(now()) end);
end $$;

-- Notifies the office, and the drivers who have the parcel p or a leg of it, of its recipient's answer; subscribers hear of it without the words
-- and the place.
create or replace function delivery.recipient_answer_announce(p delivery.deliveries, a delivery.recipient_answers) returns void
language plpgsql set search_path = '' as $$
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select p.tenant_id, n.user_id, 'recipient_answered', jsonb_build_object('delivery_id', n.delivery_id, 'delivery_code', p.delivery_code,
    'wanted_day', a.wanted_day)
  from (
    select u.user_id, p.id as delivery_id
    from tenancy.tenant_users u
    join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
      and r.role_key in ('tenant_admin', 'operations_manager', 'dispatcher')
    where u.tenant_id = p.tenant_id and u.is_active
    union
    select o.driver_id, o.delivery_id
    from delivery.deliveries d
    join delivery.open_assignments o on o.tenant_id = d.tenant_id and o.delivery_id = d.id and o.status <> 'pending'
    where d.tenant_id = p.tenant_id and (d.id = p.id or d.parent_id = p.id)) n;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.recipient_answered',
    'entity_type', 'delivery', 'entity_id', p.id, 'event_data', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
      'wanted_day', a.wanted_day, 'note_given', a.note is not null, 'location_given', a.latitude is not null))));
end $$;

revoke execute on function delivery.takes_answers(delivery.deliveries), delivery.tracking_answer_to_json(delivery.deliveries),
  delivery.recipient_answer_announce(delivery.deliveries, delivery.recipient_answers) from barid_caller;

-- Keeps what the recipient answers by a link; a field that is not named stays, null takes it away. What stands already changes nothing.
-- {token, wanted_day?, note?, location? {latitude, longitude}} -> as delivery.tracking_answer_to_json
-- SECURITY DEFINER: a recipient is in no company.
-- Locks: the parcel's family, so that no answer follows its end.
-- Fails: tracking_not_found, tracking_answers_closed {status}, tracking_answers_used_up, invalid_wanted_day {first, last}.
create or replace function delivery.tracking_answer(input jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_caller text := coalesce(app.tenant_id()::text, '');
  p delivery.deliveries := delivery.tracked_by(input ->> 'token');
  a delivery.recipient_answers;
  n delivery.recipient_answers;
  v_days jsonb := delivery.postponement_days(now());
  v_answer jsonb;
begin
  p := delivery.lock_delivery(p.id);
  if not delivery.takes_answers(p) then
    perform app.fail('tracking_answers_closed', jsonb_build_object('status', p.status));
  end if;
  select * into a from delivery.recipient_answers x where x.tenant_id = p.tenant_id and x.delivery_id = p.id;
  n.wanted_day := case when input ? 'wanted_day' then (input ->> 'wanted_day')::date else a.wanted_day end;
  n.note := case when input ? 'note' then input ->> 'note' else a.note end;
  n.latitude := case when input ? 'location' then (input #>> '{location,latitude}')::double precision else a.latitude end;
  n.longitude := case when input ? 'location' then (input #>> '{location,longitude}')::double precision else a.longitude end;
  if (n.wanted_day, n.note, n.latitude, n.longitude) is distinct from (a.wanted_day, a.note, a.latitude, a.longitude) then
    if n.wanted_day is distinct from a.wanted_day
        and n.wanted_day not between (v_days ->> 'first')::date and (v_days ->> 'last')::date then
      perform app.fail('invalid_wanted_day', v_days || '{"field": "wanted_day"}');
    elsif a.times = 20 then
      perform app.fail('tracking_answers_used_up');
    end if;
    insert into delivery.recipient_answers as x (tenant_id, delivery_id, wanted_day, note, latitude, longitude)
    values (p.tenant_id, p.id, n.wanted_day, n.note, n.latitude, n.longitude)
    on conflict (tenant_id, delivery_id) do update set wanted_day = excluded.wanted_day, note = excluded.note, latitude = excluded.latitude,
      longitude = excluded.longitude, answered_at = excluded.answered_at, times = x.times + 1
    returning x.* into n;
    perform delivery.recipient_answer_announce(p, n);
  end if;
  v_answer := delivery.tracking_answer_to_json(p);
  perform set_config('app.tenant_id', v_caller, true);
  return v_answer;
end $$;

grant execute on function delivery.tracking_answer(jsonb) to barid_caller;
