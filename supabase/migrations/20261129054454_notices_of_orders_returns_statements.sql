-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.return_request_ask(p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into delivery.return_requests (tenant_id, delivery_id, requested_by) values (app.tenant_id(), p_delivery, app.user_id());
  perform tenancy.notify_roles(d.tenant_id, '{tenant_admin,operations_manager}', 'return_requested',
    jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'original_delivery_id', d.original_delivery_id))
  from delivery.deliveries d where d.tenant_id = app.tenant_id() and d.id = p_delivery;
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_request_decide(p_delivery uuid, decision text, p_reason text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_asked_by uuid;
begin
  if delivery.return_needs_approval() then
    perform app.fail('forbidden');
  end if;
  update delivery.return_requests q set status = decision, reason = p_reason, decided_by = app.user_id(), decided_at = now()
  where q.tenant_id = app.tenant_id() and q.delivery_id = p_delivery and q.status = 'requested'
  returning q.requested_by into v_asked_by;
  if not found then
    return false;
  end if;
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select d.tenant_id, v_asked_by, case decision when 'approved' then 'return_approved' else 'return_declined' end,
    jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'reason', p_reason)
  from delivery.deliveries d
  join tenancy.tenant_users u on u.tenant_id = d.tenant_id and u.user_id = v_asked_by
  where d.tenant_id = app.tenant_id() and d.id = p_delivery and v_asked_by is distinct from app.user_id();
  return true;
end $function$;

CREATE OR REPLACE FUNCTION money.statement_event_emit(event_type text, s money.merchant_statements, more jsonb DEFAULT '{}'::jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', event_type, 'source_module', 'delivery',
    'entity_type', 'merchant_statement', 'entity_id', s.id, 'event_data', jsonb_build_object('statement_id', s.id,
      'number', money.statement_number(s.number), 'owner_user_id', s.owner_user_id, 'net', s.net, 'currency', s.currency, 'count', s.lines,
      'actor_id', app.user_id()) || more)));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select s.tenant_id, s.owner_user_id, replace(event_type, 'merchant_statement.', 'statement_'), jsonb_build_object('statement_id', s.id,
    'number', money.statement_number(s.number), 'net', s.net, 'currency', s.currency) || more
  where s.owner_user_id is distinct from app.user_id();
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_notify_shop(o storefront.storefront_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform tenancy.notify_roles(o.tenant_id, '{tenant_admin}', 'order_placed', jsonb_build_object('order_id', o.id, 'order_number', o.order_number,
    'market_id', o.market_id, 'total_price', o.total_price, 'currency', o.currency, 'payment_method', o.payment_method));
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_notify_shop"(storefront.storefront_orders) FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.orders_after_insert()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into storefront.storefront_order_history (tenant_id, order_id, status, note, updated_by)
  select n.tenant_id, n.id, n.status, n.status_note, app.user_id() from new_rows n order by n.created_at, n.id;
  perform storefront.order_event_emit(n, 'created') from new_rows n;
  perform storefront.order_notify_shop(n) from new_rows n where n.payment_method <> 'gateway' or n.payment_status = 'paid';
  return null;
end $function$;

CREATE OR REPLACE FUNCTION storefront.orders_after_update()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into storefront.storefront_order_history (tenant_id, order_id, status, note, updated_by)
  select n.tenant_id, n.id, n.status, n.status_note, app.user_id()
  from new_rows n join old_rows o on o.id = n.id where n.status <> o.status order by n.created_at, n.id;
  perform storefront.order_event_emit(n, n.status, jsonb_build_object('from_status', o.status))
  from new_rows n join old_rows o on o.id = n.id where n.status <> o.status;
  perform storefront.order_event_emit(n, case n.payment_status when 'paid' then 'paid' else 'payment_failed' end)
  from new_rows n join old_rows o on o.id = n.id where n.payment_status <> o.payment_status and n.payment_status <> 'pending';
  perform storefront.order_notify_shop(n)
  from new_rows n join old_rows o on o.id = n.id
  where n.payment_method = 'gateway' and n.payment_status = 'paid' and o.payment_status <> 'paid' and n.status in ('pending', 'awaiting_approval');
  return null;
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_notify_shop"(storefront.storefront_orders) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129054454';
end $$;

grant execute on function private.schema_version() to barid_api;
