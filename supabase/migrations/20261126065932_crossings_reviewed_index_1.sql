-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "money"."payments_of_gateway";

CREATE INDEX CONCURRENTLY payments_of_gateway ON money.payments USING btree (tenant_id, gateway_code) WHERE (gateway_code IS NOT NULL);
