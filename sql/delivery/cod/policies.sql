-- Cash is written by SECURITY DEFINER functions in money: with the move that takes it, and with its settlement.
select app.tenant_table('money.cod_collections', own => '{driver_id}', operations => '', audit => false);

select app.tenant_table('money.cod_settlements', own => '{driver_id}', operations => '', audit => false);
select app.tenant_table('money.cod_settlement_items', own => '{}', operations => '', audit => false);
select app.tenant_table('money.settlement_receipts', own => '{}', operations => '', audit => false);
select app.tenant_table('money.cash_handovers', own => '{driver_id}', operations => '');
select app.append_only('money.cod_settlements', '{reversed_at,reversed_by,reversal_reason}');
select app.append_only('money.cod_settlement_items', '{reversed_at}');
select app.touched('money.settlement_receipts');
select app.touched('money.cash_handovers');
select app.followed('money.cod_collections');

-- The items of a settlement and its receipt are seen by everybody who sees the settlement.
drop policy tenant on money.cod_settlement_items;
create policy tenant on money.cod_settlement_items for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
    select from money.cod_settlements s where s.tenant_id = cod_settlement_items.tenant_id and s.payment_id = cod_settlement_items.payment_id)));

drop policy tenant on money.settlement_receipts;
create policy tenant on money.settlement_receipts for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
    select from money.cod_settlements s where s.tenant_id = settlement_receipts.tenant_id and s.payment_id = settlement_receipts.payment_id)));

select app.counted('cod_collections', 'money.cod_collections', '{status,driver_id,currency,reversed_at}', 'amount',
  rollup => '{status,currency,reversed_at}');
