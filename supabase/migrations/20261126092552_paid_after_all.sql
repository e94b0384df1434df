-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table money.payments in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "money"."payments" ADD COLUMN "final_answer_at" timestamp with time zone;

CREATE OR REPLACE FUNCTION money.payment_answered(p_payment uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update money.payments x set final_answer_at = clock_timestamp()
  where x.id = p_payment and x.expires_at <= clock_timestamp() and x.final_answer_at is null;
end $function$;

REVOKE ALL ON FUNCTION "money"."payment_answered"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.payment_check(p_payment uuid, p_code text, p_number text, pause interval)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  p money.payments;
begin
  select * into p from money.payments x
  where x.gateway_order_id is not null and x.redirect_url is not null and x.status <> 'SUCCESS'
    and (x.id = p_payment or (x.gateway_code = p_code and x.gateway_order_id = p_number)) for no key update;
  if p.id is null then
    return null;
  elsif p.last_checked_at > clock_timestamp() - pause then
    return jsonb_build_object('wait', true);
  end if;
  update money.payments x set last_checked_at = clock_timestamp() where x.id = p.id;
  perform set_config('app.tenant_id', p.tenant_id::text, true);
  return jsonb_build_object('ask', money.payment_known(p), 'ended', p.expires_at <= clock_timestamp());
end $function$;

CREATE OR REPLACE FUNCTION money.payments_reconcile()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  insert into app.jobs (tenant_id, kind, payload, entity_key, attempts_max)
  select p.tenant_id, 'payment.reconcile', jsonb_build_object('payment_id', p.id), p.id::text, 1
  from money.payments p
  where p.payment_method = 'gateway' and p.status in ('pending', 'FAILED') and money.payment_may_come(p)
    and p.created_at > now() - interval '72 hours' and p.created_at < now() - interval '1 minute'
    and (p.created_at > now() - interval '24 hours 15 minutes' or p.expires_at <= now() and p.final_answer_at is null)
    and (p.last_checked_at is null or p.last_checked_at < now() - interval '4 minutes')
    and not exists (select from app.jobs j where j.entity_key = p.id::text and j.status in ('queued', 'running'))
  order by p.last_checked_at nulls first limit 1000;
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION storefront.orders_expire()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid;
  v_orders uuid[];
  v_count bigint := 0;
begin
  for v_tenant in
    select distinct o.tenant_id from storefront.storefront_orders o
    where o.payment_method = 'gateway' and o.payment_status <> 'paid' and o.status in ('pending', 'awaiting_approval')
      and o.created_at < now() - interval '24 hours'
  loop
    perform set_config('app.tenant_id', v_tenant::text, true);
    with due as (
      select o.id from storefront.storefront_orders o
      where o.tenant_id = v_tenant and o.payment_method = 'gateway' and o.payment_status <> 'paid'
        and o.status in ('pending', 'awaiting_approval') and o.created_at < now() - interval '24 hours'
        and not storefront.order_has_unmatched_payment(o)
        and not (o.created_at > now() - interval '72 hours' and exists (
          select from money.payments p
          where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'ORDER' and p.final_answer_at is null and money.payment_may_come(p)))
      order by o.created_at limit 500 for no key update skip locked
    ), ended as (
      update storefront.storefront_orders o set status = 'cancelled', cancelled_at = now(), cancel_reason = 'payment_failed',
        status_note = 'payment_failed'
      from due where o.tenant_id = v_tenant and o.id = due.id returning o.id
    )
    select coalesce(array_agg(e.id), '{}') into v_orders from ended e;
    perform storefront.order_payment_drop(e.id) from unnest(v_orders) e (id);
    v_count := v_count + cardinality(v_orders);
  end loop;
  return v_count;
end $function$;

REVOKE ALL ON FUNCTION "money"."payment_answered"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."payment_answered"(uuid) TO "barid_api";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126092552';
end $$;

grant execute on function private.schema_version() to barid_api;
