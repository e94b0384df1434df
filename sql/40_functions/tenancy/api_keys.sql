-- API keys: what a company's programs call with. The function makes the key and sends its hash, and the key itself
-- sealed, in `made`; the answer carries it sealed back to where it is opened, to be shown once.

-- A key as clients see it. Fails: api_key_not_found.
create or replace function tenancy.api_key_of(id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_key jsonb := (select to_jsonb(k) from tenancy.api_keys_list k where k.id = api_key_of.id);
begin
  if v_key is null then
    perform app.fail('api_key_not_found');
  end if;
  return v_key;
end $$;

-- Makes a key that may do what its scopes, names of permissions, allow: nothing that its maker may not.
-- {name, scopes, expires_at?, made: {id, hash (hex), hint, key (sealed)}} -> {api_key, key (sealed)}
-- Fails: api_key_scope_not_held {scopes}, api_key_expiry_past.
create or replace function tenancy.api_key_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input #>> '{made,id}')::uuid;
  v_scopes text[] := array(select distinct s.value from jsonb_array_elements_text(input -> 'scopes') s order by s.value);
  v_beyond text[] := array(select s from unnest(v_scopes) s where not app.has_permission(s));
  v_expires timestamptz := app.instant(input ->> 'expires_at');
begin
  if cardinality(v_beyond) > 0 then
    perform app.fail('api_key_scope_not_held', jsonb_build_object('field', 'scopes', 'scopes', v_beyond));
  elsif v_expires <= now() then
    perform app.fail('api_key_expiry_past', '{"field": "expires_at"}');
  end if;
  insert into tenancy.api_keys (id, tenant_id, name, key_hash, hint, scopes, created_by, expires_at)
  values (v_id, app.tenant_id(), input ->> 'name', decode(input #>> '{made,hash}', 'hex'), input #>> '{made,hint}', v_scopes,
    app.user_id(), v_expires);
  return jsonb_build_object('api_key', tenancy.api_key_of(v_id), 'key', input #>> '{made,key}');
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
