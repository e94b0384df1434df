-- The records of a settlement: its items, its snapshot, its journal. Called by money.cod_settle alone.
-- PL/pgSQL also where SQL would do: it keeps its plans, which here cost more than the work.

-- A person as stored in a snapshot.
create or replace function money.person(id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (select jsonb_build_object('id', p.id, 'full_name', p.full_name) from tenancy.profiles p where p.id = person.id);
end $$;

-- The frozen picture of a settlement: who, when, which rows in the order given, what they add up to.
create or replace function money.cod_snapshot(
  rows money.cod_collections[], method text, scope text, reference text, notes text, receiver uuid
) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('method', method, 'scope', cod_snapshot.scope, 'driver', money.person(rows[1].driver_id),
      'actor', money.person(app.user_id()), 'receiver', case method when 'remit' then money.person(receiver) end,
      'receiver_is_driver', method = 'remit' and receiver = rows[1].driver_id,
      'reference', cod_snapshot.reference, 'notes', cod_snapshot.notes, 'currency', rows[1].currency, 'settled_at', now(),
      'collections', jsonb_agg(jsonb_build_object('cod_collection_id', r.id, 'delivery_id', r.delivery_id, 'delivery_code', r.delivery_code,
        'delivery_number', r.delivery_number, 'customer_name', r.customer_name, 'collection_stage', r.collection_stage,
        'collected_at', r.collected_at, 'amount', r.amount, 'cod', r.cod_amount, 'delivery_fee', r.delivery_fee_amount)),
      'totals', jsonb_build_object('count', count(*), 'amount', sum(r.amount), 'cod', sum(r.cod_amount),
        'delivery_fee', sum(r.delivery_fee_amount)))
    from unnest(rows) r);
end $$;

-- Writes the items of a settlement, in the order given. -> what is written
create or replace function money.cod_items_record(payment uuid, rows money.cod_collections[]) returns money.cod_settlement_items[]
language plpgsql set search_path = '' as $$
declare
  v_items money.cod_settlement_items[];
begin
  with written as (
    insert into money.cod_settlement_items (tenant_id, payment_id, position, cod_collection_id, amount, cod_amount, delivery_fee_amount,
      delivery_code, delivery_number)
    select r.tenant_id, payment, r.ordinality, r.id, r.amount, r.cod_amount, r.delivery_fee_amount, r.delivery_code, r.delivery_number
    from unnest(rows) with ordinality r
    returning cod_settlement_items as item
  )
  select array_agg(w.item) into v_items from written w;
  return v_items;
end $$;

-- The items of a settlement as they are kept.
create or replace function money.cod_items_of(s money.cod_settlements) returns money.cod_settlement_items[]
language plpgsql stable set search_path = '' as $$
begin
  return array(select i from money.cod_settlement_items i where i.tenant_id = s.tenant_id and i.payment_id = s.payment_id);
end $$;

-- The account of the desk on which remitted cash lies: the receiver's in the office, or the driver's own where drivers may
-- remit to themselves. What checks the books (money.desk_positions) says it once more for itself.
create or replace function money.desk_of(driver uuid, receiver uuid, currency text) returns uuid
language plpgsql set search_path = '' as $$
begin
  return money.account_of('cash_on_hand', case when receiver = driver then 'driver' else 'staff' end, receiver, currency);
end $$;

-- The journal of a settlement. Remitted: the cash goes from the driver to the receiver's desk, without the shortage, which the
-- driver answers for, or which is borne as it was resolved before (`borne`: driver_owes, written_off; else null). From the
-- wallet: the driver pays with their own money, and the cash becomes theirs; the tenant earns the fees, and the
-- COD part covers what was credited to the merchant when the parcel was delivered.
-- Fails: insufficient_wallet_balance.
create or replace function money.cod_book(s money.cod_settlements, wallet uuid, borne text) returns void
language plpgsql set search_path = '' as $$
declare
  v_currency text := s.currency;
  v_held uuid := money.account_of('driver_cash', 'driver', s.driver_id, v_currency);
  v_accounts uuid[];
  v_amounts numeric[];
  v_borne record;
begin
  if s.method = 'remit' then
    v_accounts := array[v_held];
    v_amounts := array[-s.total];
    if s.total > s.shortage then
      v_accounts := v_accounts || money.desk_of(s.driver_id, s.receiver_id, v_currency);
      v_amounts := v_amounts || (s.total - s.shortage);
    end if;
    if borne is not null then
      v_borne := money.shortage_borne(s, borne);
      -- The first entry is the shortage itself, which does not stand on the driver.
      v_accounts := v_accounts || v_borne.accounts[2:];
      v_amounts := v_amounts || v_borne.amounts[2:];
    elsif s.shortage > 0 then
      v_accounts := v_accounts || money.account_of('driver_shortage', 'driver', s.driver_id, v_currency);
      v_amounts := v_amounts || s.shortage;
    end if;
  else
    v_accounts := array[wallet, v_held, money.account_of('external', 'tenant', null, v_currency)];
    v_amounts := array[-s.total, -s.total, s.total];
    if s.fee_total > 0 then
      v_accounts := v_accounts || money.account_of('wallet', 'tenant', null, v_currency);
      v_amounts := v_amounts || s.fee_total;
    end if;
    if s.cod_total > 0 then
      v_accounts := v_accounts || money.account_of('cod_clearing', 'tenant', null, v_currency);
      v_amounts := v_amounts || s.cod_total;
    end if;
  end if;
  perform money.post_journal('cod_settlement', 'payment', s.payment_id,
    case s.method when 'remit' then 'Cash remitted' else 'Cash settled from the wallet' end, v_accounts, v_amounts);
end $$;

-- A settlement with its items as it is answered, the first time and every time after. Both ways have the same shape,
-- under the words of their way.
create or replace function money.cod_settlement_to_json(s money.cod_settlements, items money.cod_settlement_items[], receipt_status text) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_list jsonb := (
    select jsonb_agg(jsonb_build_object('cod_collection_id', i.cod_collection_id, 'amount', i.amount,
      'allocations', jsonb_build_object('cod', i.cod_amount, 'delivery_fee', i.delivery_fee_amount),
      'delivery_code', i.delivery_code, 'delivery_number', i.delivery_number) order by i.position)
    from unnest(items) i);
begin
  if s.method = 'remit' then
    return jsonb_build_object(
      'scope', s.scope, 'remitted_collections', v_list, 'total_remitted', s.total, 'total_cash_remitted', s.total,
      'total_cod_remitted', s.cod_total, 'total_delivery_fee_remitted', s.fee_total, 'remitted_count', s.collections,
      'failed_count', 0, 'remitted_at', s.settled_at, 'counted', s.total - s.shortage, 'shortage', money.shortage_to_json(s),
      'settlement_payment_id', s.payment_id, 'receipt_status', receipt_status, 'currency', s.currency);
  end if;
  return jsonb_build_object(
    'scope', s.scope, 'settled_collections', v_list, 'total_settled', s.total, 'total_cash_settled', s.total,
    'total_cod_settled', s.cod_total, 'total_delivery_fee_settled', s.fee_total, 'settled_count', s.collections,
    'failed_count', 0, 'settled_at', s.settled_at, 'wallet_balance_after', (
      select e.balance_after from money.payments p
      join money.ledger_transactions t on t.tenant_id = p.tenant_id and t.reference_id = p.id and t.kind = 'cod_settlement'
      join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id and e.account_id = p.account_id
      where p.tenant_id = s.tenant_id and p.id = s.payment_id),
    'settlement_payment_id', s.payment_id, 'receipt_status', receipt_status, 'currency', s.currency);
end $$;
