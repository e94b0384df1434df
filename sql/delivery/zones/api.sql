-- Zones: areas of the map. An address lies in the smallest active zone around its coordinates.

-- A ring [[longitude, latitude], ...] as a polygon. The closing position is left out: a polygon closes itself.
create or replace function delivery.ring_outline(ring jsonb) returns polygon
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
  return (
    select string_agg('(' || (p.place ->> 0) || ',' || (p.place ->> 1) || ')', ',' order by p.position)::polygon
    from jsonb_array_elements(ring) with ordinality p (place, position)
    where p.position < jsonb_array_length(ring));
end $$;

-- The area inside a ring in square degrees (shoelace formula); only good for comparing.
create or replace function delivery.ring_area(ring jsonb) returns double precision
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
  return (
    select coalesce(abs(sum(e.x * e.next_y - e.next_x * e.y)) / 2, 0)
    from (
      select p.x, p.y, lead(p.x) over w as next_x, lead(p.y) over w as next_y
      from (
        select (v.place ->> 0)::double precision as x, (v.place ->> 1)::double precision as y, v.position
        from jsonb_array_elements(ring) with ordinality v (place, position)
      ) p
      window w as (order by p.position)
    ) e);
end $$;

-- Measures a zone's polygon whenever one is written.
create or replace function delivery.measure_zone() returns trigger
language plpgsql set search_path = '' as $$
declare
  v_box box;
begin
  new.outline := delivery.ring_outline(new.polygon -> 0);
  v_box := box(new.outline);
  new.east := (v_box[0])[0];
  new.north := (v_box[0])[1];
  new.west := (v_box[1])[0];
  new.south := (v_box[1])[1];
  select coalesce(array_agg(delivery.ring_outline(r.ring) order by r.position), '{}'),
    delivery.ring_area(new.polygon -> 0) - coalesce(sum(delivery.ring_area(r.ring)), 0)
  into new.holes, new.area
  from jsonb_array_elements(new.polygon) with ordinality r (ring, position)
  where r.position > 1;
  return new;
end $$;

drop trigger if exists measure on delivery.zones;
create trigger measure before insert or update of polygon on delivery.zones
  for each row execute function delivery.measure_zone();

-- The zone of a place: the smallest active one around it, or null. Edges belong to a zone, the inside
-- of its holes does not.
create or replace function delivery.zone_at(tenant_id uuid, latitude double precision, longitude double precision) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return (
    select z.id from delivery.zones z
    where z.tenant_id = zone_at.tenant_id and z.is_active
      and zone_at.longitude between z.west and z.east and zone_at.latitude between z.south and z.north
      and z.outline operator(pg_catalog.@>) point(zone_at.longitude, zone_at.latitude)
      and not exists (select from unnest(z.holes) h (hole) where h.hole operator(pg_catalog.@>) point(zone_at.longitude, zone_at.latitude))
    order by z.area, z.id limit 1);
end $$;

-- Makes writers of addresses and writers of zones of a tenant take turns: an address written while a
-- zone moves would otherwise keep the zone of yesterday's map. Taken before any row is locked.
create or replace function delivery.lock_service_area(tenant_id uuid, alone boolean) returns void
language plpgsql set search_path = '' as $$
declare
  v_key bigint := hashtextextended('map ' || tenant_id, 0);
begin
  if alone then
    perform pg_advisory_xact_lock(v_key);
  else
    perform pg_advisory_xact_lock_shared(v_key);
  end if;
end $$;

-- The name of a zone, for the city of an address that was sent without one; null without a zone.
create or replace function delivery.city_of_zone(tenant_id uuid, zone_id uuid) returns text
language plpgsql stable set search_path = '' as $$
begin
  return (select z.name from delivery.zones z where z.tenant_id = city_of_zone.tenant_id and z.id = city_of_zone.zone_id);
end $$;

-- Gives an address its zone whenever its place is written, and the zone's name as its city where none is sent, whoever writes it.
create or replace function delivery.place_address() returns trigger
language plpgsql set search_path = '' as $$
begin
  if tg_op = 'INSERT' and new.zone_id is not null then
    new.zone_chosen := true;
  end if;
  if not new.zone_chosen then
    perform delivery.lock_service_area(new.tenant_id, false);
    new.zone_id := delivery.zone_at(new.tenant_id, new.latitude, new.longitude);
  end if;
  if new.city is null then
    new.city := delivery.city_of_zone(new.tenant_id, new.zone_id);
  end if;
  return new;
end $$;

drop trigger if exists place on delivery.addresses;
create trigger place before insert or update of latitude, longitude, zone_chosen, city on delivery.addresses
  for each row execute function delivery.place_address();

-- Finds the zones again of the addresses in the boxes of a zone as it was and as it is. The map is held
-- alone. No join: right after many addresses came, the planner would go through them once for each.
create or replace function delivery.zones_find_addresses(was delivery.zones, became delivery.zones) returns void
language plpgsql set search_path = '' as $$
begin
  update delivery.addresses a set zone_id = delivery.zone_at(a.tenant_id, a.latitude, a.longitude)
  where a.tenant_id = app.tenant_id() and not a.zone_chosen
    and ((a.latitude between was.south and was.north and a.longitude between was.west and was.east)
      or (a.latitude between became.south and became.north and a.longitude between became.west and became.east))
    and a.zone_id is distinct from delivery.zone_at(a.tenant_id, a.latitude, a.longitude);
end $$;

-- Lets the deliveries that have not ended follow the map where a zone was or is: a job does it, since writers of deliveries hold these, and
-- wait for the map, while this holds the map and would wait for them. Writers who had read an address of the map before, and commit after the job,
-- have ended when it runs once more: no statement of theirs may take so long.
create or replace function delivery.zones_find_deliveries(was delivery.zones, became delivery.zones) returns void
language plpgsql set search_path = '' as $$
declare
  v_boxes jsonb := jsonb_build_object('boxes', jsonb_build_array(
    jsonb_build_array(was.west, was.south, was.east, was.north), jsonb_build_array(became.west, became.south, became.east, became.north)));
begin
  perform app.job_add('delivery.zones_follow', v_boxes);
  perform app.job_add('delivery.zones_follow', v_boxes, run_at => now() + interval '2 minutes');
end $$;

-- A zone as lists and answers show it. Fails: zone_not_found.
create or replace function delivery.zone_to_json(zone_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_zone jsonb;
begin
  select to_jsonb(z) into v_zone from delivery.zones_list z where z.id = zone_to_json.zone_id;
  if v_zone is null then
    perform app.fail('zone_not_found');
  end if;
  return v_zone;
end $$;

-- {id} -> the zone with its polygon. Fails: zone_not_found.
create or replace function delivery.zone_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return delivery.zone_to_json((input ->> 'id')::uuid);
end $$;

-- Gives a zone exactly these tags. Fails: zone_tag_not_found.
create or replace function delivery.zone_set_tags(zone_id uuid, tag_ids uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  if exists (select from unnest(tag_ids) g (id)
      where not exists (select from delivery.zone_tags t where t.tenant_id = app.tenant_id() and t.id = g.id)) then
    perform app.fail('zone_tag_not_found');
  end if;
  delete from delivery.zone_tag_map m
  where m.tenant_id = app.tenant_id() and m.zone_id = zone_set_tags.zone_id and m.tag_id <> all (tag_ids);
  insert into delivery.zone_tag_map (tenant_id, zone_id, tag_id)
  select distinct app.tenant_id(), zone_set_tags.zone_id, g.id from unnest(tag_ids) g (id)
  on conflict do nothing;
exception when foreign_key_violation then
  -- Somebody removed one since it was looked for.
  perform app.fail('zone_tag_not_found');
end $$;

-- Adds a zone. {name, polygon (rings), tag_ids?} -> the zone
-- Addresses inside get it, where no smaller zone has them, and the deliveries from and to there a moment later. Fails: zone_name_exists, zone_tag_not_found.
create or replace function delivery.zone_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_zone delivery.zones;
begin
  perform delivery.lock_service_area(app.tenant_id(), true);
  insert into delivery.zones (tenant_id, name, polygon)
  values (app.tenant_id(), input ->> 'name', input -> 'polygon')
  returning * into v_zone;
  perform delivery.zone_set_tags(v_zone.id, app.uuids(coalesce(input -> 'tag_ids', '[]')));
  perform delivery.zones_find_addresses(v_zone, v_zone);
  perform delivery.zones_find_deliveries(v_zone, v_zone);
  return delivery.zone_to_json(v_zone.id);
end $$;

-- Changes what is sent. {id, name?, polygon? (rings), tag_ids?, is_active?} -> the zone
-- When its area changes, the addresses in the old and the new box find their zones again, and the deliveries from and to there a moment later.
-- Fails: zone_not_found, zone_name_exists, zone_tag_not_found.
create or replace function delivery.zone_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_old delivery.zones;
  v_new delivery.zones;
begin
  perform delivery.lock_service_area(app.tenant_id(), true);
  select * into v_old from delivery.zones z where z.id = v_id;
  if not found then
    perform app.fail('zone_not_found');
  end if;
  update delivery.zones z set
    name = coalesce(input ->> 'name', z.name),
    polygon = coalesce(input -> 'polygon', z.polygon),
    is_active = coalesce((input ->> 'is_active')::boolean, z.is_active)
  where z.id = v_id
  returning * into v_new;
  if input ? 'tag_ids' then
    perform delivery.zone_set_tags(v_id, app.uuids(input -> 'tag_ids'));
  end if;
  if v_new.polygon <> v_old.polygon or v_new.is_active <> v_old.is_active then
    perform delivery.zones_find_addresses(v_old, v_new);
    perform delivery.zones_find_deliveries(v_old, v_new);
  end if;
  return delivery.zone_to_json(v_id);
end $$;

-- Adds a tag. {name} -> {id, name, created_at}. Fails: zone_tag_name_exists.
create or replace function delivery.zone_tag_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tag delivery.zone_tags;
begin
  insert into delivery.zone_tags (tenant_id, name) values (app.tenant_id(), input ->> 'name') returning * into v_tag;
  return jsonb_build_object('id', v_tag.id, 'name', v_tag.name, 'created_at', v_tag.created_at);
end $$;

-- Locks a tag of the caller's company: who gives it to a service or a zone at the same moment waits, and does not find it any more. -> false where
-- there is none. SECURITY DEFINER: nobody changes tags, which a lock asks for.
create or replace function delivery.lock_zone_tag(tag uuid) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  perform from delivery.zone_tags t where t.tenant_id = app.tenant_id() and t.id = tag for update;
  return found;
end $$;

grant execute on function delivery.lock_zone_tag(uuid) to barid_caller;

-- Removes a tag, also from the zones that carry it. {id} -> {id}. Fails: zone_tag_not_found, zone_tag_in_use (services
-- choose their zones by it; their codes are named, the first ten). Locks: the tag.
create or replace function delivery.zone_tag_remove(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid := (input ->> 'id')::uuid;
  v_services jsonb;
begin
  if not delivery.lock_zone_tag(v_id) then
    perform app.fail('zone_tag_not_found');
  end if;
  select jsonb_agg(u.code order by u.code) into v_services from (
    select s.code from delivery.delivery_service_zone_tags x
    join delivery.delivery_services s on s.tenant_id = x.tenant_id and s.id = x.service_id
    where x.tenant_id = v_tenant and x.tag_id = v_id and s.deleted_at is null order by s.code limit 10) u;
  if v_services is not null then
    perform app.fail('zone_tag_in_use', jsonb_build_object('services', v_services));
  end if;
  delete from delivery.delivery_service_zone_tags x where x.tenant_id = v_tenant and x.tag_id = v_id;
  delete from delivery.zone_tag_map m where m.tenant_id = v_tenant and m.tag_id = v_id;
  delete from delivery.zone_tags t where t.tenant_id = v_tenant and t.id = v_id;
  return jsonb_build_object('id', v_id);
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function delivery.measure_zone(), delivery.place_address() from barid_caller;
