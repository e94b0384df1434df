-- A service's policy for the delivery fee when a delivery is cancelled or comes back, and where that
-- comes from: {source: tenant | profile | custom, payment_policies{refund_delivery_fee_on_cancel,
-- refund_delivery_fee_on_return}}. What custom overrides or a profile leave out is the tenant's setting
-- delivery.fulfillment_policy, and without one: cancelled is refunded, returned is not.
create or replace function delivery.service_policy(service delivery.delivery_services) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('source', c.source, 'payment_policies', jsonb_build_object(
      'refund_delivery_fee_on_cancel', app.boolean_or(c.chosen -> 'refund_delivery_fee_on_cancel',
        app.boolean_or(t.defaults -> 'refund_delivery_fee_on_cancel', true)),
      'refund_delivery_fee_on_return', app.boolean_or(c.chosen -> 'refund_delivery_fee_on_return',
        app.boolean_or(t.defaults -> 'refund_delivery_fee_on_return', false))))
    from (select app.settings('delivery', 'fulfillment_policy') -> 'payment_policies' as defaults) t,
      (
        select 'custom' as source, service.policy_overrides -> 'payment_policies' as chosen where service.policy_mode = 'custom'
        union all
        select 'profile', p.policy -> 'payment_policies' from delivery.policy_profiles p
        where service.policy_mode = 'profile' and p.tenant_id = service.tenant_id and p.id = service.policy_profile_id and p.is_active
        union all
        select 'tenant', null
        limit 1
      ) c);
end $$;

-- A service. {id, full?} -> {service}; full adds zones, teams, vehicles and the policy in force.
-- Fails: service_not_found (deleted, or not for this caller).
create or replace function delivery.service_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_service jsonb;
begin
  select to_jsonb(l) - 'search_names' || jsonb_build_object('user_ids', (
      select coalesce(jsonb_agg(u.user_id order by u.user_id), '[]') from delivery.delivery_service_users u where u.service_id = l.id))
  into v_service from delivery.services_list l where l.id = v_id;
  if v_service is null then
    perform app.fail('service_not_found');
  end if;
  if (input ->> 'full')::boolean then
    select v_service || jsonb_build_object(
      'zone_ids', z.ids, 'zones', z.shown, 'zone_tag_ids', g.ids, 'zone_tags', g.shown,
      'all_teams', t.shown = '[]', 'teams', t.shown, 'vehicle_ids', v.ids, 'vehicles', v.shown,
      'policy_mode', s.policy_mode, 'policy_overrides', s.policy_overrides, 'effective_policy', delivery.service_policy(s))
    into v_service
    from delivery.delivery_services s
    cross join lateral (
      select coalesce(jsonb_agg(z.id order by z.name, z.id), '[]') as ids,
        coalesce(jsonb_agg(jsonb_build_object('id', z.id, 'name', z.name) order by z.name, z.id), '[]') as shown
      from delivery.delivery_service_zones x join delivery.zones z on z.tenant_id = x.tenant_id and z.id = x.zone_id
      where x.tenant_id = s.tenant_id and x.service_id = s.id) z
    cross join lateral (
      select coalesce(jsonb_agg(g.id order by g.name, g.id), '[]') as ids,
        coalesce(jsonb_agg(jsonb_build_object('id', g.id, 'name', g.name) order by g.name, g.id), '[]') as shown
      from delivery.delivery_service_zone_tags x join delivery.zone_tags g on g.tenant_id = x.tenant_id and g.id = x.tag_id
      where x.tenant_id = s.tenant_id and x.service_id = s.id) g
    cross join lateral (
      select coalesce(jsonb_agg(jsonb_build_object('id', t.id, 'name', t.name) order by t.name, t.id), '[]') as shown
      from delivery.delivery_service_teams x join delivery.teams t on t.tenant_id = x.tenant_id and t.id = x.team_id
      where x.tenant_id = s.tenant_id and x.service_id = s.id) t
    cross join lateral (
      select coalesce(jsonb_agg(v.id order by v.name, v.id), '[]') as ids,
        coalesce(jsonb_agg(jsonb_build_object('id', v.id, 'name', v.name, 'image_url', v.image_url) order by v.name, v.id), '[]') as shown
      from delivery.delivery_service_vehicles x join delivery.vehicles v on v.tenant_id = x.tenant_id and v.id = x.vehicle_id
      where x.tenant_id = s.tenant_id and x.service_id = s.id) v
    where s.id = v_id;
  end if;
  return jsonb_build_object('service', v_service);
end $$;

-- A service's options as they were at a moment, by the audit log; without a moment as they are. SECURITY DEFINER: a driver reads no audit log.
create or replace function delivery.service_options_at(service_id uuid, moment timestamptz) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
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
end $$;

-- The services that the tenant's manifests may use, or null when all may.
create or replace function delivery.g2g_services() returns uuid[]
language plpgsql stable set search_path = '' as $$
begin
  return nullif(app.uuids(tenancy.manifest_settings() -> 'available_delivery_service_ids'), '{}');
end $$;

-- Whose access narrows the services: whoever sees the whole tenant may ask for anybody, the others are
-- asked for themselves, whatever they send.
create or replace function delivery.service_access_user(customer_id uuid) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return case when app.sees_tenant() then service_access_user.customer_id else app.user_id() end;
end $$;

-- Key figures of the services somebody may see: the tenant's, narrowed by access and by the manifests'
-- allow-list, but by no other filter. {customer_id?, context?: g2g}
-- -> {totalServices, activeServices, deliveryTypesCount, recentlyAdded: the newest five}
create or replace function delivery.services_stats(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
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
  end if;
  return (
    with scope as not materialized (
      select * from delivery.delivery_services s
      where s.deleted_at is null and (v_allowed is null or s.id = any (v_allowed))
        and (not v_narrowed or delivery.service_open_to(s, v_asker)))
    select coalesce(v_numbers, (
        select jsonb_build_object('totalServices', coalesce(sum(t.services), 0), 'activeServices', coalesce(sum(t.active), 0),
          'deliveryTypesCount', count(*))
        from (select count(*) as services, count(*) filter (where s.active) as active from scope s group by s.delivery_type_id) t))
      || jsonb_build_object('recentlyAdded', (
        select coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'code', n.code, 'name', app.localized(n.name), 'created_at', n.created_at)
          order by n.created_at desc, n.id desc), '[]')
        from (select * from scope s order by s.created_at desc nulls last, s.id desc limit 5) n)));
end $$;
