-- Statements are written by SECURITY DEFINER functions in money; seen by the office and by whose they are.
select app.tenant_table('money.merchant_statements', own => '{owner_user_id}', operations => '');
select app.tenant_table('money.merchant_payouts', own => '{owner_user_id}', operations => '');
select app.tenant_table('money.merchant_statement_lines', operations => '', audit => false);
select app.tenant_table('money.merchant_accounts', own => '{}', operations => '', audit => false);
select app.tenant_table('money.merchant_pending', own => '{}', operations => '', audit => false);
select app.tenant_table('money.merchant_statement_numbers', own => '{}', operations => '', audit => false);
select app.tenant_table('money.merchant_cycles', own => '{}', operations => '', audit => false);
select app.append_only('money.merchant_payouts', '{reversed_at,reversed_by,reversal_reason}');
select app.append_only('money.merchant_statement_lines');

-- An owner may be anybody of the company, also of its staff: the people of a warehouse see the whole tenant, and of statements their own.
drop policy tenant on money.merchant_statements;
create policy tenant on money.merchant_statements for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select money.sees_statements()) or owner_user_id = (select app.user_id())))
  with check (tenant_id = (select app.tenant_id()) and ((select money.sees_statements()) or owner_user_id = (select app.user_id())));

drop policy tenant on money.merchant_statement_lines;
create policy tenant on money.merchant_statement_lines for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select money.sees_statements()) or exists (
    select from money.merchant_statements s where s.tenant_id = merchant_statement_lines.tenant_id and s.id = merchant_statement_lines.statement_id)))
  with check (tenant_id = (select app.tenant_id()));
