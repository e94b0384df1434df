-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.lock_outcome_effects(o delivery.outcomes, d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(o.tenant_id);
  perform from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = d.order_id for no key update;
  perform from delivery.drivers x where x.tenant_id = o.tenant_id and x.user_id = o.driver_id for no key update;
  perform from money.cod_collections c
  where c.tenant_id = o.tenant_id and c.delivery_id = delivery.parcel_of(d) and c.collected_at = o.created_at order by c.id for no key update;
  perform money.lock_open_handovers(c.driver_id, c.currency) from money.cod_collections c
  where c.tenant_id = o.tenant_id and c.delivery_id = delivery.parcel_of(d) and c.collected_at = o.created_at;
  perform from money.driver_pay p
  where p.tenant_id = o.tenant_id and p.delivery_id = d.id and p.status <> 'reversed' order by p.id for no key update;
end $function$;

CREATE OR REPLACE FUNCTION money.cod_book(s money.cod_settlements, wallet uuid, borne text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION money.cod_settle(method text, scope text, collection_ids uuid[], driver_id text, receiver_id uuid, notes text, reference text, fingerprint bytea)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_key text := app.request_setting('idempotency_key');
  v_rows money.cod_collections[];
  v_driver uuid;
  v_receiver uuid;
  v_currency text;
  v_wallet uuid;
  v_total numeric;
  v_fees numeric;
  v_mixed boolean;
  v_ids uuid[];
  v_payment uuid := gen_random_uuid();
  v_settlement money.cod_settlements;
  v_items money.cod_settlement_items[];
  v_receipt text;
  v_open money.cash_handovers[];
  v_handover money.cash_handovers;
  v_short numeric := 0;
  v_borne text;
begin
  if v_key is not null then
    select s.* into v_settlement from money.cod_settlements s
    where s.tenant_id = v_tenant and s.actor_id = v_actor and s.idempotency_key = v_key;
    if found then
      if v_settlement.input_hash <> fingerprint then
        perform app.fail('settlement_idempotency_conflict');
      end if;
      return money.cod_settlement_to_json(v_settlement, money.cod_items_of(v_settlement), (
        select r.status from money.settlement_receipts r where r.tenant_id = v_tenant and r.payment_id = v_settlement.payment_id));
    end if;
  end if;

  v_rows := money.lock_cod_collections(scope, collection_ids, driver_id);
  v_driver := v_rows[1].driver_id;
  v_currency := v_rows[1].currency;
  select sum(r.amount), sum(r.delivery_fee_amount), min(r.currency) <> max(r.currency), array_agg(r.id)
  into v_total, v_fees, v_mixed, v_ids from unnest(v_rows) r;
  if method = 'remit' then
    v_receiver := money.cod_receiver(receiver_id);
  end if;
  if v_mixed or (method = 'remit' and v_currency <> (app.currency()).code) then
    perform app.fail('settlement_amount_mismatch', jsonb_build_object('currency', v_currency));
  end if;
  v_open := money.lock_open_handovers(v_driver, v_currency);
  if method = 'wallet' then
    v_wallet := money.cod_wallet(v_driver, v_currency);
  else
    v_handover := money.handover_of(v_driver, v_currency, v_total);
    if v_handover.status = 'resolved' and v_handover.resolution in ('driver_owes', 'written_off') and not money.shortage_is_booked(v_handover) then
      v_borne := v_handover.resolution;
    end if;
    v_short := case when v_handover.status = 'discrepancy' or v_borne is not null then v_handover.declared_amount - v_handover.counted_amount else 0 end;
  end if;

  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id, reference,
    actor_id, processed_at, snapshot)
  values (v_payment, v_tenant, 'DELIVERY', 'COD_SETTLEMENT', 'SUCCESS', case method when 'remit' then 'cash' else 'wallet' end, v_total,
    v_currency, v_wallet, cod_settle.reference, v_actor, now(),
    money.cod_snapshot(v_rows, method, scope, reference, notes, v_receiver)
    || case when v_short > 0 then jsonb_build_object('counted', v_total - v_short, 'shortage', v_short) else '{}' end);
  insert into money.cod_settlements (payment_id, tenant_id, method, scope, driver_id, actor_id, receiver_id, currency, total, cod_total,
    fee_total, collections, shortage, shortage_handover_id, notes, reference, idempotency_key, input_hash)
  values (v_payment, v_tenant, method, scope, v_driver, v_actor, v_receiver, v_currency,
    v_total, v_total - v_fees, v_fees, cardinality(v_rows), v_short, case when v_short > 0 then v_handover.id end, notes, reference, v_key, fingerprint)
  returning * into v_settlement;
  v_items := money.cod_items_record(v_payment, v_rows);
  update money.cod_collections c set
    status = case method when 'remit' then 'remitted' else 'settled_by_wallet' end,
    remitted_at = case method when 'remit' then now() end,
    settled_at = case method when 'wallet' then now() end,
    remitted_to_user_id = v_receiver,
    settlement_payment_id = v_payment, notes = coalesce(cod_settle.notes, c.notes),
    reference = coalesce(cod_settle.reference, c.reference)
  where c.tenant_id = v_tenant and c.id = any (v_ids);
  perform money.handovers_settle(v_settlement, v_handover, v_open);
  v_receipt := money.receipt_request(v_settlement, v_items);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'cod_settlement.created', 'source_module', 'delivery',
    'entity_type', 'cod_settlement', 'entity_id', v_payment, 'event_data', jsonb_build_object('settlement_payment_id', v_payment,
      'method', method, 'driver_id', v_driver, 'receiver_id', v_receiver, 'currency', v_currency, 'total', v_total,
      'shortage', v_short, 'collections', cardinality(v_rows), 'actor_id', v_actor))));
  -- Last, because everybody who hands cash to the same desk waits for its account from here to the commit.
  perform money.cod_book(v_settlement, v_wallet, v_borne);
  return money.cod_settlement_to_json(v_settlement, v_items, v_receipt);
end $function$;

CREATE OR REPLACE FUNCTION money.desk_positions(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(owner_type text, user_id uuid, currency text, remitted numeric, shortages numeric, transferred_out numeric, transferred_in numeric, paid_out numeric, in_hand numeric, ledger numeric)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  with transfer as (
    select t.* from money.cash_transfers t
    where t.tenant_id = tenant and t.created_at <= as_of and (t.reversed_at is null or t.reversed_at > as_of)
  ), moved (owner_type, user_id, currency, remitted, shortages, given, got, paid, ledger) as (
    select case when s.receiver_id = s.driver_id then 'driver' else 'staff' end, s.receiver_id, s.currency::text, s.total, 0, 0, 0, 0, 0
    from money.cod_settlements s
    where s.tenant_id = tenant and s.method = 'remit' and not s.historical and s.settled_at <= as_of
      and (s.reversed_at is null or s.reversed_at > as_of)
    union all
    -- The shortage at the remittance, less the amount found in a second count.
    select case when s.receiver_id = s.driver_id then 'driver' else 'staff' end, s.receiver_id, s.currency::text, 0,
      case when h.resolution = 'recounted' and h.resolved_at <= as_of then 0 else s.shortage end, 0, 0, 0, 0
    from money.cod_settlements s
    join money.cash_handovers h on h.tenant_id = s.tenant_id and h.id = s.shortage_handover_id
    where s.tenant_id = tenant and s.settled_at <= as_of and (s.reversed_at is null or s.reversed_at > as_of)
    union all
    select 'tenant', null, r.currency::text, r.amount, 0, 0, 0, 0, 0
    from money.carrier_remittances r
    where r.tenant_id = tenant and r.remitted_at <= as_of and (r.reversed_at is null or r.reversed_at > as_of)
    union all
    -- Up to 1.6.0 a shortage that was resolved before its remittance was booked then. Whose desk it was is what the journal says: the counter's, or
    -- the till when the counter was no member of the tenant.
    select a.owner_type, a.owner_user_id, h.currency::text, 0, -e.amount, 0, 0, 0, 0
    from money.cash_handovers h
    join money.ledger_transactions t on t.tenant_id = h.tenant_id and t.kind in ('cash_shortage', 'cash_shortage_REVERSAL') and t.reference_id = h.id
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id and e.created_at <= as_of
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'cash_on_hand'
    where h.tenant_id = tenant and h.resolution in ('driver_owes', 'written_off')
    union all
    select t.from_owner_type, t.from_user_id, t.currency::text, 0, 0, t.amount, 0, 0, 0 from transfer t
    union all
    select 'staff', t.to_user_id, t.currency::text, 0, 0, 0, t.amount, 0, 0 from transfer t where t.kind = 'handover'
    union all
    select 'staff', t.actor_id, t.currency::text, 0, 0, 0, 0, t.amount, 0 from money.driver_payouts t
    where t.tenant_id = tenant and t.method = 'cash' and t.paid_at <= as_of and (t.reversed_at is null or t.reversed_at > as_of)
    union all
    select 'staff', t.actor_id, t.currency::text, 0, 0, 0, 0, t.amount, 0 from money.merchant_payouts t
    where t.tenant_id = tenant and t.method = 'cash' and t.paid_at <= as_of and (t.reversed_at is null or t.reversed_at > as_of)
    union all
    select a.owner_type, a.owner_user_id, a.currency::text, 0, 0, 0, 0, 0, e.amount
    from money.accounts a
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at <= as_of
    where a.tenant_id = tenant and a.kind = 'cash_on_hand'
  )
  select m.owner_type, m.user_id, m.currency, sum(m.remitted), sum(m.shortages), sum(m.given), sum(m.got),
    sum(m.paid), sum(m.remitted - m.shortages - m.given + m.got - m.paid), sum(m.ledger)
  from moved m group by m.owner_type, m.user_id, m.currency
$function$;

CREATE OR REPLACE FUNCTION money.handover_cancel(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_row money.cash_handovers;
begin
  select h.* into v_row from money.cash_handovers h
  where h.tenant_id = app.tenant_id() and h.id = (input ->> 'id')::uuid and (money.settles_for_office() or h.driver_id = app.user_id())
  for no key update;
  if v_row.id is null then
    perform app.fail('handover_not_found');
  elsif v_row.settlement_payment_id is not null or not (v_row.status = 'declared'
      or money.settles_for_office() and v_row.status in ('counted', 'discrepancy', 'resolved')) then
    perform app.fail('handover_not_cancellable', jsonb_build_object('from', v_row.status));
  end if;
  return money.handover_to_json(money.handover_end(v_row, null, input ->> 'notes'));
end $function$;

CREATE OR REPLACE FUNCTION money.handover_end(h money.cash_handovers, settlement uuid, p_notes text)
 RETURNS money.cash_handovers
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_row money.cash_handovers;
begin
  if money.shortage_is_booked(h) then
    perform money.reverse('cash_shortage', 'cash_handover', h.id, 'Shortage of a cash handover');
  end if;
  update money.cash_handovers x set status = 'cancelled', settlement_payment_id = settlement, notes = coalesce(p_notes, x.notes)
  where x.tenant_id = h.tenant_id and x.id = h.id
  returning * into v_row;
  perform money.handover_event_emit('cash_handover.cancelled', v_row);
  if v_row.counted_by <> app.user_id() then
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    values (v_row.tenant_id, v_row.counted_by, 'cash_count_cancelled', jsonb_build_object('cash_handover_id', v_row.id,
      'driver_id', v_row.driver_id, 'amount', v_row.counted_amount, 'currency', v_row.currency));
  end if;
  return v_row;
end $function$;

CREATE OR REPLACE FUNCTION money.handover_free(s money.cod_settlements)
 RETURNS numeric
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  h money.cash_handovers;
  v_booked boolean;
begin
  select u.* into h from money.cash_handovers u
  where u.tenant_id = s.tenant_id and u.settlement_payment_id = s.payment_id and u.status <> 'cancelled' for no key update;
  update money.cash_handovers u set settlement_payment_id = null where u.tenant_id = s.tenant_id and u.settlement_payment_id = s.payment_id;
  v_booked := money.shortage_is_booked(h);
  if s.shortage > 0 and v_booked then
    perform app.fail('settlement_not_reversible', '{"text_key": "reason_shortage_resolved"}');
  end if;
  return case when v_booked and h.counted_by = s.receiver_id then h.declared_amount - h.counted_amount else 0 end;
end $function$;

CREATE OR REPLACE FUNCTION money.handover_resolve(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_row money.cash_handovers := money.lock_handover((input ->> 'id')::uuid, '{discrepancy}', 'handover_not_in_discrepancy');
  v_way text := input ->> 'resolution';
  v_counted numeric := coalesce((input ->> 'counted_amount')::numeric, v_row.counted_amount);
  v_short numeric := v_row.declared_amount - v_row.counted_amount;
  v_wallet money.accounts;
  s money.cod_settlements;
begin
  if v_way = 'recounted' and v_counted <> v_row.declared_amount
    or v_way in ('driver_owes', 'written_off') and v_short <= 0
    or v_way = 'returned' and v_short >= 0 then
    perform app.fail('invalid_resolution', '{"field": "resolution"}');
  end if;
  select x.* into s from money.cod_settlements x where x.tenant_id = v_row.tenant_id and x.payment_id = v_row.settlement_payment_id;
  if v_way in ('driver_owes', 'written_off') and s.payment_id is null then
    if v_row.declared_amount > money.cash_in_hand(v_row.driver_id, v_row.currency) then
      perform app.fail('invalid_resolution', '{"field": "resolution", "text_key": "reason_declared_too_much"}');
    elsif v_way = 'driver_owes' then
      select a.* into v_wallet from money.accounts a where a.tenant_id = v_row.tenant_id and a.id = money.cod_wallet(v_row.driver_id, v_row.currency);
      if v_wallet.balance < v_short then
        perform money.wallet_short(v_wallet, -v_short);
      end if;
    end if;
  end if;
  update money.cash_handovers h set status = 'resolved', resolution = v_way, resolved_by = app.user_id(), resolved_at = now(),
    counted_amount = case v_way when 'recounted' then v_counted else h.counted_amount end,
    notes = coalesce(input ->> 'notes', h.notes)
  where h.tenant_id = v_row.tenant_id and h.id = v_row.id
  returning * into v_row;
  if s.shortage > 0 then
    perform money.post_journal('cash_shortage', 'cash_handover', v_row.id, 'Shortage of a cash handover',
      p.accounts, p.amounts)
    from money.shortage_borne(s, v_way) p;
  end if;
  return money.handover_to_json(v_row);
end $function$;

CREATE OR REPLACE FUNCTION money.handover_uncovered(driver uuid, p_currency text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_row money.cash_handovers;
begin
  for v_row in select h.* from unnest(money.handovers_uncovered(money.lock_open_handovers(driver, p_currency), null)) h loop
    if v_row.status <> 'declared' then
      perform app.fail('outcome_is_settled', '{"text_key": "reason_cash_is_counted"}');
    end if;
    perform money.handover_end(v_row, null, null);
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION money.handovers_settle(s money.cod_settlements, used money.cash_handovers, open money.cash_handovers[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_ended money.cash_handovers[];
  v_row money.cash_handovers;
begin
  if used.id is not null then
    update money.cash_handovers h set settlement_payment_id = s.payment_id,
      status = case h.status when 'declared' then 'counted' else h.status end,
      counted_amount = coalesce(h.counted_amount, h.declared_amount),
      counted_by = case h.status when 'declared' then s.actor_id else h.counted_by end, counted_at = coalesce(h.counted_at, now())
    where h.tenant_id = s.tenant_id and h.id = used.id
    returning * into v_row;
    if used.status = 'declared' then
      perform money.handover_event_emit('cash_handover.counted', v_row);
    end if;
  end if;
  v_ended := money.handovers_uncovered(array(select h from unnest(open) h where h.id is distinct from used.id),
    case when used.id is null and s.method = 'remit' then s.total end);
  foreach v_row in array v_ended loop
    perform money.handover_end(v_row, case when used.id is null and v_row.id = v_ended[1].id then s.payment_id end, null);
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION money.handovers_uncovered(open money.cash_handovers[], declared numeric)
 RETURNS money.cash_handovers[]
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_uncovered money.cash_handovers[] := '{}';
  v_left numeric;
  h money.cash_handovers;
begin
  if open = '{}' then
    return v_uncovered;
  end if;
  v_left := money.cash_in_hand(open[1].driver_id, open[1].currency);
  foreach h in array open loop
    if h.declared_amount > v_left or h.status = 'declared' and h.declared_amount = declared then
      v_uncovered := v_uncovered || h;
    else
      v_left := v_left - h.declared_amount;
    end if;
  end loop;
  return v_uncovered;
end $function$;

CREATE OR REPLACE FUNCTION money.lock_open_handovers(driver uuid, p_currency text)
 RETURNS money.cash_handovers[]
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_open money.cash_handovers[];
begin
  select array_agg(o order by o.created_at, o.id) into v_open from (
    select x.* from money.cash_handovers x
    where x.tenant_id = app.tenant_id() and x.driver_id = driver and x.currency = p_currency and x.settlement_payment_id is null
      and (x.status in ('declared', 'counted', 'resolved') or x.status = 'discrepancy' and x.counted_amount < x.declared_amount)
    order by x.id for no key update) o;
  return coalesce(v_open, '{}');
end $function$;

CREATE OR REPLACE FUNCTION money.shortage_borne(s money.cod_settlements, way text, OUT accounts uuid[], OUT amounts numeric[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  accounts := array[money.account_of('driver_shortage', 'driver', s.driver_id, s.currency::text), case way
    when 'recounted' then money.desk_of(s.driver_id, s.receiver_id, s.currency::text)
    else money.account_of('external', 'tenant', null, s.currency::text) end];
  amounts := array[-s.shortage, s.shortage];
  if way = 'driver_owes' then
    accounts := accounts || money.cod_wallet(s.driver_id, s.currency::text) || money.account_of('wallet', 'tenant', null, s.currency::text);
    amounts := amounts || -s.shortage || s.shortage;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.shortage_is_booked(h money.cash_handovers)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from money.ledger_transactions t
    where t.tenant_id = h.tenant_id and t.kind = 'cash_shortage' and t.reference_type = 'cash_handover' and t.reference_id = h.id);
end $function$;

REVOKE ALL ON FUNCTION "money"."cod_book"(money.cod_settlements, uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cod_book"(money.cod_settlements, uuid, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."handover_end"(money.cash_handovers, uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."handover_end"(money.cash_handovers, uuid, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."handovers_settle"(money.cod_settlements, money.cash_handovers, money.cash_handovers[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."handovers_settle"(money.cod_settlements, money.cash_handovers, money.cash_handovers[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."handovers_uncovered"(money.cash_handovers[], numeric) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."handovers_uncovered"(money.cash_handovers[], numeric) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."lock_open_handovers"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."lock_open_handovers"(uuid, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."shortage_borne"(money.cod_settlements, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."shortage_borne"(money.cod_settlements, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."shortage_is_booked"(money.cash_handovers) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."shortage_is_booked"(money.cash_handovers) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128062247';
end $$;

grant execute on function private.schema_version() to barid_api;
