-- Links are made by those who see a delivery, and read by anybody who has one.

-- True of a parcel that its recipient may follow: its service says so now, it is ordered, and it is not on its way back to its sender.
-- SECURITY DEFINER: who ordered it may not choose its service any more.
create or replace function delivery.is_trackable(d delivery.deliveries) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(d.tenant_id);
  return d.parent_id is null and d.status <> 'draft' and d.delivery_flow <> 'operational_return' and exists (
    select from delivery.delivery_services s
    where s.tenant_id = d.tenant_id and s.id = d.delivery_service_id and app.boolean_or(s.service_options -> 'tracking', false));
end $$;

grant execute on function delivery.is_trackable(delivery.deliveries) to barid_caller;

-- The links of deliveries, made where there are none yet; asked again, the same ones. Of a leg it is the link of its parcel.
-- {delivery_ids} -> [{delivery_id, delivery_code, token}] in the order asked, each parcel once.
-- Fails: delivery_not_found, tracking_not_offered (both with delivery_ids; then none is made).
create or replace function delivery.tracking_links_make(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_asked uuid[] := app.uuids(input -> 'delivery_ids');
  v_parcels uuid[];
  v_wrong uuid[];
begin
  v_wrong := array(select a.id from unnest(v_asked) with ordinality a (id, place)
    where not exists (select from delivery.deliveries d where d.tenant_id = v_tenant and d.id = a.id) order by a.place);
  if v_wrong <> '{}' then
    perform app.fail('delivery_not_found', jsonb_build_object('field', 'delivery_ids', 'delivery_ids', v_wrong));
  end if;
  v_parcels := array(
    select coalesce(d.parent_id, d.id) from unnest(v_asked) with ordinality a (id, place)
    join delivery.deliveries d on d.tenant_id = v_tenant and d.id = a.id
    group by coalesce(d.parent_id, d.id) order by min(a.place));
  v_wrong := array(select a.id from unnest(v_parcels) with ordinality a (id, place)
    join delivery.deliveries d on d.tenant_id = v_tenant and d.id = a.id
    where not delivery.is_trackable(d) order by a.place);
  if v_wrong <> '{}' then
    perform app.fail('tracking_not_offered', jsonb_build_object('field', 'delivery_ids', 'delivery_ids', v_wrong));
  end if;
  -- In one order, whatever the order asked: of two calls at once one waits for the other.
  insert into delivery.tracking_links (tenant_id, delivery_id, created_by)
  select v_tenant, p.id, app.user_id() from unnest(v_parcels) p (id) order by p.id
  on conflict (tenant_id, delivery_id) do nothing;
  return (
    select jsonb_agg(jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'token', l.token) order by a.place)
    from unnest(v_parcels) with ordinality a (id, place)
    join delivery.deliveries d on d.tenant_id = v_tenant and d.id = a.id
    join delivery.tracking_links l on l.tenant_id = v_tenant and l.delivery_id = d.id);
end $$;

-- Ends the link of a delivery; the next one that is made is another. {id} -> {delivery_id}. Fails: tracking_not_found.
create or replace function delivery.tracking_link_end(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_delivery uuid;
begin
  delete from delivery.tracking_links l
  where l.tenant_id = app.tenant_id() and l.delivery_id = coalesce(
    (select d.parent_id from delivery.deliveries d where d.tenant_id = l.tenant_id and d.id = (input ->> 'id')::uuid), (input ->> 'id')::uuid)
  returning l.delivery_id into v_delivery;
  if v_delivery is null then
    perform app.fail('tracking_not_found');
  end if;
  return jsonb_build_object('delivery_id', v_delivery);
end $$;
