-- Written by SECURITY DEFINER functions in money, with what they follow from; seen by staff and by whose wallet it is.
select app.tenant_table('money.wallet_holds', operations => '', audit => false);
select app.append_only('money.wallet_holds');

drop policy tenant on money.wallet_holds;
create policy tenant on money.wallet_holds for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
    select from money.accounts a where a.tenant_id = wallet_holds.tenant_id and a.id = wallet_holds.account_id)))
  with check (tenant_id = (select app.tenant_id()));

select app.counted('wallet_holds', 'money.wallet_holds', '{account_id}', 'amount');
