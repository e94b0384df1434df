-- Cash that counts as not taken after all, since the outcome that it was taken with is undone.

-- True when an open or paid statement says something of a parcel that happened from this moment on.
create or replace function money.stated_since(p_parcel uuid, p_since timestamptz) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from money.merchant_statement_lines l
    join money.merchant_statements s on s.tenant_id = l.tenant_id and s.id = l.statement_id
    where l.tenant_id = app.tenant_id() and l.delivery_id = p_parcel and l.collected_at >= p_since and s.status in ('open', 'paid'));
end $$;

-- Reverses the cash that a driver or a carrier took for a parcel at this moment: its row is reversed, its payments are cancelled,
-- and its journals get their mirrors, of the kinds cash_collected_REVERSAL and cod_credit_REVERSAL. The row is locked, and in its driver's
-- hands, where it keeps its status, or owed by the carrier. -> {cod, delivery_fee}, 0 where none was taken. SECURITY DEFINER, as all writers
-- of cash; each statement names the caller's tenant.
-- Fails: insufficient_wallet_balance (the COD was not held, and was spent), outcome_is_settled (it was stated).
create or replace function money.cash_uncollected(p_parcel uuid, p_taken_at timestamptz, p_reason text) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_kind text;
  c record;
begin
  with driver as (
    update money.cod_collections x set reversed_at = now()
    where x.tenant_id = v_tenant and x.delivery_id = p_parcel and x.collected_at = p_taken_at and x.status = 'collected' and x.reversed_at is null
    returning 'cod_collection' as kind, x.id, x.cod_amount, x.delivery_fee_amount, x.delivery_code
  ), carrier as (
    update money.carrier_collections x set status = 'reversed', reversed_at = now()
    where x.tenant_id = v_tenant and x.delivery_id = p_parcel and x.collected_at = p_taken_at and x.status = 'owed'
    returning 'carrier_collection' as kind, x.id, x.cod_amount, x.delivery_fee_amount, x.delivery_code
  )
  select * into c from driver union all select * from carrier;
  if c.id is null then
    return '{"cod": 0, "delivery_fee": 0}';
  end if;
  update money.payments p set status = 'CANCELLED'
  where p.tenant_id = v_tenant and p.delivery_id = p_parcel and p.type in ('COD_COLLECTION', 'DELIVERY_FEE') and p.payment_method = 'cash'
    and p.status = 'SUCCESS' and p.processed_at = p_taken_at;
  -- Before the wallet is asked what is available.
  perform money.cod_hold_end(c.kind, c.id);
  -- All accounts of both journals in one order, as a collection books them.
  perform money.lock_balances(array(
    select distinct e.account_id from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    where t.tenant_id = v_tenant and t.reference_type = c.kind and t.reference_id = c.id));
  -- A statement holds the wallet while it is made: it may have come first.
  if money.stated_since(p_parcel, p_taken_at) then
    perform app.fail('outcome_is_settled');
  end if;
  foreach v_kind in array case when c.cod_amount > 0 then '{cash_collected,cod_credit}' else '{cash_collected}' end::text[] loop
    perform money.reverse(v_kind, c.kind, c.id, concat_ws(': ', 'Delivery ' || c.delivery_code, p_reason));
  end loop;
  return jsonb_build_object('cod', c.cod_amount, 'delivery_fee', c.delivery_fee_amount);
end $$;

-- Reverses the refund of a fee that a return at this moment made: one to a wallet by the mirror of its journal, one that waits at a desk by
-- its end. Nothing where none was made. The delivery is locked. SECURITY DEFINER, as all writers of payments.
-- Fails: insufficient_wallet_balance (the payer spent it), outcome_went_on (a desk has paid it).
create or replace function money.delivery_fee_unrefund(p_parcel uuid, p_refunded_at timestamptz, p_reason text) returns void
language plpgsql security definer set search_path = '' as $$
declare
  r money.payments;
begin
  update money.payments p set status = 'CANCELLED', processed_at = now()
  where p.tenant_id = app.tenant_id() and p.delivery_id = p_parcel and p.type = 'REFUND' and p.created_at = p_refunded_at
    and p.status <> 'CANCELLED' and (p.payment_method = 'wallet' or p.status = 'pending')
  returning * into r;
  -- A desk may have paid it while this waited.
  if exists (select from money.payments p where p.tenant_id = app.tenant_id() and p.delivery_id = p_parcel and p.type = 'REFUND'
      and p.created_at = p_refunded_at and p.status <> 'CANCELLED') then
    perform app.fail('outcome_went_on');
  end if;
  if r.payment_method = 'wallet' then
    perform money.reverse('delivery_fee_refund', 'payment', case when exists (select from money.ledger_transactions t
      where t.tenant_id = r.tenant_id and t.kind = 'delivery_fee_refund' and t.reference_type = 'payment' and t.reference_id = r.id)
      then r.id else r.reference::uuid end, p_reason);
  end if;
end $$;

grant execute on function money.delivery_fee_unrefund(uuid, timestamptz, text) to barid_caller;

-- Reversed cash whose payments or pay still count as of a moment, though they were made with it: a difference of kind reversed_row each.
create or replace function money.reversed_differences(tenant uuid, as_of timestamptz)
returns table (kind text, driver_id uuid, currency text, expected numeric, found numeric, rows uuid[])
language sql stable set search_path = '' as $$
  select 'reversed_row', c.driver_id, c.currency::text, 0::numeric, m.counting, array[c.id]
  from money.cod_collections c
  cross join lateral (
    select coalesce((select sum(q.amount) from money.payments q where q.tenant_id = tenant and q.delivery_id = c.delivery_id
        and q.processed_at = c.collected_at and q.type in ('COD_COLLECTION', 'DELIVERY_FEE') and q.status <> 'CANCELLED'), 0)
      + coalesce((select sum(w.amount) from money.driver_pay w
        join delivery.deliveries l on l.tenant_id = tenant and l.id = w.delivery_id and c.delivery_id in (l.id, l.parent_id)
        where w.tenant_id = tenant and w.driver_id = c.driver_id and w.accrued_at = c.collected_at and w.status <> 'reversed'), 0) as counting
  ) m
  where c.tenant_id = tenant and c.reversed_at <= as_of and m.counting <> 0
  union all
  select 'reversed_row', null, c.currency, 0, m.counting, array[c.id]
  from money.carrier_collections c
  cross join lateral (
    select sum(q.amount) as counting from money.payments q
    where q.tenant_id = tenant and q.delivery_id = c.delivery_id and q.processed_at = c.collected_at
      and q.type in ('COD_COLLECTION', 'DELIVERY_FEE') and q.status <> 'CANCELLED'
  ) m
  where c.tenant_id = tenant and c.reversed_at <= as_of and m.counting <> 0
$$;

revoke execute on function money.reversed_differences(uuid, timestamptz) from barid_caller;
