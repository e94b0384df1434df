-- The journal of a desk: what its movements say beside the ledger. PL/pgSQL keeps its plans: joined, the tables of all that moves cash would be
-- planned at each call.

-- A movement of a desk with what made it, as far as the caller sees that.
-- -> {desk, entered_by, counterparty, carrier_code, reference_type, statement_id, refund_id, reference, notes, reverses, reversed_at}
create or replace function money.desk_movement_details(a money.accounts, e money.ledger_entries, t money.ledger_transactions) returns jsonb
language plpgsql stable set search_path = '' as $$
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
end $$;

-- The ids that movements of desks refer to, found by the reference or notes of what moved the cash.
create or replace function money.desk_movements_found(search text) returns table (id uuid)
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_patterns text[] := app.contains_patterns(search);
begin
  return query
    select x.id from (
      select c.id, c.reference, c.notes from money.cash_transfers c where c.tenant_id = v_tenant
      union all
      select m.id, m.reference, null from money.merchant_payouts m where m.tenant_id = v_tenant and m.method = 'cash'
      union all
      select d.id, d.reference, d.notes from money.driver_payouts d where d.tenant_id = v_tenant and d.method = 'cash'
      union all
      select s.payment_id, s.reference, s.notes from money.cod_settlements s where s.tenant_id = v_tenant and s.method = 'remit'
      union all
      select r.id, r.reference, r.notes from money.carrier_remittances r where r.tenant_id = v_tenant
      union all
      select h.id, null, h.notes from money.cash_handovers h where h.tenant_id = v_tenant and h.notes is not null
    ) x
    where app.folded(concat_ws(E'\n', x.reference, x.notes)) ilike any (v_patterns);
end $$;

-- The ids of the movements of these kinds, a word or several; of one desk or of the desks of one person where they are named. From the kind to
-- its journals, and not from all that moved the desks to the few of a kind; of an own or named desk its movements are the fewer.
create or replace function money.desk_movements_of(kinds jsonb, desk_id uuid, user_id uuid) returns table (id bigint)
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_kinds text[] := array(select jsonb_array_elements_text(case jsonb_typeof(kinds) when 'array' then kinds else jsonb_build_array(kinds) end));
  -- As money.cash_desk_movements_list names them, the other way round.
  v_journals text[] := array(
    select x.kind || y.suffix
    from unnest(v_kinds) k
    cross join lateral (select case k when 'remittance' then 'cod_settlement' when 'shortage' then 'cash_shortage'
      when 'driver_payout' then 'driver_payout_cash' when 'merchant_payout' then 'merchant_payout_cash' else k end) x (kind)
    cross join (values (''), ('_REVERSAL')) y (suffix));
begin
  if desk_id is not null or user_id is not null or not money.settles_for_office() then
    return query
      select r.id from money.cash_desk_movements_list r
      where (desk_movements_of.desk_id is null or r.desk_id = desk_movements_of.desk_id)
        and (desk_movements_of.user_id is null or r.user_id = desk_movements_of.user_id) and r.kind = any (v_kinds);
  else
    return query
      select e.id
      from (
        select t.id from money.ledger_transactions t
        where t.tenant_id = v_tenant and t.kind = any (v_journals) and t.reference_type <> 'cash_transfer'
        union all
        select t.id
        from money.cash_transfers c
        join money.ledger_transactions t on t.tenant_id = c.tenant_id and t.kind in ('cash_transfer', 'cash_transfer_REVERSAL')
          and t.reference_type = 'cash_transfer' and t.reference_id = c.id
        where c.tenant_id = v_tenant and c.kind = any (v_kinds)) t
      join money.ledger_entries e on e.tenant_id = v_tenant and e.transaction_id = t.id
      join money.accounts a on a.tenant_id = v_tenant and a.id = e.account_id and a.kind = 'cash_on_hand';
  end if;
end $$;
