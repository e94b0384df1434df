-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.delivery_services in share row exclusive mode;
      lock table delivery.services_list in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "delivery"."services_list";

CREATE OR REPLACE FUNCTION delivery.services_stats(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_asker uuid := delivery.service_access_user((input ->> 'customer_id')::uuid);
  v_narrowed boolean := input ? 'customer_id';
  v_allowed uuid[] := case when input ->> 'context' = 'g2g' then delivery.g2g_services() end;
  v_numbers jsonb;
begin
  if app.sees_tenant() and not v_narrowed and v_allowed is null then
    v_numbers := jsonb_build_object('totalServices', app.tally('services', '{"deleted_at": null}') -> 'entries',
      'activeServices', app.tally('services', '{"deleted_at": null, "active": true}') -> 'entries',
      'deliveryTypesCount', (select count(*) from jsonb_object_keys(app.tally_by('services', 'delivery_type_id', '{"deleted_at": null}'))));
  else
    select jsonb_build_object('totalServices', coalesce(sum(t.services), 0), 'activeServices', coalesce(sum(t.active), 0),
      'deliveryTypesCount', count(*)) into v_numbers
    from (
      select count(*) as services, count(*) filter (where s.active) as active
      from delivery.delivery_services s
      where s.deleted_at is null and (v_allowed is null or s.id = any (v_allowed))
        and (not v_narrowed or delivery.service_open_to(s, v_asker))
      group by s.delivery_type_id) t;
  end if;
  return v_numbers || jsonb_build_object('recentlyAdded', (
    select coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'code', n.code, 'name', app.localized(n.name), 'created_at', n.created_at)
      order by n.created_at desc, n.id desc), '[]')
    from (
      select s.* from delivery.delivery_services s
      where s.deleted_at is null and (v_allowed is null or s.id = any (v_allowed))
        and (not v_narrowed or delivery.service_open_to(s, v_asker))
      order by s.created_at desc nulls last, s.id desc limit 5) n));
end $function$;

CREATE OR REPLACE FUNCTION private.tally_services()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
      select c.tenant_id, 'services', array[coalesce(c.deleted_at::text, ''), coalesce(c.active::text, ''), coalesce(c.delivery_type_id::text, '')], sum(c.d), coalesce(sum(c.d * 0), 0) from (select 1 as d, n.* from new_rows n) c group by 1, 3 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
      select c.tenant_id, 'services', array[coalesce(c.deleted_at::text, ''), coalesce(c.active::text, ''), coalesce(c.delivery_type_id::text, '')], sum(c.d), coalesce(sum(c.d * 0), 0) from (select -1 as d, o.* from old_rows o
          where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 3 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0;
      else
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
      select c.tenant_id, 'services', array[coalesce(c.deleted_at::text, ''), coalesce(c.active::text, ''), coalesce(c.delivery_type_id::text, '')], sum(c.d), coalesce(sum(c.d * 0), 0) from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 3 having sum(c.d) <> 0 or coalesce(sum(c.d * 0), 0) <> 0;
      end if;
      return null;
    end $function$;

CREATE VIEW "delivery"."services_list" WITH (security_invoker=true) AS  SELECT s.id,
    s.code,
    app.localized(s.name) AS name,
    s.name AS name_translations,
    ( SELECT string_agg(n.value, '
'::text) AS string_agg
           FROM jsonb_each_text(s.name) n(key, value)) AS search_names,
    app.localized(s.description) AS description,
    s.description AS description_translations,
    s.image_url,
    s.priority,
    s.service_level,
    s.default_price,
    s.price_per_km,
    s.free_km,
    s.estimated_delivery_time_min,
    s.estimated_delivery_time_max,
    s.allowed_delivery_attempts,
    s.unit_min,
    s.unit_max,
    ('{"tracking": false, "signature_required": false, "insurance_available": false}'::jsonb || s.service_options) AS service_options,
    jsonb_build_object('id', t.id, 'code', t.code, 'name', app.localized(t.name)) AS delivery_type,
    s.active,
    s.allow_returns,
    s.access_mode,
    ( SELECT COALESCE(jsonb_agg(u.user_id ORDER BY u.user_id), '[]'::jsonb) AS "coalesce"
           FROM ( SELECT u_1.user_id
                   FROM delivery.delivery_service_users u_1
                  WHERE ((u_1.tenant_id = s.tenant_id) AND (u_1.service_id = s.id))
                  ORDER BY u_1.user_id
                 LIMIT 100) u) AS user_ids,
    ( SELECT count(*) AS count
           FROM delivery.delivery_service_users u
          WHERE ((u.tenant_id = s.tenant_id) AND (u.service_id = s.id))) AS user_count,
    s.zone_access_mode,
    s.zone_selector_type,
    s.created_at,
    s.updated_at
   FROM (delivery.delivery_services s
     LEFT JOIN delivery.delivery_types t ON (((t.tenant_id = s.tenant_id) AND (t.id = s.delivery_type_id))))
  WHERE (s.deleted_at IS NULL);

CREATE TRIGGER tally_services_delete AFTER DELETE ON delivery.delivery_services REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.tally_services();

CREATE TRIGGER tally_services_insert AFTER INSERT ON delivery.delivery_services REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.tally_services();

CREATE TRIGGER tally_services_update AFTER UPDATE ON delivery.delivery_services REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.tally_services();

REVOKE ALL ON FUNCTION "private"."tally_services"() FROM PUBLIC;

GRANT SELECT ON TABLE "delivery"."services_list" TO "barid_caller";

select app.counted('services', 'delivery.delivery_services', '{deleted_at,active,delivery_type_id}');

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125195810';
end $$;

grant execute on function private.schema_version() to barid_api;
