-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.manifest_give(m delivery.transfer_manifests, driver uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if m.status in ('awaiting_receipt', 'receiving') then
    perform app.fail('manifest_action_not_allowed', delivery.manifest_label_to_json(m) || '{"text_key": "reason_manifest_arrived"}');
  end if;
  perform delivery.require_manifest_status(m, '{draft,picked_up,in_transit}');
  perform delivery.require_driver(driver);
  update delivery.transfer_manifests set driver_id = driver where tenant_id = m.tenant_id and id = m.id;
  perform delivery.manifest_event_add(m.id, 'driver_changed', jsonb_build_object('from', m.driver_id, 'to', driver));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select m.tenant_id, n.user_id, n.type, jsonb_build_object('manifest_id', m.id, 'manifest_number', m.manifest_number)
  from (values (driver, 'manifest_given'), (m.driver_id, 'manifest_given_to_another')) n (user_id, type)
  where n.user_id is not null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_move(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
    perform delivery.require_point(v_point);
    update delivery.transfer_manifests set processing_point_id = v_point where tenant_id = m.tenant_id and id = m.id;
    perform delivery.manifest_event_add(m.id, 'processing_point_changed', jsonb_build_object('from', m.processing_point_id, 'to', v_point));
  end if;
  return delivery.manifest_to_json(m.id);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."manifest_give"(delivery.transfer_manifests, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."manifest_give"(delivery.transfer_manifests, uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128095715';
end $$;

grant execute on function private.schema_version() to barid_api;
