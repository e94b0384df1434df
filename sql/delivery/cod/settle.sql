-- Settling collected cash. One function for both ways, all or nothing; SECURITY DEFINER, since drivers settle
-- too and nobody may write these tables otherwise: every statement names the caller's tenant.

-- True when the caller settles, or with an administrator's key looks, for the office; a driver for their own cash.
create or replace function money.settles_for_office() returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return app.grants() && '{role:dispatcher,role:tenant_admin,role:system_admin,permission:manage:tenant}';
end $$;

-- True when the caller may have a desk of the office: who settles for it, and operations managers, who take cash to pay merchants and drivers.
create or replace function money.has_desk() returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return money.settles_for_office() or app.has_role('operations_manager');
end $$;

-- Whose cash a call is about: a driver's own whatever they send, be it no id; the office's by name, or null.
-- Fails: invalid_uuid, driver_not_found.
create or replace function money.cod_driver(asked text) returns uuid
language plpgsql stable set search_path = '' as $$
declare
  v_asked uuid;
begin
  if not money.settles_for_office() then
    return app.user_id();
  end if;
  v_asked := app.parse_uuid(asked, 'driver_id');
  if v_asked is not null and not exists (select from delivery.drivers d where d.tenant_id = app.tenant_id() and d.user_id = v_asked) then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  end if;
  return v_asked;
end $$;

-- Whose cash a list shows when a driver is asked for: the same, and nobody's for an id that is no driver's.
-- Fails: invalid_uuid.
create or replace function money.cod_driver_filter(asked text) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return case when money.settles_for_office() then app.parse_uuid(asked, 'driver_id') else app.user_id() end;
end $$;

-- Checks a driver_id filter; a list that matches no rows does not run money.cod_driver_filter. {driver_id} -> {}. Fails: invalid_uuid.
create or replace function money.require_cod_driver_id(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  perform money.cod_driver_filter(input ->> 'driver_id');
  return '{}';
end $$;

-- Locks the rows that a call settles, in the order of their ids, and answers them as they are then, in the
-- order the cash was taken.
-- Fails: cod_collection_ids_required, cod_collections_not_pending {invalid_ids}, mixed_driver_selection,
-- driver_id_required, no_pending_collections.
create or replace function money.lock_cod_collections(scope text, collection_ids uuid[], driver_id text) returns money.cod_collections[]
language plpgsql set search_path = '' as $$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
  v_office boolean := money.settles_for_office();
  v_driver uuid := money.cod_driver(lock_cod_collections.driver_id);
  v_rows money.cod_collections[];
  v_drivers bigint;
begin
  if scope = 'all' then
    if v_driver is null then
      perform app.fail('driver_id_required', '{"field": "driver_id"}');
    end if;
    -- Waits for a reversal of this driver's settlements (money.cod_unsettle) before reading the rows: what all of
    -- the cash is and what the wallet holds are then of one moment.
    perform from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_driver for share;
    select array_agg(l order by l.collected_at, l.id) into v_rows from (
      select c.* from money.cod_collections c
      where c.tenant_id = v_tenant and c.driver_id = v_driver and c.status = 'collected' and c.reversed_at is null
      order by c.id for no key update) l;
    if v_rows is null then
      perform app.fail('no_pending_collections');
    end if;
    return v_rows;
  end if;
  if cardinality(collection_ids) = 0 then
    perform app.fail('cod_collection_ids_required', '{"field": "cod_collection_ids"}');
  end if;
  select array_agg(l order by l.collected_at, l.id), count(distinct l.driver_id) into v_rows, v_drivers from (
    select c.* from money.cod_collections c
    where c.tenant_id = v_tenant and c.id = any (collection_ids) and c.status = 'collected' and c.reversed_at is null
      and (c.driver_id = v_driver or v_office)
    order by c.id for no key update) l;
  if cardinality(v_rows) is distinct from cardinality(collection_ids) then
    perform app.fail('cod_collections_not_pending', jsonb_build_object('field', 'cod_collection_ids', 'invalid_ids', (
      select jsonb_agg(i.id order by i.place) from unnest(collection_ids) with ordinality i (id, place)
      where i.id not in (select r.id from unnest(v_rows) r))));
  end if;
  if v_drivers > 1 or v_rows[1].driver_id <> v_driver then
    perform app.fail('mixed_driver_selection', '{"field": "cod_collection_ids"}');
  end if;
  return v_rows;
end $$;

-- The receiver of the cash: the one named, else the caller. It is handed to those who can pass it on, to the bank and colleagues or, as
-- operations managers, to merchants and drivers. A driver hands it to somebody of the office, unless
-- the tenant lets drivers remit to themselves (setting delivery.cod.driver_self_remit). An administrator of the
-- system who is not of the tenant's staff, be it that they once were or that they buy there, has no desk in it, and names somebody.
-- `field` is where the client named the receiver.
-- Fails: invalid_receiver, receiver_required.
create or replace function money.cod_receiver(asked uuid, field text default 'remitted_to_user_id') returns uuid
language plpgsql stable set search_path = '' as $$
begin
  if asked is null then
    if (not money.settles_for_office() and app.settings('delivery', 'cod') ->> 'driver_self_remit' = 'require_receiver')
        or not exists (
          select from tenancy.tenant_users u
          where u.tenant_id = app.tenant_id() and u.user_id = app.user_id()
            and (u.is_active and u.tenant_user_type = 'staff' or not money.settles_for_office())) then
      perform app.fail('receiver_required', jsonb_build_object('field', field));
    end if;
    return app.user_id();
  end if;
  if not exists (
      select from tenancy.tenant_users u
      where u.tenant_id = app.tenant_id() and u.user_id = asked and u.is_active and u.tenant_user_type = 'staff'
        and exists (
          select from tenancy.tenant_user_roles r where r.tenant_id = u.tenant_id and r.user_id = u.user_id
            and (r.role_key in ('dispatcher', 'tenant_admin') or r.role_key = 'operations_manager' and money.has_desk()))) then
    perform app.fail('invalid_receiver', jsonb_build_object('field', field));
  end if;
  return asked;
end $$;

-- Settles collected cash of one driver: as a remittance (cash handed to the receiver, no wallet moves but for a shortage that was resolved
-- so; what an open count found missing is the driver's shortage until the handover is resolved) or
-- from the driver's wallet (debited the whole, the tenant's wallet credited the fees, the COD part clears), where nobody
-- receives anything: a receiver that is sent is checked as that of a remittance is, and kept nowhere.
--   scope           'all' open cash of the driver, or the `selected` collections
--   driver_id       as the client sent it: a driver's own cash is meant whatever it says
--   receiver_id     the person who takes the cash of a remittance; null: the caller
--   fingerprint     of what was asked for: the same key with another one is refused
-- -> the answer of money.cod_settlement_to_json. A repetition of the same key is answered with the settlement it made, for good.
-- Fails: see lock_cod_collections, cod_receiver; settlement_amount_mismatch, insufficient_wallet_balance,
-- cash_handover_required, settlement_idempotency_conflict.
create or replace function money.cod_settle(
  method text, scope text, collection_ids uuid[], driver_id text, receiver_id uuid, notes text, reference text, fingerprint bytea
) returns jsonb
language plpgsql security definer set search_path = '' as $$
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
    -- Also people of the office who took it as a driver name somebody else.
    if v_receiver = v_driver and app.settings('delivery', 'cod') ->> 'driver_self_remit' = 'require_receiver' then
      perform app.fail('receiver_required', '{"field": "remitted_to_user_id"}');
    end if;
  elsif receiver_id is not null then
    perform money.cod_receiver(receiver_id);
  end if;
  if v_mixed or (method = 'remit' and v_currency <> (app.currency()).code) then
    perform app.fail('settlement_amount_mismatch', jsonb_build_object('currency', v_currency));
  end if;
  v_open := money.lock_open_handovers(v_driver, v_currency);
  if method = 'wallet' then
    v_wallet := money.cod_wallet(v_driver, v_currency);
  else
    v_handover := money.handover_of(v_driver, v_open, v_total, v_currency);
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
end $$;

-- The driver's wallet in the currency of the cash. Fails: settlement_amount_mismatch when there only is one
-- in another currency, insufficient_wallet_balance when there is none.
create or replace function money.cod_wallet(driver uuid, currency text) returns uuid
language plpgsql stable set search_path = '' as $$
declare
  v_wallet money.accounts;
begin
  select a.* into v_wallet from money.accounts a
  where a.tenant_id = app.tenant_id() and a.kind = 'wallet' and a.owner_type = 'driver' and a.owner_user_id = driver and a.is_active
  order by a.currency = cod_wallet.currency desc limit 1;
  if v_wallet.id is null then
    perform app.fail('insufficient_wallet_balance');
  elsif v_wallet.currency <> cod_wallet.currency then
    perform app.fail('settlement_amount_mismatch', jsonb_build_object('currency', cod_wallet.currency));
  end if;
  return v_wallet.id;
end $$;

-- Hands collected cash in: {scope, cod_collection_ids?, driver_id?, remitted_to_user_id?, notes?, reference?}. See money.cod_settle.
create or replace function money.cod_remit(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return money.cod_settle('remit', input ->> 'scope', app.uuids(coalesce(input -> 'cod_collection_ids', '[]')), input ->> 'driver_id',
    (input ->> 'remitted_to_user_id')::uuid, input ->> 'notes', input ->> 'reference', sha256(convert_to('remit' || input::text, 'UTF8')));
end $$;

-- Pays for collected cash from the driver's wallet: {scope, cod_collection_ids?, driver_id?, remitted_to_user_id?, notes?, reference?};
-- nobody receives anything. See money.cod_settle.
create or replace function money.cod_pay(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return money.cod_settle('wallet', input ->> 'scope', app.uuids(coalesce(input -> 'cod_collection_ids', '[]')), input ->> 'driver_id',
    (input ->> 'remitted_to_user_id')::uuid, input ->> 'notes', input ->> 'reference', sha256(convert_to('wallet' || input::text, 'UTF8')));
end $$;
