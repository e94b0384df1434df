-- Corrections of an ordered delivery: whom to ask for and how to reach them, what to mind, the
-- orderer's own reference and the time that was promised. None of it costs anything or leads elsewhere; everything
-- else stays as it was ordered.

-- Corrects an ordered delivery, whichever of its legs is named; null takes a value away, also one of the recipient's, whose others stay.
-- {recipient?, notes?, external_reference_id?, promised_at?, deliver_after?, deliver_before?} -> the delivery. Operations until it ends, its
-- customer or institution until it is picked up; a driver who has it is notified.
-- Fails: forbidden, delivery_ended, delivery_already_picked_up, delivery_already_ordered (what costs or leads elsewhere),
-- invalid_delivery_window (delivery.require_time_ahead as well).
create or replace function delivery.delivery_correct(d delivery.deliveries, input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  p delivery.deliveries;
  v_field text;
begin
  select * into p from delivery.deliveries x where x.id = delivery.parcel_of(d);
  if not found then
    perform app.fail('forbidden');
  end if;
  perform delivery.require_owner(p);
  if delivery.has_ended(p) then
    perform app.fail('delivery_ended', jsonb_build_object('status', p.status));
  end if;
  if not app.has_permission('manage:operations:tenant') and p.status not in ('pending', 'assigned', 'accepted') then
    perform app.fail('delivery_already_picked_up');
  end if;
  select k.word into v_field from jsonb_object_keys(input - '{id,package_field}'::text[]) k (word)
  where k.word not in ('recipient', 'notes', 'external_reference_id', 'promised_at', 'deliver_after', 'deliver_before')
  order by k.word limit 1;
  if found then
    perform app.fail('delivery_already_ordered', jsonb_build_object('field', v_field));
  end if;
  perform delivery.require_delivery_window(
    case when input ? 'deliver_after' then app.instant(input ->> 'deliver_after') else p.deliver_after end,
    case when input ? 'deliver_before' then app.instant(input ->> 'deliver_before') else p.deliver_before end);
  perform delivery.require_time_ahead(input, p);
  perform delivery.delivery_corrected(p.id, input);
  return delivery.delivery_created_to_json(p.id);
end $$;

-- The person to ask for, after what was sent of them: what is not named stays, null takes away.
create or replace function delivery.recipient_corrected(recipient jsonb, sent jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return coalesce(nullif(app.merge_patch(recipient, sent), 'null'), '{}');
end $$;

-- True when labels show these otherwise: name and telephone of the recipient, and the notes.
create or replace function delivery.label_differs(recipient jsonb, notes text, new_recipient jsonb, new_notes text) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return (recipient ->> 'name', recipient ->> 'phone', notes) is distinct from (new_recipient ->> 'name', new_recipient ->> 'phone', new_notes);
end $$;

-- Writes a correction to a parcel and to its legs that have not ended, and notifies the drivers who have them; a label that shows what it changes
-- is outdated. SECURITY DEFINER: its customer sees neither all legs nor the drivers' notices.
create or replace function delivery.delivery_corrected(parcel uuid, input jsonb) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  update delivery.deliveries x set
    recipient = n.recipient,
    notes = n.notes,
    label_outdated = x.label_outdated or x.label_edition > 0 and delivery.label_differs(x.recipient, x.notes, n.recipient, n.notes),
    external_reference_id = case when input ? 'external_reference_id' then input ->> 'external_reference_id' else x.external_reference_id end,
    promised_at = case when input ? 'promised_at' then app.instant(input ->> 'promised_at') else x.promised_at end,
    deliver_after = case when input ? 'deliver_after' then app.instant(input ->> 'deliver_after') else x.deliver_after end,
    deliver_before = case when input ? 'deliver_before' then app.instant(input ->> 'deliver_before') else x.deliver_before end
  from (
    select o.id, case when input ? 'recipient' then delivery.recipient_corrected(o.recipient, input -> 'recipient') else o.recipient end as recipient,
      case when input ? 'notes' then input ->> 'notes' else o.notes end as notes
    from delivery.deliveries o
    where o.tenant_id = v_tenant and (o.id = parcel or (o.parent_id = parcel and o.status not in ('delivered', 'cancelled')))
  ) n
  where x.tenant_id = v_tenant and x.id = n.id;
  perform delivery.drivers_notify(array[parcel]);
end $$;

-- Notifies the drivers who have one of these parcels, or a leg of it, that its details have changed; not the caller.
-- SECURITY DEFINER: a customer who corrects an order writes no notices to drivers.
create or replace function delivery.drivers_notify(parcels uuid[]) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_family uuid[] := parcels || array(select l.id from delivery.deliveries l
    where l.tenant_id = v_tenant and l.parent_id = any (parcels) and l.status not in ('delivered', 'cancelled'));
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select v_tenant, a.driver_id, 'delivery_changed', jsonb_build_object('assignment_id', a.id, 'delivery_id', d.id,
    'delivery_code', d.delivery_code)
  from delivery.open_assignments a
  join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
  where a.tenant_id = v_tenant and a.delivery_id = any (v_family) and a.driver_id is distinct from app.user_id();
end $$;

grant execute on function delivery.delivery_corrected(uuid, jsonb), delivery.drivers_notify(uuid[]) to barid_caller;
