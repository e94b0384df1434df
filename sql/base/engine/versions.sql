-- Versions of rows, so that nobody overwrites a change they have not read.
--
-- version: table, column, key (null: the tenant's only row), expected (the versions a change may find).
-- A version is updated_at in microseconds, as hexadecimal text: every update sets it (app.touched).

-- The version of a row that was changed then.
create or replace function private.version_at(updated_at timestamptz) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return to_hex((extract(epoch from updated_at) * 1000000)::bigint);
end $$;

-- The row's version now; null when the caller reaches no such row. By a plan that the connection keeps: under the policies preparing it costs
-- many times what reading it does.
create or replace function private.version_of(version jsonb) returns text
language plpgsql set search_path = '' as $$
declare
  v_answer json;
begin
  select k.answer into v_answer from private.read_kept(
    format('select to_json(r.updated_at), null::bigint from %s r where r.%I = ($1 ->> ''key'')::uuid',
      (version ->> 'table')::regclass, version ->> 'column'),
    jsonb_build_object('key', coalesce(version ->> 'key', app.tenant_id()::text))) k;
  return private.version_at((v_answer #>> '{}')::timestamptz);
end $$;

-- Refuses unless the row has one of the expected versions, and lets private.touch look again when the row is locked
-- and changed: between here and there somebody else may have changed it. No lock is taken here, since the cores lock
-- in an order of their own. A row that is not there is the core's to refuse.
-- Fails: version_conflict (current_version).
create or replace function private.version_expect(version jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_current text := private.version_of(version);
begin
  if v_current is null then
    return;
  end if;
  if not (version -> 'expected') ? v_current then
    perform app.fail('version_conflict', jsonb_build_object('current_version', v_current));
  end if;
  perform set_config('app.expected_version', jsonb_build_object('table', (version ->> 'table')::regclass::oid,
    'column', version ->> 'column', 'key', coalesce(version ->> 'key', app.tenant_id()::text), 'version', v_current)::text, true);
end $$;

-- Called by private.touch for the first change of the expected row.
create or replace function private.version_held(expected jsonb, changed jsonb, relation oid) returns void
language plpgsql set search_path = '' as $$
declare
  v_current text := private.version_at((changed ->> 'updated_at')::timestamptz);
begin
  if (expected ->> 'table')::oid <> relation or changed ->> (expected ->> 'column') is distinct from lower(expected ->> 'key') then
    return;
  end if;
  if v_current <> expected ->> 'version' then
    perform app.fail('version_conflict', jsonb_build_object('current_version', v_current));
  end if;
  perform set_config('app.expected_version', '', true);
end $$;

-- Keeps out others who change what is one for a tenant, such as its settings, until the end. SECURITY DEFINER: operations, who name the default
-- driver in the settings, may not change tenants.
create or replace function private.lock_tenant() returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform from tenancy.tenants t where t.id = app.tenant_id() for no key update;
end $$;

-- Refuses when the version is no longer what was expected: for cores whose version is that of many rows, which no single change of a row can
-- answer for. They call it once they hold these rows, before the first change. Fails: version_conflict (current_version).
create or replace function private.version_unchanged() returns void
language plpgsql set search_path = '' as $$
declare
  v_expected jsonb := nullif(current_setting('app.expected_version', true), '')::jsonb;
  v_current text;
begin
  if v_expected is null then
    return;
  end if;
  v_current := private.version_of(jsonb_set(v_expected, '{table}', to_jsonb((v_expected ->> 'table')::oid::regclass::text)));
  if v_current <> v_expected ->> 'version' then
    perform app.fail('version_conflict', jsonb_build_object('current_version', v_current));
  end if;
end $$;

-- The same where rows may be new, and cannot be held: keeps out others who do the same until the end.
-- Fails: version_conflict (current_version).
create or replace function private.version_alone() returns void
language plpgsql set search_path = '' as $$
begin
  perform private.lock_tenant();
  perform private.version_unchanged();
end $$;

grant execute on function private.version_at(timestamptz), private.version_of(jsonb), private.version_expect(jsonb),
  private.version_held(jsonb, jsonb, oid), private.version_unchanged(), private.lock_tenant(), private.version_alone() to barid_caller;
