-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION storefront.order_refund_book(p_order uuid, p_amount numeric DEFAULT NULL::numeric, p_note text DEFAULT NULL::text, p_hash bytea DEFAULT NULL::bytea)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
  v_left numeric;
begin
  select * into o from storefront.storefront_orders x
  where x.tenant_id = app.tenant_id() and x.id = p_order and app.has_permission('manage:tenant');
  if o.id is null then
    perform app.fail('order_not_found');
  end if;
  v_left := storefront.order_refundable(o);
  if v_left <= 0 then
    perform app.fail('nothing_to_refund', case when exists (
        select from money.payments p where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'ORDER' and p.status = 'SUCCESS'
          and money.refunds_open(p) > 0)
      then '{"text_key": "reported_refund_open"}' else '{}' end::jsonb);
  elsif p_amount > v_left then
    perform app.fail('refund_too_high', jsonb_build_object('field', 'amount', 'amount', v_left, 'currency', o.currency));
  end if;
  return storefront.order_give_back(o, coalesce(p_amount, v_left), p_note, p_hash);
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128103111';
end $$;

grant execute on function private.schema_version() to barid_api;
