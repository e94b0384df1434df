-- The shortage found when the cash of a settlement was counted, {amount, discrepancy_id}; null: nothing.
create or replace function money.shortage_to_json(s money.cod_settlements) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return case when s.shortage > 0 then jsonb_build_object('amount', s.shortage, 'discrepancy_id', s.shortage_handover_id) end;
end $$;
