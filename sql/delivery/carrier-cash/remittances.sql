-- Payments of external carriers for the cash they took. An entrance is SECURITY DEFINER, as all writers of cash: it asks for
-- the permission itself, and every statement names the caller's tenant.

-- Locks the account of a carrier's debt. Reports, payments and reversals of one carrier thus come one after the other, before they read
-- which rows are owed: the oldest of them and the debt that is answered are of one moment.
create or replace function money.lock_carrier(carrier text, currency text) returns void
language plpgsql set search_path = '' as $$
begin
  perform from money.accounts a where a.tenant_id = app.tenant_id() and a.kind = 'carrier_cash' and a.carrier_code = lock_carrier.carrier
    and a.currency = lock_carrier.currency for no key update;
end $$;

-- Locks the cash that a carrier took for a parcel at this moment: the accounts, as its report does, and the row, which a transaction that holds
-- the carrier's debt alone locks.
create or replace function money.lock_carrier_cash(d delivery.deliveries, taken_at timestamptz) returns void
language plpgsql set search_path = '' as $$
declare
  v_parcel uuid := delivery.parcel_of(d);
  c money.carrier_collections;
begin
  select * into c from money.carrier_collections x
  where x.tenant_id = d.tenant_id and x.delivery_id = v_parcel and x.collected_at = taken_at and x.reversed_at is null;
  if c.id is not null then
    perform money.lock_carrier_booking(v_parcel, c.carrier_code);
    perform from money.carrier_collections x where x.tenant_id = d.tenant_id and x.id = c.id for no key update;
  end if;
end $$;

-- Locks what a carrier's payment covers, in the order of the ids, and answers it in the order the cash was taken: the
-- collections or deliveries that are named, else the oldest that are owed in the currency.
-- Fails: cod_collections_not_pending {invalid_ids} (not owed by this carrier: unknown, paid before, another's),
-- no_pending_collections.
create or replace function money.lock_carrier_collections(input jsonb) returns money.carrier_collections[]
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_carrier text := input ->> 'carrier_code';
  v_field text := case when input ? 'carrier_collection_ids' then 'carrier_collection_ids' when input ? 'delivery_ids' then 'delivery_ids' end;
  v_ids uuid[];
  v_rows money.carrier_collections[];
begin
  if v_field is null then
    select array_agg(l order by l.collected_at, l.id) into v_rows from (
      select c.* from money.carrier_collections c
      where c.tenant_id = v_tenant and c.carrier_code = v_carrier and c.currency = input ->> 'currency' and c.status = 'owed'
      order by c.id for no key update) l;
    if v_rows is null then
      perform app.fail('no_pending_collections');
    end if;
    return v_rows;
  end if;
  v_ids := app.uuids(input -> v_field);
  select array_agg(l order by l.collected_at, l.id) into v_rows from (
    select c.* from money.carrier_collections c
    where c.tenant_id = v_tenant and c.carrier_code = v_carrier and c.status = 'owed'
      and case v_field when 'delivery_ids' then c.delivery_id else c.id end = any (v_ids)
    order by c.id for no key update) l;
  if cardinality(v_rows) is distinct from cardinality(v_ids) then
    perform app.fail('cod_collections_not_pending', jsonb_build_object('field', v_field, 'invalid_ids', (
      select jsonb_agg(i.id order by i.place) from unnest(v_ids) with ordinality i (id, place)
      where i.id not in (select case v_field when 'delivery_ids' then r.delivery_id else r.id end from unnest(v_rows) r))));
  end if;
  return v_rows;
end $$;

-- Of rows in their order those that an amount pays, each whole. Fails: remittance_exceeds_owed {owed},
-- remittance_amount_mismatch {expected}: of rows that were named their sum, else the next amount that pays whole ones.
create or replace function money.carrier_rows_paid(rows money.carrier_collections[], amount numeric, named boolean)
returns money.carrier_collections[]
language plpgsql stable set search_path = '' as $$
#variable_conflict use_variable
declare
  v_currency text := rows[1].currency;
  v_owed numeric;
  v_expected numeric;
  v_paid money.carrier_collections[];
begin
  select sum(r.amount) into v_owed from unnest(rows) r;
  if amount > v_owed then
    perform app.fail('remittance_exceeds_owed', jsonb_build_object('field', 'amount', 'owed', v_owed, 'currency', v_currency));
  end if;
  -- Equal to the amount only where whole rows add up to it.
  select case when named then v_owed else min(p.sum) filter (where p.sum >= amount) end,
    array_agg(rows[p.place] order by p.place) filter (where p.sum <= amount)
  into v_expected, v_paid
  from (
    select r.ordinality as place, sum(r.amount) over (order by r.ordinality) as sum from unnest(rows) with ordinality r
  ) p;
  if v_expected <> amount then
    perform app.fail('remittance_amount_mismatch', jsonb_build_object('field', 'amount', 'expected', v_expected, 'currency', v_currency));
  end if;
  return v_paid;
end $$;

-- Enters a carrier's payment, all of it or nothing: what it covers is owed no more, and the money goes from the
-- carrier's account to the tenant's own till, but for what the carrier kept of it. A write_off covers rows in the same way, and nobody has the
-- money.
-- {carrier_code, kind?: payment (default) | write_off, amount, charges?: what of the amount the carrier kept, of payments; currency, reference,
--   notes?, carrier_collection_ids? | delivery_ids?}
-- -> see carrier_remittance(), and still_owed: what the carrier owes after it in this currency
-- Fails: forbidden, carrier_not_found, too_many_decimals, charges_exceed_remittance, settlement_amount_mismatch (the cash is in another currency),
-- remittance_reference_exists, and what lock_carrier_collections and carrier_rows_paid fail with.
create or replace function money.carrier_remittance_enter(input jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_amount numeric := (input ->> 'amount')::numeric;
  v_charges numeric := coalesce((input ->> 'charges')::numeric, 0);
  v_rows money.carrier_collections[];
  v_other text;
  v_written_off boolean := coalesce(input ->> 'kind' = 'write_off', false);
  r money.carrier_remittances;
begin
  if not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  end if;
  if not exists (select from integration.carriers c where c.code = input ->> 'carrier_code') then
    perform app.fail('carrier_not_found');
  end if;
  perform money.decimals_checked(v_amount, input ->> 'currency', 'amount');
  perform money.decimals_checked(v_charges, input ->> 'currency', 'charges');
  if v_charges > v_amount then
    perform app.fail('charges_exceed_remittance', jsonb_build_object('field', 'charges', 'amount', v_amount, 'currency', input ->> 'currency'));
  end if;
  perform money.lock_carrier(input ->> 'carrier_code', input ->> 'currency');
  v_rows := money.lock_carrier_collections(input);
  select c.currency into v_other from unnest(v_rows) c where c.currency <> input ->> 'currency' limit 1;
  if found then
    perform app.fail('settlement_amount_mismatch', jsonb_build_object('currency', v_other));
  end if;
  v_rows := money.carrier_rows_paid(v_rows, v_amount, input ?| '{carrier_collection_ids,delivery_ids}');
  insert into money.carrier_remittances (tenant_id, carrier_code, kind, currency, amount, cod_amount, delivery_fee_amount, collections,
    reference, notes, actor_id, charges)
  select v_tenant, input ->> 'carrier_code', coalesce(input ->> 'kind', 'payment'), input ->> 'currency', v_amount, sum(c.cod_amount),
    sum(c.delivery_fee_amount), count(*), input ->> 'reference', input ->> 'notes', app.user_id(), v_charges
  from unnest(v_rows) c
  returning * into r;
  insert into money.carrier_remittance_items (tenant_id, remittance_id, carrier_collection_id, amount, cod_amount, delivery_fee_amount)
  select v_tenant, r.id, c.id, c.amount, c.cod_amount, c.delivery_fee_amount from unnest(v_rows) c;
  update money.carrier_collections c set status = case when v_written_off then 'written_off' else 'remitted' end, remitted_at = r.remitted_at,
    remittance_id = r.id
  where c.tenant_id = v_tenant and c.id = any (select x.id from unnest(v_rows) x);
  perform money.carrier_remittance_event_emit('carrier_remittance.created', r);
  perform money.carrier_remittance_book(r);
  return money.carrier_remittance_left(r);
end $$;

-- The kind of the journal of a carrier's payment or of a write-off.
create or replace function money.carrier_journal(r money.carrier_remittances) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return case r.kind when 'write_off' then 'carrier_write_off' else 'carrier_remittance' end;
end $$;

-- Books a carrier's payment, with a journal for what came and one for what the carrier kept (an amount of 0 has none), or a write-off. The carrier's
-- account is locked. Where there are two journals, till and outside are locked in the order in which transfers of the till lock them.
create or replace function money.carrier_remittance_book(r money.carrier_remittances) returns void
language plpgsql set search_path = '' as $$
declare
  v_carrier uuid := money.account_of('carrier_cash', 'carrier', null, r.currency::text, r.carrier_code);
  v_taker uuid;
  v_outside uuid;
begin
  if r.charges < r.amount then
    v_taker := money.account_of(case r.kind when 'write_off' then 'external' else 'cash_on_hand' end, 'tenant', null, r.currency::text);
  end if;
  if r.charges > 0 then
    v_outside := money.account_of('external', 'tenant', null, r.currency::text);
  end if;
  if v_taker <> v_outside then
    perform money.lock_balances(array[v_taker, v_outside]);
  end if;
  if v_taker is not null then
    perform money.post_journal(money.carrier_journal(r), 'carrier_remittance', r.id,
      case r.kind when 'write_off' then 'Cash written off of ' else 'Cash remitted by ' end || r.carrier_code,
      array[v_carrier, v_taker], array[r.charges - r.amount, r.amount - r.charges]);
  end if;
  if v_outside is not null then
    perform money.post_journal('carrier_charge', 'carrier_remittance', r.id, 'Charges kept by ' || r.carrier_code,
      array[v_carrier, v_outside], array[-r.charges, r.charges]);
  end if;
end $$;

-- Books the mirrors of what carrier_remittance_book booked; the carrier's account is locked. Fails: insufficient_desk_cash.
create or replace function money.carrier_remittance_unbook(r money.carrier_remittances) returns void
language plpgsql set search_path = '' as $$
begin
  if r.kind = 'payment' and r.charges < r.amount then
    perform money.lock_returned_cash(money.account_of('cash_on_hand', 'tenant', null, r.currency::text),
      array[case when r.charges > 0 then money.account_of('external', 'tenant', null, r.currency::text)
        else money.account_of('carrier_cash', 'carrier', null, r.currency::text, r.carrier_code) end], r.amount - r.charges, r.currency::text);
  end if;
  if r.charges < r.amount then
    perform money.reverse(money.carrier_journal(r), 'carrier_remittance', r.id, r.reversal_reason);
  end if;
  if r.charges > 0 then
    perform money.reverse('carrier_charge', 'carrier_remittance', r.id, r.reversal_reason);
  end if;
end $$;

-- Reverses a payment or a write-off that was entered wrongly, once, by a reversing journal: what it covered is owed again.
-- {carrier_code, remittance_id, reason} -> as money.carrier_remittance_enter
-- Fails: forbidden, remittance_not_found, remittance_already_reversed, insufficient_desk_cash (the till has given the cash on).
create or replace function money.carrier_remittance_take_back(input jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_rows uuid[];
  r money.carrier_remittances;
begin
  if not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  end if;
  select x.* into r from money.carrier_remittances x
  where x.tenant_id = v_tenant and x.id = (input ->> 'remittance_id')::uuid and x.carrier_code = input ->> 'carrier_code'
  for no key update;
  if r.id is null then
    perform app.fail('remittance_not_found');
  elsif r.reversed_at is not null then
    perform app.fail('remittance_already_reversed');
  end if;
  perform money.lock_carrier(r.carrier_code, r.currency::text);
  -- In the order of their ids, as whoever enters a payment holds them.
  select array_agg(l.id) into v_rows from (
    select c.id from money.carrier_collections c where c.tenant_id = v_tenant and c.remittance_id = r.id order by c.id for no key update) l;
  update money.carrier_collections c set status = 'owed', remitted_at = null, remittance_id = null
  where c.tenant_id = v_tenant and c.remittance_id = r.id;
  update money.carrier_remittances x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.id = r.id
  returning * into r;
  perform money.carrier_remittance_event_emit('carrier_remittance.reversed', r);
  perform money.carrier_remittance_unbook(r);
  perform money.cod_holds_again('carrier_collection', v_rows);
  return money.carrier_remittance_left(r);
end $$;

-- Emits the system event of a carrier's payment.
create or replace function money.carrier_remittance_event_emit(event_type text, r money.carrier_remittances) returns void
language plpgsql set search_path = '' as $$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', event_type, 'source_module', 'carriers',
    'entity_type', 'carrier_remittance', 'entity_id', r.id, 'event_data', jsonb_build_object('carrier_remittance_id', r.id, 'kind', r.kind,
      'carrier_code', r.carrier_code, 'currency', r.currency, 'amount', r.amount, 'collections', r.collections, 'reference', r.reference,
      'actor_id', app.user_id()))));
end $$;

-- A carrier's payment, as carrier_remittance() has it, and still_owed: what the carrier owes now in its currency.
create or replace function money.carrier_remittance_left(r money.carrier_remittances) returns jsonb
language plpgsql set search_path = '' as $$
declare
  -- Before the query, which would ask for it at each account.
  v_carrier uuid := money.account_of('carrier_cash', 'carrier', null, r.currency::text, r.carrier_code);
begin
  return money.carrier_remittance(r.id) || jsonb_build_object(
    'still_owed', (select a.balance from money.accounts a where a.tenant_id = app.tenant_id() and a.id = v_carrier));
end $$;

-- A carrier's payment as the list has it, with what it paid, in the order the cash was taken, also when it was reversed
-- since; null for one that the caller does not see.
-- -> {…, remitted_collections: [{carrier_collection_id, delivery_id, delivery_code, amount, cod_amount, delivery_fee_amount}]}
create or replace function money.carrier_remittance(remittance_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select to_jsonb(r) || jsonb_build_object('remitted_collections', (
        select coalesce(jsonb_agg(jsonb_build_object('carrier_collection_id', c.id, 'delivery_id', c.delivery_id, 'delivery_code', c.delivery_code,
          'amount', i.amount, 'cod_amount', i.cod_amount, 'delivery_fee_amount', i.delivery_fee_amount) order by c.collected_at, c.id), '[]')
        from money.carrier_remittance_items i
        join money.carrier_collections c on c.tenant_id = i.tenant_id and c.id = i.carrier_collection_id
        where i.tenant_id = app.tenant_id() and i.remittance_id = r.id))
    from money.remittances_with_charges r where r.id = carrier_remittance.remittance_id);
end $$;

-- {carrier_code, remittance_id} -> see carrier_remittance(). Fails: remittance_not_found (unknown, or another carrier's).
create or replace function money.carrier_remittance_read(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_found jsonb := money.carrier_remittance((input ->> 'remittance_id')::uuid);
begin
  if v_found ->> 'carrier_code' is distinct from input ->> 'carrier_code' then
    perform app.fail('remittance_not_found');
  end if;
  return v_found;
end $$;

-- As money.carrier_remittance_enter, for functions up to 1.7.0, which do not know charges and received.
create or replace function money.carrier_remit(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return money.carrier_remittance_enter(input) - '{charges,received}'::text[];
end $$;

-- As money.carrier_remittance_take_back, for functions up to 1.7.0.
create or replace function money.carrier_remittance_reverse(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return money.carrier_remittance_take_back(input) - '{charges,received}'::text[];
end $$;

-- As money.carrier_remittance_read, for functions up to 1.7.0.
create or replace function money.carrier_remittance_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return money.carrier_remittance_read(input) - '{charges,received}'::text[];
end $$;

-- The debt in each currency from the kept totals, [{currency, amount, collections}]; wanted: {carrier_code, currency?}.
create or replace function money.carrier_owed_from_tallies(wanted jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('currency', c.key, 'amount', (c.value ->> 'amount')::numeric,
      'collections', (c.value ->> 'entries')::bigint) order by c.key), '[]')
    from jsonb_each(app.tally_by('carrier_collections', 'currency', wanted || '{"status": "owed"}')) c);
end $$;
