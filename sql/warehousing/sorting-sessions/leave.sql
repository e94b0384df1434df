-- Parcels that leave the warehouse while they are sorted there.

-- Takes a parcel out of these cages, which are locked: its scans stay, with the time at which it left.
create or replace function warehousing.sorting_leave_cages(tenant uuid, parcel uuid, cages uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  with gone as (
    update warehousing.sorting_scans c set left_at = clock_timestamp()
    from warehousing.sorting_assignments a
    where a.tenant_id = sorting_leave_cages.tenant and a.cage_location_id = any (cages) and c.tenant_id = a.tenant_id and c.assignment_id = a.id
      and c.delivery_id = parcel and c.left_at is null
    returning a.cage_location_id
  )
  update warehousing.bins b set filled_capacity = b.filled_capacity - 1
  from gone where b.tenant_id = sorting_leave_cages.tenant and b.id = gone.cage_location_id;
end $$;

-- Takes a parcel out of the cages of sessions that are under way elsewhere than where it is now. Heard when a parcel leaves the warehouse that held
-- it, or is fetched or cancelled where it was picked. Its scan stays, with the time at which it left. SECURITY DEFINER: whoever carries a parcel
-- sees no cages. Locks: the deliveries are locked; cages by id.
create or replace function warehousing.sorted_parcel_leaves() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_parcel uuid := case new.delivery_flow when 'operational_return' then new.original_delivery_id else new.id end;
  v_cages uuid[];
begin
  select array_agg(b.id) into v_cages from (
    select b.id from warehousing.sorting_scans c
    join warehousing.sorting_sessions s on s.tenant_id = c.tenant_id and s.id = c.session_id and s.status = 'active'
    join warehousing.sorting_assignments a on a.tenant_id = c.tenant_id and a.id = c.assignment_id
    join warehousing.bins b on b.tenant_id = a.tenant_id and b.id = a.cage_location_id
    where c.tenant_id = new.tenant_id and c.delivery_id = v_parcel and c.left_at is null
      and s.warehouse_id is distinct from new.current_warehouse_id
    order by b.id for no key update of b) b;
  if v_cages is null then
    return null;
  end if;
  perform warehousing.sorting_leave_cages(new.tenant_id, v_parcel, v_cages);
  return null;
end $$;

drop trigger if exists sorted_parcel_leaves on delivery.deliveries;
create trigger sorted_parcel_leaves after update of status, current_warehouse_id on delivery.deliveries
  for each row when ((old.current_warehouse_id is not null and new.current_warehouse_id is distinct from old.current_warehouse_id)
    or (new.pickup_warehouse_id is not null and old.status in ('pending', 'assigned', 'accepted')
      and new.status in ('picked_up', 'in_transit', 'cancelled')))
  execute function warehousing.sorted_parcel_leaves();

-- Nobody calls these but the trigger and other functions.
revoke execute on function warehousing.sorted_parcel_leaves(), warehousing.sorting_leave_cages(uuid, uuid, uuid[]) from barid_caller;
