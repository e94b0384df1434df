-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "money"."merchant_statements_hash";

CREATE INDEX CONCURRENTLY merchant_statements_hash ON money.merchant_statements USING btree (tenant_id, hash);
