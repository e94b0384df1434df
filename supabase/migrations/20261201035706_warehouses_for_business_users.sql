-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table tenancy.tenant_users in access exclusive mode;
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP TRIGGER "warehouse_grants_end" ON "tenancy"."tenant_users";

CREATE OR REPLACE FUNCTION warehousing.warehouse_set_users(warehouse warehousing.warehouses, user_ids jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
  select distinct warehouse.tenant_id, warehouse.id, g.id from unnest(v_sent) g (id) where v_chosen
  on conflict do nothing;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.warehouse_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_warehouse warehousing.warehouses;
  v_wanted warehousing.warehouses;
  v_stays_empty boolean;
  v_changes_mode boolean;
  v_from uuid := (select w.address_id from warehousing.warehouses w where w.id = (input ->> 'id')::uuid and w.deleted_at is null);
begin
  -- Parcels are locked before their warehouse.
  if (input ->> 'address_id')::uuid <> v_from then
    perform delivery.require_public_address((input ->> 'address_id')::uuid);
    perform delivery.warehouse_moves((input ->> 'id')::uuid, v_from, (input ->> 'address_id')::uuid);
  end if;
  select * into v_warehouse from warehousing.warehouses w
  where w.id = (input ->> 'id')::uuid and w.deleted_at is null for no key update;
  if not found then
    perform app.fail('warehouse_not_found');
  elsif v_warehouse.address_id <> v_from then
    -- Another call has moved it, and its parcels, since: where this one moves it from is to be asked again.
    raise exception 'warehouse % was moved meanwhile', v_warehouse.id using errcode = 'serialization_failure';
  end if;
  v_wanted := jsonb_populate_record(v_warehouse, input);
  v_stays_empty := warehousing.warehouse_users_stay_empty(v_warehouse, v_wanted.access_mode, input -> 'user_ids');
  perform warehousing.require_room(v_wanted.total_capacity, v_wanted.available_capacity, input);
  if not input ? 'status' and input ? 'available_capacity' then
    v_wanted.status := case
      when v_wanted.available_capacity <= 0 and v_wanted.status = 'active' then 'full'
      when (v_wanted.available_capacity > 0) is not false and v_wanted.status = 'full' then 'active'
      else v_wanted.status end;
  end if;
  v_changes_mode := v_wanted.access_mode <> v_warehouse.access_mode;
  -- A list of those who may is not one of those who may not.
  if v_changes_mode and v_wanted.access_mode <> 'all_users' and input -> 'user_ids' is null then
    perform app.fail('invalid_customer_ids', '{"field": "user_ids", "text_key": "reason_warehouse_users"}');
  end if;
  update warehousing.warehouses w set name = v_wanted.name, code = v_wanted.code, address_id = v_wanted.address_id,
    status = v_wanted.status, total_capacity = v_wanted.total_capacity, available_capacity = v_wanted.available_capacity,
    features = v_wanted.features, access_mode = v_wanted.access_mode
  where w.id = v_warehouse.id
  returning * into v_warehouse;
  -- Nobody of the old list is in the new one unasked: all who are sent are added, and have to be business users now.
  if v_changes_mode then
    delete from warehousing.warehouse_users u where u.tenant_id = v_warehouse.tenant_id and u.warehouse_id = v_warehouse.id;
  end if;
  if not v_stays_empty then
    perform warehousing.warehouse_set_users(v_warehouse, input -> 'user_ids');
  end if;
  return warehousing.warehouse_get(jsonb_build_object('id', v_warehouse.id));
end $function$;

CREATE TRIGGER warehouse_grants_end AFTER UPDATE OF left_at, is_business ON tenancy.tenant_users FOR EACH ROW WHEN ((((new.left_at IS NULL) <> (old.left_at IS NULL)) OR (old.is_business AND (NOT new.is_business)))) EXECUTE FUNCTION warehousing.warehouse_grants_end();

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201035706';
end $$;

grant execute on function private.schema_version() to barid_api;
