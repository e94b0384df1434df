-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
-- squawk-ignore-file ban-concurrent-index-creation-in-transaction, prefer-robust-stmts
set lock_timeout = '1min';
set statement_timeout = 0;

DROP INDEX CONCURRENTLY IF EXISTS "delivery"."deliveries_postponed_to";

CREATE INDEX CONCURRENTLY deliveries_postponed_to ON delivery.deliveries USING btree (postponed_to, tenant_id) WHERE (postponed_to IS NOT NULL);
