-- The modules that are sold to a tenant and that clients show to it. No call asks for one: they switch nothing on or off.

-- -> {modules: [{id, key, name, is_enabled}]}
create or replace function tenancy.modules_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return jsonb_build_object('modules', (
    select jsonb_agg(jsonb_build_object('id', m.id, 'key', m.key, 'name', m.name, 'is_enabled', coalesce(t.is_enabled, true))
      order by m.position)
    from tenancy.modules m
    left join tenancy.tenant_modules t on t.tenant_id = v_tenant and t.module_id = m.id));
end $$;

-- Gives the tenant these modules and no others. {enabled_module_ids} -> as modules_get
-- Fails: invalid_reference.
create or replace function tenancy.modules_save(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_ids uuid[] := app.uuids(input -> 'enabled_module_ids');
  v_changed integer;
begin
  perform private.version_alone();
  if exists (select from unnest(v_ids) i (id) where not exists (select from tenancy.modules m where m.id = i.id)) then
    perform app.fail('invalid_reference', '{"field": "enabled_module_ids"}');
  end if;
  insert into tenancy.tenant_modules as t (tenant_id, module_id, is_enabled)
  select v_tenant, m.id, m.id = any (v_ids) from tenancy.modules m order by m.id
  on conflict (tenant_id, module_id) do update set is_enabled = excluded.is_enabled
  where t.is_enabled <> excluded.is_enabled;
  get diagnostics v_changed = row_count;
  if v_changed > 0 then
    perform tenancy.tenant_event_emit('modules_changed', jsonb_build_object('enabled', (
      select coalesce(jsonb_agg(m.key order by m.position), '[]') from tenancy.modules m where m.id = any (v_ids))));
  end if;
  return tenancy.modules_get('{}');
end $$;
