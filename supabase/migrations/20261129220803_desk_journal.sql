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
  join money.ledger_entries f on f.tenant_id = g.tenant_id and f.transaction_id = g.id and f.account_id = a.id
  where g.tenant_id = t.tenant_id and g.kind = case when v_reverses then replace(t.kind, '_REVERSAL', '') else t.kind || '_REVERSAL' end
    and g.reference_type = t.reference_type and g.reference_id = t.reference_id;
  return jsonb_build_object('desk', jsonb_build_object('id', a.id, 'owner_type', a.owner_type, 'user', money.person(a.owner_user_id)),
      'entered_by', money.person(t.actor_id), 'counterparty', money.person(v_party), 'carrier_code', null, 'statement_id', null, 'refund_id', null,
      'reference', null, 'notes', null, 'reference_type', case t.reference_type when 'payment' then 'cod_settlement' else t.reference_type end,
      'reverses', case when v_reverses then v_other.id end, 'reversed_at', case when not v_reverses then v_other.created_at end)
    || coalesce(v_made, '{}');
end $function$;

CREATE OR REPLACE FUNCTION money.desk_movements_found(search text)
 RETURNS TABLE(id uuid)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
    ) x
    where app.folded(concat_ws(E'\n', x.reference, x.notes)) ilike any (v_patterns);
end $function$;

CREATE VIEW "money"."cash_desk_movements_list" WITH (security_invoker=true) AS  SELECT e.id,
    COALESCE(c.kind, j.word, t.kind) AS kind,
    e.amount,
    e.currency,
    e.balance_after,
    t.reference_id,
    t.description,
    e.created_at,
    money.desk_movement_details(a.*, e.*, t.*) AS details,
    a.id AS desk_id,
    a.owner_type,
    a.owner_user_id AS user_id
   FROM ((((money.accounts a
     JOIN money.ledger_entries e ON (((e.tenant_id = a.tenant_id) AND (e.account_id = a.id))))
     LEFT JOIN money.ledger_transactions t ON (((t.tenant_id = e.tenant_id) AND (t.id = e.transaction_id))))
     LEFT JOIN money.cash_transfers c ON (((c.tenant_id = t.tenant_id) AND (c.id = t.reference_id) AND (t.reference_type = 'cash_transfer'::text))))
     LEFT JOIN ( VALUES ('cod_settlement'::text,'remittance'::text), ('cod_settlement_REVERSAL'::text,'remittance'::text), ('carrier_remittance'::text,'carrier_remittance'::text), ('carrier_remittance_REVERSAL'::text,'carrier_remittance'::text), ('cash_shortage'::text,'shortage'::text), ('cash_shortage_REVERSAL'::text,'shortage'::text), ('driver_payout_cash'::text,'driver_payout'::text), ('driver_payout_cash_REVERSAL'::text,'driver_payout'::text), ('merchant_payout_cash'::text,'merchant_payout'::text), ('merchant_payout_cash_REVERSAL'::text,'merchant_payout'::text)) j(journal, word) ON ((j.journal = t.kind)))
  WHERE ((a.kind = 'cash_on_hand'::text) AND (( SELECT money.settles_for_office() AS settles_for_office) OR (a.owner_user_id = ( SELECT app.user_id() AS user_id))));

REVOKE ALL ON FUNCTION "money"."desk_movement_details"(money.accounts, money.ledger_entries, money.ledger_transactions) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."desk_movement_details"(money.accounts, money.ledger_entries, money.ledger_transactions) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."desk_movements_found"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."desk_movements_found"(text) TO "barid_caller";

GRANT SELECT ON TABLE "money"."cash_desk_movements_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129220803';
end $$;

grant execute on function private.schema_version() to barid_api;
