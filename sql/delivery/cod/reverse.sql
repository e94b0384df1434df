-- Reversal of a settlement that was entered wrongly: the wrong rows, the wrong receiver, wallet for cash. The entrance is SECURITY
-- DEFINER, as all writers of cash: it asks for the caller's rights itself, and every statement names the caller's tenant.

-- Reverses a settlement as a whole, once, by a reversing journal: its rows are cash in the driver's hands again and
-- may be settled anew, and the handover it used may be remitted or cancelled. The settlement, its items and its journal
-- stay. For who entered it, who has its cash, and administrators. {settlement_payment_id, reason} -> its id
-- Fails: forbidden, settlement_not_found, settlement_already_reversed, settlement_not_reversible (it moved no money here:
-- made for the receipt of an old row; or its shortage was resolved since), insufficient_desk_cash (the receiver gave the cash on), insufficient_wallet_balance
-- (the tenant spent the fees).
create or replace function money.cod_unsettle(input jsonb) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_short numeric;
  v_rows uuid[];
  s money.cod_settlements;
begin
  if not money.settles_for_office() then
    perform app.fail('forbidden');
  end if;
  -- Of two reversals the later one waits for the driver, and finds it done; and whoever settles all of their cash does so
  -- before this or after it.
  perform from delivery.drivers d
  where d.tenant_id = v_tenant and d.user_id = (select x.driver_id from money.cod_settlements x
    where x.tenant_id = v_tenant and x.payment_id = (input ->> 'settlement_payment_id')::uuid) for no key update;
  select x.* into s from money.cod_settlements x
  where x.tenant_id = v_tenant and x.payment_id = (input ->> 'settlement_payment_id')::uuid;
  if s.payment_id is null then
    perform app.fail('settlement_not_found');
  elsif s.actor_id <> app.user_id() and s.receiver_id is distinct from app.user_id() and not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  elsif s.reversed_at is not null then
    perform app.fail('settlement_already_reversed');
  elsif s.historical then
    perform app.fail('settlement_not_reversible');
  end if;
  -- In the order of their ids, as whoever settles holds them.
  select array_agg(l.id) into v_rows from (
    select c.id from money.cod_collections c
    where c.tenant_id = v_tenant and c.settlement_payment_id = s.payment_id order by c.id for no key update) l;
  update money.cod_collections c set status = 'collected', remitted_at = null, settled_at = null, remitted_to_user_id = null,
    settlement_payment_id = null
  where c.tenant_id = v_tenant and c.settlement_payment_id = s.payment_id;
  update money.cod_settlement_items i set reversed_at = now() where i.tenant_id = v_tenant and i.payment_id = s.payment_id;
  update money.cod_settlements x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.payment_id = s.payment_id
  returning * into s;
  update money.payments p set status = 'CANCELLED' where p.tenant_id = v_tenant and p.id = s.payment_id;
  v_short := money.handover_free(s);
  perform money.receipt_reissue(s.payment_id);
  perform money.cod_reversal_event_emit(s);
  if s.method = 'remit' then
    perform money.lock_returned_cash(money.desk_of(s.driver_id, s.receiver_id, s.currency::text), array(
      select e.account_id from money.ledger_transactions t
      join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
      where t.tenant_id = v_tenant and t.kind = 'cod_settlement' and t.reference_type = 'payment' and t.reference_id = s.payment_id),
      s.total - s.shortage - v_short, s.currency::text);
  end if;
  perform money.reverse('cod_settlement', 'payment', s.payment_id, input ->> 'reason');
  if s.method = 'remit' then
    perform money.cod_holds_again('cod_collection', v_rows);
  end if;
  return s.payment_id;
end $$;

-- Gives the handover of a settlement back to be used again, and answers what of it never lay on the receiver's desk: a shortage that was booked
-- there when it was resolved before the remittance, as it was up to 1.6.0, else nothing. Fails: settlement_not_reversible (the shortage that
-- was open when this was remitted was resolved since).
create or replace function money.handover_free(s money.cod_settlements) returns numeric
language plpgsql set search_path = '' as $$
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
end $$;

-- Emits the system event of a reversed settlement, and notifies the driver, who holds its cash again, and who received it,
-- each unless they reversed it themselves.
create or replace function money.cod_reversal_event_emit(s money.cod_settlements) returns void
language plpgsql set search_path = '' as $$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'cod_settlement.reversed', 'source_module', 'delivery',
    'entity_type', 'cod_settlement', 'entity_id', s.payment_id, 'event_data', jsonb_build_object('settlement_payment_id', s.payment_id,
      'method', s.method, 'driver_id', s.driver_id, 'receiver_id', s.receiver_id, 'currency', s.currency, 'total', s.total,
      'shortage', s.shortage, 'collections', s.collections, 'actor_id', app.user_id()))));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select s.tenant_id, p.id, 'cod_settlement_reversed', jsonb_build_object('settlement_payment_id', s.payment_id, 'currency', s.currency,
    -- Of the driver's cash what was missing did not come to who received it.
    'amount', case when p.id = s.driver_id then s.total else s.total - s.shortage end)
  from (select s.driver_id union select s.receiver_id) p (id)
  where p.id <> app.user_id();
end $$;

-- A settlement as the list has it, with its rows in the order the cash was taken, also when it was reversed since; null
-- for one that the caller does not see.
create or replace function money.cod_settlement(p_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select to_jsonb(r) - '{id,driver_id,receiver_id,driver_name,receiver_name}'::text[] || jsonb_build_object('items', (
        select coalesce(jsonb_agg(jsonb_build_object('cod_collection_id', i.cod_collection_id, 'delivery_id', c.delivery_id,
          'delivery_code', i.delivery_code, 'delivery_number', i.delivery_number, 'customer_name', c.customer_name,
          'collected_at', c.collected_at, 'amount', i.amount,
          'allocations', jsonb_build_object('cod', i.cod_amount, 'delivery_fee', i.delivery_fee_amount)) order by i.position), '[]')
        from money.cod_settlement_items i
        join money.cod_collections c on c.tenant_id = i.tenant_id and c.id = i.cod_collection_id
        where i.tenant_id = app.tenant_id() and i.payment_id = r.id))
    from money.cod_settlements_list r where r.id = p_id);
end $$;

-- {settlement_payment_id} -> see cod_settlement(). Fails: settlement_not_found.
create or replace function money.cod_settlement_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return app.found(money.cod_settlement((input ->> 'settlement_payment_id')::uuid), 'settlement_not_found');
end $$;

-- Takes a settlement back. See money.cod_unsettle. -> see cod_settlement()
create or replace function money.cod_settlement_reverse(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  -- A statement of its own: the one that reads has to see what this one wrote.
  v_id uuid := money.cod_unsettle(input);
begin
  return money.cod_settlement(v_id);
end $$;
