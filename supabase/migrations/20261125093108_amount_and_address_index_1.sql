-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "money"."payments_fee_changes";

CREATE INDEX CONCURRENTLY payments_fee_changes ON money.payments USING btree (tenant_id, processed_at) WHERE (type = 'DELIVERY_FEE_CHANGE'::text);
