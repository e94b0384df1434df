-- The life of an assignment, guarded below every core: history is never rewritten, and a driver's load
-- (drivers.capacity_used in units, drivers.live_stops) is always the sum of their active assignments.

-- Allows legal moves of an assignment only, and keeps each driver's load at the sum of their active assignments.
create or replace function delivery.assignments_changed() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_op = 'UPDATE' then
    -- A route may still be measured after the end; nothing else changes.
    if exists (select from old_rows o join new_rows n on n.id = o.id
        where o.status in ('rejected', 'completed', 'returned')
          and to_jsonb(n) - '{updated_at,changed,route_details}'::text[] <> to_jsonb(o) - '{updated_at,changed,route_details}'::text[]) then
      perform app.fail('assignment_ended');
    end if;
    if exists (select from old_rows o join new_rows n on n.id = o.id
        where o.status <> n.status and n.status <> all (case o.status
          when 'pending' then '{accepted,rejected,returned}'::text[]
          else '{completed,returned,rejected}'::text[] end)) then
      perform app.fail('invalid_status_transition');
    end if;
    perform delivery.capacity_shift(array(
      select row(c.tenant_id, c.driver_id, sum(c.units), sum(c.stops))::private.load_change from (
        select n.tenant_id, n.driver_id, n.units, 1 as stops from new_rows n where n.status in ('pending', 'assigned', 'accepted')
        union all
        select o.tenant_id, o.driver_id, -o.units, -1 from old_rows o where o.status in ('pending', 'assigned', 'accepted')
      ) c group by c.tenant_id, c.driver_id having sum(c.units) <> 0 or sum(c.stops) <> 0 order by c.driver_id));
  else
    perform delivery.capacity_shift(array(
      select row(n.tenant_id, n.driver_id, sum(n.units), count(*))::private.load_change from new_rows n
      where n.status in ('pending', 'assigned', 'accepted')
      group by n.tenant_id, n.driver_id order by n.driver_id));
  end if;
  return null;
end $$;

do $$
begin
  if to_regtype('private.load_change') is null then
    create type private.load_change as (tenant_id uuid, driver_id uuid, units numeric, stops integer);
  end if;
end $$;

-- Adds to what drivers carry. Locks the drivers in the order of their ids.
create or replace function delivery.capacity_shift(changes private.load_change[]) returns void
language plpgsql set search_path = '' as $$
begin
  if cardinality(changes) = 0 then
    return;
  end if;
  perform from delivery.drivers d
  where (d.tenant_id, d.user_id) in (select c.tenant_id, c.driver_id from unnest(changes) c)
  order by d.user_id for no key update;
  update delivery.drivers d set capacity_used = d.capacity_used + c.units, live_stops = d.live_stops + c.stops
  from unnest(changes) c where d.tenant_id = c.tenant_id and d.user_id = c.driver_id;
end $$;

drop trigger if exists assignments_added on delivery.assignments;
create trigger assignments_added after insert on delivery.assignments referencing new table as new_rows
  for each statement execute function delivery.assignments_changed();
drop trigger if exists assignments_changed on delivery.assignments;
create trigger assignments_changed after update on delivery.assignments referencing old table as old_rows new table as new_rows
  for each statement execute function delivery.assignments_changed();

-- Nobody calls these but other functions and triggers.
revoke execute on function delivery.assignments_changed(), delivery.capacity_shift(private.load_change[]) from barid_caller;
