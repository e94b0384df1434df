-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table integration.webhook_subscriptions in access exclusive mode;
      set local lock_timeout = '500ms';
      lock table storefront.custom_domains in access exclusive mode;
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP TRIGGER "audit_delete" ON "integration"."webhook_subscriptions";

DROP TRIGGER "audit_insert" ON "integration"."webhook_subscriptions";

DROP TRIGGER "audit_update" ON "integration"."webhook_subscriptions";

DROP TRIGGER "audit_delete" ON "storefront"."custom_domains";

DROP TRIGGER "audit_insert" ON "storefront"."custom_domains";

DROP TRIGGER "audit_update" ON "storefront"."custom_domains";

CREATE OR REPLACE FUNCTION delivery.may_listen(topic text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_uuid constant text := '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
  v_board uuid := (regexp_match(topic, '^tenant:(' || v_uuid || '):board$'))[1]::uuid;
  v_driver uuid := (regexp_match(topic, '^driver:(' || v_uuid || ')$'))[1]::uuid;
  v_tenants uuid[];
begin
  if v_board is not null then
    return 'permission:manage:operations:tenant' = any (app.token_grants(v_board));
  end if;
  v_tenants := array(
    select u.tenant_id from tenancy.tenant_users u where u.user_id = v_driver and u.tenant_user_type = 'driver' and u.is_active);
  return case when v_driver = app.user_id()
    then exists (select from unnest(v_tenants) t (id) where 'role:driver' = any (app.token_grants(t.id)))
    else cardinality(v_tenants) = 1 and 'permission:manage:operations:tenant' = any (app.token_grants(v_tenants[1]))
      and not exists (
        select from tenancy.tenant_users u
        join delivery.open_assignments a on a.tenant_id = u.tenant_id and a.driver_id = u.user_id
        where u.user_id = v_driver and u.tenant_id <> v_tenants[1]) end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.takes_answers(p delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return not delivery.has_ended(p) and not delivery.is_sent_back(p) and not delivery.shipment_lives(p.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.tracked_by(token text)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

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
    'cash_due', case when until is null and not delivery.is_sent_back(d) then jsonb_build_object(
      'amount', (v_due ->> 'cod')::numeric + (v_due ->> 'delivery_fee')::numeric, 'currency', v_due ->> 'currency') end,
    'carrier', delivery.tracked_carrier(d),
    'history', (select coalesce(jsonb_agg(jsonb_build_object('status', h.to_status, 'at', coalesce(h.occurred_at, h.created_at)) order by h.id), '[]')
      from delivery.delivery_status_history h where h.tenant_id = d.tenant_id and h.delivery_id = d.id and h.to_status <> 'draft'),
    'trackable_until', until);
end $function$;

CREATE OR REPLACE FUNCTION integration.metrics_of_queues()
 RETURNS TABLE(name text, labels jsonb, value double precision)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
  select 'barid_jobs', jsonb_build_object('kind', j.kind, 'status', j.status), count(*)::double precision
  from app.jobs j where j.status in ('queued', 'running') group by j.kind, j.status
  union all
  -- Apart, because each of the two has an index of its own.
  select 'barid_jobs', jsonb_build_object('kind', j.kind, 'status', 'dead'), count(*)::double precision
  from app.jobs j where j.status = 'dead' group by j.kind
  union all
  select 'barid_jobs_oldest_due_age_seconds', '{}', coalesce(extract(epoch from now() - min(j.run_at)), 0)::double precision
  from app.jobs j
  where j.status in ('queued', 'running') and j.run_at <= now() and (j.status = 'queued' or j.lease_until < now())
    and not exists (select from app.jobs e where e.entity_key = j.entity_key and e.id < j.id and e.status in ('queued', 'running'))
  union all
  select 'barid_webhooks_waiting', '{}', count(*)::double precision
  from integration.subscriptions_waiting() w (id)
  join integration.webhook_subscriptions s on s.id = w.id
  join integration.webhook_events e on e.subscription_id = s.id and e.next_attempt_at is not null
  where integration.hears(s)
  union all
  select 'barid_webhooks_oldest_due_age_seconds', '{}', coalesce(extract(epoch from now() - min(w.due_at)), 0)::double precision
  from (
    select d.due_at
    from integration.subscriptions_waiting() w (id)
    join integration.webhook_subscriptions s on s.id = w.id and s.failing_since is null
    cross join lateral (
      select e.next_attempt_at as due_at from integration.webhook_events e
      where e.subscription_id = s.id and e.next_attempt_at <= now()
        and not exists (select from integration.webhook_events p
          where p.subscription_id = e.subscription_id and p.entity_key = e.entity_key and p.next_attempt_at is not null
            and p.position < e.position)
      order by e.next_attempt_at limit 1) d
    where integration.hears(s)
    union all
    select u.created_at
    from integration.listening() l
    cross join lateral (
      select e.created_at from integration.system_events e
      where e.tenant_id = l.tenant_id and not e.is_dispatched and e.position > l.from_position order by e.position limit 1) u
  ) w
  union all
  select 'barid_webhook_subscriptions_failing', '{}', count(*)::double precision
  from integration.webhook_subscriptions s where s.is_active and s.failing_since is not null;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.api_keys_stopped(maker uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('id', k.id, 'name', k.name, 'hint', k.hint) order by k.created_at, k.id), '[]')
    from tenancy.api_keys k
    where k.tenant_id = app.tenant_id() and k.created_by = maker and k.revoked_at is null and k.expires_at > now() and not private.acts_as_maker(k.scopes)
      and cardinality(private.api_key_scopes(k.tenant_id, maker, k.scopes)) = 0);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.subscription_begin()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_from timestamptz;
  v_id uuid;
  v_type text;
begin
  v_from := greatest(now(), tenancy.subscription_paid_until());
  update tenancy.subscriptions s set status = 'ACTIVE',
    starts_at = case s.type when 'UNLIMITED' then now() else v_from end,
    ends_at = tenancy.subscription_ends_at(v_from, s.type)
  where s.tenant_id = v_tenant and s.status = 'PENDING' returning s.id, s.type into v_id, v_type;
  if not found then
    return;
  end if;
  -- The new one ends one that has no end.
  update tenancy.subscriptions s set status = 'CANCELLED', cancelled_at = now(), ends_at = now()
  where s.tenant_id = v_tenant and s.status = 'ACTIVE' and s.type = 'UNLIMITED' and s.id <> v_id;
  perform tenancy.subscription_settle();
  perform tenancy.tenant_event_emit('subscription_started', jsonb_build_object('type', v_type));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.subscription_cancel(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_subscription tenancy.subscriptions;
begin
  perform tenancy.subscription_open();
  v_subscription := tenancy.subscription_now();
  if v_subscription.id is null or v_subscription.status = 'CANCELLED' then
    perform app.fail('subscription_not_found');
  end if;
  update tenancy.subscriptions s set status = 'CANCELLED', cancelled_at = now(),
    ends_at = case when s.starts_at > now() then s.starts_at when s.type = 'UNLIMITED' then now() else s.ends_at end
  where s.tenant_id = v_subscription.tenant_id and (s.id = v_subscription.id
    or v_subscription.type = 'UNLIMITED' and s.type = 'UNLIMITED' and s.status = 'ACTIVE');
  perform tenancy.subscription_settle();
  perform tenancy.tenant_event_emit('subscription_cancelled', jsonb_build_object('type', v_subscription.type));
  return tenancy.subscription_get('{}');
end $function$;

CREATE TRIGGER audit_delete AFTER DELETE ON integration.webhook_subscriptions REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('secret,previous_secret,from_position,failing_since');

CREATE TRIGGER audit_insert AFTER INSERT ON integration.webhook_subscriptions REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('secret,previous_secret,from_position,failing_since');

CREATE TRIGGER audit_update AFTER UPDATE ON integration.webhook_subscriptions REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('secret,previous_secret,from_position,failing_since');

CREATE TRIGGER audit_delete AFTER DELETE ON storefront.custom_domains REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('dns_checked_at');

CREATE TRIGGER audit_insert AFTER INSERT ON storefront.custom_domains REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('dns_checked_at');

CREATE TRIGGER audit_update AFTER UPDATE ON storefront.custom_domains REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('dns_checked_at');

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201090425';
end $$;

grant execute on function private.schema_version() to barid_api;
