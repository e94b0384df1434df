-- Warehouses: who may use them.

-- True when a customer may use a warehouse (access_mode).
create or replace function warehousing.warehouse_open_to(warehouse warehousing.warehouses, user_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return case warehouse.access_mode when 'all_users' then true
    else (warehouse.access_mode = 'select_users') = exists (
      select from warehousing.warehouse_users u
      where u.tenant_id = warehouse.tenant_id and u.warehouse_id = warehouse.id and u.user_id = warehouse_open_to.user_id) end;
end $$;

-- Gives a warehouse the people of its access_mode; null leaves them. A warehouse for everybody names nobody,
-- but ids that are nobody's are refused all the same. People who are added must be business users; those who are in the list may be sent
-- again whatever they are by now. Locks the memberships of those added, by id, after the warehouse: who stops being a business user meanwhile
-- is refused, or taken off by warehousing.warehouse_grants_end. Fails: invalid_customer_ids (user_ids).
create or replace function warehousing.warehouse_set_users(warehouse warehousing.warehouses, user_ids jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_sent uuid[] := app.uuids(user_ids);
  v_chosen boolean := warehouse.access_mode <> 'all_users';
  v_added uuid[];
  v_found bigint;
begin
  if v_chosen and v_sent = '{}' and (user_ids is not null or not exists (
      select from warehousing.warehouse_users u where u.tenant_id = warehouse.tenant_id and u.warehouse_id = warehouse.id)) then
    perform app.fail('invalid_customer_ids', '{"field": "user_ids", "text_key": "reason_warehouse_users"}');
  end if;
  v_added := array(
    select g.id from unnest(v_sent) g (id)
    except
    select u.user_id from warehousing.warehouse_users u where u.tenant_id = warehouse.tenant_id and u.warehouse_id = warehouse.id);
  perform from tenancy.tenant_users u
  where u.tenant_id = warehouse.tenant_id and u.user_id = any (v_added) and u.tenant_user_type = 'customer' and u.is_business
  order by u.user_id for share;
  get diagnostics v_found = row_count;
  if v_found < cardinality(v_added) then
    perform app.fail('invalid_customer_ids', '{"field": "user_ids", "text_key": "reason_warehouse_users"}');
  end if;
  if not v_chosen or user_ids is not null then
    delete from warehousing.warehouse_users u
    where u.tenant_id = warehouse.tenant_id and u.warehouse_id = warehouse.id and (not v_chosen or u.user_id <> all (v_sent));
  end if;
  insert into warehousing.warehouse_users (tenant_id, warehouse_id, user_id)
  -- A person who was taken off the list meanwhile stays off.
  select warehouse.tenant_id, warehouse.id, g.id from unnest(v_added) g (id) where v_chosen
  on conflict do nothing;
end $$;

-- True when a change leaves a list of people empty that is empty already: the people whom a warehouse in select_users was for are gone.
-- access_mode: the warehouse's as it shall be.
create or replace function warehousing.warehouse_users_stay_empty(warehouse warehousing.warehouses, access_mode text, user_ids jsonb) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return warehouse_users_stay_empty.access_mode = warehouse.access_mode and app.uuids(user_ids) = '{}' and not exists (
    select from warehousing.warehouse_users u where u.tenant_id = warehouse.tenant_id and u.warehouse_id = warehouse.id);
end $$;

-- Takes a person whose membership ends, or begins anew, or who is no business user any more, off the warehouses that are for chosen people. Who is
-- excluded from a warehouse stays so.
create or replace function warehousing.warehouse_grants_end() returns trigger
language plpgsql set search_path = '' as $$
begin
  delete from warehousing.warehouse_users u using warehousing.warehouses w
  where u.tenant_id = new.tenant_id and u.user_id = new.user_id
    and w.tenant_id = u.tenant_id and w.id = u.warehouse_id and w.access_mode = 'select_users';
  return null;
end $$;

-- Refuses what is no warehouse of the tenant. Fails: warehouse_not_found (field).
create or replace function warehousing.require_warehouse(warehouse_id uuid, field text default 'warehouse_id') returns void
language plpgsql stable set search_path = '' as $$
begin
  perform from warehousing.warehouses w where w.id = require_warehouse.warehouse_id and w.deleted_at is null;
  if not found then
    perform app.fail('warehouse_not_found', jsonb_build_object('field', require_warehouse.field));
  end if;
end $$;

-- Key figures of the tenant's warehouses, narrowed by a customer's access but by no other filter. {customer_id?}
-- -> {totalWarehouses, activeCount, maintenanceCount, inactiveCount, totalCapacity, availableCapacity}
create or replace function warehousing.warehouses_stats(customer_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('totalWarehouses', count(*), 'activeCount', count(*) filter (where w.status = 'active'),
      'maintenanceCount', count(*) filter (where w.status = 'maintenance'), 'inactiveCount', count(*) filter (where w.status = 'inactive'),
      'totalCapacity', coalesce(sum(w.total_capacity), 0), 'availableCapacity', coalesce(sum(w.available_capacity), 0))
    from warehousing.warehouses w
    where w.deleted_at is null and coalesce(w.id = any ((select app.own_warehouses())::uuid[]), true)
      and (customer_id is null or warehousing.warehouse_open_to(w, customer_id)));
end $$;
