-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "money"."cash_transfers_payment";

CREATE INDEX CONCURRENTLY cash_transfers_payment ON money.cash_transfers USING btree (tenant_id, payment_id) WHERE (payment_id IS NOT NULL);
