-- Messages that boards and drivers' apps hear at once, by Supabase Realtime (private Broadcast from the database):
--   tenant:<tenant id>:board   for the office of the tenant
--   driver:<driver's user id>  for that driver, and the office
-- Events: delivery.status, delivery.changed (delivery.change_announce), assignment.changed, driver.duty, driver.status, driver.positions.
-- Payloads carry ids, status and place; never a name, an address in words or a telephone.

-- Sends a message to the listeners of a private topic. One that cannot be sent is a warning in the log: it never fails the
-- write that it is about, since a listener who missed it reads what changed (`updated_since`).
create or replace function delivery.broadcast(topic text, event text, payload jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  perform realtime.send(broadcast.payload, broadcast.event, broadcast.topic, true);
exception when others then
  raise warning 'the broadcast of % was not sent: %', broadcast.event, sqlerrm;
end $$;

-- Sends one message to the board of the caller's tenant, and one to the driver. SECURITY DEFINER: nobody else may send.
create or replace function delivery.driver_broadcast(driver uuid, event text, payload jsonb) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform delivery.broadcast(format('tenant:%s:board', app.tenant_id()), driver_broadcast.event, driver_broadcast.payload);
  perform delivery.broadcast(format('driver:%s', driver), driver_broadcast.event, driver_broadcast.payload);
end $$;

-- True when the bearer of the token that Realtime verified may listen to the topic. The office of one company does not
-- listen to a driver who drives for another one as well, or still has parcels of one that shut them out: that topic is the driver's
-- alone. SECURITY DEFINER: a policy calls it for `authenticated`, who reaches no table of ours.
create or replace function delivery.may_listen(topic text) returns boolean
language plpgsql stable security definer set search_path = '' as $$
declare
  v_uuid constant text := '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
  v_board uuid := (regexp_match(topic, '^tenant:(' || v_uuid || '):board$'))[1]::uuid;
  v_driver uuid := (regexp_match(topic, '^driver:(' || v_uuid || ')$'))[1]::uuid;
  v_tenants uuid[];
begin
  if v_board is not null then
    return 'permission:manage:operations:tenant' = any (app.token_grants(v_board));
  end if;
  v_tenants := array(
    select u.tenant_id from tenancy.tenant_users u where u.user_id = v_driver and u.tenant_user_type = 'driver' and u.is_active);
  return case when v_driver = app.user_id()
    then exists (select from unnest(v_tenants) t (id) where 'role:driver' = any (app.token_grants(t.id)))
    else cardinality(v_tenants) = 1 and 'permission:manage:operations:tenant' = any (app.token_grants(v_tenants[1]))
      and not exists (
        select from tenancy.tenant_users u
        join delivery.open_assignments a on a.tenant_id = u.tenant_id and a.driver_id = u.user_id
        where u.user_id = v_driver and u.tenant_id <> v_tenants[1]) end;
end $$;

-- Sends rows under `name`: to the board of their tenant in messages of at most 100, and to each driver about their own.
-- Each has its tenant, or none, and its driver, or none, at its place, in the order in which they are sent; null: nothing is sent.
create or replace function delivery.rows_broadcast(event text, name text, tenants uuid[], drivers uuid[], rows jsonb[]) returns void
language plpgsql set search_path = '' as $$
begin
  if rows is null then
    return;
  end if;
  perform delivery.broadcast(g.topic, rows_broadcast.event, jsonb_build_object(rows_broadcast.name, g.lines))
  from (
    select t.topic, jsonb_agg(c.line order by c.place) as lines
    from unnest(rows_broadcast.tenants, rows_broadcast.drivers, rows_broadcast.rows) with ordinality c (tenant, driver, line, place)
    cross join lateral (values ('tenant:' || c.tenant || ':board'), ('driver:' || c.driver)) t (topic)
    where t.topic is not null
    group by t.topic, (c.place - 1) / 100
    order by t.topic, min(c.place)) g;
end $$;

-- Writes down the deliveries that are new or changed their status for delivery.status, which goes out with the commit
-- (delivery.statuses_broadcast): who has each is written after this statement. Written out here: a function for a row that is called for each
-- takes longer than all of the statement.
create or replace function delivery.deliveries_broadcast() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_fetched constant text[] := '{pending,assigned,accepted}';
  v_tenants uuid[];
  v_lines jsonb[];
  v_waits boolean;
begin
  if tg_op = 'INSERT' then
    select array_agg(r.tenant_id), array_agg(r.line), bool_and(r.waits) into v_tenants, v_lines, v_waits
    from (
      select n.tenant_id, n.status in ('draft', 'pending') as waits, jsonb_build_object('id', n.id, 'delivery_code', n.delivery_code,
          'parent_id', n.parent_id, 'status', n.status, 'from_status', null, 'driver_id', null,
          'place', jsonb_build_object('kind', case when n.status = any (v_fetched) then 'pickup' else 'dropoff' end,
            'latitude', p.place -> 'latitude', 'longitude', p.place -> 'longitude')) as line
      from new_rows n
      cross join lateral (
        select case when n.status = any (v_fetched) then delivery.fetched_at(n) else delivery.brought_to(n) end as place offset 0) p
      order by n.delivery_code, n.sequence_plan nulls first) r;
    -- Nobody has what is just ordered: that need not wait for the commit.
    if v_waits then
      perform delivery.rows_broadcast('delivery.status', 'deliveries', v_tenants, null, v_lines);
    elsif v_lines is not null then
      insert into delivery.status_broadcasts (tenants, drivers, lines) values (v_tenants, array_fill(null::uuid, array[cardinality(v_lines)]), v_lines);
    end if;
    return null;
  end if;
  insert into delivery.status_broadcasts (tenants, drivers, lines)
  select array_agg(r.tenant_id), array_agg(r.driver_id), array_agg(r.line)
  from (
    select n.tenant_id, a.driver_id, jsonb_build_object('id', n.id, 'delivery_code', n.delivery_code,
        'parent_id', n.parent_id, 'status', n.status, 'from_status', o.status, 'driver_id', null,
        'place', jsonb_build_object('kind', case when n.status = any (v_fetched) then 'pickup' else 'dropoff' end,
          'latitude', p.place -> 'latitude', 'longitude', p.place -> 'longitude')) as line
    from new_rows n
    join old_rows o on o.id = n.id
    cross join lateral (
      select case when n.status = any (v_fetched) then delivery.fetched_at(n) else delivery.brought_to(n) end as place offset 0) p
    left join delivery.open_assignments a on a.tenant_id = n.tenant_id and a.delivery_id = n.id
    where n.status <> o.status
    order by n.delivery_code, n.sequence_plan nulls first) r
  having count(*) > 0;
  return null;
end $$;

-- Sends delivery.status {deliveries: [{id, delivery_code, parent_id, status, from_status, driver_id, place}]} of what a statement wrote down, at the
-- commit: driver_id is who has the delivery then, or has ended it; null: nobody. To the board, to that driver, and to who had it before.
-- place: {kind, latitude, longitude} of where the driver goes next.
create or replace function delivery.statuses_broadcast() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_drivers uuid[];
  v_lines jsonb[];
begin
  select array_agg(a.driver_id order by l.place), array_agg(jsonb_set(l.line, '{driver_id}', coalesce(to_jsonb(a.driver_id), 'null'))
    order by l.place) into v_drivers, v_lines
  from unnest(new.tenants, new.lines) with ordinality l (tenant, line, place)
  left join lateral (
    select x.driver_id from delivery.assignments x
    where x.tenant_id = l.tenant and x.delivery_id = (l.line ->> 'id')::uuid
      and (x.status in ('pending', 'assigned', 'accepted') or x.status = 'completed' and l.line ->> 'status' <> 'pending')
    order by x.status = 'completed', x.assignment_time desc limit 1) a on true;
  perform delivery.rows_broadcast('delivery.status', 'deliveries', new.tenants, v_drivers, v_lines);
  perform delivery.rows_broadcast('delivery.status', 'deliveries', array_agg(null::uuid), array_agg(d.had order by d.place),
    array_agg(d.line order by d.place))
  from unnest(new.drivers, v_drivers, v_lines) with ordinality d (had, has, line, place)
  where d.had is distinct from d.has and d.had is not null
  having count(*) > 0;
  delete from delivery.status_broadcasts b where b.id = new.id;
  return null;
end $$;

-- Sends assignment.changed {assignments: [{id, delivery_id, driver_id, status, sequence_number}]} for those that are new, or changed their
-- status or their place in the order.
create or replace function delivery.assignments_broadcast() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_op = 'INSERT' then
    perform delivery.rows_broadcast('assignment.changed', 'assignments', array_agg(r.tenant_id), array_agg(r.driver_id), array_agg(r.line))
    from (
      select n.tenant_id, n.driver_id, jsonb_build_object('id', n.id, 'delivery_id', n.delivery_id,
        'driver_id', n.driver_id, 'status', n.status, 'sequence_number', n.sequence_number) as line
      from new_rows n order by n.sequence_number, n.id) r;
    return null;
  end if;
  perform delivery.rows_broadcast('assignment.changed', 'assignments', array_agg(r.tenant_id), array_agg(r.driver_id), array_agg(r.line))
  from (
    select n.tenant_id, n.driver_id, jsonb_build_object('id', n.id, 'delivery_id', n.delivery_id,
      'driver_id', n.driver_id, 'status', n.status, 'sequence_number', n.sequence_number) as line
    from new_rows n join old_rows o on o.id = n.id
    where n.status <> o.status or n.sequence_number <> o.sequence_number
    order by n.sequence_number, n.id) r;
  return null;
end $$;

-- Sends driver.positions for the drivers of the caller's tenant who moved since it was sent last, at most once a second:
-- {positions: [{driver_id, latitude, longitude, accuracy_m, recorded_at}]} to the board in messages of at most 500, and to each of
-- these drivers' own topics at most once in 10 seconds. -> {sent, due_in_ms}: due_in_ms says when it is due again, 0 when it was sent.
-- SECURITY DEFINER: a driver whose position made it due does not see the others.
create or replace function delivery.positions_broadcast(input jsonb default '{}') returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_now timestamptz := clock_timestamp();
  v_last timestamptz;
  v_moved jsonb;
  v_own jsonb;
begin
  insert into delivery.position_broadcasts (tenant_id) values (v_tenant) on conflict do nothing;
  select b.sent_at into v_last from delivery.position_broadcasts b where b.tenant_id = v_tenant for no key update skip locked;
  -- Somebody else is sending it.
  if not found then
    return '{"sent": 0, "due_in_ms": 1000}';
  end if;
  if v_last > v_now - interval '1 second' then
    return jsonb_build_object('sent', 0, 'due_in_ms', ceil(extract(epoch from v_last + interval '1 second' - v_now) * 1000));
  end if;
  update delivery.position_broadcasts b set sent_at = v_now where b.tenant_id = v_tenant;
  -- Looking a little further back catches a position that was written before the last time and committed after it.
  select coalesce(jsonb_agg(delivery.position_to_json(s) || jsonb_build_object('driver_id', s.driver_id) order by s.driver_id), '[]') into v_moved
  from delivery.driver_presence s where s.tenant_id = v_tenant and s.moved_at > v_last - interval '1 second';
  perform delivery.broadcast(format('tenant:%s:board', v_tenant), 'driver.positions', jsonb_build_object('positions', g.rows))
  from (
    select jsonb_agg(m.line order by m.place) as rows from jsonb_array_elements(v_moved) with ordinality m (line, place)
    group by (m.place - 1) / 500) g;
  with own as (
    update delivery.driver_presence s set own_sent_at = v_now
    from jsonb_array_elements(v_moved) m (line)
    where s.tenant_id = v_tenant and s.driver_id = (m.line ->> 'driver_id')::uuid
      and (s.own_sent_at is null or s.own_sent_at <= v_now - interval '10 seconds')
    returning s.driver_id, m.line)
  select jsonb_agg(jsonb_build_object('driver_id', own.driver_id, 'line', own.line)) into v_own from own;
  perform delivery.broadcast(format('driver:%s', o.driver_id), 'driver.positions', jsonb_build_object('positions', jsonb_build_array(o.line)))
  from jsonb_to_recordset(v_own) o (driver_id uuid, line jsonb);
  return jsonb_build_object('sent', jsonb_array_length(v_moved), 'due_in_ms', 0);
end $$;

drop trigger if exists deliveries_broadcast_made on delivery.deliveries;
create trigger deliveries_broadcast_made after insert on delivery.deliveries referencing new table as new_rows
  for each statement execute function delivery.deliveries_broadcast();
drop trigger if exists deliveries_broadcast_moved on delivery.deliveries;
create trigger deliveries_broadcast_moved after update on delivery.deliveries referencing old table as old_rows new table as new_rows
  for each statement execute function delivery.deliveries_broadcast();
drop trigger if exists statuses_broadcast on delivery.status_broadcasts;
create constraint trigger statuses_broadcast after insert on delivery.status_broadcasts
  deferrable initially deferred for each row execute function delivery.statuses_broadcast();
drop trigger if exists assignments_broadcast_made on delivery.assignments;
create trigger assignments_broadcast_made after insert on delivery.assignments referencing new table as new_rows
  for each statement execute function delivery.assignments_broadcast();
drop trigger if exists assignments_broadcast_changed on delivery.assignments;
create trigger assignments_broadcast_changed after update on delivery.assignments referencing old table as old_rows new table as new_rows
  for each statement execute function delivery.assignments_broadcast();

-- Nobody calls these but other functions and triggers, and the policy of Realtime.
revoke execute on function delivery.broadcast(text, text, jsonb), delivery.rows_broadcast(text, text, uuid[], uuid[], jsonb[]), delivery.may_listen(text),
  delivery.deliveries_broadcast(), delivery.statuses_broadcast(), delivery.assignments_broadcast() from barid_caller;
grant execute on function delivery.may_listen(text) to authenticated;
