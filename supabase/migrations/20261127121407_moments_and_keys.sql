-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION app.is_archived(tenant uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (select from tenancy.tenants t where t.id = is_archived.tenant and t.status = 'archived');
end $function$;

CREATE OR REPLACE FUNCTION app.settings_at(module text, group_key text, moment timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_changed timestamptz;
  v_now jsonb;
  v_then jsonb;
begin
  select s.settings, s.updated_at into v_now, v_changed from tenancy.tenant_settings s
  where s.tenant_id = v_tenant and s.module = settings_at.module and s.group_key = settings_at.group_key;
  if v_changed > moment then
    select coalesce(l.before -> 'settings', '{}') into v_then from app.audit_log l
    where l.tenant_id = v_tenant and l.entity_id = settings_at.module || '.' || settings_at.group_key and l.entity = 'tenancy.tenant_settings'
      and l.created_at > moment and (l.action = 'insert' or l.before ? 'settings')
    order by l.id limit 1;
  end if;
  return coalesce(v_then, v_now, '{}');
end $function$;

CREATE OR REPLACE FUNCTION delivery.attempt_reason(settings jsonb, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select r.reason from jsonb_array_elements(settings -> 'reasons') r (reason)
    where r.reason ->> 'value' = input ->> 'reason_code' and r.reason ->> 'kind' = input ->> 'result');
end $function$;

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
  if v_at is not null and v_needs @? '$.* ? (@ == true)' then
    v_needs := (
      select jsonb_object_agg(n.key, n.value::boolean and (t.needs -> n.key)::boolean)
      from jsonb_each(v_needs) n, delivery.proof_needs_by(app.settings_at('delivery', 'proof_settings', v_at), d, p_stage) t (needs));
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

CREATE OR REPLACE FUNCTION delivery.manifests_complete()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_reason(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_at timestamptz := app.instant(input ->> 'occurred_at');
  v_reason jsonb;
  v_now jsonb;
  v_missing jsonb;
  v_field text;
begin
  if input ->> 'reason_code' is null then
    perform app.fail('outcome_evidence_required', '{"field": "reason_code", "missing": ["reason_code"]}');
  end if;
  v_now := delivery.attempt_reason(tenancy.attempt_settings(), input);
  v_reason := case when v_at is null then v_now else coalesce(
    delivery.attempt_reason(tenancy.attempt_settings_of(app.settings_at('delivery', 'attempts', v_at)), input), v_now) end;
  if v_reason is null then
    perform app.fail('invalid_reference', '{"field": "reason_code"}');
  end if;
  select jsonb_agg(n.need order by n.position), (array_agg(n.field order by n.position))[1] into v_missing, v_field
  from (values
    (1, 'photo', 'proofs.photo_urls', coalesce(nullif(input #> '{proofs,photo_urls}', 'null'), '[]') <> '[]'),
    (2, 'note', 'note', coalesce(input ->> 'note', '') <> ''),
    (3, 'place', 'latitude', input ->> 'latitude' is not null)) n (position, need, field, given)
  where not n.given and (v_reason #> array['needs', n.need])::boolean and (coalesce(v_now, v_reason) #> array['needs', n.need])::boolean;
  if v_missing is not null then
    perform app.fail('outcome_evidence_required', jsonb_build_object('field', v_field, 'missing', v_missing));
  end if;
  return v_reason;
end $function$;

CREATE OR REPLACE FUNCTION delivery.postponed_notify()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count integer;
begin
  with due as (
    select d.id from delivery.deliveries d where d.overnight_notice_at <= now() and not app.is_archived(d.tenant_id)
    order by d.overnight_notice_at limit 1000 for no key update skip locked
  ), noticed as (
    update delivery.deliveries d set overnight_notice_at = null from due where d.id = due.id
    returning d.tenant_id, d.id, d.delivery_code, d.postponed_to
  ), written as (
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select distinct n.tenant_id, u.user_id, 'delivery_postponed_in_van', jsonb_build_object('delivery_id', n.id, 'delivery_code', n.delivery_code,
      'postponed_to', n.postponed_to)
    from noticed n
    join tenancy.tenant_users u on u.tenant_id = n.tenant_id and u.is_active
    join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
      and r.role_key in ('tenant_admin', 'operations_manager', 'dispatcher')
  )
  select count(*) into v_count from noticed;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION delivery.postponed_resume()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid;
  v_day date;
  v_ids uuid[];
  v_failed uuid[];
  v_parents uuid[];
  v_count integer := 0;
begin
  for v_tenant in
    -- A day ahead of UTC, for clocks east of it.
    select p.tenant_id from (
      select distinct d.tenant_id from delivery.deliveries d where d.postponed_to <= (now() at time zone 'UTC')::date + 1) p
    where not app.is_archived(p.tenant_id) order by 1
  loop
    perform set_config('app.tenant_id', v_tenant::text, true);
    v_day := delivery.working_day();
    v_ids := array(select d.id from delivery.deliveries d
      where d.tenant_id = v_tenant and d.postponed_to <= v_day and d.delivery_flow <> 'pnd_parent' order by d.id limit 1000);
    perform delivery.lock_deliveries(v_ids);
    v_failed := array(select d.id from delivery.deliveries d
      where d.tenant_id = v_tenant and d.id = any (v_ids) and d.postponed_to <= v_day and d.status = 'failed');
    v_parents := array(select d.parent_id from delivery.deliveries d where d.tenant_id = v_tenant and d.id = any (v_ids) and d.parent_id is not null);
    with resumed as (
      update delivery.deliveries d set status = case d.status when 'failed' then 'in_transit' else d.status end, postponed_to = null,
        overnight_notice_at = null, status_reason = case d.status when 'failed' then null else d.status_reason end,
        status_notes = case d.status when 'failed' then null else d.status_notes end
      where d.tenant_id = v_tenant and d.id = any (v_ids) and d.postponed_to <= v_day
      returning 1
    )
    select v_count + count(*) into v_count from resumed;
    -- As with a retry: what was to be received of them stays with their drivers.
    perform warehousing.receipts_withdraw(f.id) from unnest(v_failed) f (id);
    -- Those of legs that wait in a warehouse do not follow by themselves.
    update delivery.deliveries p set postponed_to = null
    where p.tenant_id = v_tenant and p.id = any (v_parents) and p.postponed_to <= v_day;
  end loop;
  perform set_config('app.tenant_id', '', true);
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION delivery.proof_needs(d delivery.deliveries, stage text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return delivery.proof_needs_by(app.settings('delivery', 'proof_settings'), d, stage);
end $function$;

CREATE OR REPLACE FUNCTION delivery.proof_needs_by(settings jsonb, d delivery.deliveries, stage text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object(
      'photo_required', n.asked and app.boolean_or(s #> array[stage, 'photo_required'], false)
        or stage = 'delivery' and d.made_at_door and d.delivery_flow = 'operational_return',
      'signature_required', n.asked and (app.boolean_or(s #> array[stage, 'signature_required'], false)
        or (stage = 'delivery' and d.delivery_flow <> 'operational_return' and coalesce((
          select app.boolean_or(v.service_options -> 'signature_required', false) from delivery.delivery_services v
          where v.tenant_id = d.tenant_id and v.id = d.delivery_service_id), false))))
    from (values (settings)) p (s),
      (select not (stage = 'delivery' and (delivery.is_transferred(d) or delivery.ends_in(d) is not null)) as asked) n);
end $function$;

CREATE OR REPLACE FUNCTION delivery.reported_at(d delivery.deliveries)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_said jsonb := nullif(current_setting('app.reported', true), '')::jsonb;
begin
  return case when (v_said ->> 'parcel')::uuid = delivery.parcel_of(d) then (v_said ->> 'occurred_at')::timestamptz end;
end $function$;

CREATE OR REPLACE FUNCTION integration.sealed_keys()
 RETURNS TABLE(key text, count bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
  select split_part(s.sealed, '.', 2), count(*)
  from (
    select w.secret from integration.webhook_subscriptions w
    union all
    select unnest(string_to_array(w.previous_secret, ' ')) from integration.webhook_subscriptions w where w.previous_secret_until > now()
    union all
    select unnest(array[c.credentials, c.webhook_secret]) from integration.tenant_carriers c
    union all
    select v.value from money.payment_gateways g, jsonb_each_text(g.secrets) v
    union all
    select g.previous_webhook_secret from money.payment_gateways g
    union all
    select v.value from money.payment_gateways g, jsonb_each(g.previous_accounts) a, jsonb_each_text(a.value -> 'secrets') v
  ) s (sealed)
  where s.sealed is not null
  group by 1;
end $function$;

REVOKE ALL ON FUNCTION "integration"."sealed_keys"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.gateway_put(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_code text := input ->> 'gateway_code';
  g money.payment_gateways;
  v_missing jsonb;
  v_account text;
begin
  insert into money.payment_gateways (tenant_id, gateway_code) values (v_tenant, v_code)
  on conflict on constraint gateway_configured do nothing;
  select * into strict g from money.payment_gateways x where x.tenant_id = v_tenant and x.gateway_code = v_code for update;
  v_account := money.gateway_account(g.settings);
  if v_account <> money.gateway_account(g.settings || coalesce(input -> 'settings', '{}')) then
    g.previous_accounts := (
      select jsonb_object_agg(kept.name, kept.value)
      from (
        select a.name, a.value from jsonb_each(g.previous_accounts || jsonb_build_object(v_account, jsonb_build_object(
          'settings', g.settings, 'replaced_at', clock_timestamp(),
          'secrets', g.secrets || jsonb_strip_nulls(jsonb_build_object('previous_webhook_secret', g.previous_webhook_secret))))) a (name, value)
        order by a.value ->> 'replaced_at' desc limit 10
      ) kept);
    g.previous_webhook_secret := null;
  elsif input #>> '{secrets,webhook_secret}' is not null and g.secrets ? 'webhook_secret'
      and g.webhook_secret_print is distinct from input ->> 'webhook_secret_print'
      and not coalesce(input -> 'webhook_secret_prints' ? g.webhook_secret_print, false) then
    g.previous_webhook_secret := g.secrets ->> 'webhook_secret';
    -- One that others have seen is exchanged and forgotten at once.
    if (input ->> 'forget_previous_secret')::boolean then
      g.previous_webhook_secret := null;
    end if;
  elsif (input ->> 'forget_previous_secret')::boolean then
    g.previous_webhook_secret := null;
    g.previous_accounts := '{}';
  end if;
  g.settings := jsonb_strip_nulls(g.settings || coalesce(input -> 'settings', '{}'));
  g.previous_accounts := g.previous_accounts - coalesce(money.gateway_account(g.settings), '');
  g.secrets := g.secrets || coalesce(input -> 'secrets', '{}');
  g.is_active := coalesce((input ->> 'is_active')::boolean, g.is_active);
  if g.is_active then
    select jsonb_agg(n.name order by n.position) into v_missing
    from jsonb_array_elements_text(input -> 'needs') with ordinality n (name, position)
    where not (g.settings ? n.name or g.secrets ? n.name);
    if v_missing is not null then
      perform app.fail('gateway_incomplete', jsonb_build_object('field', v_missing -> 0, 'missing', v_missing));
    end if;
  end if;
  update money.payment_gateways x set is_active = g.is_active, settings = g.settings, secrets = g.secrets,
    webhook_secret_print = coalesce(input ->> 'webhook_secret_print', x.webhook_secret_print),
    previous_webhook_secret = g.previous_webhook_secret, previous_accounts = g.previous_accounts
  where x.tenant_id = v_tenant and x.id = g.id;
  return money.gateways_get(jsonb_build_object('gateway_code', v_code)) -> 0;
end $function$;

CREATE OR REPLACE FUNCTION money.statement_cycles_sweep()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid;
  v_day date;
  v_count integer := 0;
begin
  for v_tenant in select c.tenant_id from money.merchant_cycles c where not app.is_archived(c.tenant_id) order by 1 loop
    perform set_config('app.tenant_id', v_tenant::text, true);
    v_day := money.cycle_day_due();
    if v_day is not null and not exists (
        select from app.jobs j where j.tenant_id = v_tenant and j.kind = 'delivery.merchant_statements' and j.payload ->> 'day' = v_day::text
          and j.status <> 'done') then
      perform app.job_add('delivery.merchant_statements', jsonb_build_object('day', v_day));
      v_count := v_count + 1;
    end if;
  end loop;
  perform set_config('app.tenant_id', '', true);
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION storefront.orders_complete()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  update storefront.storefront_orders o set status = 'completed', status_note = null
  where o.id in (
    select x.id from storefront.storefront_orders x where x.status = 'delivered' and x.delivered_at < now() - interval '14 days'
      and not app.is_archived(x.tenant_id)
    order by x.delivered_at limit 5000 for no key update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.api_keys_warn()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_key record;
  v_count bigint := 0;
begin
  for v_key in
    update tenancy.api_keys k set warned_at = now()
    where k.warned_at is null and k.revoked_at is null and k.tenant_id is not null
      and k.expires_at > now() and k.expires_at <= now() + interval '14 days' and not app.is_archived(k.tenant_id)
    returning k.*
  loop
    perform set_config('app.tenant_id', v_key.tenant_id::text, true);
    perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'api_key.expiring', 'source_module', 'tenants',
      'entity_type', 'api_key', 'entity_id', v_key.id, 'event_data', jsonb_build_object('api_key_id', v_key.id,
        'name', v_key.name, 'hint', v_key.hint, 'expires_at', v_key.expires_at, 'created_by', v_key.created_by))));
    v_count := v_count + 1;
  end loop;
  perform set_config('app.tenant_id', '', true);
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.attempt_settings()
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return tenancy.attempt_settings_of(app.settings('delivery', 'attempts'));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.attempt_settings_of(saved jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select '{"after_last": "ask", "undo_minutes": 10}' || s.saved || jsonb_build_object('reasons', case
      when s.saved ? 'reasons' then (
        select jsonb_agg(r.reason || jsonb_build_object('needs', '{"photo": false, "note": false, "place": false}'::jsonb
          || coalesce(r.reason -> 'needs', '{}')) order by r.position)
        from jsonb_array_elements(s.saved -> 'reasons') with ordinality r (reason, position))
      else tenancy.attempt_reasons_default() end)
    -- offset 0 keeps the settings from being read again for each of their uses above.
    from (select jsonb_strip_nulls(attempt_settings_of.saved) as saved offset 0) s);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.kept_amounts()
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('field', k.field, 'count', k.count) order by k.field), '[]')
    from (
      select s.key as field, 1::bigint as count from jsonb_each(tenancy.setting_amounts()) s where s.value::numeric > 0
      union all
      select 'delivery_services.default_price', count(*) from delivery.delivery_services s
      where s.tenant_id = v_tenant and s.deleted_at is null and s.default_price > 0
      union all
      select 'delivery_services.price_per_km', count(*) from delivery.delivery_services s
      where s.tenant_id = v_tenant and s.deleted_at is null and s.price_per_km > 0
      union all
      select 'products.variants.price', count(*) from storefront.product_variants v
      where v.tenant_id = v_tenant and v.archived_at is null and v.price > 0
      union all
      select 'carriers.configuration.default_price', count(*) from integration.tenant_carriers c
      where c.tenant_id = v_tenant and c.default_price > 0
    ) k where k.count > 0);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.require_coins_of_settings(before jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_currency record := app.currency();
  v_field text;
begin
  select s.key into v_field from jsonb_each(tenancy.setting_amounts()) s
  where s.value is distinct from before -> s.key and s.value::numeric <> round(s.value::numeric, v_currency.decimals)
  order by s.key limit 1;
  if v_field is not null then
    perform app.fail('too_many_decimals', jsonb_build_object('field', v_field, 'currency', v_currency.code, 'decimals', v_currency.decimals));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.setting_amounts()
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_object_agg(a.module || '.' || a.group_key || '.settings.' || a.path, v.value), '{}')
    from (values
      ('delivery', 'cod', 'cash_ceiling'),
      ('delivery', 'payouts', 'minimum'),
      ('delivery', 'payouts', 'keep'),
      ('general', 'driver', 'per_delivery.base_amount')) a (module, group_key, path)
    cross join lateral (select app.settings(a.module, a.group_key) #> string_to_array(a.path, '.') as value) v
    where jsonb_typeof(v.value) = 'number');
end $function$;

CREATE OR REPLACE FUNCTION tenancy.settings_save(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_currency record;
  v_now record;
  v_before jsonb := tenancy.manifest_settings();
  v_amounts jsonb;
  v_groups jsonb;
  v_saved jsonb;
begin
  perform private.version_alone();
  select jsonb_agg(jsonb_build_array(p ->> 'module', p ->> 'group')) into v_groups
  from jsonb_array_elements(input -> 'patches') p;
  perform app.keep_currency(v_groups @> '[["general", "currency"]]');
  v_currency := app.currency();
  v_amounts := tenancy.setting_amounts();
  insert into tenancy.tenant_settings as s (tenant_id, module, group_key, settings, updated_by)
  select app.tenant_id(), p ->> 'module', p ->> 'group', app.merge_patch('{}', p -> 'settings'), app.user_id()
  from jsonb_array_elements(input -> 'patches') p
  order by p ->> 'module', p ->> 'group'
  on conflict (tenant_id, module, group_key) do update set updated_by = excluded.updated_by,
    settings = app.merge_patch(s.settings, (
      select q -> 'settings' from jsonb_array_elements(input -> 'patches') q
      where q ->> 'module' = excluded.module and q ->> 'group' = excluded.group_key));
  perform tenancy.require_references(input -> 'patches');
  if v_groups @> '[["delivery", "transfer_manifest"]]' then
    perform tenancy.require_workflow();
    perform tenancy.require_default_service(v_before);
  end if;
  v_now := app.currency();
  if (v_now.code, v_now.decimals) <> (v_currency.code, v_currency.decimals) then
    perform tenancy.currency_changed(v_currency.code);
    v_amounts := '{}';
  end if;
  perform tenancy.require_coins_of_settings(v_amounts);
  v_saved := tenancy.settings_get(jsonb_build_object('groups', v_groups));
  return case when v_now.code = v_currency.code then v_saved
    else jsonb_set(v_saved, '{general,currency,kept_amounts}', tenancy.kept_amounts()) end;
end $function$;

REVOKE ALL ON FUNCTION "app"."is_archived"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "app"."is_archived"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "app"."settings_at"(text, text, timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "app"."settings_at"(text, text, timestamp with time zone) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."attempt_reason"(jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."attempt_reason"(jsonb, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."proof_needs_by"(jsonb, delivery.deliveries, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."proof_needs_by"(jsonb, delivery.deliveries, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."reported_at"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."reported_at"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."sealed_keys"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "tenancy"."attempt_settings_of"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."attempt_settings_of"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "tenancy"."kept_amounts"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."kept_amounts"() TO "barid_caller";

REVOKE ALL ON FUNCTION "tenancy"."require_coins_of_settings"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."require_coins_of_settings"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "tenancy"."setting_amounts"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."setting_amounts"() TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127121407';
end $$;

grant execute on function private.schema_version() to barid_api;
