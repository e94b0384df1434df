-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.items_failed(item_ids uuid[], code text)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO ''
AS $function$
  select coalesce(jsonb_agg(jsonb_build_object('item_id', i.id, 'code', items_failed.code) order by i.position), '[]')
  from unnest(item_ids) with ordinality i (id, position)
$function$;

CREATE OR REPLACE FUNCTION delivery.manifest_destination_obstacle(destination jsonb, hold boolean)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_address uuid := destination ->> 'address_id';
  v_branch uuid := destination ->> 'branch_id';
begin
  if hold then
    perform from delivery.addresses a where a.id = v_address for key share;
    perform from delivery.institution_branches b where b.id = v_branch for key share;
  end if;
  return case
    when not exists (select from delivery.addresses a where a.id = v_address) then 'address_not_found'
    when v_branch is not null and not exists (select from delivery.institution_branches b where b.id = v_branch) then 'branch_not_found'
  end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_orders_change(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_ids uuid[] := app.uuids(input -> 'item_ids');
  v_destination jsonb := input -> 'destination';
  v_dry_run boolean := coalesce((input ->> 'dry_run')::boolean, false);
  v_changes private.order_change[];
  v_obstacle text := delivery.manifest_destination_obstacle(v_destination, not v_dry_run);
begin
  if v_obstacle is not null then
    return jsonb_build_object('changed', '[]'::jsonb, 'failures', delivery.items_failed(v_ids, v_obstacle));
  end if;
  if not v_dry_run then
    perform from delivery.transfer_manifests m
    where m.id in (select i.manifest_id from delivery.transfer_manifest_items i where i.id = any (v_ids))
    order by m.id for share;
    perform from delivery.transfer_manifest_items i where i.id = any (v_ids) order by i.id for no key update;
    perform delivery.lock_deliveries(array(select i.delivery_id from delivery.transfer_manifest_items i
      where i.id = any (v_ids) and i.delivery_id is not null));
  end if;
  v_changes := delivery.order_changes_settle(delivery.order_changes_evaluate(v_ids, v_destination), v_dry_run);
  if not v_dry_run then
    perform delivery.order_changes_write(
      array(select c from unnest(v_changes) c where c.failure is null and not c.same order by c.position), v_destination);
  end if;
  return (
    select jsonb_build_object(
      'changed', coalesce(jsonb_agg(jsonb_build_object('item_id', c.item_id, 'price_difference', c.difference)
        order by c.position) filter (where c.failure is null), '[]'),
      'failures', coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('item_id', c.item_id, 'code', c.failure,
        'params', c.failure_params)) order by c.position) filter (where c.failure is not null), '[]'))
    from unnest(v_changes) c);
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_orders_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_ids uuid[] := app.uuids(input -> 'item_ids');
  v_destination jsonb := input -> 'destination';
  v_orders private.item_order[];
  v_obstacle text := delivery.manifest_destination_obstacle(v_destination, true);
begin
  if v_obstacle is not null then
    return jsonb_build_object('failures', delivery.items_failed(v_ids, v_obstacle));
  end if;
  perform from delivery.transfer_manifests m
  where m.id in (select i.manifest_id from delivery.transfer_manifest_items i where i.id = any (v_ids))
  order by m.id for share;
  perform from delivery.transfer_manifest_items i where i.id = any (v_ids) order by i.id for no key update;
  perform delivery.lock_staging_driver();

  v_orders := delivery.manifest_orders_charge(delivery.manifest_orders_price(v_ids, v_destination));
  perform delivery.manifest_orders_write(array(select o from unnest(v_orders) o where o.failure is null order by o.position), v_destination);
  return jsonb_build_object('failures', (
    select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('item_id', o.item_id, 'code', o.failure, 'params', o.failure_params))
      order by o.position), '[]')
    from unnest(v_orders) o where o.failure is not null));
end $function$;

REVOKE ALL ON FUNCTION "delivery"."items_failed"(uuid[], text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."items_failed"(uuid[], text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."manifest_destination_obstacle"(jsonb, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."manifest_destination_obstacle"(jsonb, boolean) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125074305';
end $$;

grant execute on function private.schema_version() to barid_api;
