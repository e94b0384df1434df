-- Making and changing tenants.

-- Makes a pending tenant and acts in it from here on. {name, slug, contact_info?, metadata?, logo_url?}
-- With it come the rows without which nothing can be done: a delivery type, so that services can be made.
-- Counters and wallets come when they are first needed. Fails: tenant_slug_taken, forbidden.
create or replace function tenancy.tenant_bootstrap(tenant jsonb) returns uuid
language plpgsql set search_path = '' as $$
declare
  v_id uuid;
begin
  insert into tenancy.tenants (name, slug, contact_info, metadata, logo_url, created_by, updated_by)
  values (tenant -> 'name', tenant ->> 'slug', coalesce(tenant -> 'contact_info', '{}'),
    coalesce(tenant -> 'metadata', '{}'), tenant ->> 'logo_url', app.user_id(), app.user_id())
  on conflict (slug) do nothing returning id into v_id;
  if v_id is null then
    perform app.fail('tenant_slug_taken', '{"field": "slug"}');
  end if;
  perform tenancy.enter_tenant(v_id);
  insert into delivery.delivery_types (tenant_id, code, name)
  values (v_id, 'parcel', '{"en": "Parcel", "ar": "طرد", "ku": "پاکەت"}');
  return v_id;
end $$;

-- {name, slug, contact_info?, metadata?, logo_url?} -> {tenant}. Fails: tenant_slug_taken.
create or replace function tenancy.tenant_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_before uuid := app.tenant_id();
  v_tenant jsonb;
begin
  perform tenancy.tenant_bootstrap(input);
  perform tenancy.tenant_event_emit('created');
  v_tenant := tenancy.tenant_get('{}');
  perform tenancy.enter_tenant(v_before);
  return jsonb_build_object('tenant', v_tenant);
end $$;

-- Changes what is sent, each as a whole. {name?, contact_info?, metadata?, logo_url?, slug?, status?} ->
-- {tenant}. Slug and status are the system administrators'; others may send them as they are.
-- Fails: forbidden, tenant_slug_taken, invalid_status_transition.
create or replace function tenancy.tenant_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := app.tenant_id();
  v_tenant tenancy.tenants;
begin
  select t.* into v_tenant from tenancy.tenants t where t.id = v_id for no key update;
  if not app.has_permission('manage:system')
      and (coalesce(input ->> 'slug', v_tenant.slug), coalesce(input ->> 'status', v_tenant.status))
        is distinct from (v_tenant.slug, v_tenant.status) then
    perform app.fail('forbidden');
  end if;
  begin
    update tenancy.tenants t set
      name = coalesce(input -> 'name', t.name),
      slug = coalesce(input ->> 'slug', t.slug),
      contact_info = coalesce(input -> 'contact_info', t.contact_info),
      metadata = coalesce(input -> 'metadata', t.metadata),
      logo_url = case when input ? 'logo_url' then input ->> 'logo_url' else t.logo_url end,
      updated_by = app.user_id()
    where t.id = v_id;
  exception when unique_violation then
    perform app.fail('tenant_slug_taken', '{"field": "slug"}');
  end;
  perform tenancy.tenant_event_emit('updated');
  if input ->> 'status' <> v_tenant.status then
    perform tenancy.move_tenant(input ->> 'status');
  end if;
  return jsonb_build_object('tenant', tenancy.tenant_get('{}'));
end $$;
