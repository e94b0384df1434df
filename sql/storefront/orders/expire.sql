-- Orders that the clock ends.

-- Ends gateway orders nobody paid for a day: they are cancelled, and no payment is waited for. One that money came for
-- which somebody has to look at stays open until that is settled, and one whose page at the gateway is open, or whose gateway has not answered
-- since the payment's end, until it has, three days at most: it may have been paid while nothing here could be notified. A few hundred at a
-- time; one that somebody is at work on is left to them. Answers how many. Run by cron.
create or replace function storefront.orders_expire() returns bigint
language plpgsql set search_path = '' as $$
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
          where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'ORDER' and (p.expires_at > now() or p.final_answer_at is null)
            and money.payment_may_come(p)))
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
end $$;

-- Completes what was delivered two weeks ago. Answers how many. Run by cron.
create or replace function storefront.orders_complete() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  update storefront.storefront_orders o set status = 'completed', status_note = null
  where o.id in (
    select x.id from storefront.storefront_orders x where x.status = 'delivered' and x.delivered_at < now() - interval '14 days'
      and not app.is_archived(x.tenant_id)
    order by x.delivered_at limit 5000 for no key update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function storefront.orders_complete(), storefront.orders_expire() from barid_caller;
