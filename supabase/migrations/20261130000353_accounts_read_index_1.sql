-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "money"."merchant_payouts_recent";

CREATE INDEX CONCURRENTLY merchant_payouts_recent ON money.merchant_payouts USING btree (tenant_id, paid_at DESC NULLS LAST, id DESC);
