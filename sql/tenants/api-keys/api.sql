-- API keys: what a company's programs call with. The function makes the key and sends its hash, and the key itself
-- sealed, in `made`; the answer carries it sealed back to where it is opened, to be shown once.

-- A key as clients see it. Fails: api_key_not_found.
create or replace function tenancy.api_key_of(id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_key jsonb := (select to_jsonb(k) - 'created_by_id' from tenancy.api_keys_list k where k.id = api_key_of.id);
begin
  if v_key is null then
    perform app.fail('api_key_not_found');
  end if;
  return v_key;
end $$;

-- The key of this call, and its company, which may be shut; null for a key of the system. SECURITY DEFINER: a key sees none of either unless
-- its scopes say so. {} -> {api_key, tenant: {id, slug, name, status, effective_active, effective_until}}
create or replace function tenancy.api_key_mine(input jsonb) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
  v_id uuid := app.request_setting('api_key_id')::uuid;
begin
  return jsonb_build_object('api_key', tenancy.api_key_of(v_id), 'tenant', (
    select jsonb_build_object('id', t.id, 'slug', t.slug, 'name', t.name, 'status', t.status,
      'effective_active', app.is_effective(t), 'effective_until', t.effective_until)
    from tenancy.api_keys k
    join tenancy.tenants t on t.id = k.tenant_id
    where k.id = v_id));
end $$;
grant execute on function tenancy.api_key_mine(jsonb) to barid_caller;

-- Those of these scopes that the caller may not use; beside an own: scope no other, since a key is either a merchant's or the company's. -> text[]
create or replace function tenancy.scopes_not_held(scopes text[]) returns text[]
language plpgsql stable set search_path = '' as $$
begin
  if private.acts_as_maker(scopes) and app.has_role('institution') then
    return array_remove(scopes, case when 'own:institution' = any (scopes) then 'own:institution' else 'own:institution:view' end);
  end if;
  return array(select s from unnest(scopes) s where not app.has_permission(s));
end $$;

-- Makes a key that may do what its scopes allow: nothing that its maker may not, and for a year at most. An institution has ten that have not
-- ended.
-- {name, scopes, expires_at, made: {id, hash (hex), hint, key (sealed)}} -> {api_key, key (sealed)}
-- Fails: api_key_scope_not_held {scopes}, api_key_expiry_past, api_key_expiry_too_far, api_key_limit_reached {max}.
create or replace function tenancy.api_key_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_max constant integer := 10;
  v_id uuid := (input #>> '{made,id}')::uuid;
  v_scopes text[] := array(select distinct s.value from jsonb_array_elements_text(input -> 'scopes') s order by s.value);
  v_beyond text[] := tenancy.scopes_not_held(v_scopes);
  v_expires timestamptz := app.instant(input ->> 'expires_at');
begin
  if cardinality(v_beyond) > 0 then
    perform app.fail('api_key_scope_not_held', jsonb_build_object('field', 'scopes', 'scopes', v_beyond));
  elsif v_expires <= now() then
    perform app.fail('api_key_expiry_past', '{"field": "expires_at"}');
  elsif v_expires > now() + interval '1 year' then
    perform app.fail('api_key_expiry_too_far', '{"field": "expires_at"}');
  end if;
  if private.acts_as_maker(v_scopes) then
    -- Two at once would both count nine.
    perform pg_advisory_xact_lock(hashtextextended('api_keys/' || app.tenant_id() || '/' || app.user_id(), 0));
    if (select count(*) from tenancy.api_keys k
        where k.tenant_id = app.tenant_id() and k.created_by = app.user_id() and k.revoked_at is null and k.expires_at > now()) >= v_max then
      perform app.fail('api_key_limit_reached', jsonb_build_object('max', v_max));
    end if;
  end if;
  insert into tenancy.api_keys (id, tenant_id, name, key_hash, hint, scopes, created_by, expires_at)
  values (v_id, app.tenant_id(), input ->> 'name', decode(input #>> '{made,hash}', 'hex'), input #>> '{made,hint}', v_scopes,
    app.user_id(), v_expires);
  return jsonb_build_object('api_key', tenancy.api_key_of(v_id), 'key', input #>> '{made,key}');
end $$;

-- Makes the caller answer for a key in its maker's place, so that it works on when they go. {id} -> {api_key}
-- Fails: api_key_not_found, api_key_ended, api_key_scope_not_held {scopes}.
create or replace function tenancy.api_key_take_over(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_key record;
  v_beyond text[];
begin
  select k.scopes, k.revoked_at is not null or k.expires_at <= now() as has_ended into v_key
  from tenancy.api_keys k where k.id = v_id for no key update;
  if not found then
    perform app.fail('api_key_not_found');
  elsif v_key.has_ended then
    perform app.fail('api_key_ended');
  end if;
  v_beyond := tenancy.scopes_not_held(v_key.scopes);
  if cardinality(v_beyond) > 0 then
    perform app.fail('api_key_scope_not_held', jsonb_build_object('field', 'api_key_id', 'scopes', v_beyond));
  end if;
  update tenancy.api_keys k set created_by = app.user_id() where k.id = v_id;
  return jsonb_build_object('api_key', tenancy.api_key_of(v_id));
end $$;

-- The company's keys that a person made and that do nothing any more, for the answer that shuts them out. -> [{id, name, hint}]
create or replace function tenancy.api_keys_stopped(maker uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('id', k.id, 'name', k.name, 'hint', k.hint) order by k.created_at, k.id), '[]')
    from tenancy.api_keys k
    where k.tenant_id = app.tenant_id() and k.created_by = maker and k.revoked_at is null and k.expires_at > now() and not private.acts_as_maker(k.scopes)
      and cardinality(private.api_key_scopes(k.tenant_id, maker, k.scopes)) = 0);
end $$;

-- Ends the keys of a person who left the company and is back: they had stopped with the membership, and an invitation of the person is none of
-- them. What another administrator took over still works.
create or replace function tenancy.api_keys_end() returns trigger
language plpgsql set search_path = '' as $$
begin
  update tenancy.api_keys k set revoked_at = now()
  where k.tenant_id = new.tenant_id and k.created_by = new.user_id and k.revoked_at is null and k.expires_at > now();
  return null;
end $$;

-- Warns of keys that end within 14 days, once each: the company by an event, and the person who answers for the key. Run by cron. -> how many.
create or replace function tenancy.api_keys_warn() returns bigint
language plpgsql set search_path = '' as $$
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
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select u.tenant_id, u.user_id, 'api_key_expiring', jsonb_build_object('api_key_id', v_key.id, 'name', v_key.name, 'hint', v_key.hint,
      'expires_at', v_key.expires_at, 'expires_on', (v_key.expires_at at time zone app.timezone())::date)
    from tenancy.tenant_users u where u.tenant_id = v_key.tenant_id and u.user_id = v_key.created_by and u.is_active;
    v_count := v_count + 1;
  end loop;
  perform set_config('app.tenant_id', '', true);
  return v_count;
end $$;

-- Ends a key, for good and with the next call; one that ended before keeps its time. {id} -> {api_key}.
-- Fails: api_key_not_found.
create or replace function tenancy.api_key_revoke(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
begin
  update tenancy.api_keys k set revoked_at = now() where k.id = v_id and k.revoked_at is null;
  return jsonb_build_object('api_key', tenancy.api_key_of(v_id));
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function tenancy.api_keys_warn() from barid_caller;
