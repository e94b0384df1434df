alter table money.merchant_payouts drop constraint if exists merchant_payout_statement;

alter table money.merchant_payouts add constraint merchant_payout_statement
  foreign key (tenant_id, statement_id) references money.merchant_statements (tenant_id, id) on delete restrict;
