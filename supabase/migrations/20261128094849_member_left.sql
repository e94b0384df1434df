-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table tenancy.tenant_users in share row exclusive mode;
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

CREATE OR REPLACE FUNCTION warehousing.cash_left(tenant uuid, person uuid, kind text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_agg(jsonb_build_object('amount', s.amount, 'currency', s.currency) order by s.currency)
    from (
      select sum(a.balance) as amount, a.currency from money.accounts a
      where a.tenant_id = tenant and a.owner_user_id = person and a.kind = cash_left.kind
      group by a.currency having sum(a.balance) <> 0) s);
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."cash_left"(uuid, uuid, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION warehousing.member_left()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_left jsonb;
begin
  if new.left_at is null and app.user_id() is not null then
    return null;
  end if;
  select coalesce(jsonb_object_agg(l.part, l.value), '{}') into v_left
  from (
    values ('parcels', to_jsonb(nullif(cardinality(delivery.parcels_in_hand(new.user_id)), 0))),
      ('cash_in_hand', warehousing.cash_left(new.tenant_id, new.user_id, 'driver_cash')),
      ('cash_on_desk', warehousing.cash_left(new.tenant_id, new.user_id, 'cash_on_hand')),
      ('picking_orders', (select to_jsonb(nullif(count(*), 0)) from warehousing.picking_orders o
        where o.tenant_id = new.tenant_id and o.assigned_to = new.user_id and o.status in ('pending', 'in_progress'))),
      ('manifests', (select to_jsonb(nullif(count(*), 0)) from delivery.transfer_manifests m
        where m.tenant_id = new.tenant_id and m.driver_id = new.user_id and m.status in ('draft', 'picked_up', 'in_transit'))),
      ('api_keys', to_jsonb(nullif(jsonb_array_length(tenancy.api_keys_stopped(new.user_id)), 0)))
  ) l (part, value)
  where l.value is not null;
  if v_left = '{}' and new.tenant_user_type not in ('staff', 'driver') then
    return null;
  end if;
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select distinct new.tenant_id, u.user_id, 'member_left',
    jsonb_build_object('user_id', new.user_id, 'full_name', p.full_name, 'tenant_user_type', new.tenant_user_type) || v_left
  from tenancy.profiles p
  join tenancy.tenant_users u on u.tenant_id = new.tenant_id and u.is_active
  join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
    and (r.role_key in ('tenant_admin', 'operations_manager') or r.role_key = 'dispatcher' and new.tenant_user_type = 'driver')
  where p.id = new.user_id;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."member_left"() FROM "barid_caller";

CREATE TRIGGER member_left AFTER UPDATE OF is_active, left_at ON tenancy.tenant_users FOR EACH ROW WHEN ((((new.left_at IS NOT NULL) AND (old.left_at IS NULL)) OR (old.is_active AND (NOT new.is_active)))) EXECUTE FUNCTION warehousing.member_left();

REVOKE ALL ON FUNCTION "warehousing"."cash_left"(uuid, uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "warehousing"."member_left"() FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128094849';
end $$;

grant execute on function private.schema_version() to barid_api;
