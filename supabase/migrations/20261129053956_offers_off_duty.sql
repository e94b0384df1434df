-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table delivery.driver_presence in share row exclusive mode;
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

CREATE OR REPLACE FUNCTION delivery.asks_on_duty(tenant uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce((
    select app.boolean_or(s.settings #> '{on_demand_auto_assignment,priority_checks,driver_online}', false) from tenancy.tenant_settings s
    where s.tenant_id = tenant and s.module = 'general' and s.group_key = 'delivery'), false);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."asks_on_duty"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.offer_is_in_vain(r delivery.drivers, on_duty_only boolean)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return r.status <> 'active' or on_duty_only and exists (
    select from delivery.driver_presence p where p.tenant_id = r.tenant_id and p.driver_id = r.user_id and not p.on_duty);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."offer_is_in_vain"(delivery.drivers, boolean) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.search_offers_in_vain(s delivery.driver_searches)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return s.status = 'offered' and exists (
    select from delivery.assignments a
    join delivery.drivers r on r.tenant_id = a.tenant_id and r.user_id = a.driver_id
    where a.tenant_id = s.tenant_id and a.delivery_id = s.delivery_id and a.status = 'pending'
      and delivery.offer_is_in_vain(r, delivery.asks_on_duty(s.tenant_id)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.search_withdraw(s delivery.driver_searches, offer delivery.assignments)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  r delivery.drivers;
  v_vain boolean;
begin
  if offer.id is null then
    update delivery.driver_searches x set status = 'off', next_attempt_at = null where x.tenant_id = s.tenant_id and x.delivery_id = s.delivery_id;
    return 'off';
  end if;
  select * into r from delivery.drivers x where x.tenant_id = s.tenant_id and x.user_id = offer.driver_id for no key update;
  v_vain := delivery.offer_is_in_vain(r, delivery.asks_on_duty(s.tenant_id));
  if not v_vain and s.next_attempt_at > clock_timestamp() then
    return 'not_due';
  end if;
  -- A driver who works again later may be asked again.
  if not v_vain then
    s.declined := s.declined || offer.driver_id;
  end if;
  perform delivery.search_continue(s, 'searching', interval '0');
  perform delivery.assignments_return(array[offer.id],
    case when r.status <> 'active' then 'driver_inactive' when v_vain then 'driver_off_duty' else 'unanswered' end);
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  values (s.tenant_id, offer.driver_id, 'assignment_returned', jsonb_build_object('assignment_id', offer.id, 'delivery_id', s.delivery_id));
  return 'withdrawn';
end $function$;

CREATE OR REPLACE FUNCTION delivery.searches_due(tenant uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_on_duty boolean := delivery.asks_on_duty(tenant);
begin
  return (
    select coalesce(jsonb_agg(s.delivery_id order by s.next_attempt_at, s.delivery_id), '[]')
    from (
      (select x.delivery_id, x.next_attempt_at from delivery.driver_searches x
      where x.tenant_id = tenant and x.next_attempt_at <= now()
      order by x.next_attempt_at, x.delivery_id limit 100)
      union
      select x.delivery_id, x.next_attempt_at from delivery.drivers r
      join delivery.assignments a on a.tenant_id = r.tenant_id and a.driver_id = r.user_id and a.status = 'pending'
      join delivery.driver_searches x on x.tenant_id = a.tenant_id and x.delivery_id = a.delivery_id and x.status = 'offered'
      where r.tenant_id = tenant and delivery.offer_is_in_vain(r, v_on_duty)
      order by 2, 1 limit 100) s
    where exists (select from tenancy.tenants t where t.id = tenant and app.is_effective(t)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.searches_follow_drivers()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_driver uuid := coalesce(to_jsonb(new) ->> 'user_id', to_jsonb(new) ->> 'driver_id');
begin
  if exists (
      select from delivery.assignments a
      join delivery.driver_searches s on s.tenant_id = a.tenant_id and s.delivery_id = a.delivery_id and s.status = 'offered'
      where a.tenant_id = new.tenant_id and a.driver_id = v_driver and a.status = 'pending') then
    perform app.job_add('delivery.auto_assignment', '{}');
  end if;
  return null;
end $function$;

CREATE TRIGGER searches_follow_duty AFTER UPDATE OF on_duty ON delivery.driver_presence FOR EACH ROW WHEN ((old.on_duty AND (NOT new.on_duty))) EXECUTE FUNCTION delivery.searches_follow_drivers();

REVOKE ALL ON FUNCTION "delivery"."asks_on_duty"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."offer_is_in_vain"(delivery.drivers, boolean) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129053956';
end $$;

grant execute on function private.schema_version() to barid_api;
