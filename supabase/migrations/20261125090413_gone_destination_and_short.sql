-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.items_failed(item_ids uuid[], code text)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('item_id', i.id, 'code', items_failed.code) order by i.position), '[]')
    from unnest(item_ids) with ordinality i (id, position));
end $function$;

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

CREATE OR REPLACE FUNCTION storefront.order_accept_short(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders := storefront.lock_order_and_deliveries((input ->> 'order_id')::uuid);
  v_missing jsonb := storefront.order_missing(o.id);
  v_less numeric;
  v_left jsonb;
  v_refund jsonb;
begin
  if o.status not in ('approved', 'confirmed', 'shipped') or v_missing = '[]' then
    perform app.fail('order_not_short', jsonb_build_object('status', o.status));
  end if;
  select sum(i.unit_price * m.quantity) into v_less
  from jsonb_to_recordset(v_missing) as m (order_item_id uuid, quantity integer)
  join storefront.storefront_order_items i on i.tenant_id = o.tenant_id and i.id = m.order_item_id;
  v_left := storefront.order_accept(o.id, v_missing, v_less);
  select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  -- A parcel with nothing in it does not travel. The last one that was open ends the order, which is settled with it.
  perform delivery.delivery_cancel(jsonb_build_object('id', e.delivery_id, 'reason', 'out_of_stock'))
  from (select p.delivery_id from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status in ('pending', 'assigned', 'accepted')
    where p.tenant_id = o.tenant_id and p.order_id = o.id and not exists (
      select from storefront.storefront_order_part_items g where g.tenant_id = p.tenant_id and g.part_id = p.id and g.quantity > g.short)
    order by p.delivery_id) e;
  select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  if o.status in ('delivered', 'cancelled') then
    v_refund := storefront.order_refunded_now(o.id);
  else
    if o.payment_status = 'paid' and o.payment_method <> 'cash_on_delivery' and storefront.order_refundable(o) > o.total_price then
      v_refund := storefront.order_refund_book(o.id, storefront.order_refundable(o) - o.total_price, 'short');
    end if;
    perform warehousing.stock_release('order', o.id, v_left);
    select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  end if;
  return jsonb_build_object('order', storefront.order_admin_to_json(o), 'refund', v_refund);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_give_back(o storefront.storefront_orders, p_amount numeric, p_note text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  p money.payments;
begin
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, order_id, reference,
    snapshot, actor_id, processed_at)
  values (o.tenant_id, 'ORDER', 'REFUND', 'SUCCESS', 'wallet', p_amount, o.currency,
    money.account_of('wallet', 'customer', o.user_id, o.currency), o.id, o.order_number,
    case when p_note is not null then jsonb_build_object('note', p_note) end, app.user_id(), now())
  returning * into p;
  perform money.book_payment(p, 'order_refund', money.account_of('wallet', 'tenant', null, o.currency), p.account_id, o.order_number);
  perform storefront.order_event_emit(o, 'refunded', jsonb_build_object('amount', p.amount, 'payment_id', p.id));
  return storefront.refund_to_json(p);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_refunded_now(p_order uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select storefront.refund_to_json(p) from money.payments p
    where p.tenant_id = app.tenant_id() and p.order_id = p_order and p.type = 'REFUND' and p.processed_at = now());
end $function$;

CREATE OR REPLACE FUNCTION storefront.refund_to_json(p money.payments)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('processed', true, 'amount', p.amount, 'method', p.payment_method, 'payment_id', p.id);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."items_failed"(uuid[], text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."items_failed"(uuid[], text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."manifest_destination_obstacle"(jsonb, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."manifest_destination_obstacle"(jsonb, boolean) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_refunded_now"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_refunded_now"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."refund_to_json"(money.payments) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."refund_to_json"(money.payments) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125090413';
end $$;

grant execute on function private.schema_version() to barid_api;
