-- Acting in a tenant, and the moves of its status.

-- Makes the rest of the transaction act in a tenant (null: in none), for those who manage the system: they
-- may do in every tenant what its administrators do. A core that the idempotency engine wraps goes back
-- to where it was, since the key belongs to that place. Fails: forbidden.
create or replace function tenancy.enter_tenant(tenant_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  if not app.has_permission('manage:system') then
    perform app.fail('forbidden');
  end if;
  perform set_config('app.tenant_id', coalesce(enter_tenant.tenant_id::text, ''), true),
    set_config('app.sees_tenant', 'on', true),
    set_config('app.grants', (app.grants() || array['permission:view:tenant', 'permission:manage:tenant'])::text, true);
end $$;

-- Publishes what happened to the caller's tenant: tenant.<verb> {status, actor_id, ...}.
create or replace function tenancy.tenant_event_emit(verb text, event_data jsonb default '{}') returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'tenant.' || verb, 'source_module', 'tenants',
    'entity_type', 'tenant', 'entity_id', v_tenant, 'event_data', jsonb_build_object('actor_id', app.user_id(),
      'status', (select t.status from tenancy.tenants t where t.id = v_tenant)) || event_data)));
end $$;

-- pending -> active -> suspended -> active; from everywhere to archived, from there to nowhere.
create or replace function tenancy.may_move(was text, becomes text) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return (was, becomes) in (('pending', 'active'), ('active', 'suspended'), ('suspended', 'active'))
    or (was <> 'archived' and becomes = 'archived');
end $$;

-- Moves the caller's tenant, and says so. Making a pending tenant active means that what it has still to
-- pay for has been paid. Fails: invalid_status_transition, forbidden.
create or replace function tenancy.move_tenant(status text) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_was text;
begin
  select t.status into v_was from tenancy.tenants t where t.id = v_tenant for no key update;
  if not tenancy.may_move(v_was, move_tenant.status) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', v_was, 'to', move_tenant.status));
  end if;
  update tenancy.tenants t set status = move_tenant.status, updated_by = app.user_id() where t.id = v_tenant;
  if v_was = 'pending' and move_tenant.status = 'active' then
    perform tenancy.subscription_begin();
  end if;
  perform tenancy.tenant_event_emit(case move_tenant.status when 'active' then 'activated' else move_tenant.status end,
    jsonb_build_object('previous_status', v_was));
end $$;

-- {status} -> {tenant}. Fails: invalid_status_transition.
create or replace function tenancy.tenant_move(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  perform tenancy.move_tenant(input ->> 'status');
  return jsonb_build_object('tenant', tenancy.tenant_get('{}'));
end $$;
