-- Settings that hold for the whole system.

-- {keys?} -> {settings: {key: value}}
create or replace function tenancy.system_settings_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('settings', coalesce(jsonb_object_agg(s.key, s.value), '{}'))
    from tenancy.system_settings s where not input ? 'keys' or input -> 'keys' ? s.key);
end $$;

-- Sets each as a whole. {settings: {key: value}} -> as system_settings_get, the ones set.
-- Fails: invalid_reference (a currency that does not exist).
create or replace function tenancy.system_settings_save(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_codes jsonb := input #> '{settings,currencies.enabled}';
begin
  if jsonb_typeof(v_codes) = 'array' and exists (
      select from jsonb_array_elements_text(v_codes) c (code)
      where not exists (select from tenancy.currencies k where k.code = c.code)) then
    perform app.fail('invalid_reference', '{"field": "settings.currencies.enabled"}');
  end if;
  insert into tenancy.system_settings (key, value)
  select s.key, s.value from jsonb_each(input -> 'settings') s order by s.key
  on conflict (key) do update set value = excluded.value;
  return tenancy.system_settings_get(jsonb_build_object('keys', (
    select jsonb_agg(k.key) from jsonb_object_keys(input -> 'settings') k (key))));
end $$;
