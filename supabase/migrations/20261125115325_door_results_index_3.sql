-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "delivery"."deliveries_postponed";

CREATE INDEX CONCURRENTLY deliveries_postponed ON delivery.deliveries USING btree (tenant_id, created_at DESC NULLS LAST, id DESC) WHERE (postponed_to IS NOT NULL);
