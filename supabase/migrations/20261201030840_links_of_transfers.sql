-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.tracking_to_json(d delivery.deliveries, t tenancy.tenants, until timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
    'cash_due', case when until is null then jsonb_build_object(
      'amount', (v_due ->> 'cod')::numeric + (v_due ->> 'delivery_fee')::numeric, 'currency', v_due ->> 'currency') end,
    'carrier', delivery.tracked_carrier(d),
    'history', (select coalesce(jsonb_agg(jsonb_build_object('status', h.to_status, 'at', coalesce(h.occurred_at, h.created_at)) order by h.id), '[]')
      from delivery.delivery_status_history h where h.tenant_id = d.tenant_id and h.delivery_id = d.id and h.to_status <> 'draft'),
    'trackable_until', until);
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201030840';
end $$;

grant execute on function private.schema_version() to barid_api;
