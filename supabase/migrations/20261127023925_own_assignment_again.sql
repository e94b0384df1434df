-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.self_assign(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_driver delivery.drivers := delivery.require_self_assignment();
  v_plan jsonb := delivery.assignments_plan(app.uuids(input -> 'delivery_ids'), v_driver.user_id, null, true);
  v_postponed uuid[];
  v_own jsonb;
begin
  -- Asked once more because the answer was lost: nobody else has them.
  select jsonb_agg(l.line -> 'requested_id' order by l.place) into v_own
  from jsonb_array_elements(v_plan -> 'lines') with ordinality l (line, place)
  left join delivery.open_assignments a on a.tenant_id = v_driver.tenant_id and a.delivery_id = (l.line ->> 'delivery_id')::uuid
    and a.driver_id = v_driver.user_id and l.line ->> 'code' = 'delivery_already_assigned'
  having bool_and(a.id is not null);
  if v_own is not null then
    perform app.fail('delivery_already_assigned', jsonb_build_object('field', 'delivery_ids', 'delivery_ids', v_own, 'text_key', 'assigned_to_you'));
  end if;
  perform delivery.assignments_demand(v_plan, 'delivery_ids');
  -- The plan holds them.
  v_postponed := array(select d.id from delivery.deliveries d
    where d.tenant_id = app.tenant_id() and d.id = any (app.uuids(input -> 'delivery_ids')) and d.postponed_to is not null order by d.id);
  if cardinality(v_postponed) > 0 then
    perform app.fail('delivery_postponed', jsonb_build_object('field', 'delivery_ids', 'delivery_ids', v_postponed));
  end if;
  return delivery.bulk_made(v_plan, delivery.assignments_write(v_plan, '{"bulk": true, "accepted": true}'));
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127023925';
end $$;

grant execute on function private.schema_version() to barid_api;
