-- Corrections of an ordered delivery: whom to ask for and how to reach them, what to mind, the
-- orderer's own reference and the time that was promised. None of it costs anything or leads elsewhere; everything
-- else stays as it was ordered.

-- Corrects an ordered delivery, whichever of its legs is named; null takes a value away, also one of the recipient's, whose others stay.
-- {recipient?, notes?, external_reference_id?, promised_at?, deliver_after?, deliver_before?} -> the delivery. Operations until it ends, its
-- customer or institution until it is picked up; a driver who has it is notified.
-- Fails: forbidden, delivery_ended, delivery_already_picked_up, delivery_already_ordered (what costs or leads elsewhere),
-- invalid_delivery_window.
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
  if not app.has_permission('manage:operations:tenant') and (delivery.was_picked_up(p) or delivery.draft_travels(p)) then
    perform app.fail('delivery_already_picked_up');
  end if;
  select k.word into v_field from jsonb_object_keys(input - '{id,package_field}'::text[]) k (word)
  where k.word not in ('recipient', 'notes', 'external_reference_id', 'promised_at', 'deliver_after', 'deliver_before')
  order by k.word limit 1;
  if found then
    perform app.fail('delivery_already_ordered', jsonb_build_object('field', v_field)
      || case when delivery.draft_travels(p) then '{"text_key": "reason_draft_on_transfer"}' else '{}' end::jsonb);
  end if;
  perform delivery.require_delivery_window(
    case when input ? 'deliver_after' then app.instant(input ->> 'deliver_after') else p.deliver_after end,
    case when input ? 'deliver_before' then app.instant(input ->> 'deliver_before') else p.deliver_before end);
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

-- Writes a correction to a parcel and to its legs that have not ended, and tells those who show them; a label that shows what it changes is
-- outdated. SECURITY DEFINER: its customer sees neither all legs nor the drivers' notices.
create or replace function delivery.delivery_corrected(parcel uuid, input jsonb) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  was delivery.deliveries;
  became delivery.deliveries;
begin
  select * into was from delivery.deliveries x where x.tenant_id = v_tenant and x.id = parcel;
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
  select * into became from delivery.deliveries x where x.tenant_id = v_tenant and x.id = parcel;
  perform delivery.change_announce(array[parcel], array_remove(array[
    case when became.recipient <> was.recipient then 'recipient' end,
    case when (became.promised_at, became.deliver_after, became.deliver_before)
      is distinct from (was.promised_at, was.deliver_after, was.deliver_before) then 'window' end,
    case when became.notes is distinct from was.notes then 'notes' end,
    case when became.external_reference_id is distinct from was.external_reference_id then 'reference' end], null));
end $$;

-- Tells that details of these parcels have changed, `changed` of place, recipient, amount, window, notes and reference; nobody hears of nothing.
-- The board and the drivers who have one of them, or a leg of it, get delivery.changed {delivery_id, delivery_code, parent_id, changed, driver_id},
-- of a parcel that no driver has the board alone; and these drivers a notification, but for the caller.
-- SECURITY DEFINER: a customer who corrects an order writes no notices to drivers.
create or replace function delivery.change_announce(parcels uuid[], changed text[]) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_row record;
begin
  if changed = '{}' then
    return;
  end if;
  for v_row in
    with family as (
      select d.id, d.delivery_code, d.parent_id, a.id as assignment_id, a.driver_id, coalesce(d.parent_id, d.id) as parcel
      from delivery.deliveries d
      left join delivery.open_assignments a on a.tenant_id = d.tenant_id and a.delivery_id = d.id
      where d.tenant_id = v_tenant and (d.id = any (parcels) or d.parent_id = any (parcels) and d.status not in ('delivered', 'cancelled'))
    )
    select f.id, f.delivery_code, f.parent_id, f.assignment_id, f.driver_id from family f
    where f.driver_id is not null
      or f.id = any (parcels) and not exists (select from family x where x.parcel = f.parcel and x.driver_id is not null)
    order by f.delivery_code, f.id
  loop
    perform delivery.broadcast(t.topic, 'delivery.changed', jsonb_build_object('delivery_id', v_row.id, 'delivery_code', v_row.delivery_code,
      'parent_id', v_row.parent_id, 'changed', change_announce.changed, 'driver_id', v_row.driver_id))
    from (values (format('tenant:%s:board', v_tenant)), ('driver:' || v_row.driver_id)) t (topic) where t.topic is not null;
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select v_tenant, v_row.driver_id, 'delivery_changed', jsonb_build_object('assignment_id', v_row.assignment_id, 'delivery_id', v_row.id,
      'delivery_code', v_row.delivery_code, 'changed', change_announce.changed)
    where v_row.driver_id is distinct from app.user_id() and v_row.driver_id is not null;
  end loop;
end $$;

grant execute on function delivery.delivery_corrected(uuid, jsonb), delivery.change_announce(uuid[], text[]) to barid_caller;
