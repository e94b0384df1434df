-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION integration.carrier_return_refund(d delivery.deliveries, carrier_code text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries;
begin
  perform delivery.returned_fees_refund(array[d.id]);
exception when sqlstate 'RULE0' then
  if sqlerrm <> 'insufficient_wallet_balance' then
    raise;
  end if;
  select * into strict p from delivery.deliveries x
  where x.tenant_id = d.tenant_id and x.id = case d.delivery_flow when 'operational_return' then d.original_delivery_id else d.id end;
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  values (d.tenant_id, 'carrier_return.refund_due', 'carriers', 'delivery', p.id, jsonb_build_object('delivery_id', p.id,
    'carrier_code', carrier_code, 'amount', p.delivery_fee, 'currency', p.currency));
end $function$;

CREATE OR REPLACE FUNCTION money.payment_refunded(p money.payments, facts jsonb)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  r money.payments;
  v_amount numeric;
  v_left numeric;
begin
  if exists (select from money.payments x where x.gateway_code = p.gateway_code and x.gateway_transaction_id = facts ->> 'refund_id') then
    return 'already_refunded';
  elsif p.status <> 'SUCCESS' or coalesce(facts ->> 'refund_id', '') = '' or facts ->> 'amount' !~ '^[0-9]{1,15}(\.[0-9]{1,3})?$' then
    return 'refund_of_nothing';
  end if;
  v_amount := (facts ->> 'amount')::numeric / case facts ->> 'unit' when 'minor'
    then 10 ^ money.minor_digits(p) else 1 end;
  update money.payments x set gateway_transaction_id = facts ->> 'refund_id'
  where x.tenant_id = p.tenant_id and x.account_id = p.account_id and x.type = 'REFUND' and x.reference = p.id::text and x.amount = v_amount
    and x.gateway_transaction_id like 'resolved-%';
  if found then
    return 'already_refunded';
  end if;
  select coalesce(sum(case x.type when 'REFUND' then -x.amount else x.amount end), 0) into v_left from money.payments x
  where x.tenant_id = p.tenant_id and x.status = 'SUCCESS' and (x.id = p.id or (x.type = 'REFUND' and (x.order_id = p.order_id or x.reference = p.id::text)));
  if v_amount > v_left or v_amount <= 0 or v_amount <> round(v_amount, 3) then
    return 'amount_differs';
  end if;
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, order_id, gateway_code,
    gateway_transaction_id, reference, processed_at)
  values (p.tenant_id, p.category, 'REFUND', 'SUCCESS', 'gateway', v_amount, p.currency, p.account_id, p.order_id, p.gateway_code,
    facts ->> 'refund_id', case when p.order_id is null then p.id::text else p.reference end, now())
  returning * into r;
  perform money.book_payment(r, 'gateway_refund',
    case p.type when 'ORDER' then money.account_of('wallet', 'tenant', null, p.currency) else p.account_id end,
    money.account_of('external', 'tenant', null, p.currency), p.reference);
  return null;
exception
  when sqlstate 'RULE0' then
    if sqlerrm <> 'insufficient_wallet_balance' then
      raise;
    end if;
    return 'insufficient_wallet_balance';
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_settle()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
  v_got numeric;
  v_owed numeric := 0;
begin
  select * into o from storefront.storefront_orders x where x.tenant_id = new.tenant_id and x.id = new.id;
  if o.status = 'cancelled' and not exists (
      select from storefront.storefront_order_parts p
      where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is not null and p.delivery_id is not null) then
    return null;
  end if;
  perform storefront.order_picks_drop(o.id);
  -- Of a delivered order, what did not come to its customer.
  perform storefront.order_goods_expect(o.id);
  if o.status = 'cancelled' then
    perform storefront.order_payment_drop(o.id);
    if o.payment_status = 'paid' then
      v_owed := storefront.order_refundable(o);
    end if;
  elsif o.payment_status = 'paid' and o.payment_method <> 'cash_on_delivery' and o.fulfilment = 'partial' then
    select coalesce(sum(i.unit_price * g.delivered), 0) into v_got
    from storefront.order_goods g
    join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id
    where g.tenant_id = o.tenant_id and g.order_id = o.id;
    v_owed := storefront.order_refundable(o) - o.shipping_cost
      - round((o.total_price - o.shipping_cost) * v_got / nullif(o.subtotal, 0), money.decimals_of(o.currency));
  end if;
  if v_owed > 0 then
    begin
      perform storefront.order_give_back(o, v_owed, null);
    exception when sqlstate 'RULE0' then
      if sqlerrm <> 'insufficient_wallet_balance' then
        raise;
      end if;
      perform storefront.order_event_emit(o, 'refund_due', jsonb_build_object('amount', v_owed));
    end;
  end if;
  perform warehousing.stock_release('order', o.id);
  return null;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126015829';
end $$;

grant execute on function private.schema_version() to barid_api;
