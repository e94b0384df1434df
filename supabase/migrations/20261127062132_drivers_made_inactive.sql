-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.drivers in share row exclusive mode;
      lock table delivery.transfer_manifests in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP POLICY "tenant" ON "delivery"."transfer_manifests";

CREATE OR REPLACE FUNCTION delivery.branch_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform delivery.require_institution((input ->> 'institution_user_id')::uuid);
  return delivery.branch_add(input);
end $function$;

CREATE OR REPLACE FUNCTION delivery.branch_import(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform delivery.require_institution((input ->> 'institution_user_id')::uuid);
  return app.import_lines('delivery.branch_add', '{id}', input, jsonb_build_object('institution_user_id', input -> 'institution_user_id'));
end $function$;

CREATE OR REPLACE FUNCTION delivery.search_offers_in_vain(s delivery.driver_searches)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return s.status = 'offered' and exists (
    select from delivery.assignments a
    join delivery.drivers r on r.tenant_id = a.tenant_id and r.user_id = a.driver_id and r.status <> 'active'
    where a.tenant_id = s.tenant_id and a.delivery_id = s.delivery_id and a.status = 'pending');
end $function$;

REVOKE ALL ON FUNCTION "delivery"."search_offers_in_vain"(delivery.driver_searches) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.search_step(tenant uuid, delivery_id uuid)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_settings record;
  s delivery.driver_searches;
  d delivery.deliveries;
  v_offer delivery.assignments;
  v_vain boolean;
  v_reasons jsonb;
  v_drivers uuid[];
  v_driver uuid;
  v_plan jsonb;
begin
  perform set_config('app.tenant_id', tenant::text, true);
  perform pg_advisory_xact_lock(hashtextextended('driver searches ' || tenant, 0));
  perform delivery.lock_deliveries(array[search_step.delivery_id]);
  select * into s from delivery.driver_searches x where x.tenant_id = tenant and x.delivery_id = search_step.delivery_id for no key update;
  v_vain := delivery.search_offers_in_vain(s);
  if s.next_attempt_at is null or s.next_attempt_at > clock_timestamp() and v_vain is not true then
    return 'not_due';
  end if;
  v_settings := delivery.auto_assignment_settings();
  if s.status = 'offered' then
    -- Its time passed long ago and nobody looked: the company was suspended, or the functions were away, and the driver could not
    -- answer. It is open for its whole time again.
    if not v_vain and s.next_attempt_at < clock_timestamp() - interval '12 hours' then
      perform delivery.search_continue(s, 'offered', v_settings.retry_after);
      return 'offered';
    end if;
    select * into v_offer from delivery.assignments a
    where a.tenant_id = tenant and a.delivery_id = s.delivery_id and a.status = 'pending';
    return delivery.search_withdraw(s, v_offer);
  end if;
  select * into d from delivery.deliveries x where x.tenant_id = tenant and x.id = s.delivery_id;
  if d.status <> 'pending' or d.postponed_to is not null or not delivery.is_auto_assignable(d) then
    update delivery.driver_searches x set status = 'off', next_attempt_at = null where x.tenant_id = tenant and x.delivery_id = d.id;
    return 'off';
  end if;
  if exists (select from delivery.preparation_problem(array[d.id])) then
    perform delivery.search_continue(s, 'searching', v_settings.retry_after);
    return 'waits';
  end if;
  if s.attempts >= v_settings.max_attempts then
    return delivery.search_fail(s, d);
  end if;

  with ranked as materialized (select r.place, r.driver_id, r.reasons from delivery.driver_ranking(d) r)
  select array(select r.driver_id from ranked r where r.reasons = '{}' order by r.place), (
    select jsonb_object_agg(c.reason, c.count) from (
      select r.reasons[1] as reason, count(*) from ranked r
      where r.reasons[1] in ('offline', 'capacity', 'zone', 'away', 'declined') group by 1) c)
  into v_drivers, v_reasons;
  -- The ranking and the plan know the same rules; the plan has the last word.
  foreach v_driver in array v_drivers loop
    v_plan := delivery.assignments_plan(array[d.id], v_driver, null, false);
    exit when v_plan ->> 'code' is null and v_plan #>> '{lines,0,code}' is null;
    v_plan := null;
  end loop;
  s.passed_over := delivery.drivers_passed_over(v_reasons);
  s.attempts := s.attempts + 1;
  if v_plan is null then
    if s.attempts >= v_settings.max_attempts then
      return delivery.search_fail(s, d);
    end if;
    perform delivery.search_continue(s, 'searching', v_settings.retry_after);
    return 'nobody';
  end if;
  v_plan := delivery.assignments_plan(array[d.id], v_driver, null, true);
  if v_plan ->> 'code' is not null or v_plan #>> '{lines,0,code}' is not null then
    return 'again';
  end if;
  perform delivery.search_continue(s, 'offered', v_settings.retry_after);
  perform delivery.assignments_write(v_plan, '{}');
  update delivery.driver_searches x set status = 'assigned', next_attempt_at = null
  from delivery.assignments a
  where x.tenant_id = tenant and x.delivery_id = d.id and a.tenant_id = tenant and a.delivery_id = d.id and a.status = 'assigned';
  return case when found then 'assigned' else 'offered' end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.search_withdraw(s delivery.driver_searches, offer delivery.assignments)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_works boolean;
begin
  if offer.id is null then
    update delivery.driver_searches x set status = 'off', next_attempt_at = null where x.tenant_id = s.tenant_id and x.delivery_id = s.delivery_id;
    return 'off';
  end if;
  select r.status = 'active' into v_works from delivery.drivers r
  where r.tenant_id = s.tenant_id and r.user_id = offer.driver_id for no key update;
  if v_works and s.next_attempt_at > clock_timestamp() then
    return 'not_due';
  end if;
  -- A driver who works again later may be asked again.
  if v_works then
    s.declined := s.declined || offer.driver_id;
  end if;
  perform delivery.search_continue(s, 'searching', interval '0');
  perform delivery.assignments_return(array[offer.id], case when v_works then 'unanswered' else 'driver_inactive' end);
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
begin
  return (
    select coalesce(jsonb_agg(s.delivery_id order by s.next_attempt_at, s.delivery_id), '[]')
    from (
      select x.delivery_id, x.next_attempt_at from delivery.driver_searches x
      where x.tenant_id = tenant and x.next_attempt_at <= now()
      union
      select x.delivery_id, x.next_attempt_at from delivery.drivers r
      join delivery.assignments a on a.tenant_id = r.tenant_id and a.driver_id = r.user_id and a.status = 'pending'
      join delivery.driver_searches x on x.tenant_id = a.tenant_id and x.delivery_id = a.delivery_id and x.status = 'offered'
      where r.tenant_id = tenant and r.status <> 'active'
      order by 2, 1 limit 100) s
    where exists (select from tenancy.tenants t where t.id = tenant and app.is_effective(t)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.searches_follow_drivers()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if exists (
      select from delivery.assignments a
      join delivery.driver_searches s on s.tenant_id = a.tenant_id and s.delivery_id = a.delivery_id and s.status = 'offered'
      where a.tenant_id = new.tenant_id and a.driver_id = new.user_id and a.status = 'pending') then
    perform app.job_add('delivery.auto_assignment', '{}');
  end if;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."searches_follow_drivers"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.order_part_leaves(p storefront.storefront_order_parts, taken boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  k warehousing.picking_orders;
  v_missing jsonb;
  v_left jsonb;
  v_charged numeric := 0;
begin
  if p.left_at is not null then
    return;
  end if;
  select * into k from warehousing.picking_orders x
  where x.tenant_id = p.tenant_id and x.id = p.picking_order_id and x.status <> 'cancelled' for no key update;
  if k.status in ('pending', 'in_progress') then
    if not (taken or storefront.picks_as_it_leaves()) then
      perform app.fail('goods_not_picked', jsonb_build_object('picking_order_id', k.id));
    end if;
    -- Goods that a picker reported as missing are not found by leaving.
    update warehousing.picking_order_items i set picked_quantity = i.quantity, status = 'picked'
    where i.tenant_id = k.tenant_id and i.picking_order_id = k.id and i.status in ('pending', 'picked');
    perform warehousing.picking_move(k, 'completed');
    k.status := 'completed';
  end if;
  if k.id is not null then
    v_missing := storefront.order_missing(p.order_id, p.id);
    if v_missing <> '[]' then
      if not taken then
        perform app.fail('goods_not_picked', jsonb_build_object('picking_order_id', k.id));
      end if;
      v_left := storefront.order_cut(v_missing);
      select coalesce(sum(i.unit_price * m.quantity), 0) into v_charged
      from jsonb_to_recordset(v_missing) as m (order_item_id uuid, quantity integer)
      join storefront.storefront_order_items i on i.tenant_id = p.tenant_id and i.id = m.order_item_id
      join storefront.storefront_orders o on o.tenant_id = i.tenant_id and o.id = i.order_id and o.payment_method = 'cash_on_delivery';
    end if;
  end if;
  update storefront.storefront_order_parts x set left_at = clock_timestamp(), charged_short = v_charged where x.tenant_id = p.tenant_id and x.id = p.id;
  if k.id is not null then
    update warehousing.picking_orders x set status = 'handed_off' where x.tenant_id = k.tenant_id and x.id = k.id and x.status = 'completed';
    if found then
      perform warehousing.picking_event_emit(k, k.status, 'handed_off');
    end if;
    if v_left is not null then
      perform warehousing.stock_release('order', p.order_id, v_left);
    end if;
    perform warehousing.stock_exit('order', p.order_id, warehouse => p.warehouse_id);
  end if;
end $function$;

CREATE TRIGGER searches_follow_drivers AFTER UPDATE OF status ON delivery.drivers FOR EACH ROW WHEN (((new.status = 'inactive'::text) AND (old.status <> 'inactive'::text))) EXECUTE FUNCTION delivery.searches_follow_drivers();

CREATE POLICY "tenant" ON "delivery"."transfer_manifests" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR ((driver_id = ( SELECT app.user_id() AS user_id)) AND ( SELECT app.has_role('driver'::text) AS has_role)) OR ((institution_user_id = ( SELECT app.user_id() AS user_id)) AND ( SELECT app.has_role('institution'::text) AS has_role)))));

REVOKE ALL ON FUNCTION "delivery"."search_offers_in_vain"(delivery.driver_searches) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."searches_follow_drivers"() FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127062132';
end $$;

grant execute on function private.schema_version() to barid_api;
