-- The places of a warehouse, and who works in it.

-- {warehouse_id, id} -> {bin}. Fails: bin_not_found.
create or replace function warehousing.bin_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('bin', app.found((
    select to_jsonb(b)
    from warehousing.bins_list b
    where b.id = (input ->> 'id')::uuid and b.warehouse_id = (input ->> 'warehouse_id')::uuid), 'bin_not_found'));
end $$;

-- Adds a place to a warehouse. {warehouse_id, code, name, location_type?, capacity?, is_default_receiving?, is_active?} -> {bin}
-- Fails: warehouse_not_found, bin_code_exists, default_receiving_exists.
create or replace function warehousing.bin_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid;
begin
  perform warehousing.require_warehouse((input ->> 'warehouse_id')::uuid);
  insert into warehousing.bins (tenant_id, warehouse_id, code, name, location_type, capacity, is_default_receiving, is_active)
  values (app.tenant_id(), (input ->> 'warehouse_id')::uuid, input ->> 'code', input ->> 'name', coalesce(input ->> 'location_type', 'BIN'),
    (input ->> 'capacity')::numeric, coalesce((input ->> 'is_default_receiving')::boolean, false),
    coalesce((input ->> 'is_active')::boolean, true))
  returning id into v_id;
  return warehousing.bin_get(input || jsonb_build_object('id', v_id));
end $$;

-- Changes what is sent; null clears the capacity. {warehouse_id, id, any field of bin_create} -> {bin}
-- Of a cage or trolley of a sorting session only code and name: what it takes and how long it is in use is told there.
-- Fails: bin_not_found, bin_code_exists, default_receiving_exists, bin_not_empty (taken out of use with stock in it), bin_full,
-- bin_of_sorting_session.
create or replace function warehousing.bin_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_bin warehousing.bins;
  v_wanted warehousing.bins;
begin
  -- Incoming stock locks the bin until it has arrived.
  select * into v_bin from warehousing.bins b
  where b.id = (input ->> 'id')::uuid and b.warehouse_id = (input ->> 'warehouse_id')::uuid for update;
  if not found then
    perform app.fail('bin_not_found');
  end if;
  v_wanted := jsonb_populate_record(v_bin, input);
  if v_bin.is_temporary and (v_wanted.location_type, v_wanted.capacity, v_wanted.is_default_receiving, v_wanted.is_active)
      is distinct from (v_bin.location_type, v_bin.capacity, v_bin.is_default_receiving, v_bin.is_active) then
    perform app.fail('bin_of_sorting_session');
  end if;
  if v_bin.is_active and not v_wanted.is_active and exists (select from warehousing.stock s
      where s.tenant_id = v_bin.tenant_id and s.warehouse_id = v_bin.warehouse_id and s.bin_id = v_bin.id and s.quantity > 0) then
    perform app.fail('bin_not_empty');
  end if;
  update warehousing.bins b set code = v_wanted.code, name = v_wanted.name, location_type = v_wanted.location_type,
    capacity = v_wanted.capacity, is_default_receiving = v_wanted.is_default_receiving, is_active = v_wanted.is_active
  where b.id = v_bin.id;
  return warehousing.bin_get(input);
end $$;

-- {id} -> {staff}. Fails: staff_not_found.
create or replace function warehousing.staff_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('staff', app.found((
    select to_jsonb(s)
    from warehousing.staff_list s
    where s.id = (input ->> 'id')::uuid and s.warehouse_id = (input ->> 'warehouse_id')::uuid), 'staff_not_found'));
end $$;

-- Assigns a member of staff to a warehouse. {warehouse_id, user_id, employee_id?, role?} -> {staff}
-- Fails: warehouse_not_found, user_not_found (no active member of type staff), staff_already_assigned.
create or replace function warehousing.staff_add(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid;
begin
  perform warehousing.require_warehouse((input ->> 'warehouse_id')::uuid);
  perform from tenancy.tenant_users u
  where u.user_id = (input ->> 'user_id')::uuid and u.tenant_user_type = 'staff' and u.is_active;
  if not found then
    perform app.fail('user_not_found', '{"field": "user_id", "text_key": "user_no_active_staff"}');
  end if;
  insert into warehousing.warehouse_staff (tenant_id, warehouse_id, user_id, employee_id, role)
  values (app.tenant_id(), (input ->> 'warehouse_id')::uuid, (input ->> 'user_id')::uuid, input ->> 'employee_id', input ->> 'role')
  returning id into v_id;
  return warehousing.staff_get(input || jsonb_build_object('id', v_id));
end $$;

-- Ends the assignments of a person who leaves the company, as their roles end: back in it, they are in no warehouse by themselves.
create or replace function warehousing.staff_left() returns trigger
language plpgsql set search_path = '' as $$
begin
  update warehousing.warehouse_staff s set is_active = false
  where s.tenant_id = new.tenant_id and s.user_id = new.user_id and s.is_active;
  return null;
end $$;

-- Holds a person who is assigned to a warehouse in the company, since they may leave between the look of warehousing.staff_add and the row. After
-- it their leaving waits for the row, and ends it. SECURITY DEFINER: locks memberships, which not everybody who keeps warehouses may change.
-- Fails: user_not_found.
create or replace function warehousing.staff_stays() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform from tenancy.tenant_users u where u.tenant_id = new.tenant_id and u.user_id = new.user_id and u.left_at is null for share;
  if not found then
    perform app.fail('user_not_found', '{"field": "user_id", "text_key": "user_no_active_staff"}');
  end if;
  return null;
end $$;
revoke execute on function warehousing.staff_stays() from barid_caller;

-- Ends an assignment; a second time changes nothing. {warehouse_id, id} -> {staff}. Fails: staff_not_found.
create or replace function warehousing.staff_deactivate(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  update warehousing.warehouse_staff s set is_active = false
  where s.id = (input ->> 'id')::uuid and s.warehouse_id = (input ->> 'warehouse_id')::uuid and s.is_active;
  return warehousing.staff_get(input);
end $$;
