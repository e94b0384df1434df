-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION app.settings_at(module text, group_key text, moment timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_changed timestamptz;
  v_settings jsonb;
begin
  select s.settings, s.updated_at into v_settings, v_changed from tenancy.tenant_settings s
  where s.tenant_id = v_tenant and s.module = settings_at.module and s.group_key = settings_at.group_key;
  if v_changed > moment then
    v_settings := coalesce(app.value_before('tenancy.tenant_settings', module || '.' || group_key, 'settings', moment), v_settings);
  end if;
  return coalesce(nullif(v_settings, 'null'), '{}');
end $function$;

CREATE OR REPLACE FUNCTION app.value_before(entity text, entity_id text, field text, moment timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  return (
    select coalesce(l.before -> field, 'null') from app.audit_log l
    where l.tenant_id = v_tenant and l.entity_id = value_before.entity_id and l.entity = value_before.entity
      and l.created_at > moment and (l.action = 'insert' or l.before ? field)
    order by l.id limit 1);
end $function$;

REVOKE ALL ON FUNCTION "app"."value_before"(text, text, text, timestamp with time zone) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.delivery_proofs_keep(d delivery.deliveries, p_stage text, proof jsonb, field text DEFAULT 'proof'::text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_photos text[] := array(select jsonb_array_elements_text(coalesce(nullif(proof -> 'photo_urls', 'null'), '[]')));
  v_signature text := proof ->> 'signature_url';
  v_needs jsonb := delivery.proof_needs(d, p_stage);
  v_at timestamptz := delivery.reported_at(d);
  v_missing text;
begin
  perform delivery.require_proof_urls(v_photos, field || '.photo_urls');
  perform delivery.require_proof_urls(array_remove(array[v_signature], null), field || '.signature_url');
  if v_photos <> '{}' or v_signature is not null then
    insert into delivery.delivery_proofs (tenant_id, delivery_id, stage, kind, url, signed_by, created_by)
    select d.tenant_id, d.id, p_stage, n.kind, n.url, case n.kind when 'signature' then proof ->> 'signed_by' end, app.user_id()
    from (
      select 'photo' as kind, url from unnest(v_photos) url
      union all
      select 'signature', v_signature where v_signature is not null
    ) n
    where not exists (select from delivery.delivery_proofs p
      where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.stage = p_stage and p.kind = n.kind and p.url = n.url
        and delivery.proof_counts(p));
  end if;
  if not v_needs @? '$.* ? (@ == true)' then
    return;
  end if;
  if v_at is not null then
    v_needs := (
      select jsonb_object_agg(n.key, n.value::boolean and (t.needs -> n.key)::boolean)
      from jsonb_each(v_needs) n, delivery.proof_needs_at(d, p_stage, v_at) t (needs));
  end if;
  select k.kind into v_missing from (values ('photo'), ('signature')) k (kind)
  where (v_needs ->> (k.kind || '_required'))::boolean and not exists (
    select from delivery.delivery_proofs p where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.stage = p_stage and p.kind = k.kind
      and delivery.proof_counts(p))
  limit 1;
  if v_missing is not null then
    perform app.fail('delivery_proof_required', jsonb_build_object('field',
      field || case v_missing when 'photo' then '.photo_urls' else '.signature_url' end, 'stage', p_stage));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.proof_needs(d delivery.deliveries, stage text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return delivery.proof_needs_at(d, stage, null);
end $function$;

CREATE OR REPLACE FUNCTION delivery.proof_needs_at(d delivery.deliveries, stage text, moment timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object(
      'photo_required', n.asked and app.boolean_or(p.settings #> array[stage, 'photo_required'], false)
        or stage = 'delivery' and d.made_at_door and d.delivery_flow = 'operational_return',
      'signature_required', n.asked and (app.boolean_or(p.settings #> array[stage, 'signature_required'], false)
        or stage = 'delivery' and d.delivery_flow <> 'operational_return'
          and app.boolean_or(delivery.service_options_at(d.delivery_service_id, moment) -> 'signature_required', false)))
    from (select app.settings_at('delivery', 'proof_settings', moment) as settings) p,
      (select not (stage = 'delivery' and (delivery.is_transferred(d) or delivery.ends_in(d) is not null)) as asked) n);
end $function$;

CREATE OR REPLACE FUNCTION delivery.service_options_at(service_id uuid, moment timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_changed timestamptz;
  v_options jsonb;
begin
  select s.service_options, s.updated_at into v_options, v_changed from delivery.delivery_services s
  where s.tenant_id = v_tenant and s.id = service_id;
  if v_changed > moment then
    v_options := coalesce(app.value_before('delivery.delivery_services', service_id::text, 'service_options', moment), v_options);
  end if;
  return coalesce(nullif(v_options, 'null'), '{}');
end $function$;

REVOKE ALL ON FUNCTION "app"."value_before"(text, text, text, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."proof_needs_at"(delivery.deliveries, text, timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."proof_needs_at"(delivery.deliveries, text, timestamp with time zone) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."service_options_at"(uuid, timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."service_options_at"(uuid, timestamp with time zone) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127230435';
end $$;

grant execute on function private.schema_version() to barid_api;
