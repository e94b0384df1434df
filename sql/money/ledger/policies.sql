-- Balances move with the ledger, which is their log.
select app.tenant_table('money.accounts', own => '{owner_user_id}', operations => '', audit => false);

select app.tenant_table('money.ledger_transactions', operations => '', audit => false);
select app.tenant_table('money.ledger_entries', operations => '', audit => false);
select app.tenant_table('money.payments', operations => 'insert, update');
select app.append_only('money.ledger_transactions');
select app.append_only('money.ledger_entries');
select app.touched('money.accounts');
select app.touched('money.payments');

-- Entries and journals are seen by staff and by everybody who sees the account.
drop policy tenant on money.ledger_entries;
create policy tenant on money.ledger_entries for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
    select from money.accounts a where a.tenant_id = ledger_entries.tenant_id and a.id = ledger_entries.account_id)))
  with check (tenant_id = (select app.tenant_id()));

drop policy tenant on money.ledger_transactions;
create policy tenant on money.ledger_transactions for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
    select from money.ledger_entries e where e.tenant_id = ledger_transactions.tenant_id and e.transaction_id = ledger_transactions.id)))
  with check (tenant_id = (select app.tenant_id()));

-- A payment is seen by staff, by whose account it is, and by everybody who sees the delivery or the order it is for.
drop policy tenant on money.payments;
create policy tenant on money.payments for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant())
    or exists (select from money.accounts a where a.tenant_id = payments.tenant_id and a.id = payments.account_id)
    or exists (select from delivery.deliveries d where d.tenant_id = payments.tenant_id and d.id = payments.delivery_id)
    or exists (select from storefront.storefront_orders o where o.tenant_id = payments.tenant_id and o.id = payments.order_id)));
