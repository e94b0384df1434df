-- A settlement's shortage as it was counted then, {amount, discrepancy_id: the handover of cash that recorded it}; null when nothing was
-- short.
create or replace function money.shortage_to_json(s money.cod_settlements) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return case when s.shortage > 0 then jsonb_build_object('amount', s.shortage, 'discrepancy_id', s.shortage_handover_id) end;
end $$;
