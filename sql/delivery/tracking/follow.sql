-- The answer for a link: anybody who has it asks, without a token and in no company.

-- The shipment by which an external carrier has a parcel or one of its legs, or delivered it at the door, with that carrier's own number.
-- -> {code, tracking_number} or null: of a leg that was brought into a warehouse as well
create or replace function delivery.tracked_carrier(d delivery.deliveries) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('code', s.carrier_code, 'tracking_number', s.tracking_number)
    from delivery.deliveries l
    join integration.carrier_shipments s on s.tenant_id = l.tenant_id and s.delivery_id = l.id
    where l.tenant_id = d.tenant_id and (l.id = d.id or l.parent_id = d.id) and s.status <> 'cancelled' and s.tracking_number is not null
      and (l.status = 'delivered' and l.delivery_flow <> 'pnd_inbound' or delivery.booking_binds(s))
    order by s.booked_at desc nulls last, s.id desc limit 1);
end $$;

revoke execute on function delivery.tracked_carrier(delivery.deliveries) from barid_caller;

-- Until when a parcel that has ended is followed: 30 days after its last step. Null of one that has not ended.
create or replace function delivery.trackable_until(d delivery.deliveries) returns timestamptz
language plpgsql stable set search_path = '' as $$
begin
  return case when delivery.has_ended(d) then (
    select h.created_at + interval '30 days' from delivery.delivery_status_history h
    where h.tenant_id = d.tenant_id and h.delivery_id = d.id order by h.id desc limit 1) end;
end $$;

-- The parcel of a link. From then on the transaction reads as the parcel's company, in the language that the caller asked for, else in the
-- company's; who calls it sets the caller's company again.
-- Fails: tracking_not_found, as well where the service offers no tracking any more, the company is suspended, or the parcel ended 30 days ago.
create or replace function delivery.tracked_by(token text) returns delivery.deliveries
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries;
  v_language text;
begin
  select x.* into d from delivery.tracking_links l
  join tenancy.tenants t on t.id = l.tenant_id and app.is_effective(t)
  join delivery.deliveries x on x.tenant_id = l.tenant_id and x.id = l.delivery_id
  where l.token = tracked_by.token;
  if not found then
    perform app.fail('tracking_not_found');
  end if;
  perform set_config('app.tenant_id', d.tenant_id::text, true);
  if not delivery.is_trackable(d) or delivery.trackable_until(d) < now() then
    perform app.fail('tracking_not_found');
  end if;
  v_language := app.settings('general', 'language') ->> 'default';
  if v_language is not null and app.request_setting('language_asked') is null then
    perform set_config('app.language', v_language, true), set_config('app.shop_language', v_language, true);
  end if;
  return d;
end $$;

revoke execute on function delivery.trackable_until(delivery.deliveries), delivery.tracked_by(text) from barid_caller;

-- A parcel as its recipient follows it, in the language that the caller asked for, else the company's: no person, no telephone and no street is in
-- it. {token}
-- -> {delivery_code, status, company, service, sender_name, destination_city, promised_at, expected_at, deliver_after, deliver_before, postponed_to,
--     picked_up_at, delivered_at, delivered_in_part, cash_due, carrier, history, ordered_at, trackable_until, answer, wanted_days}
-- `cash_due` is null once nothing is to be taken any more; `trackable_until` is null until the parcel has ended; `answer` and `wanted_days` are
-- those of delivery.tracking_answer_to_json.
-- Fails: tracking_not_found (delivery.tracked_by).
create or replace function delivery.tracking_read(input jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_caller text := coalesce(app.tenant_id()::text, '');
  d delivery.deliveries := delivery.tracked_by(input ->> 'token');
  t tenancy.tenants;
  v_answer jsonb;
begin
  select * into strict t from tenancy.tenants x where x.id = d.tenant_id;
  v_answer := delivery.tracking_to_json(d, t, delivery.trackable_until(d)) || delivery.tracking_answer_to_json(d);
  perform set_config('app.tenant_id', v_caller, true);
  return v_answer;
end $$;

-- A parcel and its company as tracking_read answers them.
create or replace function delivery.tracking_to_json(d delivery.deliveries, t tenancy.tenants, until timestamptz) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_brand jsonb := app.settings('general', 'brand_settings');
  v_due jsonb;
begin
  -- A transfer to another warehouse ends before the door, and is none of the recipient's.
  d.transfer_kind := null;
  v_due := money.cash_due_on(d) -> 'delivery';
  return jsonb_build_object('delivery_code', d.delivery_code, 'status', d.status,
    'company', jsonb_build_object('name', coalesce(app.localized(v_brand -> 'brand_name'), app.localized(t.name)),
      'logo_url', coalesce(v_brand #>> '{assets,logo,light}', t.logo_url),
      'phone', t.contact_info ->> 'phone', 'email', t.contact_info ->> 'email'),
    'service', (select jsonb_build_object('name', app.localized(s.name), 'service_level', s.service_level)
      from delivery.delivery_services s where s.tenant_id = d.tenant_id and s.id = d.delivery_service_id),
    'sender_name', (select p.full_name from tenancy.profiles p where p.id = d.institution_user_id),
    'destination_city', d.dropoff_snapshot ->> 'city',
    'promised_at', d.promised_at,
    -- Of a parcel in legs it is the last one that comes to the door.
    'expected_at', (select a.estimated_delivery_time from delivery.assignments a
      where a.tenant_id = d.tenant_id and a.ended_at is null and a.status in ('assigned', 'accepted') and a.delivery_id in (
        select d.id union all select l.id from delivery.deliveries l
        where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.delivery_flow = 'pnd_outbound')
      order by a.assignment_time desc, a.id limit 1),
    'deliver_after', d.deliver_after, 'deliver_before', d.deliver_before, 'postponed_to', d.postponed_to,
    'ordered_at', d.created_at, 'picked_up_at', d.picked_up_at, 'delivered_at', d.delivered_at, 'delivered_in_part', d.delivered_in_part,
    'cash_due', case when until is null and not delivery.is_sent_back(d) then jsonb_build_object(
      'amount', (v_due ->> 'cod')::numeric + (v_due ->> 'delivery_fee')::numeric, 'currency', v_due ->> 'currency') end,
    'carrier', delivery.tracked_carrier(d),
    'history', (select coalesce(jsonb_agg(jsonb_build_object('status', h.to_status, 'at', coalesce(h.occurred_at, h.created_at)) order by h.id), '[]')
      from delivery.delivery_status_history h where h.tenant_id = d.tenant_id and h.delivery_id = d.id and h.to_status <> 'draft'),
    'trackable_until', until);
end $$;

revoke execute on function delivery.tracking_to_json(delivery.deliveries, tenancy.tenants, timestamptz) from barid_caller;
