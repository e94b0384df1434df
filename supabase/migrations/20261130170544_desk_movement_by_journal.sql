-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION money.desk_movement_details(a money.accounts, e money.ledger_entries, t money.ledger_transactions)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_reverses boolean := t.kind like '%\_REVERSAL';
  v_party uuid;
  v_made jsonb;
  v_other record;
begin
  case t.reference_type
    when 'cash_transfer' then
      select coalesce(w.owner_user_id, case when c.kind = 'handover' then case when (e.amount < 0) <> v_reverses then c.to_user_id
          else c.from_user_id end end), jsonb_build_object('refund_id', c.refund_id, 'reference', c.reference, 'notes', c.notes)
      into v_party, v_made
      from money.cash_transfers c
      left join money.payments p on p.tenant_id = c.tenant_id and p.id = c.payment_id
      left join money.accounts w on w.tenant_id = p.tenant_id and w.id = p.account_id
      where c.tenant_id = t.tenant_id and c.id = t.reference_id;
    when 'merchant_payout' then
      select m.owner_user_id, jsonb_build_object('statement_id', m.statement_id, 'reference', m.reference) into v_party, v_made
      from money.merchant_payouts m where m.tenant_id = t.tenant_id and m.id = t.reference_id;
    when 'driver_payout' then
      select d.driver_id, jsonb_build_object('reference', d.reference, 'notes', d.notes) into v_party, v_made
      from money.driver_payouts d where d.tenant_id = t.tenant_id and d.id = t.reference_id;
    when 'payment' then
      select s.driver_id, jsonb_build_object('reference', s.reference, 'notes', s.notes) into v_party, v_made
      from money.cod_settlements s where s.tenant_id = t.tenant_id and s.payment_id = t.reference_id;
    when 'carrier_remittance' then
      select jsonb_build_object('carrier_code', r.carrier_code, 'reference', r.reference, 'notes', r.notes) into v_made
      from money.carrier_remittances r where r.tenant_id = t.tenant_id and r.id = t.reference_id;
    else
      select h.driver_id, jsonb_build_object('notes', h.notes) into v_party, v_made
      from money.cash_handovers h where h.tenant_id = t.tenant_id and h.id = t.reference_id;
  end case;
  select f.id, f.created_at into v_other
  from money.ledger_transactions g
  -- By the journal, which has a handful of entries, and not by the desk, which has thousands.
  cross join lateral (
    select x.id, x.created_at, x.account_id from money.ledger_entries x where x.tenant_id = g.tenant_id and x.transaction_id = g.id offset 0) f
  where f.account_id = a.id and g.tenant_id = t.tenant_id and g.kind = case when v_reverses then replace(t.kind, '_REVERSAL', '') else t.kind || '_REVERSAL' end
    and g.reference_type = t.reference_type and g.reference_id = t.reference_id;
  return jsonb_build_object('desk', jsonb_build_object('id', a.id, 'owner_type', a.owner_type, 'user', money.person(a.owner_user_id)),
      'entered_by', money.person(t.actor_id), 'counterparty', money.person(v_party), 'carrier_code', null, 'statement_id', null, 'refund_id', null,
      'reference', null, 'notes', null, 'reference_type', case t.reference_type when 'payment' then 'cod_settlement' else t.reference_type end,
      'reverses', case when v_reverses then v_other.id end, 'reversed_at', case when not v_reverses then v_other.created_at end)
    || coalesce(v_made, '{}');
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130170544';
end $$;

grant execute on function private.schema_version() to barid_api;
