-- Corrects where a manifest goes, until its first item is received, and who brings it, until it has arrived.
-- {id, destination_processing_point_id?, driver_id?} -> the manifest as lists show it. What has arrived stays so: it is the paper that was
-- wrong. The same point, and the same driver, change nothing.
-- Locks the manifest, then the point against being taken out of use meanwhile.
-- Fails: manifest_not_found, manifest_action_not_allowed, processing_point_not_found, processing_point_inactive, driver_not_found,
-- driver_inactive.
create or replace function delivery.manifest_move(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
  v_point uuid := (input ->> 'destination_processing_point_id')::uuid;
  v_driver uuid := (input ->> 'driver_id')::uuid;
begin
  if v_point is not null then
    perform delivery.require_manifest_status(m, '{draft,picked_up,in_transit,awaiting_receipt,receiving}');
    if exists (select from delivery.transfer_manifest_items i
        where i.tenant_id = m.tenant_id and i.manifest_id = m.id and i.received_at is not null) then
      perform app.fail('manifest_action_not_allowed', delivery.manifest_label_to_json(m) || '{"text_key": "reason_manifest_received"}');
    end if;
  end if;
  if v_driver is distinct from m.driver_id and v_driver is not null then
    perform delivery.manifest_give(m, v_driver);
  end if;
  if v_point <> m.processing_point_id then
    perform delivery.require_point_in(v_point, 'destination_processing_point_id');
    update delivery.transfer_manifests set processing_point_id = v_point where tenant_id = m.tenant_id and id = m.id;
    perform delivery.manifest_event_add(m.id, 'processing_point_changed', jsonb_build_object('from', m.processing_point_id, 'to', v_point));
  end if;
  return delivery.manifest_to_json(m.id);
end $$;

-- Gives a manifest, which the caller has locked, to another driver, who takes its next step; both drivers are notified.
-- Fails: manifest_action_not_allowed (it has arrived), driver_not_found, driver_inactive.
create or replace function delivery.manifest_give(m delivery.transfer_manifests, driver uuid) returns void
language plpgsql set search_path = '' as $$
begin
  if m.status in ('awaiting_receipt', 'receiving') then
    perform app.fail('manifest_action_not_allowed', delivery.manifest_label_to_json(m) || '{"text_key": "reason_manifest_arrived"}');
  end if;
  perform delivery.require_manifest_status(m, '{draft,picked_up,in_transit}');
  perform delivery.require_driver(driver);
  update delivery.transfer_manifests set driver_id = driver where tenant_id = m.tenant_id and id = m.id;
  perform delivery.manifest_event_add(m.id, 'driver_changed', jsonb_build_object('from', m.driver_id, 'to', driver));
  perform delivery.manifest_notify(m, 'manifest_given', array[driver]);
  perform delivery.manifest_notify(m, 'manifest_given_to_another', array[m.driver_id]);
end $$;

-- Notifies people of a manifest, but not who does it. SECURITY DEFINER: an institution writes no notices to drivers. Fails: forbidden
-- (app.require_tenant).
create or replace function delivery.manifest_notify(m delivery.transfer_manifests, type text, people uuid[]) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform app.require_tenant(m.tenant_id);
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select m.tenant_id, n.user_id, manifest_notify.type, jsonb_build_object('manifest_id', m.id, 'manifest_number', m.manifest_number)
  from (select distinct p.user_id from unnest(people) p (user_id)) n
  where n.user_id is not null and n.user_id is distinct from app.user_id();
end $$;

grant execute on function delivery.manifest_notify(delivery.transfer_manifests, text, uuid[]) to barid_caller;

-- Completes manifests whose every item has its order or is void, and has since a day. Answers how many. Run by cron.
create or replace function delivery.manifests_complete() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_done record;
  v_count bigint := 0;
begin
  for v_done in
    select m.tenant_id, m.id, m.status from delivery.transfer_manifests m
    where m.status in ('received', 'processing') and m.updated_at < now() - interval '24 hours' and not app.is_archived(m.tenant_id)
      and not exists (select from delivery.transfer_manifest_items i where i.tenant_id = m.tenant_id and i.manifest_id = m.id
        and (i.status not in ('order_created', 'void') or i.updated_at >= now() - interval '24 hours'))
      and not exists (select from delivery.transfer_manifest_exceptions x
        where x.tenant_id = m.tenant_id and x.manifest_id = m.id and x.status = 'open')
    order by m.tenant_id, m.id limit 5000 for no key update skip locked
  loop
    perform set_config('app.tenant_id', v_done.tenant_id::text, true);
    if v_done.status = 'received' then
      update delivery.transfer_manifests m set status = 'processing', processing_started_at = now()
      where m.tenant_id = v_done.tenant_id and m.id = v_done.id;
      perform delivery.manifest_event_add(v_done.id, 'processing_started', '{"source": "clock"}');
    end if;
    update delivery.transfer_manifests m set status = 'completed', completed_at = now()
    where m.tenant_id = v_done.tenant_id and m.id = v_done.id;
    perform delivery.manifest_event_add(v_done.id, 'manifest_completed', '{"source": "clock"}');
    v_count := v_count + 1;
  end loop;
  perform set_config('app.tenant_id', '', true);
  return v_count;
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function delivery.manifests_complete() from barid_caller;
