-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table delivery.deliveries in share row exclusive mode;
      set local lock_timeout = '250ms';
      lock table tenancy.profiles in share row exclusive mode;
      lock table tenancy.tenants in share row exclusive mode;
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

CREATE TABLE "delivery"."tracking_links" ("id" uuid NOT NULL DEFAULT gen_random_uuid(), "tenant_id" uuid NOT NULL, "delivery_id" uuid NOT NULL, "token" text NOT NULL DEFAULT rtrim(translate(encode(uuid_send(gen_random_uuid()), 'base64'::text), '+/'::text, '-_'::text), '='::text), "created_by" uuid, "created_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "delivery_tracked_once" UNIQUE (tenant_id, delivery_id), CONSTRAINT "texts_within_bounds" CHECK ((octet_length(token) <= 1000)), CONSTRAINT "tracking_links_pkey" PRIMARY KEY (id), CONSTRAINT "tracking_links_tenant_id_id_key" UNIQUE (tenant_id, id), CONSTRAINT "tracking_links_token_check" CHECK ((token ~ '^[A-Za-z0-9_-]{22}$'::text)), CONSTRAINT "tracking_token_taken" UNIQUE (token));

ALTER TABLE "delivery"."tracking_links" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "delivery"."tracking_links" FORCE ROW LEVEL SECURITY;

CREATE OR REPLACE FUNCTION delivery.is_trackable(d delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(d.tenant_id);
  return d.parent_id is null and d.status <> 'draft' and d.delivery_flow <> 'operational_return' and exists (
    select from delivery.delivery_services s
    where s.tenant_id = d.tenant_id and s.id = d.delivery_service_id and app.boolean_or(s.service_options -> 'tracking', false));
end $function$;

CREATE OR REPLACE FUNCTION delivery.tracked_carrier(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object('code', s.carrier_code, 'tracking_number', s.tracking_number)
    from integration.carrier_shipments s
    where s.tenant_id = d.tenant_id and s.status <> 'cancelled' and s.tracking_number is not null and s.delivery_id in (
      select d.id union all select l.id from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id)
    order by s.booked_at desc nulls last, s.id desc limit 1);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."tracked_carrier"(delivery.deliveries) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.tracking_link_end(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_delivery uuid;
begin
  delete from delivery.tracking_links l
  where l.tenant_id = app.tenant_id() and l.delivery_id = coalesce(
    (select d.parent_id from delivery.deliveries d where d.tenant_id = l.tenant_id and d.id = (input ->> 'id')::uuid), (input ->> 'id')::uuid)
  returning l.delivery_id into v_delivery;
  if v_delivery is null then
    perform app.fail('tracking_not_found');
  end if;
  return jsonb_build_object('delivery_id', v_delivery);
end $function$;

CREATE OR REPLACE FUNCTION delivery.tracking_links_make(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_asked uuid[] := app.uuids(input -> 'delivery_ids');
  v_parcels uuid[];
  v_wrong uuid[];
begin
  v_wrong := array(select a.id from unnest(v_asked) with ordinality a (id, place)
    where not exists (select from delivery.deliveries d where d.tenant_id = v_tenant and d.id = a.id) order by a.place);
  if v_wrong <> '{}' then
    perform app.fail('delivery_not_found', jsonb_build_object('field', 'delivery_ids', 'delivery_ids', v_wrong));
  end if;
  v_parcels := array(
    select coalesce(d.parent_id, d.id) from unnest(v_asked) with ordinality a (id, place)
    join delivery.deliveries d on d.tenant_id = v_tenant and d.id = a.id
    group by coalesce(d.parent_id, d.id) order by min(a.place));
  v_wrong := array(select a.id from unnest(v_parcels) with ordinality a (id, place)
    join delivery.deliveries d on d.tenant_id = v_tenant and d.id = a.id
    where not delivery.is_trackable(d) order by a.place);
  if v_wrong <> '{}' then
    perform app.fail('tracking_not_offered', jsonb_build_object('field', 'delivery_ids', 'delivery_ids', v_wrong));
  end if;
  -- In one order, whatever the order asked: of two calls at once one waits for the other.
  insert into delivery.tracking_links (tenant_id, delivery_id, created_by)
  select v_tenant, p.id, app.user_id() from unnest(v_parcels) p (id) order by p.id
  on conflict (tenant_id, delivery_id) do nothing;
  return (
    select jsonb_agg(jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'token', l.token) order by a.place)
    from unnest(v_parcels) with ordinality a (id, place)
    join delivery.deliveries d on d.tenant_id = v_tenant and d.id = a.id
    join delivery.tracking_links l on l.tenant_id = v_tenant and l.delivery_id = d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.tracking_read(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_caller text := coalesce(app.tenant_id()::text, '');
  v_language text;
  v_until timestamptz;
  v_answer jsonb;
  t tenancy.tenants;
  d delivery.deliveries;
begin
  select x.* into t from delivery.tracking_links l join tenancy.tenants x on x.id = l.tenant_id
  where l.token = input ->> 'token' and app.is_effective(x);
  if not found then
    perform app.fail('tracking_not_found');
  end if;
  -- All of it is the company's, and is read as the company for this one moment.
  perform set_config('app.tenant_id', t.id::text, true);
  select x.* into d from delivery.tracking_links l join delivery.deliveries x on x.tenant_id = l.tenant_id and x.id = l.delivery_id
  where l.token = input ->> 'token';
  if delivery.has_ended(d) then
    v_until := (select h.created_at + interval '30 days' from delivery.delivery_status_history h
      where h.tenant_id = t.id and h.delivery_id = d.id order by h.id desc limit 1);
  end if;
  if not delivery.is_trackable(d) or v_until < now() then
    perform app.fail('tracking_not_found');
  end if;
  v_language := app.settings('general', 'language') ->> 'default';
  if v_language is not null and app.request_setting('language_asked') is null then
    perform set_config('app.language', v_language, true);
  end if;
  v_answer := delivery.tracking_to_json(d, t, v_until);
  perform set_config('app.tenant_id', v_caller, true);
  return v_answer;
end $function$;

CREATE OR REPLACE FUNCTION delivery.tracking_to_json(d delivery.deliveries, t tenancy.tenants, until timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_brand jsonb := app.settings('general', 'brand_settings');
  v_due jsonb := money.cash_due_on(d) -> 'delivery';
begin
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

REVOKE ALL ON FUNCTION "delivery"."tracking_to_json"(delivery.deliveries, tenancy.tenants, timestamp with time zone) FROM "barid_caller";

ALTER TABLE "delivery"."tracking_links" ADD CONSTRAINT "tracking_links_created_by_fkey" FOREIGN KEY (created_by) REFERENCES tenancy.profiles(id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."tracking_links" ADD CONSTRAINT "tracking_links_tenant_id_delivery_id_fkey" FOREIGN KEY (tenant_id, delivery_id) REFERENCES delivery.deliveries(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."tracking_links" ADD CONSTRAINT "tracking_links_tenant_id_fkey" FOREIGN KEY (tenant_id) REFERENCES tenancy.tenants(id) ON DELETE RESTRICT;

CREATE INDEX tracking_links_maker ON delivery.tracking_links USING btree (created_by) WHERE (created_by IS NOT NULL);

CREATE TRIGGER audit_delete AFTER DELETE ON delivery.tracking_links REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('token');

CREATE TRIGGER audit_insert AFTER INSERT ON delivery.tracking_links REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('token');

CREATE TRIGGER audit_update AFTER UPDATE ON delivery.tracking_links REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('token');

CREATE POLICY "tenant" ON "delivery"."tracking_links" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (EXISTS ( SELECT
   FROM delivery.deliveries d
  WHERE ((d.tenant_id = tracking_links.tenant_id) AND (d.id = tracking_links.delivery_id))))));

CREATE POLICY "write_delete" ON "delivery"."tracking_links" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT true));

CREATE POLICY "write_insert" ON "delivery"."tracking_links" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT true));

CREATE POLICY "write_update" ON "delivery"."tracking_links" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT true));

REVOKE ALL ON FUNCTION "delivery"."is_trackable"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."is_trackable"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."tracked_carrier"(delivery.deliveries) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."tracking_link_end"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."tracking_link_end"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."tracking_links_make"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."tracking_links_make"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."tracking_read"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."tracking_read"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."tracking_to_json"(delivery.deliveries, tenancy.tenants, timestamp with time zone) FROM PUBLIC;

GRANT DELETE, INSERT, SELECT ON TABLE "delivery"."tracking_links" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130165209';
end $$;

grant execute on function private.schema_version() to barid_api;
