-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.drivers, tenancy.profiles in share row exclusive mode;
      lock table tenancy.tenant_users in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "tenancy"."tenant_users" ADD COLUMN "was_shut_out" boolean NOT NULL DEFAULT false;

CREATE OR REPLACE FUNCTION delivery.driver_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_user uuid := (input ->> 'user_id')::uuid;
  v_type text;
begin
  select u.tenant_user_type into v_type from tenancy.tenant_users u where u.tenant_id = app.tenant_id() and u.user_id = v_user and u.left_at is null;
  if not found then
    perform app.fail('user_not_found');
  end if;
  if v_type <> 'driver' then
    perform app.fail('user_not_driver', '{"field": "user_id"}');
  end if;
  perform delivery.lock_default_driver(input);
  perform tenancy.member_provision(v_user, 'driver');
  perform delivery.driver_provision(v_user, input);
  return delivery.driver_to_json(v_user);
end $function$;

CREATE OR REPLACE FUNCTION delivery.driver_provision(driver_id uuid, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_zones uuid[] := app.uuids(input -> 'zone_ids');
  v_driver delivery.drivers;
  v_vehicle delivery.vehicles;
begin
  select * into v_driver from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = driver_id for no key update;
  if not found then
    perform app.fail('driver_not_found');
  end if;
  if (input ->> 'status' = 'active' or (input ->> 'default')::boolean) and not exists (select from tenancy.tenant_users u
      where u.tenant_id = v_tenant and u.user_id = driver_id and u.is_active and u.tenant_user_type = 'driver') then
    perform app.fail('driver_inactive', jsonb_build_object('field', case when input ->> 'status' = 'active' then 'status' else 'default' end));
  end if;
  if input ->> 'vehicle_id' is not null and (input ->> 'vehicle_id')::uuid is distinct from v_driver.vehicle_id then
    select * into v_vehicle from delivery.vehicles v where v.id = (input ->> 'vehicle_id')::uuid for share;
    if not found then
      perform app.fail('vehicle_not_found', '{"field": "vehicle_id"}');
    end if;
    if not v_vehicle.is_active then
      perform app.fail('vehicle_inactive', '{"field": "vehicle_id"}');
    end if;
    if v_vehicle.unit_capacity < v_driver.capacity_used then
      perform app.fail('insufficient_vehicle_capacity', '{"field": "vehicle_id"}');
    end if;
  end if;
  if exists (select from unnest(v_zones) g (id)
      where not exists (select from delivery.zones z where z.tenant_id = v_tenant and z.id = g.id)) then
    perform app.fail('zone_not_found', '{"field": "zone_ids"}');
  end if;
  update delivery.drivers d set
    vehicle_id = case when input ? 'vehicle_id' then (input ->> 'vehicle_id')::uuid else d.vehicle_id end,
    all_zones = coalesce((input ->> 'all_zones')::boolean, d.all_zones),
    status = coalesce(input ->> 'status', d.status)
  where d.tenant_id = v_tenant and d.user_id = driver_id
  returning * into v_driver;
  if input ? 'zone_ids' then
    delete from delivery.driver_zones z
    where z.tenant_id = v_tenant and z.driver_id = driver_provision.driver_id and z.zone_id <> all (v_zones);
    insert into delivery.driver_zones (tenant_id, driver_id, zone_id)
    select distinct v_tenant, driver_provision.driver_id, g.id from unnest(v_zones) g (id)
    on conflict do nothing;
  end if;
  if (input ->> 'default')::boolean then
    if v_driver.status <> 'active' then
      perform app.fail('driver_inactive', '{"field": "default"}');
    end if;
    insert into tenancy.tenant_settings as s (tenant_id, module, group_key, settings, updated_by)
    values (v_tenant, 'delivery', 'assignment_change_settings', jsonb_build_object('default_driver_id', driver_id), app.user_id())
    on conflict (tenant_id, module, group_key) do update set settings = s.settings || excluded.settings, updated_by = excluded.updated_by;
  elsif input ? 'default' then
    update tenancy.tenant_settings s set settings = s.settings - 'default_driver_id', updated_by = app.user_id()
    where s.tenant_id = v_tenant and s.module = 'delivery' and s.group_key = 'assignment_change_settings'
      and s.settings ->> 'default_driver_id' = driver_id::text;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.duty_announce(driver uuid, on_duty boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'driver.duty_changed',
    'entity_type', 'driver', 'entity_id', driver, 'event_data',
    jsonb_build_object('driver_id', driver, 'on_duty', duty_announce.on_duty, 'actor_id', app.user_id()))));
  perform delivery.driver_broadcast(driver, 'driver.duty', jsonb_build_object('driver_id', driver, 'on_duty', duty_announce.on_duty));
end $function$;

CREATE OR REPLACE FUNCTION delivery.duty_change(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_driver uuid := coalesce((input ->> 'driver_id')::uuid, case when app.has_role('driver') then app.user_id() end);
  v_on boolean := (input ->> 'on_duty')::boolean;
  v_codes bigint[];
  v_status text;
  v_was boolean;
begin
  if v_driver is null or (v_driver <> app.user_id() and not app.has_permission('manage:operations:tenant')) then
    perform app.fail('forbidden');
  end if;
  select d.status into v_status from delivery.drivers d where d.tenant_id = app.tenant_id() and d.user_id = v_driver for share;
  if not found then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  end if;
  if v_on and v_status <> 'active' then
    perform app.fail('driver_inactive');
  end if;
  if not v_on and not coalesce((input ->> 'keep_parcels')::boolean, false) then
    v_codes := delivery.parcels_in_hand(v_driver);
    if cardinality(v_codes) > 0 then
      perform app.fail('driver_has_parcels', jsonb_build_object('delivery_codes', to_jsonb(v_codes)));
    end if;
  end if;
  insert into delivery.driver_presence (tenant_id, driver_id) values (app.tenant_id(), v_driver) on conflict do nothing;
  select s.on_duty into v_was from delivery.driver_presence s where s.tenant_id = app.tenant_id() and s.driver_id = v_driver for no key update;
  update delivery.driver_presence s set on_duty = v_on,
    duty_changed_at = case when v_was = v_on then s.duty_changed_at else now() end,
    last_heartbeat_at = case when v_driver = app.user_id() then now() else s.last_heartbeat_at end
  where s.tenant_id = app.tenant_id() and s.driver_id = v_driver;
  if v_was <> v_on then
    perform delivery.duty_announce(v_driver, v_on);
  end if;
  return jsonb_build_object('driver', delivery.driver_to_json(v_driver));
end $function$;

CREATE OR REPLACE FUNCTION delivery.inactive_off_duty()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update delivery.driver_presence s set on_duty = false, duty_changed_at = now()
  where s.tenant_id = new.tenant_id and s.driver_id = new.user_id and s.on_duty;
  if found then
    perform delivery.duty_announce(new.user_id, false);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.may_listen(topic text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
    else cardinality(v_tenants) = 1 and 'permission:manage:operations:tenant' = any (app.token_grants(v_tenants[1])) end;
end $function$;

CREATE OR REPLACE FUNCTION money.merchant_wallets(owner uuid, currency text)
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return array(
    select a.id from money.accounts a
    join tenancy.tenant_users u on u.tenant_id = a.tenant_id and u.user_id = a.owner_user_id
    where a.tenant_id = app.tenant_id() and a.owner_user_id = merchant_wallets.owner and a.currency = merchant_wallets.currency
      and money.may_be_held(a)
    order by a.owner_type = u.tenant_user_type desc, a.id);
end $function$;

REVOKE ALL ON FUNCTION "money"."merchant_wallets"(uuid, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.statement_open_book(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_owner uuid := (input ->> 'owner_user_id')::uuid;
  v_currency text := coalesce(input ->> 'currency', (app.currency()).code);
  v_wallets uuid[] := money.merchant_wallets(v_owner, v_currency);
  v_wallet uuid;
  v_id uuid;
begin
  if v_wallets = '{}' and not exists (select from tenancy.tenant_users u where u.tenant_id = app.tenant_id() and u.user_id = v_owner
      and u.tenant_user_type in ('customer', 'institution')) then
    perform app.fail('merchant_not_found', '{"field": "owner_user_id"}');
  end if;
  perform from money.accounts a where a.tenant_id = app.tenant_id() and a.id = any (v_wallets) order by a.id for no key update;
  foreach v_wallet in array v_wallets loop
    v_id := money.statement_make(v_wallet, coalesce(app.day_end(input ->> 'date_to'), 'infinity'));
    exit when v_id is not null;
  end loop;
  if v_id is null then
    perform app.fail('statement_below_minimum', jsonb_build_object('minimum', (money.statement_rule(v_currency)).minimum, 'currency', v_currency));
  end if;
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION private.api_key_scopes(tenant_id uuid, maker uuid, scopes text[])
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(tenant_id);
  return array(
    select s.scope from unnest(scopes) s (scope)
    where s.scope not like '%:system' and not private.is_locked(maker)
      and (exists (select from tenancy.system_users u where u.user_id = maker)
        or exists (
          select from tenancy.tenant_users u
          join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
          join tenancy.role_permissions p on p.role_key = r.role_key and p.permission_key = s.scope
          where u.tenant_id = api_key_scopes.tenant_id and u.user_id = maker and u.is_active)));
end $function$;

CREATE OR REPLACE FUNCTION private.audit()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  -- Read once a statement: thousands of rows may follow.
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_key uuid := app.request_setting('api_key_id')::uuid;
  v_client text := app.request_setting('client_request_id');
  v_request text := app.request_setting('request_id');
  v_operation text := app.request_setting('operation');
  v_hidden text[] := array['updated_at', 'changed'] || coalesce(string_to_array(tg_argv[0], ','), '{}');
  v_entity text := tg_table_schema || '.' || tg_table_name;
  v_owner text := case v_entity when 'tenancy.tenants' then 'id' else 'tenant_id' end;
  v_id text := case v_entity when 'tenancy.tenant_users' then 'user_id' else 'id' end;
begin
  if tg_op = 'INSERT' then
    insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, after)
    select coalesce((n.doc ->> v_owner)::uuid, v_tenant), v_actor, v_key, v_request, v_client, v_operation, v_entity,
      coalesce(n.doc ->> v_id, n.doc ->> 'user_id', private.audit_key(tg_relid, n.doc)), 'insert',
      n.doc - v_hidden
    -- Kept apart: flattened, the document of each row would be made for each time it is used.
    from (select to_jsonb(t) as doc from new_rows t offset 0) n;
  elsif tg_op = 'DELETE' then
    insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, before)
    select coalesce((o.doc ->> v_owner)::uuid, v_tenant), v_actor, v_key, v_request, v_client, v_operation, v_entity,
      coalesce(o.doc ->> v_id, o.doc ->> 'user_id', private.audit_key(tg_relid, o.doc)), 'delete',
      o.doc - v_hidden
    from (select to_jsonb(t) as doc from old_rows t offset 0) o;
  else
    insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, before, after)
    select coalesce((p.was ->> v_owner)::uuid, v_tenant), v_actor, v_key, v_request, v_client, v_operation, v_entity,
      coalesce(p.was ->> v_id, p.was ->> 'user_id', private.audit_key(tg_relid, p.was)), 'update',
      c.before, c.after
    from (
      -- Both transition tables list the rows in the order of the update. Paired by grouping, not by a
      -- join: its plan, made for a session's first small change and kept, is a nested loop that takes
      -- longer than the statement timeout for thousands of rows.
      select d.line, (array_agg(d.doc) filter (where d.old))[1] as was, (array_agg(d.doc) filter (where not d.old))[1] as became
      from (
        select true as old, row_number() over () as line, to_jsonb(t) as doc from old_rows t
        union all
        select false, row_number() over (), to_jsonb(t) from new_rows t
      ) d
      group by d.line
    ) p
    cross join lateral (
      select jsonb_object_agg(f.key, p.was -> f.key) as before, jsonb_object_agg(f.key, f.value) as after
      from jsonb_each(p.became) f
      where f.value is distinct from p.was -> f.key and f.key <> all (v_hidden)
    ) c
    where c.after is not null
    order by p.line;
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION private.audit_key(relation oid, doc jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select string_agg(doc ->> a.attname, '.' order by k.place)
    from pg_catalog.pg_index i
    cross join unnest(i.indkey::smallint[]) with ordinality k (attnum, place)
    join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
    where i.indrelid = relation and i.indisprimary and a.attname <> 'tenant_id');
end $function$;

CREATE OR REPLACE FUNCTION private.identify(claims jsonb, OUT user_id uuid, OUT tenant_id uuid, OUT grants text[], OUT sees_tenant boolean, OUT language text, OUT api_key_id uuid, OUT is_company_key boolean)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_asked uuid := (claims ->> 'asked_tenant_id')::uuid;
  v_mode text := claims ->> 'tenant_mode';
  v_by_key boolean := claims ? 'api_key_hash';
  v_service boolean := coalesce((claims ->> 'service')::boolean, false);
  v_mailbox boolean := coalesce((claims ->> 'mailbox')::boolean, false);
  v_system boolean := false;
  v_key record;
  v_member text[];
  v_effective boolean;
begin
  user_id := (claims ->> 'sub')::uuid;
  tenant_id := coalesce(v_asked, (claims ->> 'tenant_id')::uuid);
  grants := '{anyone}';

  if v_by_key then
    v_key := private.api_key_use(claims);
    if v_asked <> v_key.tenant_id then
      perform app.fail('forbidden');
    end if;
    tenant_id := coalesce(v_key.tenant_id, tenant_id);
    v_system := v_key.tenant_id is null;
    grants := grants || array(select 'permission:' || s from unnest(v_key.scopes) s);
    api_key_id := v_key.id;
    is_company_key := v_key.tenant_id is not null;
  elsif user_id is not null then
    -- A token issued before the account was confirmed may belong to the person who created the account. Tokens name seconds. One that
    -- was issued before Auth deleted or banned the account holds no more.
    if not exists (select from tenancy.profiles p where p.id = identify.user_id and (p.proven_at is null or v_mailbox or v_service
        or to_timestamp((claims ->> 'issued_at')::bigint) > p.proven_at)) or private.is_locked(identify.user_id) then
      perform app.fail('unauthorized');
    end if;
    if v_mailbox then
      grants := grants || array['mailbox'];
    end if;
    v_system := exists (select from tenancy.system_users s where s.user_id = identify.user_id);
    -- A system administrator acts in the tenant that the call names, never in one that a token still carries.
    if v_system then
      tenant_id := v_asked;
      grants := grants || array['role:system_admin'] || (select array_agg('permission:' || p.key) from tenancy.permissions p);
    end if;
  end if;
  if v_service then
    grants := grants || array['service'];
  end if;

  if tenant_id is not null then
    select app.is_effective(t), s.settings ->> 'default' into v_effective, language
    from tenancy.tenants t
    left join tenancy.tenant_settings s on s.tenant_id = t.id and s.module = 'general' and s.group_key = 'language'
    where t.id = identify.tenant_id;
    if user_id is not null and not v_by_key then
      v_member := private.member_grants(tenant_id, user_id);
    end if;
    if v_effective is null or (v_member is null and user_id is not null and not (v_by_key or v_system or v_service)) then
      -- Calls outside any tenant continue without the one that the token still names.
      if v_asked is not null or v_mode <> 'none' then
        perform app.fail(case when v_effective is null and (v_system or v_service) then 'tenant_not_found' else 'forbidden' end);
      end if;
      tenant_id := null;
      language := null;
    elsif not v_effective and not v_system and v_mode <> 'none' then
      perform set_config('app.language', coalesce(claims ->> 'language', language, 'en'), true);
      perform app.fail('tenant_inactive');
    end if;
    grants := grants || v_member;
  elsif v_mode = 'required' then
    perform app.fail('tenant_id_required');
  end if;
  sees_tenant := v_by_key or v_system or v_service or coalesce('type:staff' = any (v_member), false);
end $function$;

CREATE OR REPLACE FUNCTION private.is_locked(user_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (select from auth.users a where a.id = is_locked.user_id and (a.deleted_at is not null or a.banned_until > now()));
end $function$;

CREATE OR REPLACE FUNCTION storefront.join_shop(store_name text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_user uuid := app.user_id();
  v_caller text := coalesce(app.tenant_id()::text, '');
  v_shop record;
  v_joined boolean;
  v_member tenancy.tenant_users;
begin
  if v_user is null then
    perform app.fail('forbidden');
  end if;
  v_shop := storefront.open_shop(join_shop.store_name);
  -- Log, event and wallet belong to the tenant that is joined; the answer is remembered under the key of a
  -- caller who was in none.
  perform set_config('app.tenant_id', v_shop.tenant_id::text, true);
  insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type) values (v_shop.tenant_id, v_user, 'customer')
  on conflict (tenant_id, user_id) do update set tenant_user_type = 'customer', is_active = true, left_at = null
  where tenant_users.left_at is not null and not tenant_users.was_shut_out;
  v_joined := found;
  select * into v_member from tenancy.tenant_users u where u.tenant_id = v_shop.tenant_id and u.user_id = v_user;
  if not v_member.is_active then
    perform app.fail('forbidden');
  end if;
  if v_joined then
    insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key) values (v_shop.tenant_id, v_user, 'customer')
    on conflict do nothing;
    perform money.account_of('wallet', 'customer', v_user, v_shop.currency);
    perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'customer.joined', 'source_module', 'storefront',
      'entity_type', 'customer', 'entity_id', v_user,
      'event_data', jsonb_build_object('customer_id', v_user, 'market_id', v_shop.market_id, 'actor_id', v_user))));
  end if;
  perform set_config('app.tenant_id', v_caller, true);
  return jsonb_build_object('tenant_id', v_shop.tenant_id, 'market_id', v_shop.market_id,
    'tenant_user_type', v_member.tenant_user_type, 'joined', v_joined);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.account_ended(user_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_before text := coalesce(app.tenant_id()::text, '');
  v_tenant uuid;
begin
  delete from tenancy.system_users s where s.user_id = account_ended.user_id;
  for v_tenant in
    select u.tenant_id from tenancy.tenant_users u where u.user_id = account_ended.user_id and u.is_active order by u.tenant_id
  loop
    -- Log and events belong to the company.
    perform set_config('app.tenant_id', v_tenant::text, true);
    update tenancy.tenant_users u set is_active = false where u.tenant_id = v_tenant and u.user_id = account_ended.user_id;
    update delivery.drivers d set status = 'inactive' where d.tenant_id = v_tenant and d.user_id = account_ended.user_id;
  end loop;
  perform set_config('app.tenant_id', v_before, true);
end $function$;

REVOKE ALL ON FUNCTION "tenancy"."account_ended"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION tenancy.follow_auth_user()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_told jsonb := coalesce(new.raw_user_meta_data, '{}');
  v_name text := left(coalesce(v_told ->> 'full_name', v_told ->> 'name', ''), 200);
begin
  if tg_op = 'INSERT' then
    insert into tenancy.profiles (id, email, full_name, first_name, last_name, phone, avatar_url, made_by_tenant)
    values (new.id, new.email, v_name, left(v_told ->> 'first_name', 100),
      left(v_told ->> 'last_name', 100), left(v_told ->> 'phone', 40), left(v_told ->> 'avatar_url', 2000),
      tenancy.account_creator(new.id))
    on conflict (id) do nothing;
  elsif to_jsonb(new) ->> 'deleted_at' is not null then
    perform tenancy.account_ended(new.id);
    update tenancy.profiles set email = null, phone = null, avatar_url = null where id = new.id;
  else
    update tenancy.profiles p set email = new.email, full_name = coalesce(nullif(p.full_name, ''), v_name)
    where p.id = new.id;
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.invitation_answer(invitation_id uuid, accepts boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_user uuid := app.user_id();
  v_before text := coalesce(app.tenant_id()::text, '');
  v_invitation tenancy.invitations;
begin
  select i.* into v_invitation from tenancy.invitations i
  where i.id = invitation_id and i.email = tenancy.mailbox_of_caller()
    and exists (select from tenancy.tenants t where t.id = i.tenant_id and t.status <> 'archived') for update;
  if not found then
    perform app.fail('invitation_not_found');
  elsif v_invitation.status <> 'pending' or v_invitation.expires_at <= now() then
    perform app.fail('invitation_not_pending', jsonb_build_object('status', tenancy.invitation_status(v_invitation)));
  elsif accepts and not tenancy.may_join(v_user, v_invitation.tenant_id) then
    perform app.fail('account_not_confirmed');
  end if;
  -- Rows, log and event belong to the company that is joined.
  perform set_config('app.tenant_id', v_invitation.tenant_id::text, true);
  update tenancy.invitations i set status = case when accepts then 'accepted' else 'declined' end, answered_at = now(),
    sealed_password = null
  where i.id = v_invitation.id returning i.* into v_invitation;
  if accepts then
    perform tenancy.member_admit(v_user, v_invitation.person);
    -- The profile is the person's own; the invitation fills what an account that it made leaves open.
    update tenancy.profiles p set
      full_name = coalesce(nullif(p.full_name, ''), v_invitation.person ->> 'full_name'),
      phone = coalesce(p.phone, v_invitation.person ->> 'phone'),
      avatar_url = coalesce(p.avatar_url, v_invitation.person ->> 'avatar_url')
    where p.id = v_user and v_user = v_invitation.account_id;
    perform tenancy.member_event_emit('tenant_user.joined', v_user, v_invitation.person ->> 'tenant_user_type');
  end if;
  perform set_config('app.tenant_id', v_before, true);
  return jsonb_build_object('id', v_invitation.id, 'status', v_invitation.status, 'tenant_id', v_invitation.tenant_id);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.member_admit(user_id uuid, person jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  insert into tenancy.tenant_users as u (tenant_id, user_id, tenant_user_type, is_business, employee_id)
  values (v_tenant, member_admit.user_id, person ->> 'tenant_user_type',
    coalesce((person ->> 'is_business')::boolean, false), person ->> 'employee_id')
  on conflict on constraint user_already_member do update set tenant_user_type = excluded.tenant_user_type,
    is_business = excluded.is_business, employee_id = excluded.employee_id, is_active = true, left_at = null,
    was_shut_out = false
  where u.left_at is not null;
  if not found then
    perform app.fail('user_already_member');
  end if;
  insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
  select v_tenant, member_admit.user_id, r.key from jsonb_array_elements_text(person -> 'roles') r (key);
  perform tenancy.member_provision(member_admit.user_id, person ->> 'tenant_user_type');
  update delivery.drivers d set status = 'active'
  where d.tenant_id = v_tenant and d.user_id = member_admit.user_id and person ->> 'tenant_user_type' = 'driver';
end $function$;

CREATE OR REPLACE FUNCTION tenancy.members_of(tenant_id uuid)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return case when app.has_permission('manage:system') then
    (select count(*) from tenancy.tenant_users u where u.tenant_id = members_of.tenant_id and u.left_at is null) end;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.membership_end(tenant_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_user uuid := app.user_id();
  v_before text := coalesce(app.tenant_id()::text, '');
  v_was_admin boolean;
  v_left timestamptz;
begin
  perform set_config('app.tenant_id', membership_end.tenant_id::text, true);
  -- One change of a tenant's users at a time: two administrators must not both leave.
  perform from tenancy.tenants t where t.id = membership_end.tenant_id for no key update;
  v_was_admin := tenancy.is_active_admin(v_user);
  update tenancy.tenant_users u set is_active = false, left_at = now(), was_shut_out = not u.is_active
  where u.tenant_id = membership_end.tenant_id and u.user_id = v_user and u.left_at is null
  returning u.left_at into v_left;
  if not found then
    perform app.fail('forbidden');
  end if;
  delete from tenancy.tenant_user_roles r where r.tenant_id = membership_end.tenant_id and r.user_id = v_user;
  delete from tenancy.active_tenants a where a.tenant_id = membership_end.tenant_id and a.user_id = v_user;
  update delivery.drivers d set status = 'inactive' where d.tenant_id = membership_end.tenant_id and d.user_id = v_user;
  if v_was_admin then
    perform tenancy.require_another_admin();
  end if;
  perform tenancy.member_event_emit('tenant_user.left', v_user, (
    select u.tenant_user_type from tenancy.tenant_users u where u.tenant_id = membership_end.tenant_id and u.user_id = v_user));
  perform set_config('app.tenant_id', v_before, true);
  return jsonb_build_object('tenant_id', membership_end.tenant_id, 'left_at', v_left);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.tenant_get(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return app.found((
    select jsonb_build_object('id', t.id, 'name', t.name, 'slug', t.slug, 'status', t.status,
    'contact_info', t.contact_info, 'metadata', t.metadata, 'logo_url', t.logo_url,
    'subscription_status', t.subscription_status, 'effective_active', app.is_effective(t),
    'effective_until', t.effective_until, 'created_at', t.created_at, 'created_by', t.created_by,
    'updated_at', t.updated_at, 'updated_by', t.updated_by,
    'created_by_user', tenancy.tenant_writer(t.created_by), 'updated_by_user', tenancy.tenant_writer(t.updated_by),
    'tenant_users', (
      select coalesce(jsonb_agg(jsonb_build_object('user_id', u.user_id, 'created_at', u.created_at,
        'user', jsonb_build_object('id', p.id, 'email', p.email)) order by u.created_at, u.user_id), '[]')
      from (
        select m.user_id, m.created_at from tenancy.tenant_users m
        where m.tenant_id = t.id and m.left_at is null and (m.user_id = app.user_id() or app.sees_tenant() and m.tenant_user_type <> 'customer')
        order by m.user_id = app.user_id() desc, m.created_at, m.user_id limit 1000) u
      join tenancy.profiles p on p.id = u.user_id),
    'statistics', jsonb_build_object('active_users', (
      select count(*) from tenancy.tenant_users u where u.tenant_id = t.id and u.is_active)))
    from tenancy.tenants t where t.id = app.tenant_id()), 'tenant_not_found');
end $function$;

CREATE OR REPLACE FUNCTION warehousing.staff_left()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update warehousing.warehouse_staff s set is_active = false
  where s.tenant_id = new.tenant_id and s.user_id = new.user_id and s.is_active;
  return null;
end $function$;

CREATE TRIGGER off_duty AFTER UPDATE OF status ON delivery.drivers FOR EACH ROW WHEN (((new.status = 'inactive'::text) AND (old.status <> 'inactive'::text))) EXECUTE FUNCTION delivery.inactive_off_duty();

CREATE TRIGGER audit_update AFTER UPDATE ON tenancy.profiles REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT WHEN ((app.tenant_id() IS NOT NULL)) EXECUTE FUNCTION private.audit('email,made_by_tenant,proven_at');

CREATE TRIGGER staff_left AFTER UPDATE OF left_at ON tenancy.tenant_users FOR EACH ROW WHEN (((new.left_at IS NOT NULL) AND (old.left_at IS NULL))) EXECUTE FUNCTION warehousing.staff_left();

-- Accounts that Auth had deleted softly still managed the system; people who drive no more were on duty, or active.
delete from tenancy.system_users s using auth.users u where u.id = s.user_id and u.deleted_at is not null;
update delivery.driver_presence s set on_duty = false, duty_changed_at = now()
from delivery.drivers d
join tenancy.tenant_users u on u.tenant_id = d.tenant_id and u.user_id = d.user_id
where d.tenant_id = s.tenant_id and d.user_id = s.driver_id and s.on_duty
  and (d.status = 'inactive' or not u.is_active or u.tenant_user_type <> 'driver');
update delivery.drivers d set status = 'inactive'
from tenancy.tenant_users u
where u.tenant_id = d.tenant_id and u.user_id = d.user_id and d.status <> 'inactive' and (not u.is_active or u.tenant_user_type <> 'driver');

-- Those who left were in their warehouses as before once they came back; those who came back since keep what they have.
update warehousing.warehouse_staff s set is_active = false
from tenancy.tenant_users u
where u.tenant_id = s.tenant_id and u.user_id = s.user_id and s.is_active and u.left_at is not null;

REVOKE ALL ON FUNCTION "delivery"."duty_announce"(uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."duty_announce"(uuid, boolean) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."inactive_off_duty"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."inactive_off_duty"() TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."merchant_wallets"(uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_key"(oid, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_locked"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "tenancy"."account_ended"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "warehousing"."staff_left"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."staff_left"() TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126154837';
end $$;

grant execute on function private.schema_version() to barid_api;
